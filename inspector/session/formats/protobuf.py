"""Decode protobuf messages without their schema, by field number (protobuf.dev/programming-guides/encoding)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.json import (
    clean_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5
"""Wire types."""

FIXED_BYTES = {FIXED_64: 8, FIXED_32: 4}

MOST_SHIFT = 63
SIGN = 1 << 63


class ProtobufError(SessionError):
    """Bytes that are not a protobuf message."""


class ProtobufMessage:
    """One message. Nested messages are decoded when they are accessed.

    A path of field numbers leads to the first value of a field in nested messages. Missing fields are empty.
    """

    def __init__(self, data: bytes) -> None:
        """Decode the fields of a message. Raises `ProtobufError` if the bytes are truncated or not a message."""
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def number(self, *path: int) -> int:
        """Return an integer; 0 if missing. Negative integers are ten-byte varints."""
        value = self._value(*path)
        value = value if isinstance(value, int) else 0
        return value - 2 * SIGN if value >= SIGN else value

    def text(self, *path: int) -> str:
        """Return a string; empty if missing. Invalid UTF-8 becomes U+FFFD."""
        return clean_text(self.data(*path).decode(errors="replace"))

    def data(self, *path: int) -> bytes:
        """Return bytes; empty if missing."""
        value = self._value(*path)
        return value if isinstance(value, bytes) else b""

    def message(self, *path: int) -> ProtobufMessage:
        """Return a nested message; an empty one if missing."""
        return ProtobufMessage(self.data(*path))

    def messages(self, number: int) -> list[ProtobufMessage]:
        return [ProtobufMessage(value) for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def texts(self, number: int) -> list[str]:
        values = self._fields.get(number, ())
        return [clean_text(value.decode(errors="replace")) for value in values if isinstance(value, bytes)]

    def numbers(self, number: int) -> list[int]:
        """Return the integers of a repeated field, packed or not."""
        found: list[int] = []
        for value in self._fields.get(number, ()):
            found += [value] if isinstance(value, int) else _packed(value)
        return found

    def numeric_fields(self) -> frozenset[int]:
        """Return the numbers of fields with an integer other than 0."""
        return frozenset(
            number for number, values in self._fields.items() if any(isinstance(v, int) and v for v in values)
        )

    def __contains__(self, number: object) -> bool:
        return number in self._fields

    def _value(self, *path: int) -> int | bytes | None:
        *outer, last = path
        holder = self
        for number in outer:
            holder = holder.message(number)
        return next(iter(holder._fields.get(last, ())), None)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        if wire == LENGTH:
            length, place = _varint(data, place)
        elif wire in FIXED_BYTES:
            length = FIXED_BYTES[wire]
        else:
            raise ProtobufError(f"wire type {wire}")
        if number == 0 or length > len(data) - place:
            raise ProtobufError("truncated")
        yield number, data[place : place + length]
        place += length


def _packed(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _varint(data, place)
        found.append(value)
    return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift <= MOST_SHIFT:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7
    raise ProtobufError("truncated")
