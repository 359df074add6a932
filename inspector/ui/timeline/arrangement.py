"""In which order rows are shown, and which of them are folded away: messages to a row, subagents to their first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.ui.timeline.rows import Rows

    Weight = NDArray[np.int64] | NDArray[np.int32]


class Order(Enum):
    """How rows follow one another; the value says it in a few words."""

    RECORDED = "as recorded"
    SIZE = "largest first"
    CARRIED = "most carried first: tokens × calls"  # noqa: RUF001  a multiplication sign is meant

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
    """

    order: Order = Order.RECORDED
    folds: Folds = Folds()
    pins: frozenset[int] = frozenset()

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


def arrange(rows: Rows, arrangement: Arrangement, weight: Weight, found: NDArray[np.int32] | None = None) -> Arranged:
    """Which rows to show, in which order.

    Args:
        rows: All of them.
        arrangement: How.
        weight: Per block, what the order goes by, the most first; may be shorter than the session while it grows.
        found: The only rows to show, rising; None for all.
    """
    if arrangement.is_plain:
        return Arranged(found, None)
    folded = folded_messages(rows, arrangement.folds)
    shown = np.arange(len(rows), dtype=np.int32) if found is None else found
    shown = shown[~_folded_away(rows, shown, folded, arrangement.folds.threads)]
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
