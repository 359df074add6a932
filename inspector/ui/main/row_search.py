"""Search of the timeline's rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.controller.host_protocols import IsCancelled, Jobs, Post
    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.search import Search
    from inspector.ui.timeline.view import TimelineView


class RowsFound(NamedTuple):
    """Rows that match a query.

    Attributes:
        rows: Matches so far, ascending.
        fraction: Searched fraction, 0 to 1.
        of: The searched rows.
    """

    rows: NDArray[np.int32]
    fraction: float
    of: Rows


class RowSearch:
    """Searches rows in a thread.

    Attributes:
        rows: Matching rows, ascending; None without a query.
        is_filter: Hide the rows that do not match.
    """

    def __init__(self, jobs: Jobs, found: Callable[[str], None]) -> None:
        """Start without a query; `found` is called with a short summary as matches are found."""
        self._jobs = jobs
        self._found = found
        self._search: Search | None = None
        self._rows_of: Rows | None = None
        self.rows: NDArray[np.int32] | None = None
        self.is_filter = False

    @property
    def is_idle(self) -> bool:
        return self._search is None

    def search_for(self, text: str, *, is_filter: bool) -> None:
        """Set the query of the next search; an empty text clears it.

        Raises:
            QueryError: The text is not a valid query; the previous query stays.
        """
        from inspector.ui.timeline.search import Query, Search

        self.is_filter = is_filter
        query = Query.parse(text)
        self._search = None if query.is_empty else Search(query)
        if self._search is None:
            self.stop()
            self.rows = None

    def stop(self) -> None:
        self._jobs.stop("search")

    def look_through(self, view: TimelineView | None) -> None:
        search = self._search
        if search is None or view is None:
            return

        def work(post: Post[RowsFound], is_cancelled: IsCancelled) -> None:
            fraction = 0.0

            def progress(done: float) -> None:
                nonlocal fraction
                fraction = done

            for rows in search.rows(view, is_cancelled, progress):
                post(RowsFound(rows, fraction, view.rows))
            if not is_cancelled():
                post(RowsFound(rows, 1.0, view.rows))

        self._jobs.run(work, self._take, group="search", description="search the rows")

    def look_again(self, view: TimelineView | None) -> None:
        """Search again if the query depends on the plan or the selected call."""
        if self._search is not None and self._search.query.follows_plan:
            self.look_through(view)

    def _take(self, found: RowsFound) -> None:
        self.rows, self._rows_of = found.rows, found.of
        count = ON_SCREEN.plural(len(found.rows), "row")
        self._found(count if found.fraction >= 1 else f"{count}, {found.fraction * 100:.0f} %")

    def marked(self, view: TimelineView) -> TimelineView:
        """Return the view with its matches marked, or with only the matches visible."""
        if self.rows is None:
            return view
        before, self._rows_of = self._rows_of, view.rows
        if before is not None and before is not view.rows:
            # Until the next search, subagents unfolded or folded since have no matches; the file may have become
            # shorter.
            blocks = before.block[self.rows[before.is_block[self.rows]]]
            self.rows = view.rows.own[blocks[blocks < len(view.rows.own)]]
        return replace(view, visible=self.rows if self.is_filter else None, hits=self.rows)


def completions_of(view: TimelineView | None, tools: tuple[str, ...]) -> tuple[str, ...]:
    """Return completions for the words of a query, fixed ones first."""
    from inspector.ui.timeline.search import STATES, WHO

    decided = view.decisions()[1] if view is not None else ()
    tiers = [tier for sorting in (view.tiers() if view is not None else ()) for tier in sorting]
    return (
        *(f"is:{state}" for state in STATES),
        *(f"who:{who}" for who in WHO),
        *(f"tool:{name.lower()}" for name in tools if name.isprintable() and " " not in name),
        *dict.fromkeys(f"tier:{group}" for group in (*(group for _, group in decided), *tiers) if group),
        *dict.fromkeys(f"by:{strategy}" for strategy, _ in decided if strategy),
    )
