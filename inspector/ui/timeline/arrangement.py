"""Order and folding of rows: messages fold to one row, subagents to their first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.operations import Action
from inspector.ui.timeline.rows import BlockAmount, ContextAmounts, Row, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History

    Weight = NDArray[np.int64] | NDArray[np.int32]


class Order(Enum):
    """Row orders; the value is the text shown."""

    RECORDED = "as recorded"
    SIZE = "largest first"
    TOKEN_CALLS = "most token-calls first"  # noqa: S105  a title

    @property
    def next(self) -> Order:
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


@dataclass(frozen=True, slots=True)
class Folds:
    """Folded messages and subagents.

    Attributes:
        all_messages: Fold all messages except `others`; otherwise only `others` are folded.
        others: Exceptions to `all_messages`.
        threads: Subagents folded to their first row.
    """

    all_messages: bool = False
    others: frozenset[int] = frozenset()
    threads: frozenset[int] = frozenset()

    def is_folded(self, message: int) -> bool:
        return (message in self.others) != self.all_messages

    def with_message(self, message: int, *, folded: bool) -> Folds:
        others = self.others | {message} if folded != self.all_messages else self.others - {message}
        return replace(self, others=others)

    def with_thread(self, thread: int, *, folded: bool) -> Folds:
        return replace(self, threads=self.threads | {thread} if folded else self.threads - {thread})


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Arrangement of the rows; compared by identity.

    Attributes:
        order: Row order.
        folds: Folded messages and subagents.
        pins: Pinned blocks.
        hides_removed: Fold away rows that are no longer sent.
    """

    order: Order = Order.RECORDED
    folds: Folds = Folds()
    pins: frozenset[int] = frozenset()
    hides_removed: bool = False

    def of_later(self, before: Session, after: Session) -> Arrangement:
        """Adapt to another state of the session: a pin stays if its block's text is unchanged."""
        if not self.pins:
            return self
        then, now = before.all_blocks, after.all_blocks
        pins = frozenset(
            block for block in self.pins if block < min(len(then), len(now)) and then[block].digest == now[block].digest
        )
        return self if pins == self.pins else replace(self, pins=pins)

    @property
    def is_plain(self) -> bool:
        """True if every row is shown in recorded order."""
        return self.order is Order.RECORDED and self.folds == Folds()


class Arranged(NamedTuple):
    """Result of an arrangement.

    Attributes:
        visible: Visible rows in display order, int32; None for all as recorded.
        folded: Per message, True if it is shown as one row; None if no message is.
    """

    visible: NDArray[np.int32] | None
    folded: NDArray[np.bool_] | None


def removed_blocks(history: History, call: int) -> NDArray[np.bool_]:
    """Return a mask of the blocks a call no longer sends: sent by an earlier call, or surrounded by removed blocks.

    Blocks of subagents belong to other prompts and are False. The number of recorded calls is the next prompt.
    """
    own = history.message_thread[history.message] == 0
    in_prompt = np.zeros(len(own), dtype=np.bool_)
    in_prompt[history.prompt(call)] = True
    removed: NDArray[np.bool_] = (history.enters < call) & own & ~in_prompt
    if removed.any():
        # A response cut short by a compaction was in no prompt, and is removed along with the blocks before it.
        last = int(np.flatnonzero(removed)[-1])
        kept_after = np.flatnonzero(in_prompt[last:])
        end = last + int(kept_after[0]) if len(kept_after) else last
        removed[:end] |= (own & ~in_prompt)[:end]
    return removed


def arrange(
    rows: Rows,
    arrangement: Arrangement,
    weight: Weight,
    found: NDArray[np.int32] | None = None,
    removed: NDArray[np.bool_] | None = None,
) -> Arranged:
    """Return the rows to show, in order.

    Args:
        rows: All rows.
        arrangement: Their arrangement.
        weight: Sort weight per block, descending; may be shorter than the session while it grows.
        found: Only these rows, ascending; None for all.
        removed: Per block, True to hide its row and the rows below it; None to hide none.
    """
    if arrangement.is_plain and removed is None:
        return Arranged(found, None)
    folded = folded_messages(rows, arrangement.folds)
    shown = np.arange(len(rows), dtype=np.int32) if found is None else found
    shown = shown[~_folded_away(rows, shown, folded, arrangement.folds.threads)]
    if removed is not None:
        shown = shown[rows.is_boundary[shown] | ~removed[rows.block[shown]]]
    if arrangement.order is not Order.RECORDED:
        shown = _sorted(rows, shown, weight, folded)
    return Arranged(shown, folded)


