"""JSON lines as plain objects, for formats whose records have too many shapes to name their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from inspector.session.decoding import lenient_json, line_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.assembly import Assembly

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


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
    try:
        value, problem = msgspec.json.decode(data), ""
    except UNREADABLE:
        value, problem = lenient_json(data)
    return (value, problem) if isinstance(value, dict) else (None, problem or "not a JSON object")


def object_lines(
    data: bytes, offset: int, first_line: int, assembly: Assembly, inner: str = ""
) -> Iterator[ObjectLine]:
    """The objects in whole lines; what cannot be read becomes a diagnostic.

    Args:
        data: The lines.
        offset: Where they stand in the file.
        first_line: 1-based number of the first of them.
        assembly: Where diagnostics go.
        inner: The field that holds what a line says. One that holds no object becomes a diagnostic, too.
    """
    for start, end, number in line_bounds(data):
        line = data[start:end]
        value, problem = object_of(line)
        if problem:
            assembly.diagnose(problem, first_line + number, offset + start, skipped=value is None)
        if value is not None:
            if inner and not isinstance(value.get(inner, {}), dict):
                assembly.diagnose(f"unexpected type of {inner}", first_line + number, offset + start, skipped=False)
            yield ObjectLine(value, line, offset + start, first_line + number)
