"""What a plan comes to and may lead to, on which terms, and how the figure under the cursor came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.worker import get_current_worker

from inspector.ui.controller.messages import ProjectionReady, RisksFound
from inspector.ui.main.remembering import Remembering

if TYPE_CHECKING:
    from inspector.replay.assumptions import Assumptions
    from inspector.ui.explain.explanation import Explained
    from inspector.ui.outcome import Outcome


class Costing(Remembering):
    """A session screen whose figures can be explained, and looked at on other terms."""

    @dataclass
    class SettingChanged(Message):
        """A setting has another value that should be kept."""

        name: str
        value: float

    @dataclass
    class ExplanationReady(Message):
        """Figures were explained.

        Attributes:
            outcome: What they are of.
            figures: The figures; none where there is nothing to explain.
            first: Which of them was asked for.
        """

        outcome: Outcome
        figures: tuple[Explained, ...]
        first: int

    @property
    def terms(self) -> Assumptions:
        """The terms figures are worked out on."""
        from inspector.replay.assumptions import Assumptions

        return self.given_terms or Assumptions()

    def set_terms(self, terms: Assumptions) -> None:
        """Work everything out on other terms."""
        before, self.given_terms = self.terms, terms
        if terms.replays_as(before):
            self.project_anew()
        else:
            self.request_replay()

    def set_runs(self, runs_per_day: float) -> None:
        """Project to another number of runs a day, and keep that."""
        self.settings = self.settings._replace(runs_per_day=runs_per_day)
        self.post_message(self.SettingChanged("runs_per_day", runs_per_day))
        self.project_anew()

    def project_anew(self) -> None:
        """Show the saving over other runs, days and months, and find out how far it may be off."""
        if self.outcome is not None:
            self.show_costs()
            self.judge(self.outcome)

    def judge(self, outcome: Outcome) -> None:
        """Find out what a plan that stands for the moment is about, and what it may lead to."""
        self.measure(outcome)
        if outcome.replay is outcome.baseline:
            self.show_risks()
            return
        runs, search, terms = self.settings.runs_per_day, self.uses_search(outcome.replay.history), self.given_terms

        def work() -> None:
            from inspector.ui.controller import jobs

            worker = get_current_worker()
            jobs.judge(outcome, runs, search, self.post_message, lambda: worker.is_cancelled, terms)

        self._work(work, "judge", "judge the plan")

    @on(ProjectionReady)
    def _projection_ready(self, message: ProjectionReady) -> None:
        if self.outcome is not None and message.outcome.replay is self.outcome.replay:
            self.projection = message.projection
            self.show_costs()

    @on(RisksFound)
    def _risks_found(self, message: RisksFound) -> None:
        if self.outcome is not None and message.outcome.replay is self.outcome.replay:
            self.risks = message.risks
            self.show_risks()

    def action_explain(self) -> None:
        """Say how the figures came about on which the cursor is."""
        outcome = self.outcome
        if outcome is None:
            self.show_notice("there is nothing to explain yet")
            return
        focus, terms, runs = self.focus_of_explanation(), self.terms, self.settings.runs_per_day

        def work() -> None:
            from inspector.ui.explain.focus import explained_focus

            figures, first = explained_focus(outcome, focus, terms, runs)
            self.post_message(self.ExplanationReady(outcome, figures, first))

        self._work(work, "explain", "explain the figure")

    def focus_of_explanation(self) -> tuple[str, int]:
        """Which part of the screen has the cursor, and on which block it is, -1 for none."""
        raise NotImplementedError

    @on(ExplanationReady)
    def _show_explanation(self, message: ExplanationReady) -> None:
        from inspector.ui.explain.dialog import ExplainScreen

        if message.outcome is self.outcome and message.figures:
            self.app.push_screen(ExplainScreen(message.figures, message.first))
