"""The rows of the timeline: one a block, one where a context begins, one for every subagent with a file of its own.

Columns of numbers, words when looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import BlockKind, LinkKind, Role
from inspector.session.snapshot_list import unchanged
from inspector.strategies.core.rendition import Action
from inspector.strategies.history.growing_columns import GrowingColumns
from inspector.ui.timeline.boundaries import Boundary, boundaries_of
from inspector.ui.timeline.previews import preview
from inspector.ui.timeline.tokens import BlockAmount

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Block, Session, SessionLink
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

    Key = tuple[tuple[str, int], ...]
    """What a subagent is known by while sessions grow; see `SubagentRow.key`."""

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
LONGEST_TITLE: Final = 36
"""Characters of a subagent's."""


@dataclass(frozen=True, eq=False)
class Subagent:
    """What was read of a subagent's session; it may be growing.

    Attributes:
        session: The session.
        rows: Its rows; among them those of subagents it started itself, where they are unfolded.
        table: Its tokens, estimated at first.
    """

    session: Session
    rows: Rows
    table: TokenTable

    @property
    def tokens(self) -> int:
        """Tokens of all its blocks, each once."""
        return int(self.table.tokens.sum(dtype=np.int64))

    def amount(self, row: int) -> BlockAmount:
        """What one of its rows comes to: nothing of it is in a prompt of the session that started it."""
        block = int(self.rows.block[row])
        if not self.rows.is_block[row] or block >= len(self.table.tokens):
            return BlockAmount(0, 0, False, Action.WHOLE)
        is_estimated = self.table.counter.is_exact_tokenizer and not self.table.block_columns.counted()[block]
        return BlockAmount(int(self.table.tokens[block]), 0, False, Action.WHOLE, is_estimated)


@dataclass(frozen=True, slots=True)
class SubagentRow:
    """A row that stands for a subagent, below the call that started it.

    Attributes:
        block: The call.
        link: Leads to the subagent's session.
        key: What it is known by while the session grows: the call, and which of the call's subagents it is. Of a
            subagent's subagent, what that one is known by comes before it.
    """

    block: int
    link: SessionLink
    key: Key

    def label(self, subagent: Subagent | None, problem: str = "") -> str:
        """What the row says, safe to show.

        Args:
            subagent: What was read of it; None before it was opened.
            problem: Why it cannot be opened; empty where nothing is wrong.
        """
        parts = [f"subagent: {one_line(self.link.title or self.link.identifier, LONGEST_TITLE)}"]
        if subagent is not None:
            about = "" if subagent.table.is_complete else "about "
            parts.append(ON_SCREEN.plural(len(subagent.session.messages), "message"))
            parts.append(f"{about}{ON_SCREEN.short(subagent.tokens)} tokens of its own")
        if problem:
            parts.append(one_line(problem))
        elif subagent is None:
            parts.append("→ unfolds it")
        return " · ".join(parts)


def subagent_rows(history: History) -> tuple[SubagentRow, ...]:
    """The subagents of a session whose calls are in it, in order of these calls."""
    started: dict[str, list[SessionLink]] = {}
    for link in history.session.links:
        if link.kind is LinkKind.SUBAGENT and link.tool_call_id:
            started.setdefault(link.tool_call_id, []).append(link)
    if not started:
        return ()
    blocks, placed = history.session.all_blocks, []
    for index in np.flatnonzero(history.kind == BlockKind.TOOL_CALL).tolist():
        call = blocks[index].tool_call_id
        links = started.pop(call, ())
        placed += [SubagentRow(index, link, ((call, number),)) for number, link in enumerate(links)]
        if not started:
            break
    return tuple(placed)


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
        heading: What a row says that stands for a subagent; empty for any other.
        is_unfolded: It stands for a subagent whose rows are below it.
        depth: 0 for a row of this session, 1 for one of its subagent's session, 2 for one of that one's, …
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
    heading: str = ""
    is_unfolded: bool = False
    depth: int = 0

    @property
    def is_inner(self) -> bool:
        """It is a row of a subagent's session, not of this one."""
        return self.depth > 0


class RowPlace(NamedTuple):
    """What a row is known by among other rows of the session.

    Attributes:
        block: Its block.
        kind: 0 for a block's row, 1 for a boundary's, 2 for one that stands for a subagent or is of one.
        subagent: Which subagent; -1 for none.
        inner: What it is known by in the subagent's session; None for a row of this session.
    """

    block: int
    kind: int
    subagent: int
    inner: RowPlace | None


