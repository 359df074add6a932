"""State of the timeline: visible rows, their tokens, and the effect of the plan on each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.strategies.core.operations import Action
from inspector.ui.timeline.arrangement import Order, blocks_of_message, folded_amount, folded_preview, folded_row
from inspector.ui.timeline.rows import BlockAmount, ContextAmounts, Row, Rows, row_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.replay.engine.replay import Replay
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome

    Tiers = tuple[tuple[str, ...], ...]
    Decisions = tuple[NDArray[np.int64], tuple[tuple[str, str], ...]]


def no_reason(block: int) -> str:  # noqa: ARG001  default without a plan
    return ""


def no_decisions() -> Decisions:
    return np.zeros(0, dtype=np.int64), ()


def no_tiers() -> Tiers:
    return ()


@dataclass(frozen=True, eq=False)
class TimelineView:
    """State of the timeline, compared by identity; a changed plan, call, filter or session makes a new view.

    Attributes:
        rows: All rows of the session.
        tokens: Tokens of each whole block, local counts before the first replay; may be shorter than the session while
            it grows.
        state: The selected prompt on the same scale, or None before the first replay; may also be shorter than the
            session.
        reason: Returns a short reason why a block is not sent whole.
        known: Confidence of the tokens: `estimated`, `calibrated`, `exact`.
        visible: Visible rows in display order, int32; None for all as recorded.
        folded: Per message, True if it is shown as one row; None if no message is.
        decisions: Returns the index of the active decision per block, -1 for none, and strategy and part of each
            decision.
        tiers: Returns for each strategy that sorts tools into tiers the tier of each tool of the session.
        order: Row order.
        token_calls: Token-calls per block; None unless the rows are ordered by them.
        hits: Rows that match the search, ascending, int32; None without a search.
        pins: Pinned blocks.
        uncounted: Per block, True if its tokens are still estimated; None if all were counted.
        folded_threads: Subagents within the session's file that are folded to their first row.
        misses: Avoidable cache misses, by the block of the call's row.
        is_planned: A strategy is on.
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
    token_calls: NDArray[np.int64] | None = None
    hits: NDArray[np.int32] | None = None
    pins: frozenset[int] = frozenset()
    uncounted: NDArray[np.bool_] | None = None
    folded_threads: frozenset[int] = frozenset()
    misses: Mapping[int, CacheMiss] = field(default_factory=dict)
    is_planned: bool = False

    @property
    def count(self) -> int:
        return len(self.rows) if self.visible is None else len(self.visible)

    @property
    def session_row_count(self) -> int:
        """Number of the session's rows, visible or not, without rows of subagents' sessions."""
        return len(self.rows) - self.rows.inner_count

    @property
    def hidden(self) -> int:
        return len(self.rows) - self.count

    def row_at(self, position: int) -> int:
        return position if self.visible is None else int(self.visible[position])

    def position_of(self, row: int) -> int:
        """Return the position of a row, of the row it is folded into, or the nearest; -1 if no row is visible."""
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
        """Visible rows, ascending, and their positions."""
        visible = self.visible if self.visible is not None else np.arange(len(self.rows), dtype=np.int32)
        if self.order is Order.RECORDED:
            return visible, np.arange(len(visible))
        place = np.argsort(visible, kind="stable")
        return visible[place], place

    def is_folded(self, row: int) -> bool:
        folded = self.folded
        if folded is None or not self.rows.is_block[row]:
            return False
        message = int(self.rows.history.message[self.rows.block[row]])
        return message < len(folded) and bool(folded[message])

    def can_fold(self, row: int) -> bool:
        """Return True if the row belongs to a message with several blocks."""
        if not self.rows.is_block[row]:
            return False
        first, end = blocks_of_message(self.rows.history, int(self.rows.block[row]))
        return end - first > 1

    def is_pinned(self, row: int) -> bool:
        return bool(self.rows.is_block[row]) and int(self.rows.block[row]) in self.pins

    def is_hit(self, row: int) -> bool:
        if self.hits is None:
            return False
        place = int(np.searchsorted(self.hits, row))
        return place < len(self.hits) and int(self.hits[place]) == row

    def row(self, index: int) -> Row:
        """Return a row, or the combined row of a folded message."""
        row = self.rows.row(index)
        return folded_row(self.rows, row) if self.is_folded(index) else row

    def preview(self, index: int) -> str:
        """Return the one-line preview of a row or a folded message."""
        return folded_preview(self.rows, self.rows.row(index)) if self.is_folded(index) else self.rows.preview(index)

    def amount_at(self, index: int) -> BlockAmount:
        """Return the tokens of a row's block, or the sum of a folded message."""
        if (inner := self.rows.inner_of(index)) is not None:
            return inner[0].amount(inner[1])
        block = int(self.rows.block[index])
        if not self.is_folded(index):
            return self._mark_estimated(self.amount(block), block, block + 1)
        first, end = blocks_of_message(self.rows.history, block)
        return self._mark_estimated(self._folded_amount(first, end), first, end)

    def _mark_estimated(self, amount: BlockAmount, first: int, end: int) -> BlockAmount:
        if self.uncounted is None or not self.uncounted[first:end].any():
            return amount
        return amount._replace(is_estimated=True)

    def _folded_amount(self, first: int, end: int) -> BlockAmount:
        if self.state is None or end > len(self.state.sent):
            recorded = int(self.tokens[first:end].sum())
            return BlockAmount(recorded, recorded, True, Action.WHOLE)
        return folded_amount(self.state, first, end)

    def token_calls_at(self, index: int) -> int:
        """Return the token-calls of a row or folded message; 0 while unknown."""
        if self.token_calls is None or not self.rows.is_block[index]:
            return 0
        block = int(self.rows.block[index])
        first, end = blocks_of_message(self.rows.history, block) if self.is_folded(index) else (block, block + 1)
        return int(self.token_calls[first:end].sum())

    def miss_at(self, index: int) -> CacheMiss | None:
        """Return the cache miss of the call that produced the row or folded message; None if there is none."""
        if not self.misses or not self.rows.is_block[index]:
            return None
        block = int(self.rows.block[index])
        if not self.is_folded(index):
            return self.misses.get(block)
        blocks = range(*blocks_of_message(self.rows.history, block))
        return next((self.misses[each] for each in blocks if each in self.misses), None)

    def reason_at(self, index: int) -> str:
        """Return why a row is not sent whole; for a folded message, the first reason and the number of blocks."""
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
        """Return a block's share of the prompt; the whole block while nothing is computed."""
        if self.state is None or block >= len(self.state.sent):
            recorded = int(self.tokens[block]) if block < len(self.tokens) else 0
            return BlockAmount(recorded, recorded, True, Action.WHOLE)
        recorded = int(self.state.recorded[block])
        if not self.state.in_prompt[block]:
            return BlockAmount(recorded, 0, False, Action.WHOLE)
        return BlockAmount(recorded, int(self.state.sent[block]), True, Action(int(self.state.action[block])))

    @cached_property
    def full_bar(self) -> int:
        """Tokens of a full-width bar: the largest tool result, or the largest block without tool results.

        Depends only on recorded data, so that bars keep their scale while a limit is dragged.
        """
        history = self.rows.history
        results = history.results[history.results < len(self.tokens)]
        largest = self.tokens[results] if len(results) else self.tokens
        return max(int(largest.max()), 1) if len(largest) else 1

    @cached_property
    def largest(self) -> int:
        return int(self.tokens.max()) if len(self.tokens) else 0

    @cached_property
    def shows_changes(self) -> bool:
        """True if a plan is on, or a block of the prompt is not sent whole without one."""
        state = self.state
        return self.is_planned or (state is not None and bool(((state.action != Action.WHOLE) & state.in_prompt).any()))

    @cached_property
    def changed_positions(self) -> NDArray[np.int32]:
        if self.state is None:
            return np.zeros(0, dtype=np.int32)
        changed = (self.state.action != Action.WHOLE) & self.state.in_prompt
        padded = np.zeros(len(self.rows.history.kind), dtype=np.bool_)
        padded[: len(changed)] = changed[: len(padded)]
        return self._positions(padded[self.rows.block] & self.rows.is_block)

    @cached_property
    def error_positions(self) -> NDArray[np.int32]:
        return self._positions(self.rows.is_error)

    @cached_property
    def boundary_positions(self) -> NDArray[np.int32]:
        """Positions of boundaries and subagents, ascending."""
        return self._positions(self.rows.is_boundary | self.rows.is_subagent)

    @cached_property
    def hit_positions(self) -> NDArray[np.int32]:
        if self.hits is None:
            return np.zeros(0, dtype=np.int32)
        wanted = np.zeros(len(self.rows), dtype=np.bool_)
        wanted[self.hits[self.hits < len(wanted)]] = True
        return self._positions(wanted)

    @cached_property
    def pin_positions(self) -> NDArray[np.int32]:
        return self.positions_of_blocks(np.array(sorted(self.pins), dtype=np.int32))

    def positions_of_blocks(self, blocks: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Return the positions of some blocks or of the messages they are folded into, ascending."""
        wanted = np.isin(self.rows.block, blocks) & self.rows.is_block
        return self._positions(wanted)

    def places_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the position of each row, or of the row it is folded into; -1 if both are hidden."""
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
        # Reversed, so that the first row of a message is written last.
        first[history.message[self.rows.block[visible[blocks]]]] = blocks
        message = history.message[self.rows.block[rows]]
        folded_rows = (places < 0) & is_block[rows] & (message < len(folded))
        folded_rows[folded_rows] = folded[message[folded_rows]]
        return np.where(folded_rows, first[message], places)

    @property
    def changed_rows(self) -> NDArray[np.int32]:
        """Rows of blocks in the prompt that are not sent whole, visible or not, ascending."""
        if self.state is None:
            return np.zeros(0, dtype=np.int32)
        changed = np.flatnonzero((self.state.action != Action.WHOLE) & self.state.in_prompt)
        return self.rows_of_blocks(changed)

    def rows_of_blocks(self, blocks: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Return the rows of some blocks, visible or not, ascending; missing blocks are skipped."""
        own = self.rows.own
        return own[np.unique(blocks[(blocks >= 0) & (blocks < len(own))]).astype(np.int64)]

    def _positions(self, wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
        if self.folded is not None:
            wanted = wanted | self._folded_matches(wanted)
        shown = wanted if self.visible is None else wanted[self.visible]
        return np.flatnonzero(shown).astype(np.int32)

    def _folded_matches(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of rows that belong to a folded message with a wanted row."""
        rows, folded = self.rows, self.folded
        message = rows.history.message[rows.block]
        found = np.zeros(len(rows.history.session.messages), dtype=np.bool_)
        found[message[wanted & rows.is_block]] = True
        if folded is not None:
            found[: len(folded)] &= folded
        folded_rows: NDArray[np.bool_] = found[message] & rows.is_block
        return folded_rows


def view_of(rows: Rows, table: TokenTable, outcome: Outcome | None) -> TimelineView:
    """Build a view of all rows with the effect of the plan; `table` may be of a shorter session."""
    tokens, uncounted = row_tokens(table, rows.history.characters)
    if outcome is None:
        return TimelineView(rows, tokens, uncounted=uncounted)
    return TimelineView(
        rows,
        outcome.block_tokens(tokens),
        outcome.shown,
        partial(_reason, outcome.replay, outcome.state.call),
        outcome.tokens_known,
        decisions=partial(decisions_of, outcome),
        tiers=partial(tiers_of, outcome),
        uncounted=uncounted,
        is_planned=outcome.is_planned,
    )


def decisions_of(outcome: Outcome) -> Decisions:
    """Return the active decision per block at the selected call (-1 for none), with strategies and parts."""
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
    """Return the tier of each tool, per strategy of the plan (on or off) that sorts tools into tiers."""
    names = outcome.replay.history.tool_names
    sorting = (getattr(entry.strategy, "tier_of", None) for entry in outcome.plan.entries)
    return tuple(tuple(tier_of(name) for name in names) for tier_of in sorting if callable(tier_of))


def _reason(replay: Replay, call: int, block: int) -> str:
    return replay.reason(block, call)
