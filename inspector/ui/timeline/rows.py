"""Rows of the timeline: one per block, per boundary and per subagent with its own file.

Stored as numeric columns; texts are built on access.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from inspector.report.numbers import ON_SCREEN, file_size
from inspector.report.tool_words import call_summary, result_words
from inspector.safe_text import one_line
from inspector.session.model import Block, BlockKind, LinkKind, Media, Role, Session, SessionLink
from inspector.session.snapshot_list import unchanged
from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import GrowingColumns, History
from inspector.tokens.block_tokens import estimated
from inspector.ui.timeline.boundaries import Boundary, boundaries_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.tokens.token_table import TokenTable

    Key = tuple[tuple[str, int], ...]
    """Stable identity of a subagent in a growing session; see `SubagentRow.key`."""


NOT_RECORDED: Final = "thinking not recorded"
"""Preview of thinking without text or signature in the file."""


def preview(block: Block, working_directory: str = "") -> str:
    """Return a one-line preview from the block's cache, safe to show; the working directory is removed from paths."""
    if block.kind is BlockKind.TOOL_CALL:
        return one_line(call_summary(block.preview, working_directory))
    text = one_line(result_words(block.preview) if block.kind is BlockKind.TOOL_RESULT else block.preview)
    if not text and block.kind is BlockKind.THINKING and not block.signature_characters:
        return NOT_RECORDED
    if text or not (block.media or block.signature_characters):
        return text
    if block.media:
        return one_line(", ".join(media_label(media) for media in block.media[:4]))
    return f"encrypted, {ON_SCREEN.plural(block.signature_characters, 'character')}"


def media_label(media: Media) -> str:
    """Describe an image or document, not yet safe to show: type, pixels or pages, detail, size."""
    parts = [media.media_type or "media"]
    if media.width and media.height:
        parts.append(f"{media.width} by {media.height}")
    if media.pages:
        parts.append(ON_SCREEN.plural(media.pages, "page"))
    if media.detail:
        parts.append(f"{media.detail} detail")
    if media.size_bytes:
        parts.append(file_size(media.size_bytes))
    return " ".join(parts)


class RowTokens(NamedTuple):
    """Token counts of all blocks.

    Attributes:
        tokens: Per block, int32.
        uncounted: Per block, True if the count is estimated from characters.
    """

    tokens: NDArray[np.int32]
    uncounted: NDArray[np.bool_]


def row_tokens(table: TokenTable, characters: NDArray[np.int32]) -> RowTokens:
    """Return the token counts of a session's blocks; `table` may be of an earlier state, `characters` is current."""
    uncounted = np.ones(len(characters), dtype=np.bool_)
    known = min(len(table.tokens), len(characters))
    if table.counter.is_exact_tokenizer:
        uncounted[:known] = ~table.block_columns.counted()[:known]
    if known == len(characters):
        # The identical array, by which the view detects that the row order is still valid.
        return RowTokens(table.tokens, uncounted)
    return RowTokens(np.concatenate([table.tokens, estimated(characters[known:]).astype(np.int32)]), uncounted)


class ContextAmounts(Protocol):
    """One call's prompt under a plan, as columns per block."""

    @property
    def in_prompt(self) -> NDArray[np.bool_]: ...

    @property
    def recorded(self) -> NDArray[np.int32]: ...

    @property
    def sent(self) -> NDArray[np.int32]: ...

    @property
    def action(self) -> NDArray[np.uint8]:
        """Applied `Action`."""
        ...


class BlockAmount(NamedTuple):
    """A block's share of the prompt.

    Attributes:
        recorded: Tokens of the whole block.
        sent: Tokens sent, 0 outside the prompt.
        in_prompt: In the prompt, or removed from it by the plan.
        action: Applied action.
        is_estimated: Not all of it has been counted yet.
    """

    recorded: int
    sent: int
    in_prompt: bool
    action: Action
    is_estimated: bool = False

    @property
    def change(self) -> int:
        """Tokens added by the plan, negative if removed."""
        return self.sent - self.recorded if self.in_prompt else 0


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
"""Maximum length of a subagent's title, in characters."""


