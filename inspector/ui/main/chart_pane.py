"""The context chart: selecting a call by pointing, stepping or playback, and choosing the axis."""

from __future__ import annotations

from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN
from inspector.ui.controller.host import Change
from inspector.ui.main.session_pane import SessionPane
from inspector.ui.toolkit.pane import set_subtitle

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.ui.chart.widget import ContextChart, FillGauge
    from inspector.ui.controller.session import SessionController
    from inspector.ui.main.timeline_pane import TimelinePane

SPEEDS: Final = (0.5, 1, 2, 5, 10, 25, 50, 100)
"""Playback speeds in calls per second."""
USUAL: Final = 3
FRAMES_PER_SECOND: Final = 25
"""Upper limit on redraws per second; faster playback skips calls."""


class ChartPane(SessionPane):
    """The pane with the context chart: one bar per call's prompt.

    Playback moves the selected call: the file is still followed, and playback continues from a call selected by hand.
    """

    def __init__(self, controller: SessionController, rows: TimelinePane) -> None:
        super().__init__("Context", id="chart-pane", controller=controller)
        self._rows = rows
        self.by_time = False
        """The x axis is time, not call numbers."""
        self._chart: ContextChart | None = None
        self._gauge: FillGauge | None = None
        self._play_timer: Timer | None = None
        self._played_at = 0.0
        self._speed = USUAL
        self._marked: CacheMisses | None = None
        """Cache misses marked in the chart."""
        self.listen(
            controller,
            {
                Change.FORGOTTEN: self._stop,
                Change.OUTCOME: self.show_chart,
                Change.CALL: self.show_chart,
                Change.ANSWERS: self._show_answers,
            },
        )

    async def open(self) -> None:
        from inspector.ui.chart.widget import ContextChart, FillGauge

        self._chart, self._gauge = ContextChart(id="chart"), FillGauge(id="fill")
        await self.mount(self._gauge, self._chart)

    def close(self) -> None:
        self._stop()
        self._chart = self._gauge = None

    @property
    def target(self) -> Widget:
        return self._chart or self

    @property
    def chart(self) -> ContextChart | None:
        return self._chart

    def show_chart(self) -> None:
        from inspector.ui.chart.drawing import legend_words
        from inspector.ui.chart.view import chart_of, describe_call, fill_text

        outcome = self.controller.outcome
        if outcome is not None and self._chart is not None:
            known = self._marked = self._known_misses
            series = self._chart.series = chart_of(outcome, self.controller.call, by_time=self.by_time, known=known)
            self._rows.set_legend(legend_words(series))
            self.show_place()
            set_subtitle(self, describe_call(outcome, self.controller.call))
            if self._gauge is not None:
                self._gauge.fill = fill_text(outcome, self.controller.call)

    @property
    def _known_misses(self) -> CacheMisses | None:
        cache = self.controller.answers.cache
        return None if cache is None else cache.misses

    def _show_answers(self) -> None:
        """Redraw the chart if the cache misses changed; it uses no other answer."""
        if self._known_misses is not self._marked:
            self.show_chart()

    def show_place(self) -> None:
        history, outcome = self.controller.history, self.controller.outcome
        if self._chart is None or history is None or outcome is None:
            return
        block = self._rows.cursor_block
        enters = int(history.enters[block]) if 0 <= block < len(history.enters) else -1
        self._chart.here = enters if 0 <= enters < outcome.replay.history.call_count else None

    def turn_axis(self) -> None:
        if self.controller.outcome is None or self._chart is None:
            return
        self.by_time = not self.by_time
        self.show_chart()
        if self.by_time and (self._chart.series is None or not self._chart.series.span):
            self.by_time = False
            self.show_notice("this session has no call times")
        else:
            self.show_notice("chart axis: time" if self.by_time else "chart axis: calls")

    def on_context_chart_call_selected(self, event: ContextChart.CallSelected) -> None:
        self.go_to_call(event.call)

    def on_context_chart_axis_clicked(self) -> None:
        self.turn_axis()

    def go_to_call(self, call: int) -> None:
        """Select a call and move the cursor to the last row of its prompt; for the next prompt, to the last row."""
        self.controller.look_at_place(call)
        self._take_rows_along()

    def _take_rows_along(self) -> None:
        history, looked_at = self.controller.history, self.controller.call
        if not self._rows.is_open or history is None:
            return
        message = len(history.session.messages) - 1 if looked_at is None else int(history.call_last_message[looked_at])
        if message >= 0:
            self._rows.timeline.move_to_block(int(history.message_first_block[message + 1]) - 1)

    def step(self, calls: int) -> None:
        """Move by a number of calls; negative moves back."""
        if self.controller.outcome is None:
            return
        before = self.controller.call
        self.controller.look_further(calls)
        self._take_rows_along()
        if self.controller.call == before:
            self.controller.host.show_notice("no later call" if calls > 0 else "no earlier call")

    def to_call_here(self) -> None:
        """Select the call that first sends the row under the cursor; on a compaction, the last call before it."""
        from inspector.replay.analysis.compactions import calls_around

        view, outcome, row = self._rows.view, self.controller.outcome, self._rows.row
        if view is None or outcome is None or row < 0:
            return
        history, block = outcome.replay.history, int(view.rows.block[row])
        around = calls_around(history, block) if view.rows.boundary[row] >= 0 else None
        if around is not None:
            self.controller.look_at_place(around[0])
            before, after = (ON_SCREEN.whole(call + 1) for call in around)
            self.show_notice(
                f"call {before} is the last one before this; ] goes to call {after}, the first one after it"
            )
        elif block < len(history.enters) and 0 <= history.enters[block] < history.call_count:
            self.controller.look_at_place(int(history.enters[block]))
        else:
            self.show_notice("no call has sent this row yet")

    def to_now(self) -> None:
        """Return to the next prompt and the last row."""
        if self.controller.call is not None:
            self.controller.look_at(None)
        if self._rows.is_open:
            self._rows.timeline.action_last()

    @property
    def is_playing(self) -> bool:
        return self._play_timer is not None

    @property
    def speed(self) -> float:
        return SPEEDS[self._speed]

    def play(self) -> None:
        """Play from the selected call (from the first call if none is selected), or pause."""
        outcome = self.controller.outcome
        if outcome is None or not outcome.replay.history.call_count:
            self.show_notice("no calls to play")
        elif self.is_playing:
            self._pause()
        else:
            if self.controller.call is None:
                self.go_to_call(0)
            self._run()

    def play_faster(self, step: int) -> None:
        self._speed = min(max(self._speed + step, 0), len(SPEEDS) - 1)
        self.show_notice(f"{speed_in_words(self.speed)}; g space plays and pauses")
        if self.is_playing:
            self._stop()
            self._run()

    def stop(self) -> None:
        if self.is_playing:
            self._pause()

    def _run(self) -> None:
        self._played_at = monotonic()
        self._play_timer = self.set_interval(1 / min(self.speed, FRAMES_PER_SECOND), self._play_on)
        self.controller.changes.publish(Change.SHOWN)

    def _stop(self) -> None:
        if self._play_timer is not None:
            self._play_timer.stop()
            self._play_timer = None

    def _pause(self) -> None:
        self._stop()
        self.controller.changes.publish(Change.SHOWN)

    def _play_on(self) -> None:
        outcome, looked_at = self.controller.outcome, self.controller.call
        if outcome is None or looked_at is None:
            self._pause()
            return
        now = monotonic()
        # On a slow machine, skip calls instead of playing slower than requested.
        step = max(ceil((now - self._played_at) * self.speed - 0.5), 1)
        self._played_at = now
        if looked_at + step >= outcome.replay.history.call_count:
            self._stop()
            self.to_now()
            self.controller.changes.publish(Change.SHOWN)
        else:
            self.go_to_call(looked_at + step)

    @property
    def selected_call(self) -> str:
        """Selected call and playback speed; empty at the next prompt."""
        history, call = self.controller.history, self.controller.call
        if history is None or call is None:
            return ""
        count = history.call_count
        mark = "▶ " if self.is_playing else ""
        at = f"{mark}call {ON_SCREEN.whole(call + 1)} of {ON_SCREEN.whole(count)}"
        return f"{at}, {speed_in_words(self.speed)}" if self.is_playing else at


def speed_in_words(calls_a_second: float) -> str:
    return f"{calls_a_second:g} {'call' if calls_a_second == 1 else 'calls'} per second"
