"""Going on where a session was left: its plans, and where one was looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.plan_history import PlanHistory
from inspector.ui.screens.playing import Playing
from inspector.ui.session_state import SessionState, save_state

if TYPE_CHECKING:
    from textual.timer import Timer

SECONDS_TO_SAVE = 2.0


class Remembering(Playing):
    """A session screen that keeps how it was left."""

    _saving: Timer | None = None
    _saved: SessionState | None = None
    _kept: SessionState | None = None

    def restore(self, state: SessionState) -> None:
        """Take up the plans a session was left with; the place waits until all rows are there."""
        self._kept = self._saved = state
        other = state.other
        if other is not None and state.plan == self.plan:
            self.plan_letter, self._other = state.letter, PlanHistory(other)
        if state.plan_open:
            self.add_class("-plan-open")
        if state.plan is not None and state.plan == self.plan and state.plan.strategies:
            self.show_notice("the plan is the one you left this session with")

    def forget_place(self) -> None:
        """The session is another one."""
        self._kept = self._saved = None
        self._other = self.rival = None
        self.plan_letter = "A"

    def begin_at(self, *, is_live: bool) -> None:
        """Stay on the newest rows of a session that is being written; else go on where it was left."""
        super().begin_at(is_live=is_live)
        kept, self._kept = self._kept, None
        if kept is None or is_live or self.parts is None or self.history is None or self.session is None:
            return
        if 0 <= kept.block < len(self.session.blocks):
            self.parts.timeline.move_to_block(kept.block)
        if kept.call is not None and kept.call < self.history.call_count:
            self.look_at(kept.call)

    def state_now(self) -> SessionState | None:
        """What would be kept; None while there is nothing to keep."""
        if self.plan is None or self.parts is None:
            return None
        plans = {self.plan_letter: self.plan}
        if self._other is not None:
            plans[self.other_letter] = self._other.plan
        block = self.parts.timeline.cursor_block
        return SessionState(plans, self.plan_letter, block, self.call, self.has_class("-plan-open"))

    def keep_state(self) -> None:
        """Save the state soon: changes come in bursts."""
        if self._saving is not None:
            self._saving.stop()
        self._saving = self.set_timer(SECONDS_TO_SAVE, self.keep_state_now)

    def keep_state_now(self) -> None:
        """Save the state, unless it is the one that was saved."""
        if self._saving is not None:
            self._saving.stop()
            self._saving = None
        state = self.state_now()
        if state is None or state == self._saved:
            return
        self._saved = state
        try:
            save_state(self.path, state)
        except OSError as error:
            reason = error.strerror or str(error)
            self.show_notice(f"the plan could not be kept for the next time: {reason}", is_problem=True)

    def on_unmount(self) -> None:
        """Keep what was changed last."""
        self.keep_state_now()