class _Stand(NamedTuple):
    """A row that is of no block.

    Attributes:
        place: The block above whose row it stands; the number of blocks below the last one.
        block, boundary, subagent: As in `Rows`.
    """

    place: int
    block: int
    boundary: int
    subagent: int


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a session in order. Equal only to itself: comparing columns would cost more than drawing them.

    Attributes:
        history: What the rows are of.
        block: Per row, its block; for a boundary the first block after it, for a subagent's the call that started it,
            int32. Never falls.
        boundary: Per row, index into `boundaries`, -1 for any other row, int32.
        boundaries: Where contexts begin.
        message_time: Per message, seconds since the epoch, NaN where unknown, float64.
        subagent: Per row, index into `subagent_rows` of the one it stands for or is of, -1 for any other row, int32.
        inner: Per row of an unfolded subagent, the row of that session, -1 for any other row, int32.
        subagent_rows: What stands for subagents.
        opened: The subagents whose rows are among these, by index into `subagent_rows`.
        told: What keeps other subagents from being shown, by index into `subagent_rows`.
        growing: Where the columns are, and those of the session's other states.
    """

    history: History
    block: NDArray[np.int32]
    boundary: NDArray[np.int32]
    boundaries: tuple[Boundary, ...]
    message_time: NDArray[np.float64]
    subagent: NDArray[np.int32]
    inner: NDArray[np.int32]
    subagent_rows: tuple[SubagentRow, ...] = ()
    opened: Mapping[int, Subagent] = field(default_factory=dict)
    told: Mapping[int, str] = field(default_factory=dict)
    growing: GrowingColumns = field(default_factory=GrowingColumns, repr=False)

    @classmethod
    def of(cls, history: History, previous: Rows | None = None) -> Rows:
        """The rows of `history`, built from those of an earlier state of the session where they are given."""
        if previous is not None and previous.opened:
            previous = None
        messages = history.session.messages
        known = 0 if previous is None else unchanged(messages, previous.history.session.messages)
        times = [np.nan if message.time is None else message.time for message in messages[known:]]
        boundaries, subagents = boundaries_of(history), subagent_rows(history)
        growing = GrowingColumns() if previous is None else previous.growing
        stands = _stands(boundaries, subagents)
        first, kept = (0, 0) if previous is None else _unchanged_rows(stands, len(history.kind), previous)
        tail = [stand for stand in stands if stand.place >= first]
        places = np.array([stand.place - first for stand in tail], dtype=np.int64)

        def grown(name: str, new: NDArray[np.int32]) -> NDArray[np.int32]:
            return growing.grown(name, new if previous is None else getattr(previous, name), kept, new)

        def inserted(values: list[int]) -> NDArray[np.int32]:
            nothing = np.full(len(history.kind) - first, -1, dtype=np.int32)
            return np.insert(nothing, places, np.array(values, dtype=np.int32))

        blocks = np.arange(first, len(history.kind), dtype=np.int32)
        return cls(
            history=history,
            block=grown("block", np.insert(blocks, places, np.array([stand.block for stand in tail], dtype=np.int32))),
            boundary=grown("boundary", inserted([stand.boundary for stand in tail])),
            boundaries=boundaries,
            message_time=growing.grown(
                "message_time",
                np.zeros(0) if previous is None else previous.message_time,
                known,
                np.array(times, dtype=np.float64),
            ),
            subagent=grown("subagent", inserted([stand.subagent for stand in tail])),
            inner=grown("inner", np.full(len(blocks) + len(tail), -1, dtype=np.int32)),
            subagent_rows=subagents,
            growing=growing,
        )

    def __len__(self) -> int:
        return len(self.block)

    def row(self, index: int) -> Row:
        """One row."""
        if self.subagent[index] >= 0:
            return self._subagent_row(index)
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
            thread=int(self.history.message_thread[message]),
            is_error=bool(history.is_error[block]),
            time=None if np.isnan(time) else time,
        )

    def _subagent_row(self, index: int) -> Row:
        """A row that stands for a subagent, or one of its session's."""
        place, inner, block = int(self.subagent[index]), int(self.inner[index]), int(self.block[index])
        subagent = self.opened.get(place)
        if subagent is not None and inner >= 0:
            row = subagent.rows.row(inner)
            return replace(row, index=index, block=block, thread=row.thread + 1, depth=row.depth + 1)
        message = int(self.history.message[block])
        heading = self.subagent_rows[place].label(subagent, self.told.get(place, ""))
        thread = int(self.history.message_thread[message])
        is_unfolded = subagent is not None
        return Row(
            index, block, None, message + 1, False, BOUNDARY_LETTER, "", thread, False, None, heading, is_unfolded
        )

    def tool_label(self, name: str) -> str:
        """A tool's name, safe to show."""
        return one_line(name, 200)

    def preview(self, index: int) -> str:
        """What the row's block holds, in one safe line; read from what the session keeps, never from the file."""
        if self.subagent[index] >= 0:
            subagent = self.opened.get(int(self.subagent[index]))
            return "" if subagent is None or self.inner[index] < 0 else subagent.rows.preview(int(self.inner[index]))
        return preview(self._block_at(index), self.history.session.working_directory)

    def content_at(self, index: int) -> Hashable:
        """Equal for two rows of blocks of this session only where their previews are."""
        block = self._block_at(index)
        return block.kind, block.digest, block.signature_characters, block.media, self.history.session.working_directory

    def _block_at(self, index: int) -> Block:
        message = int(self.history.message[self.block[index]])
        position = int(self.block[index]) - int(self.history.message_first_block[message])
        return self.history.session.messages[message].blocks[position]

    def index_of(self, block: int, *, boundary: bool = False) -> int:
        """The row of a block, or of the last boundary before it; the nearest where there is none.

        Args:
            block: Index of the block.
            boundary: Look for the boundary's row.
        """
        if not len(self.block):
            return -1
        row = int(self.own[min(block, len(self.own) - 1)])
        return row - 1 if boundary and row > 0 and self.boundary[row - 1] >= 0 else row

    @cached_property
    def own(self) -> NDArray[np.int32]:
        """Per block, its row."""
        return np.flatnonzero(self.is_block).astype(np.int32)

    @cached_property
    def is_block(self) -> NDArray[np.bool_]:
        """Per row, whether it is that of a block of this session."""
        return (self.boundary < 0) & (self.subagent < 0)

    @cached_property
    def is_subagent(self) -> NDArray[np.bool_]:
        """Per row, whether it stands for a subagent with a file of its own."""
        stands = (self.subagent >= 0) & (self.inner < 0)
        for place, subagent in self.opened.items():
            of_it = (self.subagent == place) & (self.inner >= 0)
            stands[of_it] = subagent.rows.is_subagent[self.inner[of_it]]
        return stands

    @cached_property
    def inner_count(self) -> int:
        """Rows of subagents' sessions."""
        return int((self.inner >= 0).sum())

    def inner_of(self, index: int) -> tuple[Subagent, int] | None:
        """The innermost subagent a row is of, and which row of its session; None for a row of this session."""
        inner = int(self.inner[index])
        subagent = self.opened.get(int(self.subagent[index])) if inner >= 0 else None
        return None if subagent is None else subagent.rows.inner_of(inner) or (subagent, inner)

    def place_of(self, index: int) -> RowPlace:
        """What a row is known by among other rows of the session: its block, and what else it stands for."""
        kind = 1 if self.boundary[index] >= 0 else 2 if self.subagent[index] >= 0 else 0
        place, inner = int(self.subagent[index]), int(self.inner[index])
        subagent = self.opened.get(place) if inner >= 0 else None
        within = None if subagent is None else subagent.rows.place_of(inner)
        return RowPlace(int(self.block[index]), kind, place, within)

    def index_at(self, place: RowPlace) -> int:
        """The row that `place_of` said something of, or the nearest that stands for it."""
        if place.kind == 2:
            subagent, within = self.opened.get(place.subagent), place.inner
            inner = -1 if subagent is None or within is None else subagent.rows.index_at(within)
            stands = np.flatnonzero((self.subagent == place.subagent) & (self.inner <= inner))
            if len(stands):
                return int(stands[-1])
        return self.index_of(place.block, boundary=place.kind == 1)

    @cached_property
    def is_boundary(self) -> NDArray[np.bool_]:
        """Per row, whether a context begins there."""
        return self.boundary >= 0

    @cached_property
    def is_error(self) -> NDArray[np.bool_]:
        """Per row, whether it is a tool result that reports failure."""
        failed: NDArray[np.bool_] = self.history.is_error[self.block] & self.is_block
        for place, subagent in self.opened.items():
            of_it = (self.subagent == place) & (self.inner >= 0)
            failed[of_it] = subagent.rows.is_error[self.inner[of_it]]
        return failed

    @cached_property
    def thread(self) -> NDArray[np.int32]:
        """Per row, the thread of its message."""
        return self.history.message_thread[self.history.message[self.block]]

    @cached_property
    def start_time(self) -> float | None:
        """The earliest time any message has, or None."""
        known = self.message_time[~np.isnan(self.message_time)]
        return float(known.min()) if len(known) else None

    @cached_property
    def largest_message(self) -> int:
        """The highest message number on any row."""
        inner = (subagent.rows.largest_message for subagent in self.opened.values())
        return max(len(self.history.session.messages), *inner, 0)

    def _letter(self, block: int, message: int) -> str:
        letter = _LETTER_OF_KIND.get(BlockKind(int(self.history.kind[block])))
        return letter or _LETTER_OF_ROLE[self.history.session.messages[message].role]


def _stands(boundaries: Sequence[Boundary], subagents: Sequence[SubagentRow]) -> list[_Stand]:
    """The rows that are of no block, from the top: a subagent below its call, above what may begin after the call."""
    below = [_Stand(row.block + 1, row.block, -1, place) for place, row in enumerate(subagents)]
    above = [_Stand(boundary.block, boundary.block, place, -1) for place, boundary in enumerate(boundaries)]
    return sorted(below + above, key=lambda stand: stand.place)


def _unchanged_rows(stands: Sequence[_Stand], block_count: int, previous: Rows) -> tuple[int, int]:
    """The first block whose row, or what stands above it, may not be as it was before; and that row."""
    before = _stands(previous.boundaries, previous.subagent_rows)
    same = next((place for place, (now, then) in enumerate(zip(stands, before, strict=False)) if now != then), None)
    same = min(len(stands), len(before)) if same is None else same
    changed = [each[same].place for each in (stands, before) if same < len(each)]
    first = min(len(previous.history.kind), block_count, *changed)
    return first, first + sum(stand.place < first for stand in stands)
