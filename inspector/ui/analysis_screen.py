"""Base of the analysis screens, which show the main screen's session in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import STUDY
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.explain import Explained, ExplainScreen
from inspector.ui.part_names import COST
from inspector.ui.session_screen import SessionScreen, heading_of
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType

    from inspector.ui.controller.session import SessionController
    from inspector.ui.help.palette import PaletteCommand
    from inspector.ui.outcome import Outcome


class CloseResult(NamedTuple):
    """Target to show after closing an analysis screen, if not the screen below it.

    Attributes:
        study: Name of an analysis screen below; empty for the session.
        block: Block to select in the timeline; None to leave the cursor.
        is_boundary: Select the compaction row above the block.
    """

    study: str = ""
    block: int | None = None
    is_boundary: bool = False


class AnalysisScreen(SessionScreen[CloseResult | None], SingleResultScreen[CloseResult | None]):
    """Base of a screen over the main screen, on the same session, plan and call.

    The main screen continues below: when the session grows or the plan changes, `show_outcome` is called.

    An analysis screen opened from another one lies above it and closes to it. One that the user returned to closes to
    the session, so that the user need not step back through all screens below.

    Attributes:
        opened_from: The analysis screen below; None for the session.
        open_analysis: Opens an analysis screen over another. Set when this screen is opened.
    """

    ACTIONS = STUDY
    BINDINGS: ClassVar[list[BindingType]] = bindings(STUDY)

    screen_name: ClassVar[str] = ""
    """Name in the main screen's `study` action."""

    def __init__(self, controller: SessionController) -> None:
        """Create the screen.

        Args:
            controller: The open session, with an outcome to show.
        """
        super().__init__()
        self.controller = controller
        self.opened_from: AnalysisScreen | None = None
        self.open_analysis: Callable[[str, AnalysisScreen], None] = lambda _, __: None
        self._is_below_another = self._was_come_back_to = False
        self._stop_listening: Callable[[], None] | None = None
        self._known = controller.outcome

    @property
    def outcome(self) -> Outcome:
        """The newest outcome. If the file was rewritten, the previous one until it is replayed again."""
        self._known = self.controller.outcome or self._known
        if self._known is None:
            raise AssertionError("opened before the first replay")
        return self._known

    def show_outcome(self) -> None:
        """Show the outcome, because the session, the plan or the call changed."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Subscribe to changes to the session, and show its newest outcome."""

        def show_next() -> None:
            self.call_next(self._show_newest)

        self._stop_listening = self.controller.changes.listen({Change.OUTCOME: show_next, Change.CALL: show_next})
        self._tick()
        self.show_outcome()

    def on_unmount(self) -> None:
        if self._stop_listening is not None:
            self._stop_listening()

    def _show_newest(self) -> None:
        if self.controller.outcome is not None and not self.is_closing and not self._is_below_another:
            self.show_outcome()

    def _tick(self) -> None:
        self.header.heading = heading_of(self.controller)
        super()._tick()

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """Return a function that explains the figures under the cursor, by default the costs. It runs in a thread."""
        from inspector.ui.explain import explained_focus

        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(outcome.replay.history)
        return lambda: explained_focus(outcome, (COST, -1), terms, runs, search)[0]

    def action_explain(self) -> None:
        """Show how the figures under the cursor are calculated."""
        explains = self.explains()

        def work(post: Post[tuple[Explained, ...]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            post(explains())

        self.jobs.run(work, self._show_explanation, group="explain", description="explain this")

    def _show_explanation(self, figures: tuple[Explained, ...]) -> None:
        if figures:
            self.open_over(ExplainScreen(figures))

    def action_close(self) -> None:
        """Close to the screen that opened this one, or to the session if the user came back to this one."""
        self.dismiss(CloseResult() if self._was_come_back_to else None)

    def action_analysis(self, name: str) -> None:
        """Open another analysis screen, return to it if it lies below, or close this one if it has that name."""
        below = self.opened_from
        while below is not None and below.screen_name != name:
            below = below.opened_from
        if name == self.screen_name:
            self.action_close()
        elif below is not None:
            self.dismiss(CloseResult(study=name))
        else:
            self.open_analysis(name, self)

    def open_above(self, above: AnalysisScreen) -> None:
        """Show an analysis screen over this one, which stops updating until it is visible again."""
        if self.is_active:
            above.opened_from, self._is_below_another = self, True
            self.open_over(above, self._left_above)

    def _left_above(self, leaving: CloseResult | None) -> None:
        """Handle the result of the screen above: stay here, or continue to the target below."""
        self._is_below_another = False
        if leaving is None or leaving.study == self.screen_name:
            self._was_come_back_to = True
            self._show_newest()
        else:
            self.dismiss(leaving)

    def action_undo(self) -> None:
        self.controller.undo()

    def action_redo(self) -> None:
        self.controller.redo()

    def commands(self) -> Iterable[PaletteCommand]:
        """Yield the palette commands that are not key bindings."""
        return ()
