"""The timeline pane: order, folding, search, pins and jumps of a session's rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from inspector.report.numbers import ON_SCREEN
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.main.navigation import RowJumps, RowSearch, completions_of
from inspector.ui.main.session_pane import SessionPane
from inspector.ui.part_names import TOKEN_CALLS
from inspector.ui.toolkit.pane import (
    CELLS_OF_FRAME,
    Placeholder,
    PlaceholderText,
    join_fitting,
    set_subtitle,
    set_title,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from textual.widget import Widget

    from inspector.ui.controller.answers import CacheAnswers
    from inspector.ui.controller.session import SessionController
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.arrangement import Arrangement, Order
    from inspector.ui.timeline.boundaries import Boundary
    from inspector.ui.timeline.rows import SubagentPlace
    from inspector.ui.timeline.view import TimelineView
    from inspector.ui.timeline.widget import Timeline
    from inspector.ui.toolkit.find_bar import FindBar


class TimelinePane(SessionPane):
    """The pane that decides which rows the timeline shows."""

    def __init__(self, controller: SessionController, *, logarithmic: bool) -> None:
        super().__init__("Timeline", Placeholder(), id="timeline-pane", controller=controller)
        self._logarithmic = logarithmic
        self.search = RowSearch(controller.host, self._rows_found)
        self.jumps = RowJumps(controller, self)
        self.find_bar: FindBar | None = None
        """Created on first use."""
        self._timeline: Timeline | None = None
        self._arrangement: Arrangement | None = None
        self._arranged: tuple[tuple[object, ...], TimelineView] | None = None
        self._token_calls: NDArray[np.int64] | None = None
        self._marks: tuple[str, ...] = ()
        self._removed: tuple[object, int, NDArray[np.bool_]] | None = None
        self._shown_cache: CacheAnswers | None = None
        """Cache answers shown in the rows."""
        self._starts_over = False
        self._goes_to_found = False
        self._left: tuple[Path, int, bool] | None = None
        self.listen(
            controller,
            {
                Change.FORGOTTEN: self._forget,
                Change.SESSION: self._show_session,
                Change.OUTCOME: self._show_outcome,
                Change.CALL: self._show_call,
                Change.ANSWERS: self._show_answers,
                Change.SUBAGENTS: self._show_subagents,
                Change.READY: self._begin,
            },
        )

    async def open(self) -> None:
        from inspector.ui.timeline.widget import Timeline

        if not self.query(Placeholder):
            await self.mount(Placeholder())
        self._timeline = Timeline(id="timeline")
        self._timeline.logarithmic = self._logarithmic
        await self.mount(self._timeline)

    def close(self) -> None:
        """Drop the widget and the search, but remember the cursor's row and the session it belongs to."""
        if self._timeline is not None:
            self._left = self.controller.path, self.row, self._timeline.follow
        self._timeline = self.find_bar = None
        self.search.search_for("", is_filter=False)

    @property
    def target(self) -> Widget:
        return self._timeline or self

    @property
    def is_open(self) -> bool:
        return self._timeline is not None

    @property
    def timeline(self) -> Timeline:
        if self._timeline is None:
            raise AssertionError("no rows without a session")
        return self._timeline

    @property
    def view(self) -> TimelineView | None:
        return None if self._timeline is None else self._timeline.view

    @property
    def row(self) -> int:
        """The row under the cursor, -1 for none."""
        view = self.view
        if view is None or self.timeline.cursor < 0:
            return -1
        return view.row_at(min(self.timeline.cursor, view.count - 1))

    @property
    def cursor_block(self) -> int:
        """The block under the cursor; on a boundary row, the first block after it; -1 for none."""
        return -1 if self._timeline is None else self._timeline.cursor_block

    @property
    def boundary(self) -> Boundary | None:
        """The compaction or other start of a context under the cursor; None on other rows."""
        view, row = self.view, self.row
        place = -1 if view is None or row < 0 else int(view.rows.boundary[row])
        return None if view is None or place < 0 else view.rows.boundaries[place]

    @property
    def session_block(self) -> int:
        """Like `cursor_block`, but -1 on the row of a subagent with its own file."""
        view, row = self.view, self.row
        return -1 if view is None or row < 0 or view.rows.inner_of(row) is not None else self.cursor_block

    @property
    def subagent_place(self) -> SubagentPlace | None:
        """The subagent with its own file whose heading row is under the cursor; None on other rows."""
        from inspector.ui.timeline.rows import started_at

        view, row = self.view, self.row
        is_heading = view is not None and row >= 0 and view.rows.inner_of(row) is None
        return started_at(view.rows, row) if view is not None and is_heading else None

    def show_placeholder(self, word: PlaceholderText | None) -> None:
        if self.has_failed:
            return
        placeholder = self.query_one(Placeholder)
        placeholder.display = word is not None
        if word is not None:
            placeholder.word = word
        if self._timeline is not None:
            self._timeline.display = word is None

    def _forget(self) -> None:
        self.search.stop()
        self._arrangement = self._token_calls = self._arranged = self._removed = None
        self.name_rows()

    def _show_session(self) -> None:
        rows = self.controller.rows
        if rows is not None:
            empty = PlaceholderText("this session is empty so far", ("Rows appear as the agent writes them.",))
            self.show_placeholder(None if len(rows) else empty)
            if self._arrangement is not None and self._arranged is not None:
                before = self._arranged[1].rows.history.session
                self._arrangement = self._arrangement.of_later(before, rows.history.session)
            self.show_rows()
            self.search.look_through(self.view)

    def _show_outcome(self) -> None:
        self.name_rows()
        self.show_rows()
        self._name_figures()
        self._add_up_token_calls()
        self.search.look_again(self.view)

    def _name_figures(self) -> None:
        """Show in the frame that cache misses are under the plan, and the meaning of token-calls."""
        from inspector.ui.miss_glyphs import WITH_PLAN
        from inspector.ui.timeline.arrangement import Order

        outcome, view, phrases = self.controller.outcome, self.view, []
        if view is not None and view.misses and outcome is not None and outcome.is_planned:
            phrases.append(f"cache misses: {WITH_PLAN}")
        if self.arrangement.order is Order.TOKEN_CALLS:
            phrases.append(TOKEN_CALLS)
        set_subtitle(self, join_fitting(phrases, self.size.width))

    def on_resize(self) -> None:
        self.name_rows()
        self._name_figures()

    def _show_call(self) -> None:
        if self.controller.call is not None and self._timeline is not None:
            self._timeline.follow = False
        self.name_rows()
        self.show_rows()

    def _show_answers(self) -> None:
        if self.controller.answers.cache_of(self.controller.outcome) is not self._shown_cache:
            self.show_rows()
            self._name_figures()
        self.jumps.resume_to_miss()

    def _show_subagents(self) -> None:
        self.show_rows()
        self.controller.changes.publish(Change.SHOWN)
        self.search.look_through(self.view)

    def _begin(self) -> None:
        """Start at the end and follow a session that is being written; after a rebuild, return to the previous row."""
        left, self._left = self._left, None
        if self._timeline is not None:
            self._timeline.mark_all_seen()
            if left is not None and left[0] == self.controller.path and self.view is not None:
                self._timeline.move_to(self.view.position_of(left[1]))
                self._timeline.follow = left[2]
                return
            self._timeline.follow = self.controller.state == "live"
            if not self._timeline.follow and self._timeline.cursor == 0:
                self._timeline.move_to_last()

    def show_rows(self) -> None:
        """Update rows and bars for the selected call."""
        from inspector.ui.timeline.view import view_of

        rows, table = self.controller.rows, self.controller.table
        if rows is not None and table is not None and self._timeline is not None:
            view = view_of(self.controller.subagents.among(rows), table, self.controller.outcome)
            cache = self._shown_cache = self.controller.answers.cache_of(self.controller.outcome)
            if cache is not None:
                view = replace(view, misses=cache.by_block)
            self._timeline.view = self._arranged_view(self.search.marked(view))

    @property
    def arrangement(self) -> Arrangement:
        """Order, folds and pins of the rows."""
        from inspector.ui.timeline.arrangement import Arrangement

        if self._arrangement is None:
            self._arrangement = Arrangement()
        return self._arrangement

    def _arranged_view(self, view: TimelineView) -> TimelineView:
        from inspector.ui.timeline.arrangement import Order, arrange

        arrangement = self.arrangement
        token_calls = self._token_calls if arrangement.order is Order.TOKEN_CALLS else None
        weight = view.tokens if token_calls is None else token_calls
        removed = self._removed_blocks() if arrangement.hides_removed else None
        # Dragging a limit changes the tokens sent, not the set of rows.
        shown_by = (arrangement.order, arrangement.folds, self.search.rows, self.search.is_filter, removed)
        about = (view.rows, weight, *shown_by)
        if self._arranged is not None and all(old is new for old, new in zip(self._arranged[0], about, strict=True)):
            done = self._arranged[1]
            shown, folded = done.visible, done.folded
        else:
            shown, folded = arrange(view.rows, arrangement, weight, view.visible, removed)
        view = replace(
            view,
            visible=shown,
            folded=folded,
            order=arrangement.order,
            token_calls=token_calls,
            pins=arrangement.pins,
            folded_threads=arrangement.folds.threads,
        )
        self._arranged = (about, view)
        return view

    def _removed_blocks(self) -> NDArray[np.bool_] | None:
        """Return per block if it is no longer sent at the selected call; the same array until that changes."""
        from inspector.ui.timeline.arrangement import removed_blocks

        history, call = self.controller.history, self.controller.call
        if history is None:
            return None
        at = history.call_count if call is None else min(call, history.call_count)
        if self._removed is None or self._removed[0] is not history or self._removed[1] != at:
            self._removed = (history, at, removed_blocks(history, at))
        return self._removed[2]

    def fold_removed(self) -> None:
        """Toggle folding of the rows that are no longer sent, mostly those removed by compactions."""
        removed = self._removed_blocks()
        if self.arrangement.hides_removed:
            self._arrange_by(hides_removed=False)
            self.show_notice("showing rows that are no longer sent")
        elif removed is None or not removed.any():
            self.show_notice("no rows were removed from this prompt")
        else:
            self._arrange_by(hides_removed=True)
            self.show_notice(f"folded away {ON_SCREEN.plural(int(removed.sum()), 'row')} no longer sent; _ shows all")

    def _arrange_by(self, **changes: Any) -> None:
        """Change the arrangement; the arguments are fields of `Arrangement`."""
        self._arrangement = replace(self.arrangement, **changes)
        self.show_rows()
        self.controller.changes.publish(Change.SHOWN)

    def ask_rows(self, do: Callable[[Timeline], object]) -> None:
        if self._timeline is not None:
            do(self._timeline)

    def next_order(self) -> None:
        """Switch to the next order: as recorded, by size, by token-calls."""
        from inspector.ui.timeline.arrangement import Order

        order = self.arrangement.order.next
        self._starts_over = order is Order.TOKEN_CALLS and self._token_calls is None
        self.order_by(order)
        self.show_notice(f"order: {order.value}; z s changes it")
        if order is not Order.RECORDED and self._timeline is not None:
            self._timeline.action_first()

    def order_by(self, order: Order) -> None:
        self._arrange_by(order=order)
        self.name_rows()
        self._name_figures()
        self._add_up_token_calls()

    def _add_up_token_calls(self) -> None:
        """Compute the rows' token-calls in the background if the order needs them."""
        from inspector.ui.timeline.arrangement import Order

        outcome = self.controller.outcome
        if outcome is None or self.arrangement.order is not Order.TOKEN_CALLS:
            return

        def work(post: Post[NDArray[np.int64]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            import numpy as np

            from inspector.replay.analysis.breakdown import resend_cost

            post(np.round(resend_cost(outcome.replay).tokens).astype(np.int64))

        take = partial(self._take_token_calls, outcome)
        self.controller.host.run(work, take, group="carried", description="add up token-calls")

    def _take_token_calls(self, outcome: Outcome, token_calls: NDArray[np.int64]) -> None:
        newest = self.controller.outcome
        if newest is not None and outcome.replay is newest.replay:
            begins, self._starts_over = self._starts_over, False
            self._token_calls = token_calls
            self.show_rows()
            if begins and self._timeline is not None:
                self._timeline.action_first()

    def set_legend(self, marks: tuple[str, ...]) -> None:
        """Set the legend of the chart's marks, shown here because the chart has no room for it on low screens."""
        if marks != self._marks:
            self._marks = marks
            self.name_rows()

    def name_rows(self) -> None:
        """Show the row order in the title, and for a chart without a frame also its prompt and marks."""
        title, outcome, call = "Timeline", self.controller.outcome, self.controller.call
        if self._arrangement is not None and self._arrangement.order.name != "RECORDED":
            title = f"Timeline, {self._arrangement.order.value}"
        if outcome is not None and self.screen.has_class("-short") and not self.screen.has_class("-zoom-chart"):
            from inspector.ui.chart.view import prompt_at

            prompts = prompt_at(outcome, call)
            # If the plan pane leaves no room for both, the prompt's size is more useful than the title.
            tries = [*((title, prompt) for prompt in prompts), *((prompt,) for prompt in prompts)]
            fitted = ((each, join_fitting(each, self.size.width)) for each in tries)
            title = next((text for each, text in fitted if text and each[-1] in text), title)
            for place, mark in enumerate(self._marks):
                longer = f"{title} {mark}" if place else f"{title} · {mark}"
                if cell_len(longer) > self.size.width - CELLS_OF_FRAME:
                    break
                title = longer
        set_title(self, title)

    def on_timeline_order_requested(self) -> None:
        self.next_order()

    def on_timeline_fold_requested(self, event: Timeline.FoldRequested) -> None:
        from inspector.ui.timeline.arrangement import Folds

        view, folds = self.view, self.arrangement.folds
        if view is None:
            return
        if event.row is None:
            self._arrange_by(folds=Folds(not folds.all_messages, threads=folds.threads))
            return
        rows = view.rows
        if event.row >= len(rows):
            return  # the session has become shorter since
        thread = int(rows.thread[event.row])
        if rows.subagent[event.row] >= 0:
            self._fold_subagent(view, event.row, event.folded)
        elif rows.boundary[event.row] >= 0 and thread:
            folded = thread not in folds.threads if event.folded is None else event.folded
            self._arrange_by(folds=folds.with_thread(thread, folded=folded))
        elif view.can_fold(event.row):
            message = int(rows.history.message[rows.block[event.row]])
            folded = not folds.is_folded(message) if event.folded is None else event.folded
            self._arrange_by(folds=folds.with_message(message, folded=folded))
        elif event.folded is None:
            self.show_notice("nothing to fold: the message has only one block")

    def _fold_subagent(self, view: TimelineView, row: int, folded: bool | None) -> None:
        from inspector.ui.timeline.rows import started_at

        started, table = started_at(view.rows, row), self.controller.table
        if started is not None:
            counter = None if table is None else table.counter
            self.controller.subagents.fold(started, counter, folded=folded)

    def on_timeline_pin_requested(self, event: Timeline.PinRequested) -> None:
        """Toggle a row's pin, unless the session has become shorter since."""
        if self.view is not None and event.block < len(self.view.rows.history.kind):
            self._arrange_by(pins=self.arrangement.pins ^ {event.block})

    def on_timeline_follow_changed(self) -> None:
        """Return to the next prompt when following is switched on."""
        if self._timeline is not None and self._timeline.follow and self.controller.call is not None:
            self.controller.look_at(None)
        self.controller.changes.publish(Change.SHOWN)

    async def find(self, *, is_filter: bool) -> None:
        if self._timeline is not None:
            (await self._open_find_bar()).open(is_filter=is_filter, words=self._words())

    async def filter_by(self, text: str) -> None:
        """Filter by a query without moving the focus."""
        if self._timeline is not None:
            (await self._open_find_bar()).put(text, words=self._words())

    @property
    def filter(self) -> str:
        """The query used as a filter; empty if none."""
        is_filtered = self.find_bar is not None and self.search.is_filter and not self.search.is_idle
        return self.find_bar.text if self.find_bar is not None and is_filtered else ""

    async def _open_find_bar(self) -> FindBar:
        from inspector.ui.toolkit.find_bar import FindBar

        if self.find_bar is None:
            self.find_bar = FindBar(lambda: self._timeline)
            await self.mount(self.find_bar)
        return self.find_bar

    def _words(self) -> tuple[str, ...]:
        history = self.controller.history
        return completions_of(self.view, history.tool_names if history is not None else ())

    def on_find_line_changed(self, event: FindBar.Changed) -> None:
        from inspector.ui.timeline.search import QueryError

        is_filter = self.find_bar is not None and self.find_bar.is_filter
        try:
            self.search.search_for(event.text, is_filter=is_filter)
        except QueryError as error:
            self._show_found(str(error))
            return
        self._goes_to_found = not is_filter
        self.jumps.goes = self._to_match
        if self.search.is_idle:
            self._show_found("")
            # The search line is usually closing: let the rows take its space first.
            self.call_after_refresh(self._show_all_found)
        else:
            self.search.look_through(self.view)

    def _show_all_found(self) -> None:
        self.show_rows()
        self.controller.changes.publish(Change.SHOWN)

    def _rows_found(self, text: str) -> None:
        self._show_found(text)
        self.show_rows()
        self.controller.changes.publish(Change.SHOWN)
        if self._goes_to_found and self.search.rows is not None and len(self.search.rows):
            self._goes_to_found = False
            self._to_match(0)

    def _show_found(self, text: str) -> None:
        if self.find_bar is not None:
            self.find_bar.show_message(text)

    def _to_match(self, step: int) -> None:
        found = self.jumps.to_match(step, self.search.rows)
        if found is not None:
            self._show_found(f"{ON_SCREEN.whole(found.place)} of {ON_SCREEN.plural(found.total, 'row')}")
