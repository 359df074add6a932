"""Decode JSON lines: as any values, as plain objects, or as structs with the fields a format needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from inspector.session.json.codec import UNDECODABLE, decode_json, lenient_json, salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = TypeVar("Value")
Struct = TypeVar("Struct", bound=msgspec.Struct)


def line_bounds(data: bytes) -> list[tuple[int, int, int]]:
    r"""Return start, end and number of every line of `data`, without line ends and empty lines, which are counted.

    Only `\n` ends a line (a `\r` before it belongs to the line end); the text after the last one is a line too.
    """
    bounds = []
    start, length, number = 0, len(data), 0
    find = data.find
    while start < length:
        newline = find(b"\n", start)
        end = newline if newline >= 0 else length
        following = end + 1
        if end > start and data[end - 1] == 13:  # \r
            end -= 1
        if end > start:
            bounds.append((start, end, number))
        start = following
        number += 1
    return bounds


def object_of(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Decode the object in a line; return None if there is none, and the problem."""
    value, problem = decode_json(data)
    return (value, problem) if isinstance(value, dict) else (None, problem or "not a JSON object")


MOST_GLUED = 50
"""Limit on the places in an invalid line where a record may begin."""

MOST_SHAPES = 500


class RecordShapes:
    """Forms of the records in a file, to find whole records in a line that a crash left torn."""

    def __init__(self, *pieces: bytes) -> None:
        """Note the field names of the valid lines in some pieces of the file."""
        self._shapes: set[frozenset[str]] = set()
        self._beginnings: set[bytes] = set()
        for piece in pieces:
            for start, end, _ in line_bounds(piece)[:MOST_SHAPES]:
                value, problem = decode_json(piece[start:end])
                if isinstance(value, dict) and value and not problem:
                    self._shapes.add(frozenset(value))
                    self._beginnings.add(piece[start : piece.index(b'"', piece.index(b'"', start) + 1) + 1])

    def records_in(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Yield start and end of the whole records in an invalid line, in order."""
        starts = sorted(start for beginning in self._beginnings for start in _places(line, beginning))[:MOST_GLUED]
        free = 0
        for number, start in enumerate(starts):
            if start < free:
                continue
            for end in (*starts[number + 1 :], len(line)):
                piece = line[start:end].rstrip()
                if self._is_record(piece):
                    free = end
                    yield start, start + len(piece)
                    break

    def _is_record(self, piece: bytes) -> bool:
        if not piece.endswith(b"}"):
            return False
        value, problem = decode_json(piece)
        return isinstance(value, dict) and not problem and frozenset(value) in self._shapes


def _places(line: bytes, part: bytes) -> Iterator[int]:
    place = line.find(part)
    while place >= 0:
        yield place
        place = line.find(part, place + 1)


class JsonLine(NamedTuple, Generic[Value]):
    """One line of a slice.

    Attributes:
        value: Its value, None if it is not readable.
        start: Byte offset of the line inside the slice.
        end: Byte offset of its end, without the line end.
        number: Number of lines before it in the slice, including empty ones.
        problem: Description of repairs and dropped fields; empty for a valid line.
    """

    value: Value | None
    start: int
    end: int
    number: int
    problem: str = ""


class LineDecoder(Protocol):
    """Decodes whole lines."""

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Any]]:
        """Yield all lines of a slice, in order. The slice must end at a line end."""
        ...


class ValueDecoder:
    """Decodes lines as any JSON values."""

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Any]]:
        """Yield all lines of a slice, in order. `null` counts as unreadable."""
        for start, end, number in line_bounds(data):
            value, problem = decode_json(data[start:end])
            yield JsonLine(value, start, end, number, problem or ("not a JSON object" if value is None else ""))


class ObjectDecoder:
    """Decodes lines as plain objects, for formats with too many record shapes to list their fields."""

    def __init__(self, inner: str = "") -> None:
        """Create a decoder.

        Args:
            inner: The field with a line's content. If it is not an object, the line has a problem.
        """
        self._inner = inner

    def lines(self, data: bytes, /) -> Iterator[JsonLine[dict[str, Any]]]:
        inner = self._inner
        for start, end, number in line_bounds(data):
            value, problem = object_of(data[start:end])
            if inner and value is not None and not problem and not isinstance(value.get(inner, {}), dict):
                problem = f"unexpected type of {inner}"
            yield JsonLine(value, start, end, number, problem)


class StructDecoder(Generic[Struct]):
    """Decodes lines as one struct type with only the needed fields: the fastest way.

    A slice of the file is decoded in one call. If that fails, its lines are decoded one at a time; a line that fails is
    decoded leniently, dropping fields of an unexpected type.

    Attributes:
        type: The struct type. All its fields need defaults, so that any object can be decoded.
    """

    def __init__(self, struct: type[Struct]) -> None:
        self.type = struct
        self._decoder = msgspec.json.Decoder(struct)

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Struct]]:
        bounds = line_bounds(data)
        try:
            values = self._decoder.decode_lines(data)
        except UNDECODABLE:
            values = []
        # The decoder accepts two objects on one line, which everywhere else is one invalid line.
        if len(values) == len(bounds) and all(data[start] == 123 for start, _, _ in bounds):  # {
            for value, (start, end, number) in zip(values, bounds, strict=True):
                yield JsonLine(value, start, end, number)
            return
        for start, end, number in bounds:
            decoded, problem = self.decode(data[start:end])
            yield JsonLine(decoded, start, end, number, problem)

    def decode(self, line: bytes) -> tuple[Struct | None, str]:
        """Decode one line; return the struct, or None if it is unreadable, and the problem."""
        try:
            return self._decoder.decode(line), ""
        except UNDECODABLE:
            return self._decode_leniently(line)

    def _decode_leniently(self, line: bytes) -> tuple[Struct | None, str]:
        value, problem = lenient_json(line)
        if not isinstance(value, dict):
            return None, problem or "not a JSON object"
        try:
            struct, ill_typed = salvage(value, self.type)
        except RecursionError:
            return None, "JSON nested too deeply"
        if ill_typed:
            problem = problem or f"unexpected type of {', '.join(sorted(ill_typed)[:3])}"
        return struct, problem
