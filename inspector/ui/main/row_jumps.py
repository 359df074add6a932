"""Jumps between the rows that matter: cuts, compactions, failures, cache misses, risks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from inspector.ui.controller.session import SessionController
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.jumps import Jump, JumpResult
    from inspector.ui.timeline.rows import Rows
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
