"""From one event of OpenHands' current versions to what it says (`openhands/sdk/event` of its software-agent-sdk)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import compact_json
from inspector.session.formats.chat import Spoken, notice
from inspector.session.formats.openhands.kinds import QUIET, RESULTS
from inspector.session.times import seconds_of_any
from inspector.session.values import mapping, objects, sequence, string

if TYPE_CHECKING:
    from collections.abc import Mapping


def spoken_in(event: Mapping[str, Any]) -> Spoken | None:
    """What an event says; None where it says nothing."""
    kind = string(event.get("kind"))
    time = seconds_of_any(event.get("timestamp"))
    identifier = string(event.get("id"))
    if kind in QUIET:
        return None
    if kind == "SystemPromptEvent":
        return Spoken({"role": "system", "content": _system(event)}, time, identifier)
    if kind == "MessageEvent":
        return _message(event, time)
    if kind == "ActionEvent":
        return Spoken(_action(event), time, string(event.get("llm_response_id")) or identifier, is_call=True)
    if kind in RESULTS:
        return Spoken(_result(event, kind), time, identifier)
    if kind == "Condensation":
        summary = event.get("summary")
        if not isinstance(summary, str):
            return None
        return Spoken({"role": "user", "content": summary}, time, identifier, is_summary=True, is_meta=True)
    text = string(event.get("detail")) or string(event.get("message")) or compact_json(dict(event))
    return Spoken(notice(f"{kind or 'event without a kind'}: {text}"), time, identifier)


def parts_of(content: Any) -> Any:
    """Content as chat content: images stand in lists of addresses."""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return string(content)
    parts: list[Any] = []
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("image_urls"), list):
            parts += [{"type": "image_url", "image_url": {"url": url}} for url in part["image_urls"]]
        else:
            parts.append(part)
    return parts


def _system(event: Mapping[str, Any]) -> list[Any]:
    tools = sequence(event.get("tools"))
    said = [parts_of(event.get(name)) for name in ("system_prompt", "dynamic_context") if event.get(name)]
    parts = [{"type": "text", "text": compact_json(tools)}] if tools else []
    for one in said:
        parts += one if isinstance(one, list) else [{"type": "text", "text": one}]
    return parts


def _message(event: Mapping[str, Any], time: float | None) -> Spoken:
    message = mapping(event.get("llm_message"))
    content = parts_of(message.get("content"))
    further = parts_of(event.get("extended_content") or [])
    if further:
        content = [*(content if isinstance(content, list) else [{"type": "text", "text": content}]), *further]
    is_answer = event.get("source") == "agent" or message.get("role") == "assistant"
    value: dict[str, Any] = {"role": "assistant" if is_answer else "user", "content": content}
    if is_answer:
        value = {**value, **_reasoning({**event, **message})}
        value["content"] = [*value.pop("thought", []), *(content if isinstance(content, list) else [])] or content
    identifier = string(event.get("llm_response_id")) or string(event.get("id"))
    is_meta = event.get("source") in ("environment", "hook")
    return Spoken(value, time, identifier, is_call=is_answer, is_meta=is_meta)


def _action(event: Mapping[str, Any]) -> dict[str, Any]:
    call = mapping(event.get("tool_call"))
    function = mapping(call.get("function")) or call
    action = {name: value for name, value in mapping(event.get("action")).items() if name != "kind"}
    arguments = function.get("arguments", action)
    name = string(event.get("tool_name")) or string(function.get("name"))
    identifier = string(event.get("tool_call_id")) or string(call.get("id"))
    said = parts_of(event.get("thought"))
    reasoning = _reasoning(event)
    return {
        "role": "assistant",
        "reasoning_content": reasoning.get("reasoning_content"),
        "content": [*reasoning.get("thought", []), *(said if isinstance(said, list) else [said] if said else [])],
        "tool_calls": [{"id": identifier, "function": {"name": name, "arguments": arguments}}],
    }


def _reasoning(event: Mapping[str, Any]) -> dict[str, Any]:
    """Signed thinking where there is some, else what was told of the reasoning."""
    blocks = objects(event.get("thinking_blocks"))
    if blocks:
        return {"thought": blocks}
    item = mapping(event.get("responses_reasoning_item"))
    if item:
        text = "\n".join(part if isinstance(part, str) else "" for part in sequence(item.get("summary")))
        signature = string(item.get("encrypted_content"))
        return {"thought": [{"type": "thinking", "thinking": text, "signature": signature}]}
    text = string(event.get("reasoning_content"))
    return {"reasoning_content": text} if text else {}


def _result(event: Mapping[str, Any], kind: str) -> dict[str, Any]:
    value = {"role": "tool", "tool_call_id": string(event.get("tool_call_id")), "name": string(event.get("tool_name"))}
    if kind == "AgentErrorEvent":
        return {**value, "content": string(event.get("error")), "is_error": True}
    if kind == "UserRejectObservation":
        return {**value, "content": string(event.get("rejection_reason")), "is_error": True}
    observation = mapping(event.get("observation"))
    content = next((observation[name] for name in ("content", "output", "message") if name in observation), None)
    if content is None:
        content = compact_json({name: item for name, item in observation.items() if name != "kind"})
    is_error = observation.get("is_error") is True or bool(observation.get("error"))
    return {**value, "content": parts_of(content), "is_error": is_error}