@dataclass(frozen=True, eq=False)
class Subagent:
    """A subagent's session as read so far; it may be growing.

    Attributes:
        session: The session.
        rows: Its rows, including rows of its own subagents that are unfolded.
        table: Its token counts, estimated at first.
        block_tokens: Per block, its tokens as on the screens of its own session, int32; None before all are counted.
        known: Confidence of these.
    """

    session: Session
    rows: Rows
    table: TokenTable
    block_tokens: NDArray[np.int32] | None = None
    known: str = "estimated"

    @property
    def shown(self) -> NDArray[np.int32]:
        """Tokens per block: local counts before all are counted."""
        return self.table.tokens if self.block_tokens is None else self.block_tokens

    @property
    def tokens(self) -> int:
        """Total tokens of all blocks, each counted once."""
        return int(self.shown.sum(dtype=np.int64))

    def amount(self, row: int) -> BlockAmount:
        """Return the amount of one of its rows; no row is in a prompt of the parent session."""
        block = int(self.rows.block[row])
        if not self.rows.is_block[row] or block >= len(self.table.tokens):
            return BlockAmount(0, 0, False, Action.WHOLE)
        return BlockAmount(int(self.shown[block]), 0, False, Action.WHOLE, self.known == "estimated")


@dataclass(frozen=True, slots=True)
class SubagentRow:
    """Heading row of a subagent, below the call that started it.

    Attributes:
        block: The call.
        link: Link to the subagent's session.
        key: Stable identity in a growing session: the call's id and the subagent's index within the call. For nested
            subagents the parent's key is the prefix.
    """

    block: int
    link: SessionLink
    key: Key

    def label(self, subagent: Subagent | None, problem: str = "") -> str:
        """Return the row's safe text; `subagent` is None until opened, `problem` the error that prevents it."""
        parts = [f"subagent: {one_line(self.link.title or self.link.identifier, LONGEST_TITLE)}"]
        if subagent is not None:
            about = "" if subagent.table.is_complete else "about "
            parts.append(ON_SCREEN.plural(len(subagent.session.messages), "message"))
            parts.append(f"{about}{ON_SCREEN.short(subagent.tokens)} tokens")
        if problem:
            parts.append(one_line(problem))
        elif subagent is None:
            parts.append("→ unfolds")
        return " · ".join(parts)


