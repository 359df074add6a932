"""Values inside a JSON text, with where they stand in it: what lets one entry of a large document be read again."""

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
"""Every escape in a JSON text; one of half a surrogate pair, as texts that were cut have it, in the group."""

BEGINNINGS = frozenset((b"{", b"[", b'"'))

NUMBERS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|(-?\b(?:NaN|Infinity)\b)', re.DOTALL)
"""Strings, and in the group numbers that Python writes and JSON does not have."""


class Node(Protocol):
    """One JSON value.

    Attributes:
        offset: Where it stands: a byte offset in a file, or an entry's index in memory, -1 for what is no entry.
        length: Its length in bytes; 0 in memory.
    """

    offset: int
    length: int

    def value(self) -> Any:
        """The value, read leniently; None for what cannot be read."""
        ...

    def raw(self) -> bytes:
        """The value as JSON."""
        ...

    def fields(self) -> Fields:
        """An object's fields; empty for anything else."""
        ...

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        ...


class Fields(dict[str, Node]):
    """The fields of an object; of those that are not there, nothing."""

    def value_of(self, name: str, default: Any = None) -> Any:
        """A field's value, or what is given for one that is not there."""
        return self[name].value() if name in self else default

    def values_of(self, *names: str) -> dict[str, Any]:
        """The values of those of the named fields that there are."""
        return {name: self[name].value() for name in names if name in self}

    def items_of(self, name: str) -> list[Node]:
        """The items of an array in a field."""
        return self[name].items() if name in self else []

    def fields_of(self, name: str) -> Fields:
        """The fields of an object in a field."""
        return self[name].fields() if name in self else Fields()


class FileNode:
    """A value at a byte offset of a file."""

    def __init__(self, data: bytes | memoryview | msgspec.Raw, offset: int) -> None:
        """The value whose JSON is `data`, at `offset` of its file, without blanks and byte order mark before it."""
        if isinstance(data, bytes) and data[:1] not in BEGINNINGS:
            whole, data = len(data), data.lstrip(BLANKS.encode())
            offset += whole - len(data)
        self._data = data
        self.offset = offset
        self.length = len(memoryview(data))

    def value(self) -> Any:
        """The value, read leniently; None for what cannot be read."""
        return decode_json(self._data)[0]

    def raw(self) -> bytes:
        """The value as JSON."""
        return bytes(self._data)

    def fields(self) -> Fields:
        """An object's fields; empty for anything else."""
        found, data = self._parts(OBJECT, {})
        start = _address(data) if found else 0
        return Fields({name: self._inside(raw, data, start) for name, raw in found.items()})

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        found, data = self._parts(ARRAY, [])
        start = _address(data) if found else 0
        return [self._inside(raw, data, start) for raw in found]

    def _parts(
        self, decoder: msgspec.json.Decoder[Parts], nothing: Parts
    ) -> tuple[Parts, bytes | memoryview | msgspec.Raw]:
        """What the value is made of, and the text that was taken apart: this one, or a sound one of the same length."""
        try:
            return decoder.decode(self._data), self._data
        except UNDECODABLE:
            sound = sound_of_same_length(self.raw())
        try:
            return decoder.decode(sound), sound
        except UNDECODABLE:
            return nothing, sound

    def _inside(self, raw: msgspec.Raw, data: bytes | memoryview | msgspec.Raw, address: int) -> Node:
        # A raw value is a view into the text it was decoded from, so that its address tells where it stands.
        start = _address(raw) - address
        if data is self._data:
            return FileNode(raw, self.offset + start)
        return FileNode(memoryview(self._data)[start : start + len(memoryview(raw))], self.offset + start)


class MemoryNode:
    """A value that was given in memory."""

    def __init__(self, value: Any, offset: int = -1) -> None:
        """The value, and its place among the entries it belongs to."""
        self._value = value
        self.offset = offset
        self.length = 0

    def value(self) -> Any:
        """The value itself."""
        return self._value

    def raw(self) -> bytes:
        """The value as JSON."""
        return compact_json(self._value).encode(errors="replace")

    def fields(self) -> Fields:
        """An object's fields; empty for anything else."""
        if not isinstance(self._value, dict):
            return Fields()
        return Fields({str(name): MemoryNode(value) for name, value in self._value.items()})

    def items(self) -> list[Node]:
        """An array's items, each with its index; empty for anything else."""
        if not isinstance(self._value, (list, tuple)):
            return []
        return [MemoryNode(value, index) for index, value in enumerate(self._value)]


OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def sound_of_same_length(data: bytes) -> bytes:
    """A JSON text with what a strict decoder does not take replaced, and everything in the place where it was.

    Invalid UTF-8, halves of surrogate pairs, and numbers that JSON does not have.
    """
    text = data.decode(errors="surrogateescape")
    data = "".join("?" if "\udc80" <= character <= "\udcff" else character for character in text).encode()
    data = ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
    return NUMBERS.sub(lambda found: b"0".ljust(len(found[0])) if found[1] else found[0], data)


def _address(data: bytes | memoryview | msgspec.Raw) -> int:
    import numpy as np  # not needed to open the sessions of most agents

    return int(np.frombuffer(memoryview(data), dtype=np.uint8).__array_interface__["data"][0])


def objects_among(nodes: Iterable[Node], what: str, builder: SessionBuilder) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Those of some entries that are JSON objects, with their values; what is none becomes a diagnostic.

    Args:
        nodes: The entries.
        what: What they should be: `a message`.
        builder: Takes the diagnostics.
    """
    for node in nodes:
        value = node.value()
        if isinstance(value, dict):
            yield node, value
        else:
            builder.diagnose(f"not {what}", 0, max(node.offset, 0), skipped=True)


ESCAPED = re.compile(rb"[\[{ ]*\\")
"""How an escaped JSON text begins: no sound one has a backslash outside of strings."""

DATA = re.compile(rb"^data: ?(\{.*\})", re.MULTILINE)


def unescaped(record: bytes) -> bytes:
    """A record of a value inside a string as plain JSON; any other record as it is."""
    return _decoded(b'"' + record + b'"') or record if ESCAPED.match(record) else record


def inside_string(node: Node) -> Node | None:
    """The value that a string holds as JSON; None where it holds none, or is no string."""
    text, places = _text_of(node)
    return EscapedNode(FileNode(text, 0), places) if places and lenient_json(text)[0] is not None else None


def events_inside(node: Node) -> list[Node]:
    """The JSON objects that the events of a stream carry whose text is a string; empty where it is none.

    Streams are server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    """
    text, places = _text_of(node)
    if places is None:
        return []
    found = (FileNode(text[one.start(1) : one.end(1)], one.start(1)) for one in DATA.finditer(text))
    return [EscapedNode(event, places) for event in found]


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
    except UNDECODABLE:
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


class EscapedNode:
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

    def fields(self) -> Fields:
        """An object's fields; empty for anything else."""
        return Fields({name: EscapedNode(node, self._places) for name, node in self._inner.fields().items()})

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        return [EscapedNode(node, self._places) for node in self._inner.items()]


class MadeNode:
    """A value that is made of another one, in whose place it stands: nothing of it is in the file as JSON."""

    def __init__(self, node: Node, make: Callable[[Any], Any]) -> None:
        """The value it is made of, and what makes it."""
        self._node = node
        self._make = make
        self.offset, self.length = node.offset, node.length

    def value(self) -> Any:
        """What is made."""
        return self._make(self._node.value())

    def raw(self) -> bytes:
        """What it is made of, as JSON."""
        return self._node.raw()

    def fields(self) -> Fields:
        """Nothing of it stands in the file as JSON."""
        return Fields()

    def items(self) -> list[Node]:
        """Nothing of it stands in the file as JSON."""
        return []


class PackedNode:
    """A value in a text that stands packed in the file: its place is that of the whole."""

    def __init__(self, inner: Node, at: Node, number: int) -> None:
        """The value, where the whole stands, and how many such values are before it."""
        self._inner = inner
        self.number = number
        self.offset, self.length = at.offset, at.length

    def value(self) -> object:
        """The value."""
        return self._inner.value()

    def raw(self) -> bytes:
        """The value as JSON."""
        return self._inner.raw()

    def fields(self) -> Fields:
        """Nothing of it stands in the file as JSON."""
        return Fields()

    def items(self) -> list[Node]:
        """Nothing of it stands in the file as JSON."""
        return []
