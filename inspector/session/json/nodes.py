"""JSON values with their offsets, so that one entry of a large document can be read again."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from inspector.session.json.codec import BLANKS, UNDECODABLE, compact_json, decode_json, lenient_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from inspector.session.builder import SessionBuilder


Parts = TypeVar("Parts")

ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|u[0-9a-fA-F]{4}|.)",
    re.DOTALL,
)
"""Matches every escape in a JSON text; the group matches a lone surrogate, which truncated texts contain."""

BEGINNINGS = frozenset((b"{", b"[", b'"'))

NUMBERS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|(-?\b(?:NaN|Infinity)\b)', re.DOTALL)
"""Matches strings; the group matches numbers that Python writes and JSON does not allow."""


class Node(Protocol):
    """One JSON value.

    Attributes:
        offset: Byte offset in the file; for a value in memory, the index of its entry, or -1 if it is not an entry.
        length: Length in bytes; 0 in memory.
    """

    offset: int
    length: int

    def value(self) -> Any:
        """Decode the value leniently; return None if it is unreadable."""
        ...

    def raw(self) -> bytes:
        """Return the value as JSON."""
        ...

    def fields(self) -> Fields:
        """Return an object's fields; empty for anything else."""
        ...

    def items(self) -> list[Node]:
        """Return an array's items; empty for anything else."""
        ...


class Fields(dict[str, Node]):
    """The fields of an object. Missing fields are empty."""

    def value_of(self, name: str, default: Any = None) -> Any:
        """Return a field's value, or the default if it is missing."""
        return self[name].value() if name in self else default

    def values_of(self, *names: str) -> dict[str, Any]:
        """Return the values of the named fields that exist."""
        return {name: self[name].value() for name in names if name in self}

    def items_of(self, name: str) -> list[Node]:
        return self[name].items() if name in self else []

    def fields_of(self, name: str) -> Fields:
        return self[name].fields() if name in self else Fields()


class FileNode:
    """A value at a byte offset of a file."""

    def __init__(self, data: bytes | memoryview | msgspec.Raw, offset: int) -> None:
        """Skip blanks and a byte order mark before the value in `data`, which is at `offset` of its file."""
        if isinstance(data, bytes) and data[:1] not in BEGINNINGS:
            whole, data = len(data), data.lstrip(BLANKS.encode())
            offset += whole - len(data)
        self._data = data
        self.offset = offset
        self.length = len(memoryview(data))

    def value(self) -> Any:
        return decode_json(self._data)[0]

    def raw(self) -> bytes:
        return bytes(self._data)

    def fields(self) -> Fields:
        found, data = self._parts(OBJECT, {})
        start = _address(data) if found else 0
        return Fields({name: self._inside(raw, data, start) for name, raw in found.items()})

    def items(self) -> list[Node]:
        found, data = self._parts(ARRAY, [])
        start = _address(data) if found else 0
        return [self._inside(raw, data, start) for raw in found]

    def _parts(
        self, decoder: msgspec.json.Decoder[Parts], nothing: Parts
    ) -> tuple[Parts, bytes | memoryview | msgspec.Raw]:
        """Return the parts of the value, and the text they were decoded from, repaired if necessary."""
        try:
            return decoder.decode(self._data), self._data
        except UNDECODABLE:
            sound = repair_in_place(self.raw())
        try:
            return decoder.decode(sound), sound
        except UNDECODABLE:
            return nothing, sound

    def _inside(self, raw: msgspec.Raw, data: bytes | memoryview | msgspec.Raw, address: int) -> Node:
        # A raw value is a view into the decoded text, so its address yields its offset.
        start = _address(raw) - address
        if data is self._data:
            return FileNode(raw, self.offset + start)
        return FileNode(memoryview(self._data)[start : start + len(memoryview(raw))], self.offset + start)


class MemoryNode:
    """A value in memory."""

    def __init__(self, value: Any, offset: int = -1) -> None:
        self._value = value
        self.offset = offset
        self.length = 0

    def value(self) -> Any:
        return self._value

    def raw(self) -> bytes:
        return compact_json(self._value).encode(errors="replace")

    def fields(self) -> Fields:
        if not isinstance(self._value, dict):
            return Fields()
        return Fields({str(name): MemoryNode(value) for name, value in self._value.items()})

    def items(self) -> list[Node]:
        """Return an array's items with their indices; empty for anything else."""
        if not isinstance(self._value, (list, tuple)):
            return []
        return [MemoryNode(value, index) for index, value in enumerate(self._value)]


OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def repair_in_place(data: bytes) -> bytes:
    """Make a JSON text acceptable to a strict decoder without moving any offset.

    Replaces invalid UTF-8, lone surrogates, and numbers that JSON does not allow.
    """
    text = data.decode(errors="surrogateescape")
    data = "".join("?" if "\udc80" <= character <= "\udcff" else character for character in text).encode()
    data = ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
    return NUMBERS.sub(lambda found: b"0".ljust(len(found[0])) if found[1] else found[0], data)


