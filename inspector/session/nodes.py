"""Values inside a JSON text, with where they stand in it: what lets one entry of a large document be read again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from inspector.session.blocks import compact_json
from inspector.session.decoding import BLANKS, lenient_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.assembly import Assembly

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

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

    def fields(self) -> dict[str, Node]:
        """An object's fields; empty for anything else."""
        ...

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        ...


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
        try:
            return msgspec.json.decode(self._data)
        except UNREADABLE:
            return lenient_json(self.raw())[0]

    def raw(self) -> bytes:
        """The value as JSON."""
        return bytes(self._data)

    def fields(self) -> dict[str, Node]:
        """An object's fields; empty for anything else."""
        found, data = self._parts(OBJECT, {})
        start = _address(data) if found else 0
        return {name: self._inside(raw, data, start) for name, raw in found.items()}

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
        except UNREADABLE:
            sound = sound_of_same_length(self.raw())
        try:
            return decoder.decode(sound), sound
        except UNREADABLE:
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

    def fields(self) -> dict[str, Node]:
        """An object's fields; empty for anything else."""
        if not isinstance(self._value, dict):
            return {}
        return {str(name): MemoryNode(value) for name, value in self._value.items()}

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


def objects_among(nodes: Iterable[Node], what: str, assembly: Assembly) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Those of some entries that are JSON objects, with their values; what is none becomes a diagnostic.

    Args:
        nodes: The entries.
        what: What they should be: `a message`.
        assembly: Takes the diagnostics.
    """
    for node in nodes:
        value = node.value()
        if isinstance(value, dict):
            yield node, value
        else:
            assembly.diagnose(f"not {what}", 0, max(node.offset, 0), skipped=True)
