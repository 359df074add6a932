"""Arranging the rows: in which order they stand, what is folded, what is pinned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from textual import on
from textual.message import Message

from inspector.ui.main.searching import Searching
from inspector.ui.main.viewing import prompt_told, prompts_known
from inspector.ui.toolkit.pane import Pane, entitle

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.arrangement import Arrangement, Order
    from inspector.ui.timeline.view import TimelineView
    from inspector.ui.timeline.widget import Timeline


@dataclass
class CarriedKnown(Message):
    """It is known what was sent for every block in all prompts together.

    Attributes:
        outcome: The replay it is about.
        carried: Tokens per block, int64.
    """

    outcome: Outcome
    carried: NDArray[np.int64]


class Arranging(Searching):
    """A session screen whose rows can be sorted, folded and pinned."""

    _arrangement: Arrangement | None = None
    _carried: NDArray[np.int64] | None = None
    _begins_anew = False
    _arranged: tuple[tuple[object, ...], TimelineView] | None = None

    def forget(self, path: Path) -> None:
        """Know nothing any more, and of another file."""
        super().forget(path)
        self._arrangement = self._carried = self._arranged = None
        self.name_timeline()

    @property
    def arrangement(self) -> Arrangement:
        """How the rows are shown."""
        from inspector.ui.timeline.arrangement import Arrangement

        if self._arrangement is None:
            self._arrangement = Arrangement()
        return self._arrangement

    def arranged(self, view: TimelineView) -> TimelineView:
        """The rows of a view in the order asked for, what is folded folded, what is found found."""
        from inspector.ui.timeline.arrangement import Order, arrange

        view = super().arranged(view)
        arrangement = self.arrangement
        order = arrangement.order
        carried = self._carried if order is Order.CARRIED else None
        weight = view.tokens if carried is None else carried
        # A drag changes what is sent, not which rows there are.
        about = (view.rows, weight, arrangement.order, arrangement.folds, self.found, self.is_filtered)
        if self._arranged is not None and all(old is new for old, new in zip(self._arranged[0], about, strict=True)):
            done = self._arranged[1]
            shown, folded = done.visible, done.folded
        else:
            shown, folded = arrange(view.rows, arrangement, weight, view.visible)
        view = replace(
            view,
            visible=shown,
            folded=folded,
            order=order,
            carried=carried,
            pins=arrangement.pins,
            folded_threads=arrangement.folds.threads,
        )
        self._arranged = (about, view)
        return view

    def arrange_by(self, **changes: Any) -> None:
        """Arrange the rows in another way; the arguments are fields of `Arrangement`."""
        self._arrangement = replace(self.arrangement, **changes)
        self.show_timeline()
        self.show_detail()
        self.show_standing()

    def follow_outcome(self) -> None:
        """A replay came back: what is carried, and what the plan does to rows that are looked for, may be other."""
        self._weigh()
        self.search_again()

    def action_order(self) -> None:
        """Order the rows as recorded, by size, or by what was carried."""
        from inspector.ui.timeline.arrangement import Order

        order = self.arrangement.order.next
        self._begins_anew = order is Order.CARRIED and self._carried is None
        self.order_by(order)
        self.show_notice(f"rows {order.value}: s changes it")
        if order is not Order.RECORDED and self.parts is not None:
            self.parts.timeline.action_first()

    def order_by(self, order: Order) -> None:
        """Show the rows in an order."""
        self.arrange_by(order=order)
        self.name_timeline()
        self._weigh()

    def show_chart(self) -> None:
        """Every call's prompt, and the call looked at."""
        super().show_chart()
        self.name_timeline()

    def on_resize(self) -> None:
        """Where the chart has no frame, the one below it says what it would."""
        self.call_after_refresh(self.name_timeline)

    def name_timeline(self) -> None:
        """Say in the frame of the rows their order, and how the prompts of a chart without a frame are known."""
        title = "Timeline"
        if self._arrangement is not None and self._arrangement.order.name != "RECORDED":
            title = f"Timeline, {self._arrangement.order.value}"
        if self.outcome is not None and self.has_class("-short") and not self.has_class("-zoom-chart"):
            above = prompts_known(self.outcome) if self.call is None else prompt_told(self.outcome, self.call)
            title = f"{title} · {above}" if self.call is not None else f"{title} · above: {above}"
        entitle(self.query_one("#timeline-pane", Pane), title)

    def _weigh(self) -> None:
        """Find out what was carried, where the rows are ordered by it."""
        from inspector.ui.timeline.arrangement import Order

        outcome = self.outcome
        if outcome is None or self.arrangement.order is not Order.CARRIED:
            return

        def work() -> None:
            import numpy as np

            from inspector.replay.analysis.resend_cost import resend_cost

            carried = np.round(resend_cost(outcome.replay).tokens).astype(np.int64)
            self.post_message(CarriedKnown(outcome, carried))

        self._work(work, "carried", "add up what was carried")

    @on(CarriedKnown)
    def _carried_known(self, message: CarriedKnown) -> None:
        if self.outcome is not None and message.outcome.replay is self.outcome.replay:
            begins, self._begins_anew = self._begins_anew, False
            self._carried = message.carried
            self.show_timeline()
            if begins and self.parts is not None:
                self.parts.timeline.action_first()

    def on_timeline_order_asked(self) -> None:
        """Order the rows in another way."""
        self.action_order()

    def on_timeline_fold_asked(self, event: Timeline.FoldAsked) -> None:
        """Fold or unfold a message, a subagent, or everything."""
        from inspector.ui.timeline.arrangement import Folds

        view, folds = self.view, self.arrangement.folds
        if view is None:
            return
        if event.row is None:
            self.arrange_by(folds=Folds(not folds.all_messages, threads=folds.threads))
            return
        rows = view.rows
        thread = int(rows.thread[event.row])
        if rows.subagent[event.row] >= 0:
            self.fold_subagent(event.row, event.folded)
        elif rows.boundary[event.row] >= 0 and thread:
            folded = thread not in folds.threads if event.folded is None else event.folded
            self.arrange_by(folds=folds.with_thread(thread, folded=folded))
        elif view.can_fold(event.row):
            message = int(rows.history.message[rows.block[event.row]])
            folded = not folds.is_folded(message) if event.folded is None else event.folded
            self.arrange_by(folds=folds.with_message(message, folded=folded))
        elif event.folded is None:
            self.show_notice("there is nothing to fold: the message has one block")

    def action_show_all(self) -> None:
        """Show every row: forget what they are filtered by, and unfold what is folded."""
        from inspector.ui.timeline.arrangement import Folds

        if self.find_bar is not None and self.is_filtered:
            self.find_bar.action_close()
        if self.arrangement.folds != Folds():
            self.arrange_by(folds=Folds())

    def on_timeline_pin_asked(self, event: Timeline.PinAsked) -> None:
        """Pin a row, or take the pin away."""
        pins = self.arrangement.pins
        self.arrange_by(pins=pins ^ {event.block})

    def action_to_pin(self, step: int) -> None:
        """To another pinned row."""
        self._move_among(lambda view: view.pin_positions, step, "no row is pinned: m pins the one under the cursor")
