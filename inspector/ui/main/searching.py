"""Searching and filtering the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on
from textual.worker import get_current_worker

from inspector.ui import numbers
from inspector.ui.controller.messages import RowsFound
from inspector.ui.main.unfolding import Unfolding
from inspector.ui.toolkit.pane import Pane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.timeline.find_bar import FindBar
    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.search import Search
    from inspector.ui.timeline.view import TimelineView


class Searching(Unfolding):
    """A session screen whose rows can be searched and filtered."""

    find_bar: FindBar | None = None
    """Made when it is first asked for."""
    found: NDArray[np.int32] | None = None
    """Rows that match the query, rising; None without one."""
    is_filtered = False
    """Other rows are hidden."""

    _search: Search | None = None
    _found_of: Rows | None = None
    _looking = 0
    _jumps = False

    async def action_find(self, is_filter: int = 0) -> None:
        """Ask what to search or filter the rows with."""
        if self.parts is not None:
            (await self._bar()).open(is_filter=bool(is_filter), words=self._words())

    async def filter_by(self, text: str) -> None:
        """Show only what a query finds, the focus where it is."""
        if self.parts is not None:
            (await self._bar()).put(text, words=self._words())

    @property
    def filter_now(self) -> str:
        """The query that hides other rows; empty where none does."""
        return self.find_bar.text if self.find_bar is not None and self.is_filtered and self._search is not None else ""

    async def _bar(self) -> FindBar:
        from inspector.ui.timeline.find_bar import FindBar

        if self.find_bar is None:
            self.find_bar = FindBar()
            await self.query_one("#timeline-pane", Pane).mount(self.find_bar)
        return self.find_bar

    def _words(self) -> tuple[str, ...]:
        """What a word of a query may be, the fixed ones first."""
        from inspector.ui.timeline.search import STATES, WHO

        history, view = self.history, self.view
        tools = history.tool_names if history is not None else ()
        decided = view.decisions()[1] if view is not None else ()
        tiers = [tier for sorting in (view.tiers() if view is not None else ()) for tier in sorting]
        return (
            *(f"is:{state}" for state in STATES),
            *(f"who:{who}" for who in WHO),
            *(f"tool:{name.lower()}" for name in tools if name.isprintable() and " " not in name),
            *dict.fromkeys(f"tier:{group}" for group in (*(group for _, group in decided), *tiers) if group),
            *dict.fromkeys(f"by:{strategy}" for strategy, _ in decided if strategy),
        )

    def on_find_bar_done(self) -> None:
        """Back to the rows."""
        if self.parts is not None:
            self.parts.timeline.focus()

    def on_find_bar_changed(self, event: FindBar.Changed) -> None:
        """Look for something else."""
        from inspector.ui.timeline.search import Query, QueryError, Search

        self.is_filtered = event.is_filter
        try:
            query = Query.parse(event.text)
        except QueryError as error:
            self._say(str(error))
            return
        self._search = None if query.is_empty else Search(query)
        self._jumps = not event.is_filter
        if self._search is None:
            self._looking += 1
            self.found = None
            self._say("")
            self.show_timeline()
            self.show_standing()
        else:
            self.search()

    def search(self) -> None:
        """Look through the rows, in a thread."""
        search, view = self._search, self.view
        if search is None or view is None:
            return
        self._looking += 1
        generation = self._looking

        def work() -> None:
            worker = get_current_worker()
            fraction = 0.0

            def progress(done: float) -> None:
                nonlocal fraction
                fraction = done

            for rows in search.rows(view, lambda: worker.is_cancelled, progress):
                self.post_message(RowsFound(generation, rows, fraction, view.rows))
            if not worker.is_cancelled:
                self.post_message(RowsFound(generation, rows, 1.0, view.rows))

        self._work(work, "search", "search the rows")

    def search_again(self) -> None:
        """Look again, if what is looked for depends on the plan or the call looked at."""
        if self._search is not None and self._search.query.follows_plan:
            self.search()

    @on(RowsFound)
    def _rows_found(self, message: RowsFound) -> None:
        if message.generation != self._looking:
            return
        self.found, self._found_of = message.rows, message.of
        count = numbers.plural(len(message.rows), "row")
        self._say(count if message.fraction >= 1 else f"{count}, {message.fraction * 100:.0f} %")
        self.show_timeline()
        self.show_standing()
        if self._jumps and len(message.rows):
            self._jumps = False
            self.go_to_found(0)

    def arranged(self, view: TimelineView) -> TimelineView:
        """What matches is marked, or is all that is shown."""
        view = super().arranged(view)
        if self.found is None:
            return view
        before, self._found_of = self._found_of, view.rows
        if before is not None and before is not view.rows:
            # Until they are searched again, subagents unfolded or folded since have none.
            self.found = view.rows.own[before.block[self.found[before.is_block[self.found]]]]
        return replace(view, visible=self.found if self.is_filtered else None, hits=self.found)

    def show_subagents(self) -> None:
        """Show the rows with other subagents unfolded, and look through theirs too."""
        super().show_subagents()
        self.search()

    def go_to_found(self, step: int) -> None:
        """To a matching row: the next, the one before, or (0) the first from the cursor on."""
        view, parts = self.view, self.parts
        if view is None or parts is None or self.found is None:
            return
        places = view.hit_positions
        if not len(places):
            return
        here = parts.timeline.cursor
        place = int(places.searchsorted(here, side="right" if step > 0 else "left")) - (step < 0)
        place %= len(places)
        parts.timeline.move_to(int(places[place]))
        self._say(f"{numbers.whole(place + 1)} of {numbers.plural(len(places), 'row')}")

    def action_to_found(self, step: int) -> None:
        """To the next or previous matching row, around the ends."""
        if self.found is None:
            self.show_notice("nothing is searched for: / asks")
        else:
            self.go_to_found(step)

    def _say(self, text: str) -> None:
        if self.find_bar is not None:
            self.find_bar.say(text)
