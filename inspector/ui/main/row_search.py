"""What the rows are searched for, and which of them match."""

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
    """Rows match a query.

    Attributes:
        rows: Those found so far, rising.
        fraction: How much was looked at, 0 to 1.
        of: Among which rows.
    """

    rows: NDArray[np.int32]
    fraction: float
    of: Rows


class RowSearch:
    """Looks for rows in a thread.

    Attributes:
        rows: Rows that match the query, rising; None without one.
        is_filter: Other rows are hidden.
    """

    def __init__(self, jobs: Jobs, found: Callable[[str], None]) -> None:
        """Search for nothing.

        Args:
            jobs: Runs the search.
            found: Called when more of the rows were looked at, with what that came to in a few words.
        """
        self._jobs = jobs
        self._found = found
        self._search: Search | None = None
        self._rows_of: Rows | None = None
        self.rows: NDArray[np.int32] | None = None
        self.is_filter = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is searched for."""
        return self._search is None

    def search_for(self, text: str, *, is_filter: bool) -> None:
        """Look for something else from the next search on; for nothing where the text is empty.

        Raises:
            QueryError: The text means nothing; what was searched for before still is.
        """
        from inspector.ui.timeline.search import Query, Search

        self.is_filter = is_filter
        query = Query.parse(text)
        self._search = None if query.is_empty else Search(query)
        if self._search is None:
            self.stop()
            self.rows = None

    def stop(self) -> None:
        """Look no further."""
        self._jobs.stop("search")

    def look_through(self, view: TimelineView | None) -> None:
        """Look through the rows, if anything is searched for."""
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
        """Look again, if what is looked for depends on the plan or the call looked at."""
        if self._search is not None and self._search.query.follows_plan:
            self.look_through(view)

    def _take(self, found: RowsFound) -> None:
        self.rows, self._rows_of = found.rows, found.of
        count = ON_SCREEN.plural(len(found.rows), "row")
        self._found(count if found.fraction >= 1 else f"{count}, {found.fraction * 100:.0f} %")

    def marked(self, view: TimelineView) -> TimelineView:
        """What matches is marked, or is all that is shown."""
        if self.rows is None:
            return view
        before, self._rows_of = self._rows_of, view.rows
        if before is not None and before is not view.rows:
            # Until they are searched again, subagents unfolded or folded since have none; a file may be shorter now.
            blocks = before.block[self.rows[before.is_block[self.rows]]]
            self.rows = view.rows.own[blocks[blocks < len(view.rows.own)]]
        return replace(view, visible=self.rows if self.is_filter else None, hits=self.rows)


def words_of(view: TimelineView | None, tools: tuple[str, ...]) -> tuple[str, ...]:
    """What a word of a query may be, the fixed ones first.

    Args:
        view: What is shown; None before there is anything.
        tools: The tools of the session.
    """
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
