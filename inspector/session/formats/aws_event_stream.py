"""Convert Amazon Bedrock responses in frames (`application/vnd.amazon.eventstream`) to server-sent events.

Checked against boto/botocore `eventstream.py` (frame layout: total length, headers length, checksum of both, headers,
payload, checksum of the frame) and anthropics/anthropic-sdk-python `lib/bedrock/_stream_decoder.py` (the payload of a
`chunk` is a base64-encoded Messages API event; other message types are exceptions). For the Converse API the payload is
the event itself and a header names its type.
"""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.bedrock_converse import EVENTS
from inspector.session.json import json_in, mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    """One frame of an event stream.

    Attributes:
        headers: The headers with string values.
        payload: The message body.
    """

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
