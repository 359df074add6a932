"""Jumping to what matters most in a long session, and saying what happened there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.screens.arranging import Arranging

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.jumps import Jump


class Jumping(Arranging):
    """A session screen with keys to the biggest rises of the context and to where the cache was lost."""

    _jumps_of: tuple[object, Callable[[Outcome], tuple[Jump, ...]], tuple[Jump, ...]] | None = None

    def action_to_rise(self, step: int) -> None:
        """To another of the places where the context grew most."""
        from inspector.ui.timeline.jumps import rises_of

        self._jump(rises_of, step, "the context never grew")

    def action_to_break(self, step: int) -> None:
        """To another call at which cached tokens were lost."""
        from inspector.ui.timeline.jumps import breaks_of

        self._jump(breaks_of, step, "no call loses what a cache held")

    def _jump(self, find: Callable[[Outcome], tuple[Jump, ...]], step: int, none: str) -> None:
        import numpy as np

        outcome, view, parts = self.outcome, self.view, self.parts
        if outcome is None or view is None or parts is None:
            return
        known = self._jumps_of
        if known is None or known[0] is not outcome.replay or known[1] is not find:
            known = self._jumps_of = (outcome.replay, find, find(outcome))
        jumps = known[2]
        places = view.positions_of_blocks(np.array([jump.block for jump in jumps], dtype=np.int32))
        if not len(places):
            self.show_notice(f"{none}, as far as rows are shown" if jumps else none)
        elif not parts.timeline.move_among(places, step):
            below = "below the cursor; the other key goes up"
            self.show_notice(f"none {below}" if step > 0 else "none above the cursor")
        else:
            cursor = parts.timeline.cursor
            here = (jump for jump in jumps if cursor in view.positions_of_blocks(np.array([jump.block])))
            self.show_notice(next((jump.text for jump in here), ""))
