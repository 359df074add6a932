"""Everything the timeline shows at one moment: rows, which of them, their tokens, and what a plan does to each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from inspector.strategies.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from inspector.ui.rows import Rows


class ContextAmounts(Protocol):
    """One call's prompt under a plan, as columns a block: what a replay says of it."""

    @property
    def in_prompt(self) -> NDArray[np.bool_]:
        """Whether the prompt holds the block."""
        ...

    @property
    def recorded(self) -> NDArray[np.int32]:
        """Tokens of the block as recorded."""
        ...

    @property
    def sent(self) -> NDArray[np.int32]:
        """Tokens of the block as sent."""
        ...

    @property
    def action(self) -> NDArray[np.uint8]:
        """What was done to it, `Action`."""
        ...


class Amount(NamedTuple):
    """One block's part of the prompt.

    Attributes:
        recorded: Tokens of the whole block.
        sent: Tokens sent, 0 outside the prompt.
        in_prompt: The prompt holds it, or would if the plan had not removed it.
        action: What was done to it.
    """

    recorded: int
    sent: int
    in_prompt: bool
    action: Action

    @property
    def change(self) -> int:
        """Tokens the plan added, negative for those it took away."""
        return self.sent - self.recorded if self.in_prompt else 0


def no_reason(block: int) -> str:  # noqa: ARG001  nothing is known of any block
    """Stands for a plan that changes nothing."""
    return ""


@dataclass(frozen=True, eq=False)
class TimelineView:
    """What is shown. A changed plan, call, filter or session is another view; a view is equal only to itself.

    Attributes:
        rows: All rows of the session.
        tokens: Tokens per block as recorded; may be shorter than the session while it grows.
        state: The prompt looked at, or None before there is a replay; may be shorter than the session too.
        reason: Why a block is not sent whole, in a few words.
        known: How the tokens are known: `estimated`, `calibrated`, `exact`.
        visible: Row indices that are shown, rising, int32; None for all.
    """

    rows: Rows
    tokens: NDArray[np.int32]
    state: ContextAmounts | None = None
    reason: Callable[[int], str] = no_reason
    known: str = "estimated"
    visible: NDArray[np.int32] | None = None

    @property
    def count(self) -> int:
        """Rows shown."""
        return len(self.rows) if self.visible is None else len(self.visible)

    @property
    def hidden(self) -> int:
        """Rows not shown."""
        return len(self.rows) - self.count

    def row_at(self, position: int) -> int:
        """The row shown at a position."""
        return position if self.visible is None else int(self.visible[position])

    def position_of(self, row: int) -> int:
        """Where a row is shown, or the nearest one that is; -1 when nothing is shown."""
        if self.visible is None:
            return min(row, len(self.rows) - 1)
        if not len(self.visible):
            return -1
        after = min(int(np.searchsorted(self.visible, row)), len(self.visible) - 1)
        before = max(after - 1, 0)
        return before if abs(int(self.visible[before]) - row) < abs(int(self.visible[after]) - row) else after

    def amount(self, block: int) -> Amount:
        """A block's part of the prompt; the block whole where nothing is known of it yet."""
        if self.state is None or block >= len(self.state.sent):
            recorded = int(self.tokens[block]) if block < len(self.tokens) else 0
            return Amount(recorded, recorded, True, Action.WHOLE)
        recorded = int(self.state.recorded[block])
        if not self.state.in_prompt[block]:
            return Amount(recorded, 0, False, Action.WHOLE)
        return Amount(recorded, int(self.state.sent[block]), True, Action(int(self.state.action[block])))

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
        return self._positions(padded[self.rows.block] & ~self.rows.is_boundary)

    @cached_property
    def error_positions(self) -> NDArray[np.int32]:
        """Where failed tool results are shown, rising."""
        return self._positions(self.rows.is_error)

    @cached_property
    def boundary_positions(self) -> NDArray[np.int32]:
        """Where a context begins, rising."""
        return self._positions(self.rows.is_boundary)

    def _positions(self, wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
        shown = wanted if self.visible is None else wanted[self.visible]
        return np.flatnonzero(shown).astype(np.int32)
