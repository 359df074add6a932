"""From one event of OpenHands' version 0 to what it says (`openhands/events` of All-Hands-AI/OpenHands, before 1.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import compact_json
from inspector.session.formats.chat import Spoken, notice
from inspector.session.formats.openhands.kinds import QUIET_ACTIONS, QUIET_OBSERVATIONS
from inspector.session.formats.plain.usage import usage_of
from inspector.session.times import seconds_of_any
from inspector.session.values import mapping, objects, sequence, string

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_ACTION = frozenset({"action", "cause", "id", "llm_metrics", "message", "source", "timestamp", "tool_call_metadata"})
"""Fields of an event that say what it is, not what was called with."""

NOT_ARGUMENTS = frozenset(
    {"action_risk", "blocking", "confirmation_state", "cwd", "final_thought", "hidden", "impl_source", "is_confirmed"}
    | {"is_input", "is_static", "keep_prompt", "kernel_init_code", "security_risk", "thought"}
)
"""What stands among an action's arguments beside those the model gave."""


def spoken_in(event: Mapping[str, Any], *, is_first: bool = False) -> Spoken | None:
    """What an event says; None where it says nothing.

    Args:
        event: The event.
        is_first: It begins the conversation: early versions do not say that its message is a person's.
    """
    time = seconds_of_any(event.get("timestamp"))
    if isinstance(event.get("observation"), str):
        return _observation(event, time)
    action = string(event.get("action"))
    args = mapping(event.get("args")) or {name: value for name, value in event.items() if name not in OF_ACTION}
    if action in QUIET_ACTIONS:
        return None
    if action == "system":
        tools = sequence(args.get("tools"))
        parts = [{"type": "text", "text": compact_json(tools)}] if tools else []
        return Spoken({"role": "system", "content": [*parts, _text(args.get("content"))]}, time)
    if action == "condensation":
        summary = args.get("summary")
        if not isinstance(summary, str):
            return None
        return Spoken({"role": "user", "content": summary}, time, is_summary=True, is_meta=True)
    source = string(event.get("source"))
    if action == "message" and (source == "user" or (is_first and not source)):
        urls = sequence(args.get("image_urls")) or sequence(args.get("images_urls"))
        images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content = [_text(args.get("content")), *images] if images else string(args.get("content"))
        return Spoken({"role": "user", "content": content}, time)
    if not action or source in ("user", "environment"):
        return Spoken(notice(string(event.get("message")) or compact_json(dict(event))), time)
    return _answer(event, action, args, time)


def response_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The model's response that an action came from; empty where it is not recorded."""
    return mapping(mapping(event.get("tool_call_metadata")).get("model_response"))


def call_id(event: Mapping[str, Any]) -> str:
    """The id of the call that an action is or an observation answers."""
    own = string(mapping(event.get("tool_call_metadata")).get("tool_call_id"))
    number = event.get("cause") if isinstance(event.get("observation"), str) else event.get("id")
    return own or (f"event-{number}" if isinstance(number, int) else "")


def _answer(event: Mapping[str, Any], action: str, args: Mapping[str, Any], time: float | None) -> Spoken:
    response = response_of(event)
    said = mapping(mapping(next(iter(objects(response.get("choices"))), {})).get("message"))
    value: dict[str, Any] = {"role": "assistant", "reasoning_content": string(said.get("reasoning_content")) or None}
    if action == "message":
        value["content"] = string(args.get("content"))
    else:
        thought = args.get("thought")
        text = string(thought) if not isinstance(thought, dict) else string(thought.get("text"))
        value["content"] = text or None
        value["tool_calls"] = [{"id": call_id(event), "function": _function(event, action, args, said)}]
    return Spoken(
        value,
        time,
        identifier=string(response.get("id")),
        is_call=True,
        model=string(response.get("model")),
        usage=usage_of(response.get("usage")),
    )


def _function(
    event: Mapping[str, Any], action: str, args: Mapping[str, Any], said: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The call as the model made it, where that is recorded; else the action it became."""
    for call in objects(said.get("tool_calls")):
        if call.get("id") == call_id(event) and isinstance(call.get("function"), dict):
            return mapping(call["function"])
    name = string(mapping(event.get("tool_call_metadata")).get("function_name")) or action
    return {"name": name, "arguments": {key: value for key, value in args.items() if key not in NOT_ARGUMENTS}}


def _observation(event: Mapping[str, Any], time: float | None) -> Spoken | None:
    kind = string(event.get("observation"))
    if kind in QUIET_OBSERVATIONS:
        return None
    if kind in ("condense", "recall"):
        return Spoken(notice(string(event.get("message")) or string(event.get("content")) or kind), time)
    extras = mapping(event.get("extras"))
    urls = sequence(event.get("image_urls")) or sequence(extras.get("image_urls"))
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    text = string(event.get("content"))
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    value = {"role": "tool", "tool_call_id": call_id(event), "content": content, "is_error": kind == "error"}
    return Spoken(value, time)


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": string(value)}
