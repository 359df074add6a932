"""Read the file, the lines or the address from a tool call's arguments; every agent names them differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from inspector.session.model import PREVIEW_CHARACTERS
from inspector.strategies.history.memo import TextMemo

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Block, Session

Found = TypeVar("Found")

PATH_ARGUMENTS = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "filename",
    "file",
    "target_file",
    "notebook_path",
    "AbsolutePath",
)
"""Argument names for a file, most common first."""

PART_ARGUMENTS = (
    "offset",
    "limit",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
    "view_range",
    "line_range",
    "start_line_one_indexed",
    "end_line_one_indexed_inclusive",
    "pages",
)
"""Argument names for a part of a file."""


class LineRange(NamedTuple):
    """Lines requested by a read; both None for all of them."""

    offset: float | None = None
    limit: float | None = None

    def covers(self, other: LineRange, usual: int) -> bool:
        """Return True if these lines include all lines of `other`; a read without a limit has `usual` lines."""
        if self.offset is None and self.limit is None:
            return True
        if other.offset is None and other.limit is None:
            return False
        start, other_start = self.offset or 0, other.offset or 0
        return start <= other_start and start + (self.limit or usual) >= other_start + (other.limit or usual)


def arguments_text(session: Session, call: Block) -> str:
    """Return a tool call's arguments as recorded. Short ones are in its preview, which saves reading the file.

    Raises:
        TextUnavailableError: The file no longer holds them.
    """
    return call.preview if call.characters <= PREVIEW_CHARACTERS else session.text(call)


def decoded(text: str) -> object:
    """Decode a JSON text; None if it is not valid JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def argument_memo(find: Callable[[dict[str, Any]], Found], missing: Found) -> TextMemo[Found]:
    """Memoize a function of a tool call's arguments.

    Args:
        find: The function.
        missing: Value if the arguments are not a JSON object or can no longer be read.
    """

    def of_text(text: str) -> Found:
        arguments = decoded(text)
        return find(arguments) if isinstance(arguments, dict) else missing

    return TextMemo(of_text, missing, arguments_text)


def _first(arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            value = " ".join(value)
        if isinstance(value, str) and value:
            return value
    return ""


def _lines(arguments: dict[str, Any]) -> LineRange:
    values = [arguments.get(name) for name in ("offset", "limit")]
    return LineRange(*(value if isinstance(value, (int, float)) and value == value else None for value in values))


path_of = argument_memo(lambda arguments: _first(arguments, PATH_ARGUMENTS), "")
"""The file a tool call names in its arguments; empty if it names none."""

url_of = argument_memo(lambda arguments: _first(arguments, ("url",)), "")
"""The address a tool call opens; empty if it opens none."""

names_a_part = argument_memo(lambda given: any(given.get(name) is not None for name in PART_ARGUMENTS), False)
"""True if a tool call requests only a part of a file."""

lines_of = argument_memo(_lines, LineRange())
"""Lines requested by a read."""
