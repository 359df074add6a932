"""Saving and restoring a session's screen state: its plans, cursor and views."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from inspector import __version__
from inspector.live.status_line import keep_saving
from inspector.ui.controller.host import Change, Stoppable
from inspector.ui.controller.saved_state import SessionState, save_state
from inspector.ui.part_names import NUMBERED, TIMELINE

if TYPE_CHECKING:
    from inspector.strategies.plan import Plan
    from inspector.ui.controller.session import SessionController
    from inspector.ui.main.detail_pane import DetailPane
    from inspector.ui.main.session_pane import PaneFocus
    from inspector.ui.main.timeline_pane import TimelinePane

SECONDS_TO_SAVE = 2.0


def describe_restored(plan: Plan) -> str:
    """Return a notice that the restored plan is on, with the keys that switch it off."""
    on = [number for number, entry in enumerate(plan.entries, start=1) if entry.enabled]
    names = ", ".join(plan.entries[number - 1].strategy.name for number in on)
    keys = " ".join(map(str, on)) if on[-1] <= NUMBERED else "p, space"
    return f"restored plan is on: {names}; {keys} {'turns it' if len(on) == 1 else 'turn them'} off"


class StateKeeper:
    """Restores the screen state of a session and saves it on changes."""

    def __init__(self, controller: SessionController, rows: TimelinePane, detail: DetailPane, focus: PaneFocus) -> None:
        self._controller = controller
        self._rows = rows
        self._detail = detail
        self._focus = focus
        self._saving: Stoppable | None = None
        self._saved: SessionState | None = None
        self._kept_saving: tuple[float, float] | None = None
        controller.changes.listen(
            {
                Change.READY: self._restore,
                Change.EDITED: self.save_soon,
                Change.PLAN: self.save_soon,
                Change.ANSWERS: self._keep_saving,
                Change.FORGOTTEN: self._forget,
            }
        )

    def _forget(self) -> None:
        self._saved = None

    def _restore(self) -> None:
        """Restore the saved state; a session still being written opens at its end anyway."""
        kept = self._saved = self._controller.kept
        if kept is None:
            return
        if kept.plan_open:
            self._focus.is_plan_open = True
        if kept.plan is not None and kept.plan == self._controller.plan and kept.plan.strategies:
            self._controller.host.show_notice(describe_restored(kept.plan))
        self._look_as(kept)
        session, history = self._controller.session, self._controller.history
        if self._controller.is_being_written or session is None or history is None or not self._rows.is_open:
            return
        if 0 <= kept.block < len(session.all_blocks):
            self._rows.timeline.move_to_block(kept.block)
        if kept.call is not None and kept.call < history.call_count:
            self._controller.look_at(kept.call)

    def _look_as(self, kept: SessionState) -> None:
        """Restore order, filter and views; values unknown to this version are ignored."""
        from inspector.ui.detail.views import VIEWS
        from inspector.ui.timeline.arrangement import Order

        detail = self._detail.detail
        if detail is not None:
            detail.shown = next((view for view, _ in VIEWS if view == kept.view), detail.shown)
        if kept.order in Order.__members__:
            self._rows.order_by(Order[kept.order])
        if kept.filter:
            self._rows.call_later(self._rows.filter_by, kept.filter)
        if self._focus.is_in_rows_or_nowhere and kept.pane != TIMELINE:
            self._focus.focus_pane(kept.pane)

    @property
    def now(self) -> SessionState | None:
        """The state to save; None while there is nothing to save."""
        from inspector.ui.timeline.arrangement import Order

        plans, detail = self._controller.plans, self._detail.detail
        if plans is None or detail is None:
            return None
        order = self._rows.arrangement.order
        return SessionState(
            plans.by_letter,
            plans.letter,
            self._rows.cursor_block,
            self._controller.call,
            self._focus.is_plan_open,
            filter=self._rows.filter,
            order="" if order is Order.RECORDED else order.name,
            view=detail.shown,
            pane=self._focus.last,
        )

    def save_soon(self) -> None:
        """Save after a delay, because changes come in bursts."""
        if self._saving is not None:
            self._saving.stop()
        self._saving = self._controller.host.later(SECONDS_TO_SAVE, self.save)

    def save(self, *, is_last: bool = False) -> None:
        """Save the state if it changed. With `is_last` the screen is closing and errors can no longer be shown."""
        if self._saving is not None:
            self._saving.stop()
            self._saving = None
        if not self._controller.saves_state:
            return
        state = self.now
        if state is None or state == self._saved:
            return
        self._saved = state
        try:
            save_state(self._controller.path, state)
        except OSError as error:
            if is_last:
                return
            reason = error.strerror or str(error)
            self._controller.host.show_notice(f"cannot save the plan for next time: {reason}", is_problem=True)

    def _keep_saving(self) -> None:
        """Keep the best plan's net saving for status lines."""
        best = self._controller.answers.best
        if best is None or not best.is_complete or best.recommended is None or not self._controller.saves_state:
            return
        found = best.recommended.net_share_range
        if found is None or found == self._kept_saving:
            return
        self._kept_saving = found
        with suppress(OSError):
            keep_saving(str(self._controller.path), __version__, *found)
