"""Convert Amazon Bedrock requests and responses: Converse to the Anthropic Messages format, frames to events.

Converse is based on the service description in boto/botocore (`data/bedrock-runtime/2023-09-30/service-2.json`). A
content part has one field, which names its type. A `cachePoint` is a separate part that caches the prompt prefix before
it; here it becomes a field of the preceding part. `inputTokens` excludes tokens read from a cache.

Frames (`application/vnd.amazon.eventstream`) are checked against boto/botocore `eventstream.py` (layout: total length,
headers length, checksum of both, headers, payload, checksum of the frame) and anthropics/anthropic-sdk-python
`lib/bedrock/_stream_decoder.py` (the payload of a `chunk` is a base64-encoded Messages API event; other message types
are exceptions). For the Converse API the payload is the event itself and a header names its type.
"""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from inspector.session.json import ComputedNode, Node, compact_json, count, json_in, mapping, objects, sequence, string
from inspector.session.usage_fields import CONVERSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


CACHE_POINT = "cachePoint"

PARTS = frozenset(
    (
        "text",
        "image",
        "document",
        "video",
        "audio",
        "toolUse",
        "toolResult",
        "guardContent",
        "reasoningContent",
        "citationsContent",
        "searchResult",
        CACHE_POINT,
    )
)
"""Field names that identify a Converse content part."""

EVENTS = frozenset(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
)
"""Event names of a streamed response."""


def converse_node(node: Node) -> ComputedNode:
    """Convert a message lazily, others unchanged, without its request, which is gone when read again."""
    return ComputedNode(node, lambda value: message_of(value) if is_converse(value) else value)


def system_node(node: Node) -> ComputedNode:
    """Convert a system prompt lazily to Anthropic content parts."""
    return ComputedNode(node, system_of)


