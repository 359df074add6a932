"""Answers that came as a stream of server-sent events, put together as if they had come at once.

Events are those of Anthropic's Messages API (https://docs.anthropic.com/en/docs/build-with-claude/streaming) and of
Amazon Bedrock's Converse API, chunks
those of OpenAI's chat completions and of Google's API, which also come as one array.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.billing_terms import SERVICE_TIER
from inspector.session.formats.aws_event_stream import events_text, is_event_stream
from inspector.session.formats.bedrock_converse import answer_at_once, answer_of_events
from inspector.session.formats.google_content import answer_in, answer_of_chunks
from inspector.session.json.codec import json_in
from inspector.session.json.nodes import MadeNode
from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inspector.session.json.nodes import Node

DONE = "[DONE]"

LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line of a stream: other separators of lines stand in texts."""

BEGINNINGS = ("data:", "event:", "id:", ":", "{")
"""How the text of a body begins that is not in base64."""

GZIP, AS_GZIP = b"\x1f\x8b", 31

MOST_BYTES = 1 << 28
"""A body that would be larger uncompressed is cut there."""

REPLY = ("id", "model", "usage", "created", "diagnostics", SERVICE_TIER)
"""Fields beside an answer that say something of the call."""

STARTS = ("id", "model", "role", "usage", "diagnostics")
"""What the event that begins an answer says of it."""

PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Kinds of deltas and the field that each goes on in."""


class CallPlace(NamedTuple):
    """Which call of an answer a piece is of.

    Attributes:
        at: The index that the stream has it at.
        number: Of those calls that it has at that index.
    """

    at: int
    number: int


def stream_node(node: Node) -> MadeNode:
    """An answer that stands in the log as a string, the text of its stream or JSON, as the message it carries."""
    return MadeNode(node, lambda text: answer_of(string(text)))


def events_of(stream: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a stream's events carry; what is cut off or no JSON is left out."""
    for line in LINE_END.split(stream):
        if line.startswith("data:") and (data := line[5:].strip()) != DONE:
            value = json_in(data)
            if isinstance(value, dict):
                yield value


def decoded(text: str) -> str:
    """The text of a body, which some logs write in base64, and some of those in pieces and compressed.

    Polly.js writes a list of pieces, compressed as they came where the response says that it is. What came in frames
    from Amazon Bedrock is put as the server-sent events that others send.
    """
    data = data_of(text)
    if data is None:
        return text
    return events_text(data) if is_event_stream(data) else data.decode(errors="replace")


def data_of(text: str) -> bytes | None:
    """The bytes of a body that is written in base64; None for one that is not."""
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
    """The message that a stream, or JSON, carries, with `model`, `id` and `usage`; empty where it carries none."""
    text = decoded(text)
    if text.lstrip().startswith("{"):
        value = mapping(json_in(text))
        found = answer_in(value)
        return answer_of_chunks([found]) if found else answer_at_once(value) or _answer_at_once(value)
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
            _go_on(blocks.setdefault(_place(event), {}), mapping(event.get("delta")))
        elif kind == "message_delta":
            # What is reported at the end counts what was sent until then; zeros and nothings do not.
            last = {name: value for name, value in mapping(event.get("usage")).items() if value}
            answer["usage"] = {**mapping(answer.get("usage")), **last}
            delta = mapping(event.get("delta"))
            if delta.get("diagnostics") is not None:  # a comparison that was not done when the answer began
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


def _go_on(block: dict[str, Any], delta: Any) -> None:
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
    """The call that goes on, or begins, at an index.

    Google's chat completions put every call at the first one, and tell them apart by their ids.
    """
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
