"""From one step of a trajectory to what was said in it: a call and its results stand on the same step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.formats.chat import Spoken, notice
from inspector.session.model import Usage
from inspector.session.times import seconds_of_any
from inspector.session.values import count, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.assembly import Assembly

SPEAKERS = {"system": "system", "user": "user", "agent": "assistant"}


def spoken_in(step: Mapping[str, Any], model: str = "") -> list[Spoken]:
    """What a step says, in order.

    Args:
        step: The step. One that was copied from another trajectory is a call only where it says so and what it used.
        model: The model of steps that name none.
    """
    time = seconds_of_any(step.get("timestamp"))
    is_copied = step.get("is_copied_context") is True
    role = SPEAKERS.get(string(step.get("source")))
    if role is None:
        return [Spoken(notice(f"step of an unknown source: {content_of(step.get('message'))}"), time)]
    value: dict[str, Any] = {"role": role, "content": content_of(step.get("message"))}
    calls = objects(step.get("tool_calls")) if role == "assistant" else []
    if role == "assistant":
        value["content"] = value["content"] or None
        value["reasoning_content"] = string(step.get("reasoning_content")) or None
        value["tool_calls"] = [_call(call) for call in calls]
    is_counted = not is_copied or (step.get("llm_call_count") == 1 and bool(mapping(step.get("metrics"))))
    is_call = role == "assistant" and step.get("llm_call_count") != 0 and is_counted
    said = [
        Spoken(
            value,
            time,
            is_call=is_call,
            model=string(step.get("model_name")) or model,
            usage=usage_of(step) if is_call else None,
            is_inherited=is_copied,
        )
    ]
    is_silent = not value["content"] and not value.get("tool_calls") and not value.get("reasoning_content")
    if is_silent and not is_call and step.get("observation"):
        said = []
    results = objects(mapping(step.get("observation")).get("results"))
    is_ordered = len(results) == len(calls) and not any(result.get("source_call_id") for result in results)
    for place, result in enumerate(results):
        own = calls[place : place + 1] if is_ordered else calls
        said.append(Spoken(_result(result, own, role), time, is_inherited=is_copied))
    return said


def content_of(message: Any) -> Any:
    """A message as chat content. Images and sound are files beside the trajectory."""
    if not isinstance(message, list):
        return string(message)
    parts = []
    for part in objects(message):
        source = mapping(part.get("source"))
        if part.get("type") in ("image", "audio"):
            place = {"media_type": source.get("media_type"), "url": string(source.get("path"))}
            parts.append({"type": "image" if part["type"] == "image" else "document", "source": place})
        else:
            parts.append(part)
    return parts


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call.get("function_name"), "arguments": call.get("arguments", {})}
    return {"id": call.get("tool_call_id"), "function": function}


def _result(result: Mapping[str, Any], calls: list[dict[str, Any]], role: str) -> dict[str, Any]:
    """What came back. Without the id of a call it belongs to the only one of `calls`, or to none."""
    content = content_of(result.get("content"))
    call = string(result.get("source_call_id"))
    if not call and len(calls) == 1:
        call = string(calls[0].get("tool_call_id"))
    if not call and role != "assistant":
        return {"role": role, "content": content}
    return {"role": "tool", "tool_call_id": call, "content": content}


def usage_of(step: Mapping[str, Any]) -> Usage | None:
    """What was reported for a step of one call; None for several together, which cannot be told apart.

    `prompt_tokens` includes what was read from a cache and, as Harbor writes it, what was written to one.
    """
    metrics = mapping(step.get("metrics"))
    if not metrics or is_aggregate(step):
        return None
    extra = mapping(metrics.get("extra"))
    prompt, read = count(metrics.get("prompt_tokens")), count(metrics.get("cached_tokens"))
    written = count(extra.get("cache_creation_input_tokens")) or count(extra.get("cache_write_tokens"))
    hour = count(mapping(extra.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    written = min(max(written, hour), max(prompt - read, 0))
    usage = Usage(
        uncached=max(prompt - read - written, 0),
        cache_read=read,
        cache_write_5m=max(written - hour, 0),
        cache_write_1h=min(hour, written),
        output=count(metrics.get("completion_tokens")),
        reasoning=count(extra.get("reasoning_tokens")) or count(extra.get("reasoning_output_tokens")),
    )
    return usage if usage.prompt or usage.output else None


def is_aggregate(step: Mapping[str, Any]) -> bool:
    """Whether a step's metrics are those of several calls."""
    return count(step.get("llm_call_count")) > 1


def count_step(assembly: Assembly, step: Mapping[str, Any]) -> None:
    """Count a step by its source."""
    assembly.record_counts[f"step:{string(step.get('source')) or '(no source)'}"] += 1
