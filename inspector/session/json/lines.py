"""JSON lines: as plain objects, and as typed records for formats that name the fields they need.

Typed records are decoded a slice of the file at a time, in one call into msgspec structs. When that call fails, the
lines of this slice are decoded one by one, and a line that fails is read once more leniently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from inspector.session.json.codec import UNDECODABLE, decode_json, lenient_json, salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.builder import SessionBuilder

Record = TypeVar("Record", bound=msgspec.Struct)


def line_bounds(data: bytes) -> list[tuple[int, int, int]]:
    r"""Start, end and number of every line of `data`, line ends excluded, empty lines counted and left out.

    Only `\n` ends a line (a `\r` before it belongs to the line end); what follows the last one is a line too.
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


class ObjectLine(NamedTuple):
    """One line that holds an object.

    Attributes:
        value: The object.
        data: The line's bytes, line end excluded.
        offset: Where they stand in the file.
        line: 1-based number of the line.
    """

    value: dict[str, Any]
    data: bytes
    offset: int
    line: int


def object_of(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """The object in a line, None where there is none, and what had to be changed to read it."""
    value, problem = decode_json(data)
    return (value, problem) if isinstance(value, dict) else (None, problem or "not a JSON object")


def object_lines(
    data: bytes, offset: int, first_line: int, builder: SessionBuilder, inner: str = ""
) -> Iterator[ObjectLine]:
    """The objects in whole lines; what cannot be read becomes a diagnostic.

    Args:
        data: The lines.
        offset: Where they stand in the file.
        first_line: 1-based number of the first of them.
        builder: Where diagnostics go.
        inner: The field that holds what a line says. One that holds no object becomes a diagnostic, too.
    """
    for start, end, number in line_bounds(data):
        line = data[start:end]
        value, problem = object_of(line)
        if problem:
            builder.diagnose(problem, first_line + number, offset + start, skipped=value is None)
        if value is not None:
            if inner and not isinstance(value.get(inner, {}), dict):
                builder.diagnose(f"unexpected type of {inner}", first_line + number, offset + start, skipped=False)
            yield ObjectLine(value, line, offset + start, first_line + number)


class Line(NamedTuple, Generic[Record]):
    """One line of a slice.

    Attributes:
        record: What it says, None when it cannot be read.
        start: Byte offset of the line inside the slice.
        end: Byte offset of its end, line end excluded.
        number: Number of lines before it in the slice, empty ones included.
        problem: What had to be changed or left out; empty for a sound line.
    """

    record: Record | None
    start: int
    end: int
    number: int
    problem: str = ""


class RecordDecoder(Generic[Record]):
    """Decodes JSON lines into one struct type.

    Attributes:
        type: The struct type. All its fields need defaults, so that any object can be read as one.
    """

    def __init__(self, record_type: type[Record]) -> None:
        self.type = record_type
        self._decoder = msgspec.json.Decoder(record_type)

    def lines(self, data: bytes) -> Iterator[Line[Record]]:
        """Every line of a slice that ends at a line end, in order."""
        bounds = line_bounds(data)
        try:
            records = self._decoder.decode_lines(data)
        except UNDECODABLE:
            records = []
        # Two objects on one line count as two records for the decoder and are one bad line for everybody else.
        if len(records) == len(bounds) and all(data[start] == 123 for start, _, _ in bounds):  # {
            for record, (start, end, number) in zip(records, bounds, strict=True):
                yield Line(record, start, end, number)
            return
        for start, end, number in bounds:
            decoded, problem = self.decode(data[start:end])
            yield Line(decoded, start, end, number, problem)

    def decode(self, line: bytes) -> tuple[Record | None, str]:
        """One record and what was wrong with it; None where nothing can be read at all."""
        try:
            return self._decoder.decode(line), ""
        except UNDECODABLE:
            return self._decode_leniently(line)

    def _decode_leniently(self, line: bytes) -> tuple[Record | None, str]:
        value, problem = lenient_json(line)
        if not isinstance(value, dict):
            return None, problem or "not a JSON object"
        try:
            record, ill_typed = salvage(value, self.type)
        except RecursionError:
            return None, "JSON nested too deeply"
        if ill_typed:
            problem = problem or f"unexpected type of {', '.join(sorted(ill_typed)[:3])}"
        return record, problem
