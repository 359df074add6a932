"""Searching and filtering the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.worker import get_current_worker

from inspector.ui import numbers
from inspector.ui.messages import RowsFound
from inspector.ui.screens.viewing import Viewing
from inspector.ui.widgets.pane import Pane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.search import Search
    from inspector.ui.widgets.find_bar import FindBar


class Searching(Viewing):
    """A session screen whose rows can be searched and filtered."""

    find_bar: FindBar | None = None
    """Made when it is first asked for."""
    found: NDArray[np.int32] | None = None
    """Rows that match the query, rising; None without one."""
    is_filtered = False
    """Other rows are hidden."""

    _search: Search | None = None
    _looking = 0
    _jumps = False

    async def action_find(self, is_filter: int = 0) -> None:
        """Ask what to search or filter the rows with."""
        from inspector.ui.widgets.find_bar import FindBar

        if self.parts is None:
            return
        if self.find_bar is None:
            self.find_bar = FindBar()
            await self.query_one("#timeline-pane", Pane).mount(self.find_bar)
        self.find_bar.open(is_filter=bool(is_filter))

    def on_find_bar_done(self) -> None:
        """Back to the rows."""
        if self.parts is not None:
            self.parts.timeline.focus()

    def on_find_bar_changed(self, event: FindBar.Changed) -> None:
        """Look for something else."""
        from inspector.ui.search import Query, QueryError, Search

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
                self.post_message(RowsFound(generation, rows, fraction))
            if not worker.is_cancelled:
                self.post_message(RowsFound(generation, rows, 1.0))

        self._work(work, "search", "search the rows")

    @on(RowsFound)
    def _rows_found(self, message: RowsFound) -> None:
        if message.generation != self._looking:
            return
        self.found = message.rows
        count = numbers.plural(len(message.rows), "row")
        self._say(count if message.fraction >= 1 else f"{count}, {message.fraction * 100:.0f} %")
        if self.is_filtered or self.view is None or self.view.visible is not None:
            self.show_timeline()
            self.show_standing()
        if self._jumps and len(message.rows):
            self._jumps = False
            self.go_to_found(0)

    def visible_rows(self) -> NDArray[np.int32] | None:
        """The rows to show; None for all."""
        return self.found if self.is_filtered else None

    def go_to_found(self, step: int) -> None:
        """To a matching row: the next, the one before, or (0) the first from the cursor on."""
        view, parts = self.view, self.parts
        if view is None or parts is None or self.found is None or not len(self.found):
            return
        import numpy as np

        places = self.found if view.visible is None else np.arange(view.count, dtype=np.int32)
        here = parts.timeline.cursor
        place = int(np.searchsorted(places, here, side="right" if step > 0 else "left")) - (step < 0)
        parts.timeline.move_to(int(places[place % len(places)]))

    def action_to_found(self, step: int) -> None:
        """To the next or previous matching row, around the ends."""
        if self.found is None:
            self.show_notice("nothing is searched for: / asks")
        else:
            self.go_to_found(step)

    def _say(self, text: str) -> None:
        if self.find_bar is not None:
            self.find_bar.say(text)
