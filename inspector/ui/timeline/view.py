"""Everything the timeline shows at one moment: rows, which of them, their tokens, and what a plan does to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.strategies.core.rendition import Action
from inspector.ui.timeline.arrangement import Order, blocks_of_message, folded_amount, folded_preview, folded_row
from inspector.ui.timeline.tokens import BlockAmount, row_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.replay.engine.replay import Replay
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.rows import Row, Rows
    from inspector.ui.timeline.tokens import ContextAmounts

    Tiers = tuple[tuple[str, ...], ...]
    Decisions = tuple[NDArray[np.int64], tuple[tuple[str, str], ...]]


def no_reason(block: int) -> str:  # noqa: ARG001  nothing is known of any block
    """Stands for a plan that changes nothing."""
    return ""


def no_decisions() -> Decisions:
    """Stands for a plan that decides nothing."""
    return np.zeros(0, dtype=np.int64), ()


def no_tiers() -> Tiers:
    """Stands for a plan without tiers."""
    return ()


@dataclass(frozen=True, eq=False)
class TimelineView:
    """What is shown. A changed plan, call, filter or session is another view; a view is equal only to itself.

    Attributes:
        rows: All rows of the session.
        tokens: Tokens per block as recorded; may be shorter than the session while it grows.
        state: The prompt looked at, or None before there is a replay; may be shorter than the session too.
        reason: Why a block is not sent whole, in a few words.
        known: How the tokens are known: `estimated`, `calibrated`, `exact`.
        visible: Row indices that are shown, in that order, int32; None for all as recorded.
        folded: Per message, whether one row stands for it; None where none is folded.
        decisions: Tells per block which decision is in force, -1 for none, and of each decision the strategy and the
            part of it that made it.
        tiers: Tells of each strategy that sorts tools into tiers, for each tool of the session, its tier.
        order: What the rows follow one another by.
        carried: Per block, its token-calls; None where rows are not ordered by them.
        hits: Rows that match what is searched for, rising, int32; None without a search.
        pins: Blocks the user marked.
        uncounted: Per block, whether its tokens are an estimate, not counted yet; None where all were counted.
        folded_threads: Subagents in the session itself that are folded to the row they begin at.
        misses: The calls that missed the prompt cache and did not have to, by the block they are shown at.
    """

    rows: Rows
    tokens: NDArray[np.int32]
    state: ContextAmounts | None = None
    reason: Callable[[int], str] = no_reason
    known: str = "estimated"
    visible: NDArray[np.int32] | None = None
    folded: NDArray[np.bool_] | None = None
    decisions: Callable[[], Decisions] = no_decisions
    tiers: Callable[[], Tiers] = no_tiers
    order: Order = Order.RECORDED
    carried: NDArray[np.int64] | None = None
    hits: NDArray[np.int32] | None = None
    pins: frozenset[int] = frozenset()
    uncounted: NDArray[np.bool_] | None = None
    folded_threads: frozenset[int] = frozenset()
    misses: Mapping[int, CacheMiss] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Rows shown."""
        return len(self.rows) if self.visible is None else len(self.visible)

    @property
    def own_count(self) -> int:
        """Rows of the session, shown or not, those of its subagents' sessions left out."""
        return len(self.rows) - self.rows.inner_count

    @property
    def hidden(self) -> int:
        """Rows not shown."""
        return len(self.rows) - self.count

    def row_at(self, position: int) -> int:
        """The row shown at a position."""
        return position if self.visible is None else int(self.visible[position])

    def position_of(self, row: int) -> int:
        """Where a row is shown, or the one that stands for it, or the nearest; -1 when nothing is shown."""
        if self.visible is None:
            return min(row, len(self.rows) - 1)
        if not len(self.visible) or row < 0:
            return -1
        rising, place = self._rising
        after = int(np.searchsorted(rising, row))
        if after == len(rising):
            return int(place[-1])
        before = max(after - 1, 0)
        is_before = row - int(rising[before]) < int(rising[after]) - row or (
            int(rising[after]) != row and self.is_folded(row)
        )
        return int(place[before if is_before else after])

    @cached_property
    def _rising(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows shown, rising, and where each is shown."""
        visible = self.visible if self.visible is not None else np.arange(len(self.rows), dtype=np.int32)
        if self.order is Order.RECORDED:
            return visible, np.arange(len(visible))
        place = np.argsort(visible, kind="stable")
        return visible[place], place

    def is_folded(self, row: int) -> bool:
        """Whether a row is of a message that is shown as one."""
        folded = self.folded
        if folded is None or not self.rows.is_block[row]:
            return False
        message = int(self.rows.history.message[self.rows.block[row]])
        return message < len(folded) and bool(folded[message])

    def can_fold(self, row: int) -> bool:
        """Whether a row is of a message with other blocks."""
        if not self.rows.is_block[row]:
            return False
        first, end = blocks_of_message(self.rows.history, int(self.rows.block[row]))
        return end - first > 1

    def is_pinned(self, row: int) -> bool:
        """Whether a row's block was marked."""
        return bool(self.rows.is_block[row]) and int(self.rows.block[row]) in self.pins

    def is_hit(self, row: int) -> bool:
        """Whether a row matches what is searched for."""
        if self.hits is None:
            return False
        place = int(np.searchsorted(self.hits, row))
        return place < len(self.hits) and int(self.hits[place]) == row

    def row(self, index: int) -> Row:
        """What a row says; of a folded message, what all of it does."""
        row = self.rows.row(index)
        return folded_row(self.rows, row) if self.is_folded(index) else row

    def preview(self, index: int) -> str:
        """What a row's block holds, or how many a folded message has, in one safe line."""
        return folded_preview(self.rows, self.rows.row(index)) if self.is_folded(index) else self.rows.preview(index)

    def amount_at(self, index: int) -> BlockAmount:
        """What a row's tokens come to: its block's, or those of all blocks of a folded message."""
        if (inner := self.rows.inner_of(index)) is not None:
            return inner[0].amount(inner[1])
        block = int(self.rows.block[index])
        if not self.is_folded(index):
            return self._told(self.amount(block), block, block + 1)
        first, end = blocks_of_message(self.rows.history, block)
        return self._told(self._folded_amount(first, end), first, end)

    def _told(self, amount: BlockAmount, first: int, end: int) -> BlockAmount:
        if self.uncounted is None or not self.uncounted[first:end].any():
            return amount
        return amount._replace(is_estimated=True)

    def _folded_amount(self, first: int, end: int) -> BlockAmount:
        if self.state is None or end > len(self.state.sent):
            recorded = int(self.tokens[first:end].sum())
            return BlockAmount(recorded, recorded, True, Action.WHOLE)
        return folded_amount(self.state, first, end)

    def carried_at(self, index: int) -> int:
        """Token-calls of a row's block, or of its folded message; 0 while unknown."""
        if self.carried is None or not self.rows.is_block[index]:
            return 0
        block = int(self.rows.block[index])
        first, end = blocks_of_message(self.rows.history, block) if self.is_folded(index) else (block, block + 1)
        return int(self.carried[first:end].sum())

    def miss_at(self, index: int) -> CacheMiss | None:
        """The cache miss of the call a row's block, or its folded message, is the response of; None for none."""
        if not self.misses or not self.rows.is_block[index]:
            return None
        block = int(self.rows.block[index])
        if not self.is_folded(index):
            return self.misses.get(block)
        blocks = range(*blocks_of_message(self.rows.history, block))
        return next((self.misses[each] for each in blocks if each in self.misses), None)

    def reason_at(self, index: int) -> str:
        """Why a row is not sent whole; of a folded message, why its first such block is not, and how many are not."""
        block = int(self.rows.block[index])
        if not self.rows.is_block[index]:
            return ""
        if not self.is_folded(index) or self.state is None:
            return self.reason(block)
        first, end = blocks_of_message(self.rows.history, block)
        changed = np.flatnonzero((self.state.action[first:end] != Action.WHOLE) & self.state.in_prompt[first:end])
        if not len(changed):
            return ""
        reason = self.reason(first + int(changed[0]))
        return reason if len(changed) == 1 else f"{reason}, {len(changed)} blocks"

    def amount(self, block: int) -> BlockAmount:
        """A block's part of the prompt; the block whole where nothing is known of it yet."""
        if self.state is None or block >= len(self.state.sent):
            recorded = int(self.tokens[block]) if block < len(self.tokens) else 0
            return BlockAmount(recorded, recorded, True, Action.WHOLE)
        recorded = int(self.state.recorded[block])
        if not self.state.in_prompt[block]:
            return BlockAmount(recorded, 0, False, Action.WHOLE)
        return BlockAmount(recorded, int(self.state.sent[block]), True, Action(int(self.state.action[block])))

    @cached_property
    def full_bar(self) -> int:
        """Tokens that fill a bar's column: the largest tool result's, or the largest block's where there is none.

        It depends on what was recorded alone, so that bars keep their scale while a limit is dragged.
        """
        history = self.rows.history
        results = history.results[history.results < len(self.tokens)]
        largest = self.tokens[results] if len(results) else self.tokens
        return max(int(largest.max()), 1) if len(largest) else 1

    @cached_property
    def largest(self) -> int:
        """Tokens of the largest block."""
        return int(self.tokens.max()) if len(self.tokens) else 0

    @cached_property
    def changed_positions(self) -> NDArray[np.int32]:
        """Where blocks are shown that are in the prompt and not sent whole, rising."""
        if self.state is None:
            return np.zeros(0, dtype=np.int32)
        changed = (self.state.action != Action.WHOLE) & self.state.in_prompt
        padded = np.zeros(len(self.rows.history.kind), dtype=np.bool_)
        padded[: len(changed)] = changed[: len(padded)]
        return self._positions(padded[self.rows.block] & self.rows.is_block)

    @cached_property
    def error_positions(self) -> NDArray[np.int32]:
        """Where failed tool results are shown, rising."""
        return self._positions(self.rows.is_error)

    @cached_property
    def boundary_positions(self) -> NDArray[np.int32]:
        """Where a context begins, or a subagent, rising."""
        return self._positions(self.rows.is_boundary | self.rows.is_subagent)

    @cached_property
    def hit_positions(self) -> NDArray[np.int32]:
        """Where rows are shown that match what is searched for, rising."""
        if self.hits is None:
            return np.zeros(0, dtype=np.int32)
        wanted = np.zeros(len(self.rows), dtype=np.bool_)
        wanted[self.hits[self.hits < len(wanted)]] = True
        return self._positions(wanted)

    @cached_property
    def pin_positions(self) -> NDArray[np.int32]:
        """Where marked blocks are shown, rising."""
        return self.positions_of_blocks(np.array(sorted(self.pins), dtype=np.int32))

    def positions_of_blocks(self, blocks: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Where some blocks, or the messages they are folded into, are shown, rising."""
        wanted = np.isin(self.rows.block, blocks) & self.rows.is_block
        return self._positions(wanted)

    def places_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Where each of some rows is shown, or the one that stands for its folded message; -1 where neither is."""
        place = np.full(len(self.rows), -1, dtype=np.int64)
        visible = np.arange(len(self.rows), dtype=np.int32) if self.visible is None else self.visible
        place[visible] = np.arange(len(visible))
        places: NDArray[np.int64] = place[rows]
        folded = self.folded
        if folded is None:
            return places
        history, is_block = self.rows.history, self.rows.is_block
        first = np.full(len(history.session.messages), -1, dtype=np.int64)
        blocks = np.flatnonzero(is_block[visible])[::-1]
        # Of several rows of a message the first is written last, and stays.
        first[history.message[self.rows.block[visible[blocks]]]] = blocks
        message = history.message[self.rows.block[rows]]
        stands = (places < 0) & is_block[rows] & (message < len(folded))
        stands[stands] = folded[message[stands]]
        return np.where(stands, first[message], places)

    @property
    def changed_rows(self) -> NDArray[np.int32]:
        """The rows of blocks that are in the prompt and not sent whole, shown or not, rising."""
        if self.state is None:
            return np.zeros(0, dtype=np.int32)
        changed = np.flatnonzero((self.state.action != Action.WHOLE) & self.state.in_prompt)
        return self.rows_of_blocks(changed)

    def rows_of_blocks(self, blocks: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """The rows of some blocks, shown or not, rising; blocks that are not there are passed over."""
        own = self.rows.own
        return own[np.unique(blocks[(blocks >= 0) & (blocks < len(own))]).astype(np.int64)]

    def _positions(self, wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
        if self.folded is not None:
            wanted = wanted | self._stands_for(wanted)
        shown = wanted if self.visible is None else wanted[self.visible]
        return np.flatnonzero(shown).astype(np.int32)

    def _stands_for(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Per row, whether any row of its folded message is wanted."""
        rows, folded = self.rows, self.folded
        message = rows.history.message[rows.block]
        found = np.zeros(len(rows.history.session.messages), dtype=np.bool_)
        found[message[wanted & rows.is_block]] = True
        if folded is not None:
            found[: len(folded)] &= folded
        stands: NDArray[np.bool_] = found[message] & rows.is_block
        return stands


def view_of(rows: Rows, table: TokenTable, outcome: Outcome | None) -> TimelineView:
    """All rows of a session as recorded, and what a plan does to them.

    Args:
        rows: The rows.
        table: Their tokens; may be of a shorter session.
        outcome: The newest replay, at the call looked at; None before the first.
    """
    tokens, uncounted = row_tokens(table, rows.history.characters)
    if outcome is None:
        return TimelineView(rows, tokens, uncounted=uncounted)
    return TimelineView(
        rows,
        tokens,
        outcome.state,
        partial(_reason, outcome.replay, outcome.state.call),
        outcome.replay.figures.prompt_tokens.known.value,
        decisions=partial(decisions_of, outcome),
        tiers=partial(tiers_of, outcome),
        uncounted=uncounted,
    )


def decisions_of(outcome: Outcome) -> Decisions:
    """Per block the decision in force at the call looked at, -1 for none; per decision its strategy and its part."""
    changes, entries = outcome.replay.edits, outcome.replay.plan.entries
    row = outcome.state.row
    if not len(changes.reason):
        return np.full(len(row), -1, dtype=np.int64), ()
    names = tuple(
        (entries[reason.entry].strategy.name if reason.entry >= 0 else "", reason.decision.group)
        for reason in changes.reasons
    )
    return np.where(row >= 0, changes.reason[row], -1), names


def tiers_of(outcome: Outcome) -> Tiers:
    """Per strategy of the plan, on or off, that sorts tools into tiers, for each tool of the session, its tier."""
    names = outcome.replay.history.tool_names
    sorting = (getattr(entry.strategy, "tier_of", None) for entry in outcome.plan.entries)
    return tuple(tuple(tier_of(name) for name in names) for tier_of in sorting if callable(tier_of))


def _reason(replay: Replay, call: int, block: int) -> str:
    return replay.reason(block, call)
