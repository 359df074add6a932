"""Moving between the timeline's rows: jumps to the rows that matter, and search."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.controller.host import IsCancelled, Jobs, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.jumps import Jump, JumpResult
    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.search import Search
    from inspector.ui.timeline.view import TimelineView
    from inspector.ui.timeline.widget import Timeline


NEXT_HINT: Final = " (n next, N previous)"
"""Key hint appended to the first notice if there is more than one match."""


class ShowsRows(Protocol):
    """The pane with the rows to jump between."""

    @property
    def view(self) -> TimelineView | None:
        """The rows shown; None before there are any."""

    @property
    def timeline(self) -> Timeline:
        """The widget with the cursor."""

    def show_notice(self, notice: str) -> None:
        """Show a notice in the status line."""


class RowJumps:
    """Moves the timeline cursor to the next row of a kind, wrapping around, and reports its position.

    Attributes:
        goes: The last jump, repeated by `repeat`; None before the first one.
    """

    def __init__(self, controller: SessionController, pane: ShowsRows) -> None:
        self._controller = controller
        self._pane = pane
        self._landed: tuple[str, JumpResult] | None = None
        self.goes: Callable[[int], object] | None = None
        self._awaited_step = 0
        self._known: tuple[object, Callable[[Outcome], tuple[Jump, ...]], tuple[Jump, ...]] | None = None

    def go(self, to: Callable[[int], object], step: int) -> None:
        """Jump to the next or previous row of a kind; `repeat` repeats it."""
        self.goes = to
        to(step)

    def repeat(self, step: int) -> None:
        """Repeat the last jump or search in either direction."""
        if self.goes is not None:
            self.goes(step)
        else:
            self._pane.show_notice("nothing to repeat: jump with g or search with /")

    def to_match(self, step: int, rows: NDArray[np.integer[Any]] | None) -> JumpResult | None:
        """Jump to the next (1) or previous (-1) of ascending matching rows, or (0) the first from the cursor on."""
        if rows is None:
            self._pane.show_notice("nothing to repeat: jump with g or search with /")
            return None
        return self._jump("match", rows, step, "no row matches", notifies=step != 0)

    def to_cut(self, step: int) -> None:
        none = "the plan changes no row of this prompt"
        if self._controller.plan is not None and not self._controller.plan.strategies:
            none = "nothing is cut: no strategy is on; 1 turns on the first one"
        none = "still replaying the plan" if self._controller.replays.is_under_way else none
        if self._pane.view is not None:
            self._jump("cut", self._pane.view.changed_rows, step, none)

    def to_compaction(self, step: int) -> None:
        """Jump to another compaction or rewind and select the first call after it."""
        import numpy as np

        if self._pane.view is None:
            return
        rows = self._pane.view.rows
        found = np.flatnonzero(rows.is_boundary & (rows.thread == 0))
        says = partial(self._boundary_text, rows)
        landed = self._jump("compaction", found, step, "no compactions", describe=says, is_nearest_first=True)
        effect = None if landed is None else rows.boundaries[rows.boundary[landed.row]].effect
        if effect is not None:
            self._controller.look_at_place(effect.after)

    @staticmethod
    def _boundary_text(rows: Rows, block: int) -> str:
        effect = next((each.effect for each in rows.boundaries if each.block == block), None)
        if effect is None:
            return ""
        return f"at call {ON_SCREEN.whole(effect.after + 1)}; ⏎ details, [ call before"

    def to_subagent(self, step: int) -> None:
        import numpy as np

        if self._pane.view is not None:
            rows = self._pane.view.rows
            found = np.flatnonzero((rows.is_boundary & (rows.thread != 0)) | rows.is_subagent)
            self._jump("subagent", found, step, "no subagents")

    def to_error(self, step: int) -> None:
        import numpy as np

        if self._pane.view is not None:
            failed = np.flatnonzero(self._pane.view.rows.is_error)
            self._jump("failure", failed, step, "no failed tool results")

    def to_pin(self, step: int) -> None:
        import numpy as np

        if self._pane.view is not None:
            pinned = self._pane.view.rows_of_blocks(np.array(sorted(self._pane.view.pins), dtype=np.int64))
            self._jump("pin", pinned, step, "no pinned rows; z p pins the current one")

    def to_risk(self, step: int) -> None:
        """Jump to another row at risk and show the risk."""
        risks, view = self._controller.risks, self._pane.view
        if view is None:
            return
        none = "no known risks with this plan"
        if risks is None or not len(risks.blocks):
            self._pane.show_notice(none)
            return
        self._jump("risk", view.rows_of_blocks(risks.blocks), step, none, describe=risks.sentence)

    def to_growth(self, step: int) -> None:
        """Jump to another of the calls where the context grew most."""
        from inspector.ui.timeline.jumps import rises_of

        self._jump_in_outcome("increase", rises_of, step, "the context never grew")

    def to_miss(self, step: int) -> None:
        """Jump to another call that missed the prompt cache and show the reason."""
        from inspector.ui.miss_glyphs import WITH_PLAN, no_misses_text
        from inspector.ui.timeline.jumps import misses_of

        found = self._controller.answers.cache_of(self._controller.outcome)
        self._awaited_step = step if found is None else 0
        if found is None:
            self._pane.show_notice("still analyzing cache misses")
        else:
            link = f", {WITH_PLAN}: " if found.outcome.is_planned else ": "
            self._jump_to("miss", misses_of(found.by_block), step, no_misses_text(found.misses), link=link)

    def resume_to_miss(self) -> None:
        """Jump to the cache miss requested before misses were computed, if they are available now."""
        if self._awaited_step and self._controller.answers.cache_of(self._controller.outcome) is not None:
            self.to_miss(self._awaited_step)

    def _jump_in_outcome(self, noun: str, find: Callable[[Outcome], tuple[Jump, ...]], step: int, none: str) -> None:
        outcome = self._controller.outcome
        if outcome is None:
            return
        known = self._known
        if known is None or known[0] is not outcome.replay or known[1] is not find:
            known = self._known = (outcome.replay, find, find(outcome))
        self._jump_to(noun, known[2], step, none)

    def _jump_to(self, noun: str, jumps: tuple[Jump, ...], step: int, none: str, *, link: str = " · ") -> None:
        import numpy as np

        view = self._pane.view
        if view is None:
            return
        texts = {jump.block: jump.text for jump in jumps}
        wanted = view.rows_of_blocks(np.array(list(texts), dtype=np.int64))
        self._jump(noun, wanted, step, none, describe=lambda block: texts.get(block, ""), link=link)

    def _jump(
        self,
        noun: str,
        wanted: NDArray[np.integer[Any]],
        step: int,
        none: str,
        *,
        describe: Callable[[int], str] = lambda _: "",
        link: str = " · ",
        notifies: bool = True,
        is_nearest_first: bool = False,
    ) -> JumpResult | None:
        """Jump to the next of some rows, wrapping around, and report its position.

        Args:
            noun: Name of the kind of row.
            wanted: The rows, visible or not, ascending.
            step: 1 for the next row, -1 for the previous one, 0 for the first from the cursor on.
            none: Notice if there is no such row.
            describe: Returns the text appended for a block.
            link: Separator before that text.
            notifies: Show notices.
            is_nearest_first: If no row is left in that direction, the first such jump goes to the nearest in the other
                one.

        Returns:
            The row reached; None if there is no such row.
        """
        from inspector.ui.timeline.jumps import find_jump

        view = self._pane.view
        if view is None:
            return None
        self._awaited_step = 0
        before = self._landed[1] if self._landed is not None and self._landed[0] == noun else None
        cursor = self._pane.timeline.cursor
        found = find_jump(view, wanted, step, cursor, before, is_nearest_first=is_nearest_first)
        self._landed = None if found is None else (noun, found)
        if found is not None:
            self._pane.timeline.move_to(found.position)
        if notifies and found is not None:
            more, text = describe(int(view.rows.block[found.row])), found.sentence(noun)
            if before is None and found.total > 1:
                text += NEXT_HINT
            self._pane.show_notice(f"{text}{link}{more}" if more else text)
        elif notifies:
            self._pane.show_notice(
                none if view.count or not len(wanted) else "the filter hides all rows; esc in the filter clears it"
            )
        return found


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
