"""Values inside a JSON text that stands in another one as a string: where each of them stands, and reading it again.

Logging proxies write the bodies of requests and answers like that. A value's record is then the escaped text between
the quotes, as it stands in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

from inspector.session.decoding import lenient_json
from inspector.session.nodes import ESCAPES, UNREADABLE, FileNode, Node, sound_of_same_length

ESCAPED = re.compile(rb"[\[{ ]*\\")
"""How an escaped JSON text begins: no sound one has a backslash outside of strings."""

DATA = re.compile(rb"^data: ?(\{.*\})", re.MULTILINE)


def unescaped(record: bytes) -> bytes:
    """A record of a value inside a string as plain JSON; any other record as it is."""
    return _decoded(b'"' + record + b'"') or record if ESCAPED.match(record) else record


def inside_string(node: Node) -> Node | None:
    """The value that a string holds as JSON; None where it holds none, or is no string."""
    text, places = _text_of(node)
    return InsideNode(FileNode(text, 0), places) if places and lenient_json(text)[0] is not None else None


def events_inside(node: Node) -> list[Node]:
    """The JSON objects that the events of a stream carry whose text is a string; empty where it is none.

    Streams are server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    """
    text, places = _text_of(node)
    if places is None:
        return []
    found = (FileNode(text[one.start(1) : one.end(1)], one.start(1)) for one in DATA.finditer(text))
    return [InsideNode(event, places) for event in found]


def _text_of(node: Node) -> tuple[bytes, _Places | None]:
    """A string's text, and where its bytes stand in the file."""
    raw = node.raw()
    if not raw.startswith(b'"'):
        return b"", None
    sound = sound_of_same_length(raw)
    text = _decoded(sound)
    return text, _Places(sound, node.offset) if text else None


def _decoded(quoted: bytes) -> bytes:
    try:
        return msgspec.json.decode(quoted, type=str).encode()
    except UNREADABLE:
        value = lenient_json(quoted)[0]
        return value.encode(errors="replace") if isinstance(value, str) else b""


class _Places:
    """Where in a file the bytes of a string's text stand that are escaped there."""

    def __init__(self, quoted: bytes, offset: int) -> None:
        """The string with its quotes, and where it stands."""
        self._ends, self._text_ends = [offset + 1], [0]
        end, text_end = 1, 0
        for found in ESCAPES.finditer(quoted):
            text_end += found.start() - end + _width(found[0])
            end = found.end()
            self._ends.append(offset + end)
            self._text_ends.append(text_end)

    def of(self, place: int) -> int:
        """The offset in the file of a byte of the text."""
        before = bisect_right(self._text_ends, place) - 1
        return self._ends[before] + place - self._text_ends[before]


def _width(escape: bytes) -> int:
    """How many bytes of UTF-8 an escape stands for."""
    if escape[1:2] != b"u":
        return 1
    return 4 if len(escape) > len(b"\\u0000") else len(chr(int(escape[2:6], 16)).encode(errors="replace"))


class InsideNode:
    """A value inside a string."""

    def __init__(self, inner: Node, places: _Places) -> None:
        """The value as it stands in the string's text, and where that text stands."""
        self._inner = inner
        self._places = places
        self.offset = places.of(inner.offset)
        self.length = places.of(inner.offset + inner.length) - self.offset

    def value(self) -> object:
        """The value."""
        return self._inner.value()

    def raw(self) -> bytes:
        """The value as JSON, not escaped."""
        return self._inner.raw()

    def fields(self) -> dict[str, Node]:
        """An object's fields; empty for anything else."""
        return {name: InsideNode(node, self._places) for name, node in self._inner.fields().items()}

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        return [InsideNode(node, self._places) for node in self._inner.items()]