def is_converse(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True if a value is a Converse message; messages of other APIs have parts with a `type`."""
    content = value.get("content") if isinstance(value, dict) else None
    return isinstance(content, list) and any(_is_part(part) for part in content)


def is_converse_system(value: object) -> bool:
    return isinstance(value, list) and any(_is_part(part) for part in value)


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and "type" not in part and not PARTS.isdisjoint(part)


def system_of(value: Any) -> list[Any]:
    """Convert a system prompt to Anthropic content parts."""
    return _parts(sequence(value))


def message_of(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": string(message.get("role")), "content": _parts(sequence(message.get("content")))}


def _parts(content: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    for part in content:
        fields = mapping(part)
        if CACHE_POINT not in fields:
            made.append(_part(fields) or part)
        elif made and isinstance(made[-1], dict):
            made[-1] = {**made[-1], "cache_control": fields[CACHE_POINT]}
    return made


def _part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Convert a content part; None if it has no Anthropic equivalent."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "toolUse" in part:
        call = mapping(part["toolUse"])
        return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
    if "toolResult" in part:
        return _result(mapping(part["toolResult"]))
    if "reasoningContent" in part:
        return _thinking(mapping(part["reasoningContent"]))
    if "guardContent" in part:
        guarded = mapping(part["guardContent"])
        return _part({**guarded, "text": mapping(guarded.get("text")).get("text")})
    if "citationsContent" in part:
        return {"type": "text", "text": _joined(mapping(part["citationsContent"]).get("content"))}
    if "searchResult" in part:
        return {"type": "text", "text": _joined(mapping(part["searchResult"]).get("content"))}
    return _media(part)


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    inner = objects(result.get("content"))
    content = [
        {"type": "text", "text": compact_json(one["json"])} if "json" in one else _part(one) or one for one in inner
    ]
    has_failed = result.get("status") == "error"
    return {
        "type": "tool_result",
        "tool_use_id": result.get("toolUseId"),
        "content": content,
        "is_error": has_failed,
    }


def _thinking(reasoning: Mapping[str, Any]) -> dict[str, Any]:
    if "redactedContent" in reasoning:
        return {"type": "redacted_thinking", "data": string(reasoning["redactedContent"])}
    reported = mapping(reasoning.get("reasoningText"))
    return {
        "type": "thinking",
        "thinking": string(reported.get("text")),
        "signature": string(reported.get("signature")),
    }


def _media(part: Mapping[str, Any]) -> dict[str, Any] | None:
    name = next((name for name in ("image", "document", "video", "audio") if name in part), None)
    if name is None:
        return None
    media = mapping(part[name])
    source, form = mapping(media.get("source")), string(media.get("format"))
    kind = "image" if name == "image" else "document"
    media_type = f"{'application' if name == 'document' else name}/{form}" if form else ""
    if isinstance(source.get("text"), str):
        return {"type": kind, "source": {"type": "text", "data": source["text"], "media_type": "text/plain"}}
    if isinstance(source.get("content"), list):
        parts = [{"type": "text", "text": string(one.get("text"))} for one in objects(source["content"])]
        return {"type": kind, "source": {"type": "content", "content": parts}}
    if isinstance(source.get("bytes"), str):
        return {"type": kind, "source": {"type": "base64", "data": source["bytes"], "media_type": media_type}}
    address = string(mapping(source.get("s3Location")).get("uri"))
    return {"type": kind, "source": {"url": address, "media_type": media_type}}


def _joined(content: Any) -> str:
    return "\n".join(string(one.get("text")) for one in objects(content))


def usage_of_converse(reported: Any) -> dict[str, Any]:
    """Convert reported usage to Anthropic's fields; empty if there is none."""
    fields = mapping(reported)
    written = count(fields.get("cacheWriteInputTokens")) or count(fields.get("cacheWriteInputTokenCount"))
    hour = sum(count(one.get("inputTokens")) for one in objects(fields.get("cacheDetails")) if one.get("ttl") == "1h")
    if not fields:
        return {}
    return {
        "input_tokens": count(fields.get("inputTokens")),
        "output_tokens": count(fields.get("outputTokens")),
        "cache_read_input_tokens": count(fields.get("cacheReadInputTokens"))
        or count(fields.get("cacheReadInputTokenCount")),
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_1h_input_tokens": min(hour, written)},
        # Numbers that this conversion leaves out, to be named.
        **dict.fromkeys(CONVERSE.ignored(fields), 1),
    }


def message_of_response(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of a non-streamed response with its usage; empty for other APIs."""
    message = mapping(mapping(value.get("output")).get("message"))
    if not message:
        return {}
    usage = usage_of_converse(value.get("usage"))
    return {**message_of(message), **({"usage": usage} if usage else {})}


def answer_of_events(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Assemble a streamed response from objects named by their only field; empty for other APIs."""
    blocks: dict[int, dict[str, Any]] = {}
    answer: dict[str, Any] = {}
    for event in events:
        if "messageStart" in event:
            answer["role"] = "assistant"
        elif "contentBlockStart" in event:
            started = mapping(event["contentBlockStart"])
            blocks[_place(started)] = {"toolUse": dict(mapping(mapping(started.get("start")).get("toolUse")))}
        elif "contentBlockDelta" in event:
            more = mapping(event["contentBlockDelta"])
            _apply_delta(blocks.setdefault(_place(more), {}), mapping(more.get("delta")))
        elif "metadata" in event and (usage := usage_of_converse(mapping(event["metadata"]).get("usage"))):
            answer["usage"] = usage
    if not blocks and "role" not in answer:
        return {}
    content = [_finished(blocks[place]) for place in sorted(blocks)]
    return {**answer, **message_of({"role": "assistant", "content": content})}


def _place(event: Mapping[str, Any]) -> int:
    return count(event.get("contentBlockIndex"))


def _apply_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if isinstance(delta.get("text"), str):
        block["text"] = string(block.get("text")) + delta["text"]
    if "toolUse" in delta:
        call = block.setdefault("toolUse", {})
        call["written"] = string(call.get("written")) + string(mapping(delta["toolUse"]).get("input"))
    if "reasoningContent" in delta:
        more, reasoning = mapping(delta["reasoningContent"]), block.setdefault("reasoningContent", {})
        if "redactedContent" in more:
            reasoning["redactedContent"] = string(reasoning.get("redactedContent")) + string(more["redactedContent"])
        else:
            reported = reasoning.setdefault("reasoningText", {})
            for name in ("text", "signature"):
                reported[name] = string(reported.get(name)) + string(more.get(name))


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    if "toolUse" not in block:
        return block
    call = dict(block["toolUse"])
    text = call.pop("written", "")
    value = json_in(text) if text else {}
    return {"toolUse": {**call, "input": value if isinstance(value, dict) else text}}


PRELUDE = struct.Struct("!III")
"""Frame length, headers length, and a checksum of both."""

CHECKSUM = struct.Struct("!I")

STRING = 7
"""Header value type for strings, the only type that Bedrock writes."""

MESSAGE_TYPE, EVENT_TYPE = ":message-type", ":event-type"

EVENT, CHUNK = "event", "chunk"

CUT_OFF = "a truncated or damaged event stream"
FAILED = "an event stream that ended with an exception"
UNKNOWN = "an event stream with unknown frames"


class Frame(NamedTuple):
    """One frame of an event stream. `headers`: the headers with string values."""

    headers: dict[str, str]
    payload: bytes


def is_event_stream(data: bytes) -> bool:
    """Return True if the data starts with a frame prelude with a valid checksum."""
    if len(data) < PRELUDE.size:
        return False
    _, _, checksum = PRELUDE.unpack_from(data)
    return zlib.crc32(data[: PRELUDE.size - CHECKSUM.size]) == int(checksum)


def events_text(data: bytes) -> str:
    """Return the stream's events as server-sent event text, without incomplete frames."""
    made = (event for frame in _frames(data) if (event := _event_of(frame)))
    return "".join(f"data: {json.dumps(event)}\n\n" for event in made)


def problem_of(data: bytes) -> str:
    """Describe the first problem found in a stream; empty for a complete one."""
    length, problem = 0, ""
    for frame in _frames(data):
        length += PRELUDE.size + _length_of_headers(data, length) + len(frame.payload) + CHECKSUM.size
        if frame.headers.get(MESSAGE_TYPE) != EVENT:
            problem = FAILED
        elif not _event_of(frame):
            problem = problem or UNKNOWN
    return problem or (CUT_OFF if length < len(data) else "")


def _length_of_headers(data: bytes, at: int) -> int:
    return int(PRELUDE.unpack_from(data, at)[1])


def _frames(data: bytes) -> Iterator[Frame]:
    """Yield the complete frames, up to the first damaged one."""
    at = 0
    while is_event_stream(data[at : at + PRELUDE.size]):
        length, of_headers, _ = PRELUDE.unpack_from(data, at)
        end = at + length - CHECKSUM.size
        headers_end = at + PRELUDE.size + of_headers
        if end + CHECKSUM.size > len(data) or headers_end > end:
            return
        if zlib.crc32(data[at:end]) != CHECKSUM.unpack_from(data, end)[0]:
            return
        yield Frame(_headers(data[at + PRELUDE.size : headers_end]), data[headers_end:end])
        at += length


def _headers(data: bytes) -> dict[str, str]:
    """Parse the headers, up to the first with a non-string value."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        value_at = name_end + 3
        if value_at > len(data) or data[name_end] != STRING:
            break
        value_end = value_at + int.from_bytes(data[name_end + 1 : value_at])
        found[data[at + 1 : name_end].decode(errors="replace")] = data[value_at:value_end].decode(errors="replace")
        at = value_end
    return found


def _event_of(frame: Frame) -> Mapping[str, Any]:
    """Return a frame's event, empty if it has none. A Converse event is wrapped in a field with its name."""
    kind = frame.headers.get(EVENT_TYPE, "")
    if frame.headers.get(MESSAGE_TYPE) != EVENT or kind not in (CHUNK, *EVENTS):
        return {}
    payload: Any = json_in(frame.payload.decode(errors="replace"))
    if kind != CHUNK:
        return {kind: payload} if isinstance(payload, dict) else {}
    try:
        event = b64decode(string(mapping(payload).get("bytes")), validate=True).decode(errors="replace")
    except ValueError:
        return {}
    return mapping(json_in(event))
