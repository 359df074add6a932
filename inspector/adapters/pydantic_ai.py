"""History processor for pydantic-ai that sends tool results as a plan defines.

    Agent(model, tools=…, history_processors=[plan_processor("careful")])

Only changes to tool results are applied; changes to other parts are dropped. Because pydantic-ai stores the output of a
processor as the run's history, results cut for earlier calls are replaced by their originals before the plan is
applied.
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

from inspector.adapters.gate import CallReport, PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.message_lists import MessageDict
    from inspector.strategies.plan import Plan


def plan_processor(
    plan: Plan | str, *, on_call: Callable[[CallReport], None] | None = None, diagnostics: bool = False
) -> Callable[[list[Any]], list[Any]]:
    """Create a history processor with a plan; arguments and errors as for `PlanGate`."""
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
        # Results cut for an earlier call arrive cut: apply the plan to the originals.
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
        phrase = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
        calls = [
            {
                "id": part.tool_call_id,
                "type": "function",
                "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
            }
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        return [{"role": "assistant", "content": phrase or None, **({"tool_calls": calls} if calls else {})}]
    entries: list[MessageDict] = []
    for part in message.parts if isinstance(message, ModelRequest) else ():
        if isinstance(part, ToolReturnPart):
            text = part.model_response_str()
            entries.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
        elif isinstance(part, UserPromptPart | SystemPromptPart):
            role = "user" if isinstance(part, UserPromptPart) else "system"
            phrase = part.content if isinstance(part.content, str) else str(part.content)
            entries.append({"role": role, "content": phrase})
    return entries