def subagent_rows(history: History) -> tuple[SubagentRow, ...]:
    """Return the subagents started by calls of a session, in order of these calls."""
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
    """Content of one row without amounts. All texts are safe to show.

    Attributes:
        index: Index among all rows.
        block: Its block; for a boundary, the first block after it.
        boundary: The boundary of a boundary row, otherwise None.
        message: Message number, counted from 1.
        starts_message: It is the first block of its message.
        letter: Role: S system, U user, A assistant, T thinking, R tool result, · anything else.
        tool: Tool of a call or result; empty for other blocks.
        thread: 0 for the main conversation, otherwise the number of the subagent.
        is_error: A tool result that reports failure.
        time: Seconds since the epoch, or None.
        heading: Text of a subagent's heading row; empty for other rows.
        is_unfolded: Heading row of an unfolded subagent.
        depth: 0 for a row of this session, 1 for a row of a subagent's session, 2 for a nested one, and so on.
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
        return self.depth > 0


class RowPlace(NamedTuple):
    """Stable identity of a row in a growing session.

    Attributes:
        block: Its block.
        kind: 0 for a block, 1 for a boundary, 2 for a subagent's heading or inner row.
        subagent: Index of the subagent; -1 for none.
        inner: Identity within the subagent's session; None for a row of this session.
    """

    block: int
    kind: int
    subagent: int
    inner: RowPlace | None


class _HeadingRow(NamedTuple):
    """A row without a block.

    Attributes:
        place: Block below the row; the number of blocks for a row after the last one.
        block, boundary, subagent: As in `Rows`.
    """

    place: int
    block: int
    boundary: int
    subagent: int


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a session in order. Compared by identity: comparing columns would cost more than drawing them.

    Attributes:
        history: History of the session.
        block: Per row, its block; the first block after a boundary, the starting call for a subagent, int32. Ascending.
        boundary: Per row, index into `boundaries`, -1 for other rows, int32.
        boundaries: Boundaries of the contexts.
        message_time: Per message, seconds since the epoch, NaN if unknown, float64.
        subagent: Per row, index into `subagent_rows` for heading and inner rows, -1 for other rows, int32.
        inner: Per row, row index within an unfolded subagent's session, -1 for other rows, int32.
        subagent_rows: Heading rows of subagents.
        opened: Unfolded subagents, by index into `subagent_rows`.
        problems: Errors of subagents that cannot be opened, by index into `subagent_rows`.
        growing: Storage of the columns, shared with other states of the session.
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
    problems: Mapping[int, str] = field(default_factory=dict)
    growing: GrowingColumns = field(default_factory=GrowingColumns, repr=False)

    @classmethod
    def of(cls, history: History, previous: Rows | None = None) -> Rows:
        """Build the rows of `history`, reusing those of an earlier state of the session."""
        if previous is not None and previous.opened:
            previous = None
        messages = history.session.messages
        known = 0 if previous is None else unchanged(messages, previous.history.session.messages)
        times = [np.nan if message.time is None else message.time for message in messages[known:]]
        boundaries, subagents = boundaries_of(history), subagent_rows(history)
        growing = GrowingColumns() if previous is None else previous.growing
        headings = _headings(boundaries, subagents)
        first, kept = (0, 0) if previous is None else _unchanged_rows(headings, len(history.kind), previous)
        tail = [heading for heading in headings if heading.place >= first]
        places = np.array([heading.place - first for heading in tail], dtype=np.int64)

        def grown(name: str, new: NDArray[np.int32]) -> NDArray[np.int32]:
            return growing.grown(name, new if previous is None else getattr(previous, name), kept, new)

        def inserted(values: list[int]) -> NDArray[np.int32]:
            nothing = np.full(len(history.kind) - first, -1, dtype=np.int32)
            return np.insert(nothing, places, np.array(values, dtype=np.int32))

        blocks = np.arange(first, len(history.kind), dtype=np.int32)
        return cls(
            history=history,
            block=grown(
                "block", np.insert(blocks, places, np.array([heading.block for heading in tail], dtype=np.int32))
            ),
            boundary=grown("boundary", inserted([heading.boundary for heading in tail])),
            boundaries=boundaries,
            message_time=growing.grown(
                "message_time",
                np.zeros(0) if previous is None else previous.message_time,
                known,
                np.array(times, dtype=np.float64),
            ),
            subagent=grown("subagent", inserted([heading.subagent for heading in tail])),
            inner=grown("inner", np.full(len(blocks) + len(tail), -1, dtype=np.int32)),
            subagent_rows=subagents,
            growing=growing,
        )

    def __len__(self) -> int:
        return len(self.block)

    def row(self, index: int) -> Row:
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
        place, inner, block = int(self.subagent[index]), int(self.inner[index]), int(self.block[index])
        subagent = self.opened.get(place)
        if subagent is not None and inner >= 0:
            row = subagent.rows.row(inner)
            return replace(row, index=index, block=block, thread=row.thread + 1, depth=row.depth + 1)
        message = int(self.history.message[block])
        heading = self.subagent_rows[place].label(subagent, self.problems.get(place, ""))
        thread = int(self.history.message_thread[message])
        is_unfolded = subagent is not None
        return Row(
            index, block, None, message + 1, False, BOUNDARY_LETTER, "", thread, False, None, heading, is_unfolded
        )

    def tool_label(self, name: str) -> str:
        """Return a tool's name, safe to show."""
        return one_line(name, 200)

    def preview(self, index: int) -> str:
        """Return the block's one-line preview, from memory; the file is not read."""
        if self.subagent[index] >= 0:
            subagent = self.opened.get(int(self.subagent[index]))
            return "" if subagent is None or self.inner[index] < 0 else subagent.rows.preview(int(self.inner[index]))
        return preview(self._block_at(index), self.history.session.working_directory)

    def content_at(self, index: int) -> Hashable:
        """Return a key that is equal for two blocks of this session only if their previews are equal."""
        block = self._block_at(index)
        return block.kind, block.digest, block.signature_characters, block.media, self.history.session.working_directory

    def _block_at(self, index: int) -> Block:
        message = int(self.history.message[self.block[index]])
        position = int(self.block[index]) - int(self.history.message_first_block[message])
        return self.history.session.messages[message].blocks[position]

    def index_of(self, block: int, *, boundary: bool = False) -> int:
        """Return the row of a block, or the last boundary before it; the nearest row if there is none."""
        if not len(self.block):
            return -1
        row = int(self.own[min(block, len(self.own) - 1)])
        return row - 1 if boundary and row > 0 and self.boundary[row - 1] >= 0 else row

    @cached_property
    def own(self) -> NDArray[np.int32]:
        return np.flatnonzero(self.is_block).astype(np.int32)

    @cached_property
    def is_block(self) -> NDArray[np.bool_]:
        return (self.boundary < 0) & (self.subagent < 0)

    @cached_property
    def is_subagent(self) -> NDArray[np.bool_]:
        """Mask of heading rows of subagents with their own file."""
        mask = (self.subagent >= 0) & (self.inner < 0)
        for place, subagent in self.opened.items():
            of_it = (self.subagent == place) & (self.inner >= 0)
            mask[of_it] = subagent.rows.is_subagent[self.inner[of_it]]
        return mask

    @cached_property
    def inner_count(self) -> int:
        return int((self.inner >= 0).sum())

    def inner_of(self, index: int) -> tuple[Subagent, int] | None:
        inner = int(self.inner[index])
        subagent = self.opened.get(int(self.subagent[index])) if inner >= 0 else None
        return None if subagent is None else subagent.rows.inner_of(inner) or (subagent, inner)

    def place_of(self, index: int) -> RowPlace:
        kind = 1 if self.boundary[index] >= 0 else 2 if self.subagent[index] >= 0 else 0
        place, inner = int(self.subagent[index]), int(self.inner[index])
        subagent = self.opened.get(place) if inner >= 0 else None
        within = None if subagent is None else subagent.rows.place_of(inner)
        return RowPlace(int(self.block[index]), kind, place, within)

    def index_at(self, place: RowPlace) -> int:
        """Return the row with an identity, or the nearest one that contains it."""
        if place.kind == 2:
            subagent, within = self.opened.get(place.subagent), place.inner
            inner = -1 if subagent is None or within is None else subagent.rows.index_at(within)
            places = np.flatnonzero((self.subagent == place.subagent) & (self.inner <= inner))
            if len(places):
                return int(places[-1])
        return self.index_of(place.block, boundary=place.kind == 1)

    @cached_property
    def is_boundary(self) -> NDArray[np.bool_]:
        return self.boundary >= 0

    @cached_property
    def is_error(self) -> NDArray[np.bool_]:
        failed: NDArray[np.bool_] = self.history.is_error[self.block] & self.is_block
        for place, subagent in self.opened.items():
            of_it = (self.subagent == place) & (self.inner >= 0)
            failed[of_it] = subagent.rows.is_error[self.inner[of_it]]
        return failed

    @cached_property
    def thread(self) -> NDArray[np.int32]:
        return self.history.message_thread[self.history.message[self.block]]

    @cached_property
    def start_time(self) -> float | None:
        known = self.message_time[~np.isnan(self.message_time)]
        return float(known.min()) if len(known) else None

    @cached_property
    def largest_message(self) -> int:
        """Highest message number, including subagents."""
        inner = (subagent.rows.largest_message for subagent in self.opened.values())
        return max(len(self.history.session.messages), *inner, 0)

    def _letter(self, block: int, message: int) -> str:
        letter = _LETTER_OF_KIND.get(BlockKind(int(self.history.kind[block])))
        return letter or _LETTER_OF_ROLE[self.history.session.messages[message].role]


