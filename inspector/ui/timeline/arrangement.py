"""In which order rows are shown, and which of them are folded away: messages to a row, subagents to their first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.rendition import Action
from inspector.ui.timeline.tokens import BlockAmount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.ui.timeline.rows import Row, Rows
    from inspector.ui.timeline.tokens import ContextAmounts

    Weight = NDArray[np.int64] | NDArray[np.int32]


class Order(Enum):
    """How rows follow one another; the value says it in a few words."""

    RECORDED = "as recorded"
    SIZE = "largest first"
    CARRIED = "most token-calls first"

    @property
    def next(self) -> Order:
        """The one after it, around the end."""
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


@dataclass(frozen=True, slots=True)
class Folds:
    """What is folded.

    Attributes:
        all_messages: Messages are folded, those in `others` are not; otherwise only those in `others` are.
        others: Messages that are not as most.
        threads: Subagents folded to the row they begin at.
    """

    all_messages: bool = False
    others: frozenset[int] = frozenset()
    threads: frozenset[int] = frozenset()

    def is_folded(self, message: int) -> bool:
        """Whether a message is folded."""
        return (message in self.others) != self.all_messages

    def with_message(self, message: int, *, folded: bool) -> Folds:
        """The same with one message folded, or not."""
        others = self.others | {message} if folded != self.all_messages else self.others - {message}
        return replace(self, others=others)

    def with_thread(self, thread: int, *, folded: bool) -> Folds:
        """The same with one subagent folded, or not."""
        return replace(self, threads=self.threads | {thread} if folded else self.threads - {thread})


@dataclass(frozen=True, eq=False)
class Arrangement:
    """How rows are to be shown; equal only to itself.

    Attributes:
        order: How they follow one another.
        folds: What is folded.
        pins: Blocks the user marked.
        hides_removed: Rows that are no longer sent are folded away.
    """

    order: Order = Order.RECORDED
    folds: Folds = Folds()
    pins: frozenset[int] = frozenset()
    hides_removed: bool = False

    def of_later(self, before: Session, after: Session) -> Arrangement:
        """The same for another state of the session: a pin stays where its block says what it said."""
        if not self.pins:
            return self
        then, now = before.all_blocks, after.all_blocks
        pins = frozenset(
            block for block in self.pins if block < min(len(then), len(now)) and then[block].digest == now[block].digest
        )
        return self if pins == self.pins else replace(self, pins=pins)

    @property
    def is_plain(self) -> bool:
        """Every row is shown, as recorded."""
        return self.order is Order.RECORDED and self.folds == Folds()


class Arranged(NamedTuple):
    """What an arrangement comes to.

    Attributes:
        visible: Rows in the order they are shown, int32; None for all as recorded.
        folded: Per message, whether it is shown as one row; None where none is.
    """

    visible: NDArray[np.int32] | None
    folded: NDArray[np.bool_] | None


def removed_blocks(history: History, call: int) -> NDArray[np.bool_]:
    """Per block, whether a call no longer sends it, bool: an earlier one did, or what stands around it is gone.

    Blocks of subagents are in prompts of their own, and are none of these.

    Args:
        history: The session's columns.
        call: The call; the number of recorded calls for the next one.
    """
    own = history.message_thread[history.message] == 0
    in_prompt = np.zeros(len(own), dtype=np.bool_)
    in_prompt[history.prompt(call)] = True
    removed: NDArray[np.bool_] = (history.enters < call) & own & ~in_prompt
    if removed.any():
        # The answer that a compaction came upon was in no prompt, and is gone with what stands before it.
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
    """Which rows to show, in which order.

    Args:
        rows: All of them.
        arrangement: How.
        weight: Per block, what the order goes by, the most first; may be shorter than the session while it grows.
        found: The only rows to show, rising; None for all.
        removed: Per block, whether its row is folded away with what stands below it; None where none is.
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
    """Per message, whether it is folded; None where none is. One of a single block never is."""
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
    """Per row to be shown, whether another stands for it."""
    away = np.zeros(len(shown), dtype=np.bool_)
    others = np.flatnonzero(~rows.is_boundary[shown])
    message = rows.history.message[rows.block[shown[others]]]
    if folded is not None:
        # What stands below a call goes with its message, of which there is always a row before.
        away[others] = folded[message] & (np.diff(message, prepend=-1) == 0)
    if threads:
        away[others] |= np.isin(rows.history.message_thread[message], list(threads))
    return away


def _sorted(
    rows: Rows, shown: NDArray[np.int32], weight: Weight, folded: NDArray[np.bool_] | None
) -> NDArray[np.int32]:
    """Rows of blocks, the heaviest first, equal ones as recorded; a folded message weighs what its blocks do."""
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
    """The first block of a block's message, and the one after its last."""
    message = int(history.message[block])
    return int(history.message_first_block[message]), int(history.message_first_block[message + 1])


def folded_row(rows: Rows, row: Row) -> Row:
    """What a row says that stands for its message: whose it is, the tools in it, whether a result failed."""
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
    """How many blocks a message has, and what the first of them that says something says; safe to show."""
    first, end = blocks_of_message(rows.history, row.block)
    said = next((text for block in range(first, end) if (text := rows.preview(rows.index_of(block)))), "")
    return f"{ON_SCREEN.plural(end - first, 'block')} · {said}" if said else ON_SCREEN.plural(end - first, "block")


def folded_amount(state: ContextAmounts, first: int, end: int) -> BlockAmount:
    """What a message's blocks come to together; cut where any of them is not sent whole."""
    inside = state.in_prompt[first:end]
    recorded = int(state.recorded[first:end].sum())
    if not inside.any():
        return BlockAmount(recorded, 0, False, Action.WHOLE)
    changed = np.unique(state.action[first:end][inside])
    action = Action(int(changed[0])) if len(changed) == 1 else Action.CUT
    return BlockAmount(recorded, int(state.sent[first:end].sum()), True, action)
