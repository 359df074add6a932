"""The rows of the timeline: one a block, and one where a context begins. Columns of numbers, words when looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.safe_text import one_line
from inspector.session.model import BlockKind, Role
from inspector.ui.boundaries import Boundary, boundaries_of
from inspector.ui.previews import preview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Message
    from inspector.strategies.history import History

_LETTER_OF_KIND: Final = {
    BlockKind.SYSTEM_TEXT: "S",
    BlockKind.USER_TEXT: "U",
    BlockKind.ASSISTANT_TEXT: "A",
    BlockKind.THINKING: "T",
    BlockKind.TOOL_CALL: "A",
    BlockKind.TOOL_RESULT: "R",
    BlockKind.OTHER: "·",
}
_LETTER_OF_ROLE: Final = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "R", Role.OTHER: "·"}
BOUNDARY_LETTER: Final = "─"


@dataclass(frozen=True, slots=True)
class Row:
    """What one row says, amounts left out. All texts are safe to show.

    Attributes:
        index: Its place among all rows.
        block: Its block; for a boundary, the first block after it.
        boundary: What begins here, for a boundary's row; None for a block's.
        message: The number of its message, counted from 1.
        starts_message: It is the first block of its message.
        letter: Who speaks: S system, U user, A assistant, T thinking, R tool result, · anything else.
        tool: The tool of a call or result; empty for other blocks.
        thread: 0 for the main conversation, a number of its own for every subagent.
        is_error: A tool result that reports failure.
        time: Seconds since the epoch, or None.
    """

    index: int
    block: int
    boundary: Boundary | None
    message: int
    starts_message: bool
    letter: str
    tool: str
    thread: int
    is_error: bool
    time: float | None


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a session in order. Equal only to itself: comparing columns would cost more than drawing them.

    Attributes:
        history: What the rows are of.
        block: Per row, its block; for a boundary the first block after it, int32. Never falls.
        boundary: Per row, index into `boundaries`, -1 for a block's row, int32.
        boundaries: Where contexts begin.
        message_time: Per message, seconds since the epoch, NaN where unknown, float64.
        message_thread: Per message, its thread, int32.
    """

    history: History
    block: NDArray[np.int32]
    boundary: NDArray[np.int32]
    boundaries: tuple[Boundary, ...]
    message_time: NDArray[np.float64]
    message_thread: NDArray[np.int32]

    @classmethod
    def of(cls, history: History, previous: Rows | None = None) -> Rows:
        """The rows of `history`, built from those of an earlier state of the session where they are given."""
        messages = history.session.messages
        kept = 0 if previous is None else unchanged(messages, previous.history.session.messages)
        new = messages[kept:]
        time = np.array([np.nan if message.time is None else message.time for message in new], dtype=np.float64)
        thread = np.array([message.thread for message in new], dtype=np.int32)
        if previous is not None and kept:
            time = np.concatenate((previous.message_time[:kept], time))
            thread = np.concatenate((previous.message_thread[:kept], thread))
        boundaries = boundaries_of(history)
        blocks = np.arange(len(history.kind), dtype=np.int32)
        before = np.array([boundary.block for boundary in boundaries], dtype=np.int32)
        return cls(
            history=history,
            block=np.insert(blocks, before, before),
            boundary=np.insert(np.full(len(blocks), -1, dtype=np.int32), before, np.arange(len(before))),
            boundaries=boundaries,
            message_time=time,
            message_thread=thread,
        )

    def __len__(self) -> int:
        return len(self.block)

    def row(self, index: int) -> Row:
        """One row."""
        history = self.history
        block = int(self.block[index])
        boundary = int(self.boundary[index])
        message = int(history.message[block])
        tool = int(history.tool[block])
        time = float(self.message_time[message])
        return Row(
            index=index,
            block=block,
            boundary=self.boundaries[boundary] if boundary >= 0 else None,
            message=message + 1,
            starts_message=block == int(history.message_first_block[message]),
            letter=BOUNDARY_LETTER if boundary >= 0 else self._letter(block, message),
            tool=self.tool_label(history.tool_names[tool]) if tool >= 0 else "",
            thread=int(self.message_thread[message]),
            is_error=bool(history.is_error[block]),
            time=None if np.isnan(time) else time,
        )

    def tool_label(self, name: str) -> str:
        """A tool's name, safe to show."""
        return one_line(name, 200)

    def preview(self, index: int) -> str:
        """What the row's block holds, in one safe line; read from what the session keeps, never from the file."""
        session = self.history.session
        message = int(self.history.message[self.block[index]])
        position = int(self.block[index]) - int(self.history.message_first_block[message])
        return preview(session.messages[message].blocks[position], session.working_directory)

    def index_of(self, block: int, *, boundary: bool = False) -> int:
        """The row of a block, or of the last boundary before it; the nearest where there is none.

        Args:
            block: Index of the block.
            boundary: Look for the boundary's row.
        """
        if not len(self.block):
            return -1
        last = int(np.searchsorted(self.block, block, side="right")) - 1
        if boundary and last > 0 and self.boundary[last - 1] >= 0 and self.block[last - 1] == block:
            return last - 1
        return max(last, 0)

    @cached_property
    def is_boundary(self) -> NDArray[np.bool_]:
        """Per row, whether a context begins there."""
        return self.boundary >= 0

    @cached_property
    def is_error(self) -> NDArray[np.bool_]:
        """Per row, whether it is a tool result that reports failure."""
        return self.history.is_error[self.block] & ~self.is_boundary

    @cached_property
    def thread(self) -> NDArray[np.int32]:
        """Per row, the thread of its message."""
        return self.message_thread[self.history.message[self.block]]

    @cached_property
    def start_time(self) -> float | None:
        """The earliest time any message has, or None."""
        known = self.message_time[~np.isnan(self.message_time)]
        return float(known.min()) if len(known) else None

    @cached_property
    def largest_message(self) -> int:
        """The highest message number on any row."""
        return len(self.history.session.messages)

    def _letter(self, block: int, message: int) -> str:
        letter = _LETTER_OF_KIND.get(BlockKind(int(self.history.kind[block])))
        return letter or _LETTER_OF_ROLE[self.history.session.messages[message].role]


def unchanged(after: Sequence[Message], before: Sequence[Message]) -> int:
    """How many messages at the beginning of two states of a session are equal; the change is looked for at the end."""
    common, step = min(len(after), len(before)), 64
    while common and after[:common] != before[:common]:
        common, step = max(common - step, 0), step * 2
    longest = min(len(after), len(before))
    while common < longest and after[common] == before[common]:
        common += 1
    return common