def _headings(boundaries: Sequence[Boundary], subagents: Sequence[SubagentRow]) -> list[_HeadingRow]:
    """Return the rows without a block in order: a subagent below its call and above a boundary after the call."""
    below = [_HeadingRow(row.block + 1, row.block, -1, place) for place, row in enumerate(subagents)]
    above = [_HeadingRow(boundary.block, boundary.block, place, -1) for place, boundary in enumerate(boundaries)]
    return sorted(below + above, key=lambda heading: heading.place)


def _unchanged_rows(headings: Sequence[_HeadingRow], block_count: int, previous: Rows) -> tuple[int, int]:
    """Return the first block where rows may have changed since `previous`, and its row."""
    before = _headings(previous.boundaries, previous.subagent_rows)
    same = next((place for place, (now, then) in enumerate(zip(headings, before, strict=False)) if now != then), None)
    same = min(len(headings), len(before)) if same is None else same
    changed = [each[same].place for each in (headings, before) if same < len(each)]
    first = min(len(previous.history.kind), block_count, *changed)
    return first, first + sum(heading.place < first for heading in headings)


class SubagentPlace(NamedTuple):
    """A subagent as reached from a row.

    Attributes:
        key: Stable identity.
        link: Link to its session.
        session: The session that started it.
    """

    key: Key
    link: SessionLink
    session: Session


