"""A history processor for pydantic-ai: the model sees tool results as a plan sends them.

    Agent(model, tools=…, history_processors=[plan_processor("careful")])

What a plan does to tool results is applied; what it does to other parts is left out. Since pydantic-ai keeps what a
processor returns as the run's history, a plan here is asked for what was cut already: results stay as they were cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from inspector.adapters.gate import PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.adapters.gate import CallReport
    from inspector.replay.message_lists import MessageDict
    from inspector.strategies.plan import Plan


def plan_processor(
    plan: Plan | str, *, on_call: Callable[[CallReport], None] | None = None, diagnostics: bool = False
) -> Callable[[list[Any]], list[Any]]:
    """A history processor that holds a plan; see `PlanGate` for what is given and raised."""
    gate = PlanGate(plan, "openai", on_call=on_call, diagnostics=diagnostics)
    wholes: dict[tuple[str, str], Any] = {}

    def whole(part: Any) -> Any:
        return wholes.get((part.tool_call_id, part.content), part) if isinstance(part.content, str) else part

    def sent(part: Any, texts: dict[str, str]) -> Any:
        text = texts.get(part.tool_call_id)
        if text is None:
            return part
        wholes[part.tool_call_id, text] = part
        return replace(part, content=text)

    def planned(messages: list[Any]) -> list[Any]:
        # What was cut for an earlier call comes back cut: the plan is asked about what it was.
        originals = [_with_results(message, whole) for message in messages]
        texts = gate.result_texts([entry for message in originals for entry in _entries(message)])
        return [_with_results(message, lambda part: sent(part, texts)) for message in originals]

    return planned


def _with_results(message: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(message, ModelRequest):
        return message
    parts = [change(part) if isinstance(part, ToolReturnPart) else part for part in message.parts]
    return replace(message, parts=parts) if any(map(_is_other, parts, message.parts)) else message


def _is_other(one: Any, other: Any) -> bool:
    return one is not other


def _entries(message: Any) -> list[MessageDict]:
    if isinstance(message, ModelResponse):
        said = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
        calls = [
            {
                "id": part.tool_call_id,
                "type": "function",
                "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
            }
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        return [{"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})}]
    entries: list[MessageDict] = []
    for part in message.parts if isinstance(message, ModelRequest) else ():
        if isinstance(part, ToolReturnPart):
            text = part.model_response_str()
            entries.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
        elif isinstance(part, UserPromptPart | SystemPromptPart):
            role = "user" if isinstance(part, UserPromptPart) else "system"
            said = part.content if isinstance(part.content, str) else str(part.content)
            entries.append({"role": role, "content": said})
    return entries
