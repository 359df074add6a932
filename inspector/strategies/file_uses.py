"""Which files tool calls read and change, in the order they were called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arguments import paths_of
from inspector.strategies.arrivals import arrivals
from inspector.strategies.remembered import Remembered
from inspector.strategies.tools import Meaning, meaning_mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.model import Block, Session
    from inspector.strategies.history import History


class FileUse(NamedTuple):
    """A call that reads or changes a file.

    Attributes:
        block: The call's block index.
        message: The message's place in the context.
        call: The first call of the context whose prompt holds it.
        path: The file, as the arguments name it.
        changes: Whether it changes the file; otherwise it reads it.
        result: Block index of its result, -1 where none is sent.
        result_call: The first call of the context whose prompt holds the result; that of the call without one.
    """

    block: int
    message: int
    call: int
    path: str
    changes: bool
    result: int
    result_call: int


class ContextUses(NamedTuple):
    """The uses of files in one context.

    Attributes:
        uses: In the order they were called.
        carried: Results of reads that came from an earlier context, and the first call that sends them.
    """

    uses: list[FileUse]
    carried: list[tuple[int, int]]


def file_uses(history: History, read_tools: tuple[str, ...], edit_tools: tuple[str, ...]) -> Iterator[ContextUses]:
    """The uses of files in every context.

    Args:
        history: What was recorded.
        read_tools: Tools that count as reading, besides those that are known to.
        edit_tools: Tools that count as changing, besides those that are known to.
    """
    reads = meaning_mask(history.tool_names, (Meaning.READ,), read_tools)[history.tool]
    edits = meaning_mask(history.tool_names, (Meaning.EDIT, Meaning.WRITE), edit_tools)[history.tool]
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
        paths = paths_of(history.session, [blocks[block] for block, _ in calls])
        uses = []
        for (block, call), path in zip(calls, paths, strict=True):
            if path:
                result, result_call = results.get(block, (-1, call))
                message = int(place[history.message[block]])
                uses.append(FileUse(block, message, call, path, bool(edits[block]), result, result_call))
        carried = [
            (block, call)
            for block, call in zip(
                context.blocks[: context.carried].tolist(), context.calls[: context.carried].tolist(), strict=True
            )
            if not is_call[block]
        ]
        yield ContextUses(uses, carried)


class LineRange(NamedTuple):
    """Which lines a read asks for; both None for all of them."""

    offset: float | None
    limit: float | None

    def covers(self, other: LineRange, usual: int) -> bool:
        """Whether all lines of `other` are among these, a read without a limit being of `usual` lines."""
        if self.offset is None and self.limit is None:
            return True
        if other.offset is None and other.limit is None:
            return False
        start, other_start = self.offset or 0, other.offset or 0
        return start <= other_start and start + (self.limit or usual) >= other_start + (other.limit or usual)


def _range_in(text: str) -> LineRange:
    try:
        arguments: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return LineRange(None, None)
    if not isinstance(arguments, dict):
        return LineRange(None, None)
    values = [arguments.get(name) for name in ("offset", "limit")]
    return LineRange(*(value if isinstance(value, (int, float)) and value == value else None for value in values))


_ranges = Remembered(_range_in, LineRange(None, None))


def lines_of(session: Session, call: Block) -> LineRange:
    """Which lines a read asks for."""
    return _ranges(session, call)
