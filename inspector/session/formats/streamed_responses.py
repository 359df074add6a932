"""Assemble streamed responses (server-sent events) into complete messages.

Handles the events of Anthropic's Messages API (https://docs.anthropic.com/en/docs/build-with-claude/streaming) and
Amazon Bedrock's Converse API, and the chunks of OpenAI's Chat Completions and the Gemini API, including chunks sent as
one array.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.billing_terms import SERVICE_TIER
from inspector.session.formats.bedrock_converse import (
    answer_of_events,
    events_text,
    is_event_stream,
    message_of_response,
)
from inspector.session.formats.google_content import answer_in, answer_of_chunks
from inspector.session.json import ComputedNode, Node, json_in, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


DONE = "[DONE]"

LINE_END = re.compile(r"\r\n|\r|\n")
"""Line ends of a stream; other line separators may occur inside texts."""

BEGINNINGS = ("data:", "event:", "id:", ":", "{")
"""Prefixes of bodies that are not base64."""

GZIP, AS_GZIP = b"\x1f\x8b", 31

MOST_BYTES = 1 << 28
"""Limit in bytes for an uncompressed body; the rest is cut off."""

REPLY = ("id", "model", "usage", "created", "diagnostics", SERVICE_TIER)
"""Response fields outside the message that describe the call."""

STARTS = ("id", "model", "role", "usage", "diagnostics")
"""Fields that the first event of a response provides."""

PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Delta types and the field that each one extends."""


class CallPlace(NamedTuple):
    """A tool call in a streamed response: the stream's index, and the call's number among those with it."""

    at: int
    number: int


def stream_node(node: Node) -> ComputedNode:
    """Parse a response logged as a string, JSON or stream text, into a message, lazily."""
    return ComputedNode(node, lambda text: answer_of(string(text)))


def events_of(stream: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream's events; truncated or invalid ones are skipped."""
    for line in LINE_END.split(stream):
        if line.startswith("data:") and (data := line[5:].strip()) != DONE:
            value = json_in(data)
            if isinstance(value, dict):
                yield value


def decoded(text: str) -> str:
    """Decode a logged body: plain, base64, or a list of base64 pieces that may be compressed.

    Polly.js logs a list of pieces, compressed if the response was. Amazon Bedrock frames become server-sent events.
    """
    data = data_of(text)
    if data is None:
        return text
    return events_text(data) if is_event_stream(data) else data.decode(errors="replace")


def data_of(text: str) -> bytes | None:
    """Decode a base64 body; None if it is not base64."""
    if text.lstrip().startswith(BEGINNINGS):
        return None
    pieces = json_in(text) if text.startswith("[") else [text]
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        return None
    try:
        data = b"".join(b64decode(piece, validate=True) for piece in pieces)
        if data.startswith(GZIP):
            data = zlib.decompressobj(AS_GZIP).decompress(data, MOST_BYTES)
    except (ValueError, zlib.error):
        return None
    return data


def answer_of(text: str) -> dict[str, Any]:
    """Return the message of a stream or JSON response with `model`, `id` and `usage`; empty if it has none."""
    text = decoded(text)
    if text.lstrip().startswith("{"):
        value = mapping(json_in(text))
        found = answer_in(value)
        return answer_of_chunks([found]) if found else message_of_response(value) or _answer_at_once(value)
    chunks = objects(json_in(text)) if text.lstrip().startswith("[") else events_of(text)
    google = [found for chunk in chunks if (found := answer_in(chunk))]
    return answer_of_chunks(google) if google else answer_of_events(events_of(text)) or _answer_of_stream(text)


def _answer_at_once(value: Mapping[str, Any]) -> dict[str, Any]:
    choice = next(iter(objects(value.get("choices"))), {})
    message = mapping(choice.get("message")) or value
    return {**{name: value[name] for name in REPLY if name in value}, **message} if "role" in message else {}


def _answer_of_stream(stream: str) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    calls: dict[CallPlace, dict[str, Any]] = {}
    for event in events_of(stream):
        kind = string(event.get("type"))
        if kind == "message_start":
            message = mapping(event.get("message"))
            answer.update({name: message[name] for name in STARTS if name in message})
        elif kind == "content_block_start":
            blocks[_place(event)] = dict(mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            _apply_delta(blocks.setdefault(_place(event), {}), mapping(event.get("delta")))
        elif kind == "message_delta":
            # The final usage includes everything reported before; ignore its zeros and nulls.
            last = {name: value for name, value in mapping(event.get("usage")).items() if value}
            answer["usage"] = {**mapping(answer.get("usage")), **last}
            delta = mapping(event.get("delta"))
            if delta.get("diagnostics") is not None:  # a comparison that was still running at the start of the response
                answer["diagnostics"] = delta["diagnostics"]
        elif isinstance(event.get("choices"), list):
            _take_chunk(answer, calls, event)
    if blocks:
        answer["content"] = [_finished(blocks[place]) for place in sorted(blocks)]
    if calls:
        answer["tool_calls"] = [calls[place] for place in sorted(calls)]
    return {"role": "assistant", **answer} if "content" in answer or "tool_calls" in answer else answer


def _place(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _apply_delta(block: dict[str, Any], delta: Any) -> None:
    name = PIECES.get(string(delta.get("type")))
    if name is not None:
        block[name] = string(block.get(name)) + string(delta.get(name))


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    if "partial_json" not in block:
        return block
    text = block.pop("partial_json")
    value = json_in(text)
    return {**block, "input": value if isinstance(value, dict) else text}


def _call_at(calls: dict[CallPlace, dict[str, Any]], index: int, identifier: str) -> dict[str, Any]:
    """Return the tool call at an index, found by id too: Google's Chat endpoint uses index 0 for every call."""
    place = next((known for known in reversed(calls) if known.at == index), CallPlace(index, 0))
    before = string(calls[place]["id"]) if place in calls else ""
    if before and identifier and before != identifier:
        place = CallPlace(index, place.number + 1)
    return calls.setdefault(place, {"id": "", "function": {"name": "", "arguments": ""}})


def _take_chunk(answer: dict[str, Any], calls: dict[CallPlace, dict[str, Any]], chunk: dict[str, Any]) -> None:
    answer.update({name: chunk[name] for name in ("id", "model", "usage", SERVICE_TIER) if chunk.get(name)})
    for choice in objects(chunk.get("choices"))[:1]:
        delta = mapping(choice.get("delta"))
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(delta.get(name), str) and delta[name]:
                answer[name] = string(answer.get(name)) + delta[name]
        for call in objects(delta.get("tool_calls")):
            identifier = string(call.get("id"))
            known = _call_at(calls, _place(call), identifier)
            known["id"] = known["id"] or identifier
            for name in ("name", "arguments"):
                known["function"][name] += string(mapping(call.get("function")).get(name))
