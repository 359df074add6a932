"""Answers that came from Amazon Bedrock as frames (`application/vnd.amazon.eventstream`), put as server-sent events.

Checked against boto/botocore: `eventstream.py` (a frame: its length, that of its headers and their checksum, headers,
the payload, the checksum of all), and anthropics/anthropic-sdk-python: `lib/bedrock/_stream_decoder.py` (the payload of
a `chunk` holds an event of the Messages API in base64; other kinds of messages are exceptions). Events of the Converse
API are the payload itself, and the header says which.
"""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.bedrock_converse import EVENTS
from inspector.session.json.codec import json_in
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PRELUDE = struct.Struct("!III")
"""Length of the frame, of its headers, and the checksum of both."""

CHECKSUM = struct.Struct("!I")

STRING = 7
"""The type of a header's value that is a text: all that Bedrock writes."""

MESSAGE_TYPE, EVENT_TYPE = ":message-type", ":event-type"

EVENT, CHUNK = "event", "chunk"

CUT_OFF = "an event stream that is cut off or damaged"
FAILED = "an event stream that ended in an exception"
UNKNOWN = "an event stream with frames that are not understood"


class Frame(NamedTuple):
    """A frame.

    Attributes:
        headers: Those whose values are texts.
        payload: What it carries.
    """

    headers: dict[str, str]
    payload: bytes


def is_event_stream(data: bytes) -> bool:
    """Whether data begins with the prelude of a frame, which its checksum tells."""
    if len(data) < PRELUDE.size:
        return False
    _, _, checksum = PRELUDE.unpack_from(data)
    return zlib.crc32(data[: PRELUDE.size - CHECKSUM.size]) == int(checksum)


def events_text(data: bytes) -> str:
    """The events of a stream, as the text of server-sent events; those of a frame that is not whole are left out."""
    made = (event for frame in _frames(data) if (event := _event_of(frame)))
    return "".join(f"data: {json.dumps(event)}\n\n" for event in made)


def problem_of(data: bytes) -> str:
    """What is wrong with a stream; empty for a whole one."""
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
    """The whole frames of a stream, up to the first that is not one."""
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
    """The headers up to the first whose value is no text."""
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
    """The event that a frame carries, one of the Converse API in a field of its name; empty where it carries none."""
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
