"""Find the results of file reads, with the file, the lines or the address in their arguments.

Every agent names the arguments differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from inspector.session.model import BlockKind, Session
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.memo import TextMemo, cached_per_history
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History


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


def decoded(text: str) -> object:
    """Decode a JSON text; None if it is not valid JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def argument_memo(find: Callable[[dict[str, Any]], Found], missing: Found) -> TextMemo[Found]:
    """Memoize a function of a call's arguments; `missing` if they are not an object, or gone."""

    def of_text(text: str) -> Found:
        arguments = decoded(text)
        return find(arguments) if isinstance(arguments, dict) else missing

    return TextMemo(of_text, missing, Session.quick_text)


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


class Reads(NamedTuple):
    """Results of reads with a known file: block indices, and the index of each file in `paths`, int32."""

    results: NDArray[np.int32]
    files: NDArray[np.int32]
    paths: tuple[str, ...]


@cached_per_history
def reads_of(history: History, extra_tools: tuple[str, ...]) -> Reads:
    """Return the results of reads with a known file, by the tools of the table and `extra_tools`."""
    reads = tool_kind_mask(history.tool_names, (ToolKind.READ,), extra_tools)
    results = history.results_of(reads)
    results = results[history.call_block[results] >= 0]
    blocks, session = history.session.blocks, history.session
    calls = [blocks[call] for call in history.call_block[results].tolist()]
    numbers: dict[str, int] = {"": -1}
    paths = path_of.each(session, calls)
    files = np.array([numbers.setdefault(path, len(numbers) - 1) for path in paths], dtype=np.int32)
    return Reads(results[files >= 0], files[files >= 0], tuple(numbers)[1:])


class FileUse(NamedTuple):
    """A call that reads or changes a file.

    Attributes:
        block: The call's block index.
        message: The message's place in the context.
        call: The first call of the context that sends it.
        result: Block index of its result, -1 if none is sent.
        result_call: The first call of the context that sends the result; equal to `call` without a result.
    """

    block: int
    message: int
    call: int
    path: str
    changes: bool
    result: int
    result_call: int


class ContextUses(NamedTuple):
    """The uses of files in one context; `retained` are carried-over results with the first call that sends them."""

    uses: list[FileUse]
    retained: list[tuple[int, int]]


def file_uses(history: History, read_tools: tuple[str, ...], edit_tools: tuple[str, ...]) -> Iterator[ContextUses]:
    """Yield the uses of files in every context, by the table's tools and those given in addition."""
    reads = tool_kind_mask(history.tool_names, (ToolKind.READ,), read_tools)[history.tool]
    edits = tool_kind_mask(history.tool_names, (ToolKind.EDIT, ToolKind.WRITE), edit_tools)[history.tool]
    blocks = history.session.blocks
    is_call = history.kind == BlockKind.TOOL_CALL
    place = np.zeros(len(history.message_enters), dtype=np.int32)
    chosen = (is_call | (history.kind == BlockKind.TOOL_RESULT)) & (reads | edits)
    for context, members in zip(arrivals(history, chosen), history.context_members, strict=True):
        place[members] = np.arange(len(members))
        results: dict[int, tuple[int, int]] = {}
        calls: list[tuple[int, int]] = []
        for block, call in zip(context.blocks.tolist(), context.calls.tolist(), strict=True):
            if is_call[block]:
                calls.append((block, call))
            else:
                results[int(history.call_block[block])] = block, call
        paths = path_of.each(history.session, (blocks[block] for block, _ in calls))
        uses = []
        for (block, call), path in zip(calls, paths, strict=True):
            if path:
                result, result_call = results.get(block, (-1, call))
                message = int(place[history.message[block]])
                uses.append(FileUse(block, message, call, path, bool(edits[block]), result, result_call))
        retained = [
            (block, call)
            for block, call in zip(
                context.blocks[: context.retained].tolist(), context.calls[: context.retained].tolist(), strict=True
            )
            if not is_call[block]
        ]
        yield ContextUses(uses, retained)
