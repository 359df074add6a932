"""What the screens have in common that look at the main screen's session in a way of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import STUDY
from inspector.ui.controller.changes import Change
from inspector.ui.explain.dialog import ExplainScreen
from inspector.ui.part_names import COST
from inspector.ui.session_screen import SessionScreen, heading_of
from inspector.ui.toolkit.answered_screen import AnsweredScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType

    from inspector.ui.controller.host_protocols import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain.dialog import Explained
    from inspector.ui.help.commands import PaletteCommand
    from inspector.ui.outcome import Outcome


class Leaving(NamedTuple):
    """Where to go from a study, where not back to what it was opened from.

    Attributes:
        study: To this study instead, which stands below, as the main screen's action calls it; empty for the session.
        block: To a block in the timeline; None for where one was.
        is_boundary: To the row above it, of the compaction it follows.
    """

    study: str = ""
    block: int | None = None
    is_boundary: bool = False


class StudyScreen(SessionScreen[Leaving | None], AnsweredScreen[Leaving | None]):
    """Shown over the main screen, on the same session, plan and call. A subclass composes it and says what it shows.

    The main screen goes on underneath: a session that grows, or a plan that is taken back, is another outcome, and
    `show_outcome` is told of it.

    A study that is opened out of another one stands over it, and is closed to it. A study that was come back to in this
    way is closed to the session, however many stand below: nobody wants to go back the whole way they came.

    Attributes:
        opened_from: The study it stands over; None for the session.
        open_study: Opens a study over one; from its opening on.
    """

    ACTIONS = STUDY
    BINDINGS: ClassVar[list[BindingType]] = bindings(STUDY)

    name_of_study: ClassVar[str] = ""
    """What the main screen's action calls it."""

    def __init__(self, controller: SessionController) -> None:
        """Make a screen.

        Args:
            controller: The open session, with an outcome to study.
        """
        super().__init__()
        self.controller = controller
        self.opened_from: StudyScreen | None = None
        self.open_study: Callable[[str, StudyScreen], None] = lambda _, __: None
        self._is_below_another = self._was_come_back_to = False
        self._stop_listening: Callable[[], None] | None = None
        self._known = controller.outcome

    @property
    def outcome(self) -> Outcome:
        """What the plan came to, as it is known now; of the file before it was written anew, until that is replayed."""
        self._known = self.controller.outcome or self._known
        if self._known is None:
            raise AssertionError("opened before anything was replayed")
        return self._known

    def show_outcome(self) -> None:
        """The session, the plan or the call is another one."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Listen to changes of the session, and show its newest outcome."""

        def show_next() -> None:
            self.call_next(self._show_newest)

        self._stop_listening = self.controller.changes.listen({Change.OUTCOME: show_next, Change.CALL: show_next})
        self._tick()
        self.show_outcome()

    def on_unmount(self) -> None:
        """Listen no more."""
        if self._stop_listening is not None:
            self._stop_listening()

    def _show_newest(self) -> None:
        if self.controller.outcome is not None and not self.is_going and not self._is_below_another:
            self.show_outcome()

    def _tick(self) -> None:
        self.header.heading = heading_of(self.controller)
        super()._tick()

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """What explains the figures the cursor is on; run in a thread. By default the plan's costs."""
        from inspector.ui.explain.focus import explained_focus

        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(outcome.replay.history)
        return lambda: explained_focus(outcome, (COST, -1), terms, runs, search)[0]

    def action_explain(self) -> None:
        """Say how the figures the cursor is on are calculated."""
        explains = self.explains()

        def work(post: Post[tuple[Explained, ...]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            post(explains())

        self.jobs.run(work, self._show_explanation, group="explain", description="explain this")

    def _show_explanation(self, figures: tuple[Explained, ...]) -> None:
        if figures:
            self.open_over(ExplainScreen(figures))

    def action_close(self) -> None:
        """Back to the study this was opened from; to the session where it has been come back to since."""
        self.dismiss(Leaving() if self._was_come_back_to else None)

    def action_study(self, name: str) -> None:
        """Another study over this one, or back to it where it stands below; the same one again closes it."""
        below = self.opened_from
        while below is not None and below.name_of_study != name:
            below = below.opened_from
        if name == self.name_of_study:
            self.action_close()
        elif below is not None:
            self.dismiss(Leaving(study=name))
        else:
            self.open_study(name, self)

    def open_above(self, above: StudyScreen) -> None:
        """Show a study over this one, which shows nothing new until it is seen again."""
        if self.is_active:
            above.opened_from, self._is_below_another = self, True
            self.open_over(above, self._left_above)

    def _left_above(self, leaving: Leaving | None) -> None:
        """The study above was left: for this one, or for what stands below."""
        self._is_below_another = False
        if leaving is None or leaving.study == self.name_of_study:
            self._was_come_back_to = True
            self._show_newest()
        else:
            self.dismiss(leaving)

    def action_undo(self) -> None:
        """Undo the last change of the plan."""
        self.controller.undo()

    def action_redo(self) -> None:
        """Make it again."""
        self.controller.redo()

    def commands(self) -> Iterable[PaletteCommand]:
        """What the command palette offers here besides what keys do."""
        return ()