def _address(data: bytes | memoryview | msgspec.Raw) -> int:
    import numpy as np  # not needed for the sessions of most agents

    return int(np.frombuffer(memoryview(data), dtype=np.uint8).__array_interface__["data"][0])


def object_nodes(nodes: Iterable[Node], what: str, builder: SessionBuilder) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the entries that are JSON objects, with their values; others become diagnostics.

    Args:
        nodes: The entries.
        what: Expected content, for diagnostics: `a message`.
        builder: Receives the diagnostics.
    """
    for node in nodes:
        value = node.value()
        if isinstance(value, dict):
            yield node, value
        else:
            builder.diagnose(f"not {what}", 0, max(node.offset, 0), skipped=True)


ESCAPED = re.compile(rb"[\[{ ]*\\")
"""Matches the beginning of an escaped JSON text: valid JSON has no backslash outside of strings."""

DATA = re.compile(rb"^data: ?(\{.*\})", re.MULTILINE)


def unescaped(record: bytes) -> bytes:
    """Return a record from inside a string as plain JSON; any other record unchanged."""
    return _decoded(b'"' + record + b'"') or record if ESCAPED.match(record) else record


def parse_inner_json(node: Node) -> Node | None:
    """Parse the JSON inside a string value; return None if there is none."""
    text, places = _text_of(node)
    return EscapedNode(FileNode(text, 0), places) if places and lenient_json(text)[0] is not None else None


def events_inside(node: Node) -> list[Node]:
    """Return the JSON objects in the events of a stream stored as a string; empty if it is not a stream.

    Streams are server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    """
    text, places = _text_of(node)
    if places is None:
        return []
    found = (FileNode(text[one.start(1) : one.end(1)], one.start(1)) for one in DATA.finditer(text))
    return [EscapedNode(event, places) for event in found]


def _text_of(node: Node) -> tuple[bytes, _Places | None]:
    """Return a string's text, and the mapping of its bytes to file offsets."""
    raw = node.raw()
    if not raw.startswith(b'"'):
        return b"", None
    sound = repair_in_place(raw)
    text = _decoded(sound)
    return text, _Places(sound, node.offset) if text else None


def _decoded(quoted: bytes) -> bytes:
    try:
        return msgspec.json.decode(quoted, type=str).encode()
    except UNDECODABLE:
        value = lenient_json(quoted)[0]
        return value.encode(errors="replace") if isinstance(value, str) else b""


class _Places:
    """Maps bytes of a string's text to file offsets, where the text is escaped."""

    def __init__(self, quoted: bytes, offset: int) -> None:
        """Map the text of a quoted string at `offset`."""
        self._ends, self._text_ends = [offset + 1], [0]
        end, text_end = 1, 0
        for found in ESCAPES.finditer(quoted):
            text_end += found.start() - end + _width(found[0])
            end = found.end()
            self._ends.append(offset + end)
            self._text_ends.append(text_end)

    def of(self, place: int) -> int:
        """Return the file offset of a byte of the text."""
        before = bisect_right(self._text_ends, place) - 1
        return self._ends[before] + place - self._text_ends[before]


def _width(escape: bytes) -> int:
    if escape[1:2] != b"u":
        return 1
    return 4 if len(escape) > len(b"\\u0000") else len(chr(int(escape[2:6], 16)).encode(errors="replace"))


class EscapedNode:
    """A value inside a string."""

    def __init__(self, inner: Node, places: _Places) -> None:
        self._inner = inner
        self._places = places
        self.offset = places.of(inner.offset)
        self.length = places.of(inner.offset + inner.length) - self.offset

    def value(self) -> object:
        return self._inner.value()

    def raw(self) -> bytes:
        """Return the value as JSON, unescaped."""
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields({name: EscapedNode(node, self._places) for name, node in self._inner.fields().items()})

    def items(self) -> list[Node]:
        return [EscapedNode(node, self._places) for node in self._inner.items()]


class ComputedNode:
    """A value computed from another one, at the same offset. The file does not contain it as JSON."""

    def __init__(self, node: Node, make: Callable[[Any], Any]) -> None:
        self._node = node
        self._make = make
        self.offset, self.length = node.offset, node.length

    def value(self) -> Any:
        return self._make(self._node.value())

    def raw(self) -> bytes:
        """Return the original value as JSON."""
        return self._node.raw()

    def fields(self) -> Fields:
        """Return no fields: the file does not contain them."""
        return Fields()

    def items(self) -> list[Node]:
        return []


class EmbeddedNode:
    """A value in a compressed or encoded text; the offset belongs to the whole text."""

    def __init__(self, inner: Node, at: Node, number: int) -> None:
        """Wrap a value of the text at `at`; `number` is the number of values before it."""
        self._inner = inner
        self.number = number
        self.offset, self.length = at.offset, at.length

    def value(self) -> object:
        return self._inner.value()

    def raw(self) -> bytes:
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields()

    def items(self) -> list[Node]:
        return []
