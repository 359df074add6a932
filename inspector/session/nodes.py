"""Values inside a JSON text, with where they stand in it: what lets one entry of a large document be read again."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from inspector.session.blocks import compact_json
from inspector.session.decoding import lenient_json

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


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

    def __init__(self, data: bytes | msgspec.Raw, offset: int) -> None:
        """The value whose JSON is `data`, at `offset` of its file."""
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
        try:
            return {name: self._inside(raw) for name, raw in OBJECT.decode(self._data).items()}
        except UNREADABLE:
            return {}

    def items(self) -> list[Node]:
        """An array's items; empty for anything else."""
        try:
            return [self._inside(raw) for raw in ARRAY.decode(self._data)]
        except UNREADABLE:
            return []

    def _inside(self, raw: msgspec.Raw) -> Node:
        # A raw value is a view into the text it was decoded from, so that its address tells where it stands.
        return FileNode(raw, self.offset + _address(raw) - _address(self._data))


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


def _address(data: bytes | msgspec.Raw) -> int:
    import numpy as np  # not needed to open the sessions of most agents

    return int(np.frombuffer(memoryview(data), dtype=np.uint8).ctypes.data)
