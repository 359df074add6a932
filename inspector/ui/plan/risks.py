"""Risks of a plan: their wording, and the rows they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.analysis.breakpoint_prices import BreakpointPrices
    from inspector.replay.analysis.hazards import Hazard
    from inspector.replay.analysis.recoveries import Need, Recoveries
    from inspector.session.model import Session
    from inspector.ui.timeline.view import TimelineView


@dataclass(frozen=True, eq=False)
class Risks:
    """Risks of one plan.

    Attributes:
        session: The replayed session.
        hazards: Risks by kind.
        needed: Cut text that later calls needed; None until computed.
        prices: Cost by cache breakpoints; None until computed, or if no provider of the session uses them.
    """

    session: Session
    hazards: tuple[Hazard, ...]
    needed: Recoveries | None = None
    prices: BreakpointPrices | None = None

    def lines(self) -> tuple[str, ...]:
        """Return one line per risk, the worst first."""
        lines = []
        if self.needed is not None and self.needed.calls:
            lines.append(f"{ON_SCREEN.plural(self.needed.needed, 'call')} needed cut text")
        lines += [
            f"{hazard.kind.brief}: {ON_SCREEN.whole(hazard.count)}" if hazard.count > 1 else hazard.kind.brief
            for hazard in self.hazards
        ]
        if self.prices is not None and self.prices.is_relevant:
            low, high = ON_SCREEN.dollars(self.prices.low), ON_SCREEN.dollars(self.prices.high)
            lines.append(f"cache breakpoints: {low} to {high}")
        return tuple(lines)

    @cached_property
    def blocks(self) -> NDArray[np.int32]:
        """Blocks with a risk, ascending."""
        blocks = {block for hazard in self.hazards for block in hazard.blocks}
        blocks |= set(self.needed.by_block if self.needed is not None else ())
        return np.array(sorted(blocks), dtype=np.int32)

    def need_at(self, block: int) -> Need | None:
        """Return the need of a cut block, or the first need that a block shows."""
        if self.needed is None:
            return None
        return self.needed.by_block.get(block) or self._needs_by_use.get(block)

    @cached_property
    def _needs_by_use(self) -> dict[int, Need]:
        needs = () if self.needed is None else self.needed.needs
        return {need.use: need for need in reversed(needs)}

    def positions(self, view: TimelineView) -> NDArray[np.int32]:
        """Return the rows of these blocks, ascending."""
        return view.positions_of_blocks(self.blocks)

    def sentence(self, block: int) -> str:
        """Describe the risks of a block."""
        kinds = [hazard.kind.label for hazard in self.hazards if block in hazard.blocks]
        if self.needed is not None and block in self.needed.by_block:
            kinds.insert(0, self._needed_again(block))
        return ", ".join(kinds) or "no risk here"

    def _needed_again(self, block: int) -> str:
        """Describe the first call that needed cut text of a block, and the needed text."""
        use = None if self.needed is None else self.needed.by_block.get(block)
        if use is None:
            return "cut and needed later"
        session = self.session
        at = f"at call {ON_SCREEN.whole(use.call + 1)}"
        try:
            text = session.text(session.all_blocks[block])
        except (TextUnavailableError, OSError):
            return f"cut and needed {at}"
        if (use.start, use.stop) == (0, len(text)):
            return f"cut and requested again {at}"
        return f"cut and needed {at}: {one_line(text[use.start : use.stop])} ({use.kind.label})"
