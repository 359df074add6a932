"""What may go wrong with a plan, in the words and places of the screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.safe_text import one_line
from inspector.session.model import TextUnavailableError
from inspector.ui import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.hazards import Hazard
    from inspector.replay.uses import NeededLater, Uses
    from inspector.strategies.history import History
    from inspector.ui.timeline.view import TimelineView

LONGEST_WORD = 80
"""Characters of the longest word that is looked for; what is longer is a whole result that was asked for again."""
_GROWTH = 0.1
"""By how much of its calls a session may have grown before its uses are gathered again: that reads every text."""


@dataclass(frozen=True, eq=False)
class KnownUses:
    """Where a session used again what its tool results said.

    Attributes:
        history: The state of the session it was gathered from.
        uses: The evidence.
    """

    history: History
    uses: Uses

    def serves(self, history: History) -> bool:
        """Whether it will do for a later state of the session: what is known of the earlier calls still holds."""
        return history.call_count <= self.history.call_count * (1 + _GROWTH)


@dataclass(frozen=True, eq=False)
class Risks:
    """Everything known to go wrong with one plan.

    Attributes:
        hazards: What may go wrong, by kind.
        needed: What was cut and used again; None while it is being looked for.
        uses: What `needed` was found with.
    """

    hazards: tuple[Hazard, ...]
    needed: NeededLater | None = None
    uses: KnownUses | None = None

    def lines(self) -> tuple[str, ...]:
        """One line a finding, the worst first."""
        lines = []
        if self.needed is not None and self.needed.calls:
            lines.append(f"{numbers.plural(len(self.needed.calls), 'call')} used what was cut")
        lines += [
            f"{hazard.kind.value}: {numbers.whole(hazard.count)}" if hazard.count > 1 else hazard.kind.value
            for hazard in self.hazards
        ]
        if lines and len(self.blocks):
            lines[-1] += " · h"
        return tuple(lines)

    @cached_property
    def blocks(self) -> NDArray[np.int32]:
        """The blocks something may go wrong with, rising."""
        blocks = {block for hazard in self.hazards for block in hazard.blocks}
        blocks |= set(self.needed.blocks if self.needed is not None else ())
        return np.array(sorted(blocks), dtype=np.int32)

    def positions(self, view: TimelineView) -> NDArray[np.int32]:
        """Where those blocks are shown, rising."""
        return view.positions_of_blocks(self.blocks)

    def sentence(self, block: int) -> str:
        """What may go wrong with a block."""
        kinds = [hazard.kind.value for hazard in self.hazards if block in hazard.blocks]
        if self.needed is not None and block in self.needed.blocks:
            kinds.insert(0, self._needed_again(block))
        return ", ".join(kinds) or "nothing is known to go wrong here"

    def _needed_again(self, block: int) -> str:
        """That a block was cut and used again: at which call first, and what of it."""
        use = None if self.needed is None else self.needed.first.get(block)
        if use is None or self.uses is None:
            return "cut, and used again later"
        session = self.uses.history.session
        try:
            used = session.text(session.blocks[block])[use.start : use.stop]
        except TextUnavailableError:
            used = ""
        told = one_line(used, LONGEST_WORD) if len(used) <= LONGEST_WORD else "asked for by the same call"
        return f"cut, and used again at call {numbers.whole(use.call + 1)}: {told}"
