"""What the session costs with the plan and without it, over how many runs, and how the figures are calculated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from inspector.ui.controller.changes import Change
from inspector.ui.cost.bar import CostBar
from inspector.ui.main.session_pane import run_dialog
from inspector.ui.toolkit.pane import entitle, subtitle

if TYPE_CHECKING:
    from inspector.ui.controller.host_protocols import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain.dialog import Explained
    from inspector.ui.outcome import Outcome

COUNTING = "tokens are being counted, then every call is replayed…"


class CostPane(CostBar):
    """Shows what the newest replay comes to."""

    def __init__(self, controller: SessionController) -> None:
        super().__init__(id="cost", classes="section")
        self.controller = controller
        controller.changes.listen(
            {
                Change.FORGOTTEN: self._forget,
                Change.SESSION: self._show_session,
                Change.PLAN: self._show_plan,
                Change.OUTCOME: self._show_costs,
                Change.CALL: self._show_costs,
                Change.COSTS: self._show_costs,
                Change.REPLAYING: self._show_replaying,
            }
        )

    def on_mount(self) -> None:
        """Say in the frame what it is."""
        entitle(self, "Cost")

    def _forget(self) -> None:
        self.summary = None

    def _show_session(self) -> None:
        self.waiting_for = COUNTING if self.controller.rows is not None and len(self.controller.rows) else ""

    def _show_plan(self) -> None:
        if self.controller.plans is not None:
            self.plan_name = f"plan {self.controller.plans.letter}"

    def _show_costs(self) -> None:
        from inspector.ui.cost.summary import summarise

        session, outcome = self.controller, self.controller.outcome
        if outcome is not None:
            call = session.call
            self.summary = summarise(outcome, session.runs_per_day, session.projection, session.given_terms, call)

    def _show_replaying(self) -> None:
        subtitle(self, "replaying…" if self.controller.is_replaying_long else "")

    def explain(self, part: str, block: int) -> None:
        """Say how the figures the cursor is on are calculated.

        Args:
            part: Which part of the screen has it: `timeline`, `chart`, `plan` or `cost`.
            block: On which block it is, -1 for none.
        """
        session, outcome = self.controller, self.controller.outcome
        if outcome is None:
            session.host.tell("there is nothing to explain yet")
            return
        terms, runs = session.terms, session.runs_per_day

        def work(post: Post[tuple[tuple[Explained, ...], int]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            from inspector.ui.explain.focus import explained_focus

            post(explained_focus(outcome, (part, block), terms, runs))

        take = partial(self._show_explanation, outcome)
        session.host.run(work, take, group="explain", description="explain the figure")

    def _show_explanation(self, outcome: Outcome, explained: tuple[tuple[Explained, ...], int]) -> None:
        from inspector.ui.explain.dialog import ExplainScreen

        figures, first = explained
        if outcome is self.controller.outcome and figures:
            self.app.push_screen(ExplainScreen(figures, first))

    def on_cost_bar_runs_asked(self) -> None:
        """The number of runs a day should be asked for."""
        self.ask_runs()

    def ask_runs(self) -> None:
        """Ask how many such sessions run in a day."""
        run_dialog(self.screen, self._ask_runs(), "ask for runs a day")

    async def _ask_runs(self) -> None:
        from inspector.ui.dialogs.dialog import ValueDialog
        from inspector.ui.settings import problem_with_runs

        text = "How many sessions like this one run in a day. What is saved a day and a month is projected from it."
        shown = f"{self.controller.runs_per_day:g}"
        answer = await self.app.push_screen_wait(ValueDialog("Runs a day", text, shown, problem_with_runs))
        if answer is not None:
            self.controller.set_runs(float(answer.replace(",", "")))