def folded_messages(rows: Rows, folds: Folds) -> NDArray[np.bool_] | None:
    """Return a mask of folded messages; None if no message is folded. A message with a single block never is."""
    if not folds.all_messages and not folds.others:
        return None
    first = rows.history.message_first_block
    folded = np.full(len(first) - 1, folds.all_messages, dtype=np.bool_)
    others = [message for message in folds.others if message < len(folded)]
    folded[others] = not folds.all_messages
    return folded & (np.diff(first) > 1)


def _folded_away(
    rows: Rows, shown: NDArray[np.int32], folded: NDArray[np.bool_] | None, threads: frozenset[int]
) -> NDArray[np.bool_]:
    """Return a mask of the rows to show that are folded into another row."""
    away = np.zeros(len(shown), dtype=np.bool_)
    others = np.flatnonzero(~rows.is_boundary[shown])
    message = rows.history.message[rows.block[shown[others]]]
    if folded is not None:
        # Rows below a call fold with its message, which always has an earlier row.
        away[others] = folded[message] & (np.diff(message, prepend=-1) == 0)
    if threads:
        away[others] |= np.isin(rows.history.message_thread[message], list(threads))
    return away


def _sorted(
    rows: Rows, shown: NDArray[np.int32], weight: Weight, folded: NDArray[np.bool_] | None
) -> NDArray[np.int32]:
    """Return rows of blocks by descending weight, stable; a folded message weighs as much as its blocks together."""
    own_rows = shown[rows.is_block[shown]]
    blocks = rows.block[own_rows]
    padded = np.zeros(len(rows.history.kind), dtype=np.int64)
    padded[: len(weight)] = weight[: len(padded)]
    own = padded[blocks]
    if folded is not None and len(padded):
        message = rows.history.message[blocks]
        sums = np.add.reduceat(padded, np.minimum(rows.history.message_first_block[:-1], len(padded) - 1))
        own = np.where(folded[message], sums[message], own)
    order: NDArray[np.int32] = own_rows[np.argsort(-own, kind="stable")]
    return order


_LETTERS = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "R", Role.OTHER: "·"}


def blocks_of_message(history: History, block: int) -> tuple[int, int]:
    """Return the first block of a block's message, and the end (exclusive)."""
    message = int(history.message[block])
    return int(history.message_first_block[message]), int(history.message_first_block[message + 1])


def folded_row(rows: Rows, row: Row) -> Row:
    """Build the row of a folded message: its role, its tools, and the error flag of any failed result."""
    history = rows.history
    first, end = blocks_of_message(history, row.block)
    message = history.session.messages[row.message - 1]
    tools = list(dict.fromkeys(block.tool_name for block in message.blocks if block.tool_name))
    has_results = bool((history.kind[first:end] == BlockKind.TOOL_RESULT).any())
    tool = rows.row(row.index).tool if not tools else rows.tool_label(tools[0])
    return replace(
        row,
        starts_message=True,
        letter="R" if has_results else _LETTERS[message.role],
        tool=f"{tool} +{len(tools) - 1}" if len(tools) > 1 else tool,
        is_error=bool(history.is_error[first:end].any()),
    )


def folded_preview(rows: Rows, row: Row) -> str:
    """Preview a folded message: its number of blocks and the first non-empty block preview; safe to show."""
    first, end = blocks_of_message(rows.history, row.block)
    phrase = next((text for block in range(first, end) if (text := rows.preview(rows.index_of(block)))), "")
    return f"{ON_SCREEN.plural(end - first, 'block')} · {phrase}" if phrase else ON_SCREEN.plural(end - first, "block")


def folded_amount(state: ContextAmounts, first: int, end: int) -> BlockAmount:
    """Sum the amounts of a message's blocks; the action is CUT if any block is not sent whole."""
    inside = state.in_prompt[first:end]
    recorded = int(state.recorded[first:end].sum())
    if not inside.any():
        return BlockAmount(recorded, 0, False, Action.WHOLE)
    changed = np.unique(state.action[first:end][inside])
    action = Action(int(changed[0])) if len(changed) == 1 else Action.CUT
    return BlockAmount(recorded, int(state.sent[first:end].sum()), True, action)