def started_at(rows: Rows, index: int) -> SubagentPlace | None:
    """Return the innermost subagent of a heading or inner row; None for a row of the session itself."""
    place, inner = int(rows.subagent[index]), int(rows.inner[index])
    if place < 0:
        return None
    row, subagent = rows.subagent_rows[place], rows.opened.get(place)
    within = started_at(subagent.rows, inner) if subagent is not None and inner >= 0 else None
    if within is not None:
        return within._replace(key=row.key + within.key)
    return SubagentPlace(row.key, row.link, rows.history.session)


def opened_within(rows: Rows, within: Key = ()) -> Iterator[tuple[Key, Subagent]]:
    """Yield every unfolded subagent with its key, including nested ones."""
    for place, subagent in rows.opened.items():
        key = within + rows.subagent_rows[place].key
        yield key, subagent
        yield from opened_within(subagent.rows, key)


def unfolded(rows: Rows, opened: Mapping[Key, Subagent], problems: Mapping[Key, str], within: Key = ()) -> Rows:
    """Insert unfolded subagents' rows below their heading rows, recursively.

    `within` is the key of the subagent that `rows` belongs to, empty for the session itself.
    """
    keys = [within + row.key for row in rows.subagent_rows]
    shown = [
        (place, replace(each, rows=unfolded(each.rows, opened, problems, key)))
        for place, key in enumerate(keys)
        if (each := opened.get(key)) is not None
    ]
    by_name = {place: problems[key] for place, key in enumerate(keys) if key in problems}
    if by_name:
        rows = replace(rows, problems=by_name)
    if not shown:
        return rows
    row_of = {int(rows.subagent[row]): row for row in np.flatnonzero(rows.subagent >= 0).tolist()}
    after = np.concatenate([np.full(len(each.rows), row_of[place] + 1, dtype=np.int64) for place, each in shown])

    def inserted(column: NDArray[np.int32], values: list[NDArray[np.int32]]) -> NDArray[np.int32]:
        return np.insert(column, after, np.concatenate(values))

    def same(value: int, each: Subagent) -> NDArray[np.int32]:
        return np.full(len(each.rows), value, dtype=np.int32)

    return replace(
        rows,
        block=inserted(rows.block, [same(rows.subagent_rows[place].block, each) for place, each in shown]),
        boundary=inserted(rows.boundary, [same(-1, each) for _, each in shown]),
        subagent=inserted(rows.subagent, [same(place, each) for place, each in shown]),
        inner=inserted(rows.inner, [np.arange(len(each.rows), dtype=np.int32) for _, each in shown]),
        opened=dict(shown),
    )
