"""Going on where a session was left: its plans, and where one was looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.controller.saved_state import SessionState, save_state
from inspector.ui.cost.bar import CostBar
from inspector.ui.main.playing import Playing
from inspector.ui.plan.history import PlanHistory

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

SECONDS_TO_SAVE = 2.0


class Remembering(Playing):
    """A session screen that keeps how it was left."""

    _saving: Timer | None = None
    _saved: SessionState | None = None
    _kept: SessionState | None = None
    _pane = ""

    def panes(self) -> dict[str, Widget]:
        """The parts of the screen that can have the focus, in their order; none before there is a session."""
        parts, panel = self.parts, self.panel
        if parts is None or panel is None:
            return {}
        rows = {"timeline": parts.timeline, "plan": panel, "detail": parts.detail, "chart": parts.chart}
        return {**rows, "cost": self.query_one(CostBar)}

    def focus_pane(self, name: str) -> None:
        """The focus to a part of the screen; the plan is opened where it is a drawer."""
        pane = self.panes().get(name)
        if pane is None:
            return
        self.set_class(pane is self.panel, "-plan-open")
        if self.panel is not None and pane is self.panel:
            self.panel.focus_control()
        else:
            # At once, so that a key pressed right after this one goes there too.
            self.set_focus(pane)

    def _is_in(self, pane: Widget) -> bool:
        return self.focused is not None and pane in self.focused.ancestors_with_self

    def on_descendant_focus(self) -> None:
        """Another part of the screen may have the focus."""
        self._pane = next((name for name, pane in self.panes().items() if self._is_in(pane)), self._pane)

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
        if kept is not None:
            self._look_as(kept)
        if kept is None or is_live or self.parts is None or self.history is None or self.session is None:
            return
        if 0 <= kept.block < len(self.session.all_blocks):
            self.parts.timeline.move_to_block(kept.block)
        if kept.call is not None and kept.call < self.history.call_count:
            self.look_at(kept.call)

    def _look_as(self, kept: SessionState) -> None:
        """Order, filter and views as they were; what this version does not know is passed over."""
        from inspector.ui.detail.views import VIEWS
        from inspector.ui.timeline.arrangement import Order

        parts = self.parts
        if parts is None:
            return
        parts.detail.shown = next((view for view, _ in VIEWS if view == kept.view), parts.detail.shown)
        if kept.order in Order.__members__:
            self.order_by(Order[kept.order])
        if kept.filter:
            self.call_later(self.filter_by, kept.filter)
        if self.focused in (None, parts.timeline) and kept.pane != "timeline":
            self.focus_pane(kept.pane)

    def state_now(self) -> SessionState | None:
        """What would be kept; None while there is nothing to keep."""
        from inspector.ui.timeline.arrangement import Order

        if self.plan is None or self.parts is None:
            return None
        plans = {self.plan_letter: self.plan}
        if self._other is not None:
            plans[self.other_letter] = self._other.plan
        block = self.parts.timeline.cursor_block
        order = self.arrangement.order
        return SessionState(
            plans,
            self.plan_letter,
            block,
            self.call,
            self.has_class("-plan-open"),
            filter=self.filter_now,
            order="" if order is Order.RECORDED else order.name,
            view=self.parts.detail.shown,
            pane=self._pane,
        )

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
