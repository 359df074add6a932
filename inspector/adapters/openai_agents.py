"""Input filter for the OpenAI Agents SDK that sends tool results as a plan defines.

    Runner.run(agent, question, run_config=RunConfig(call_model_input_filter=plan_filter("careful")))

The run's items stay whole. Only changes to tool results are applied; changes to other items are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.run import ModelInputData

from inspector.adapters.gate import CallReport, PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.message_lists import MessageDict
    from inspector.strategies.plan import Plan


def plan_filter(
    plan: Plan | str, *, on_call: Callable[[CallReport], None] | None = None, diagnostics: bool = False
) -> Callable[[Any], Any]:
    """Create a filter with a plan; arguments and errors as for `PlanGate`."""
    gate = PlanGate(plan, "openai", on_call=on_call, diagnostics=diagnostics)

    def planned(data: Any) -> Any:
        given = data.model_data
        texts = gate.result_texts(messages_of(given.input))
        return ModelInputData(input=[_sent(item, texts) for item in given.input], instructions=given.instructions)

    return planned


def _sent(item: Any, texts: dict[str, str]) -> Any:
    if not isinstance(item, dict) or item.get("type") != "function_call_output":
        return item
    text = texts.get(str(item.get("call_id")))
    return item if text is None else {**item, "output": text}


def messages_of(items: list[Any]) -> list[MessageDict]:
    """Convert items of the Responses API to chat messages; consecutive calls become one message."""
    messages: list[MessageDict] = []
    for item in items:
        if not isinstance(item, dict):
            continue
        kind = item.get("type", "message")
        if kind == "function_call":
            function = {"name": item.get("name", ""), "arguments": item.get("arguments") or "{}"}
            call = {"id": str(item.get("call_id")), "type": "function", "function": function}
            last = messages[-1] if messages else {}
            if last.get("role") == "assistant":
                last["tool_calls"] = [*last.get("tool_calls", ()), call]
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "function_call_output":
            output = item.get("output")
            messages.append({"role": "tool", "tool_call_id": str(item.get("call_id")), "content": _text(output)})
        elif kind == "message" and item.get("role") in ("user", "assistant", "system", "developer"):
            messages.append({"role": item["role"], "content": _text(item.get("content"))})
    return messages


def _text(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
