"""The cost line: recorded cost, cost under the plan, runs per day, and explanations of the figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.reactive import reactive

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import COST_BAR
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.main.session_pane import FailSafePane
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of
from inspector.ui.toolkit.single_result_screen import open_over, run_dialog

if TYPE_CHECKING:
    from textual.binding import BindingType

    from inspector.replay.analysis.breakdown import ResentBlock
    from inspector.replay.engine.replay import Replay
    from inspector.ui.controller.session import SessionController
    from inspector.ui.cost.summary import CostSummary, Line, LineText, Styled
    from inspector.ui.explain import Explained
    from inspector.ui.main.timeline_pane import TimelinePane
    from inspector.ui.outcome import Outcome


COUNTING = "counting tokens, then replaying every call…"


class CostPane(FailSafePane, can_focus=True):
    """One line with the results of the latest replay: of the recorded session, or with a strategy on of the plan."""

    HELP = """The session's cost. Without a strategy: the avoidable cost, of calls that read less from the prompt cache
    than they could have, and what the agent itself can save net of expected re-fetches. With a strategy on: the cost
    with the plan, its saving, and what it is after expected re-fetches.

    No mark: reported by the provider, or calibrated to reported usage.
    ~ estimated, or projected for calls that did not happen.  ≥ lower bound."""

    DEFAULT_CSS = """
    CostPane { height: 1; width: 1fr; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cost--title",
        "cost--figure",
        "cost--saved",
        "cost--lost",
        "cost--text",
        "cost--attention",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(COST_BAR)

    summary: reactive[CostSummary | None] = reactive(None)
    """The figures; None until computed."""
    waiting_for: reactive[str] = reactive("")
    """Work in progress, shown until there are figures."""
    plan_name: reactive[str] = reactive("the plan")
    """Name of the plan in the line."""
    is_late: reactive[bool] = reactive(False)
    """True while a replay takes long."""

    def __init__(self, controller: SessionController, rows: TimelinePane) -> None:
        super().__init__(id="cost")
        self.controller = controller
        self._rows = rows
        self._resent: tuple[Replay, dict[int, ResentBlock]] | None = None
        self.listen(
            controller,
            {
                Change.FORGOTTEN: self._forget,
                Change.SESSION: self._show_session,
                Change.PLAN: self._show_plan,
                Change.OUTCOME: self._show_costs,
                Change.CALL: self._show_costs,
                Change.RISKS: self._show_costs,
                Change.ANSWERS: self._show_answers,
                Change.REPLAYING: self._show_replaying,
            },
        )

    def _forget(self) -> None:
        self.summary = self._resent = None

    def render(self) -> Content:
        """Render the line; nothing if a failure notice covers the pane."""
        if self.has_failed:
            return Content("")
        summary = self.summary
        if summary is None:
            waiting = self._styled((("Cost ", "cost--title"), (self.waiting_for, "cost--text")))
            return line_of([LinePiece(waiting)], self.content_size.width)
        pieces = [self._piece(each) for each in self._line(summary)]
        if self.is_late:
            pieces.append(LinePiece(self._styled((("replaying…", "cost--text"),)), 1, right=True))
        return line_of(pieces, self.content_size.width)

    def _line(self, summary: CostSummary) -> Line:
        from inspector.ui.cost.summary import planned_line, recorded_line

        if summary.is_on:
            return planned_line(summary, self.plan_name)
        answers, session = self.controller.answers, self.controller.session
        cache = answers.recorded_cache
        return recorded_line(
            summary,
            None if cache is None else cache.misses,
            answers.best,
            "" if session is None else session.format,
            is_searching=answers.is_searching,
            subagents=self.controller.subagent_costs.costs,
        )

    def _piece(self, text: LineText) -> LinePiece:
        from inspector.ui.cost.summary import LineText

        piece, shorter = LinePiece(self._styled(text.text), text.rank, text.right), text.shorter
        if shorter is None:
            return piece
        return piece._replace(shorter=self._piece(shorter) if isinstance(shorter, LineText) else self._styled(shorter))

    def _styled(self, parts: Styled) -> Content:
        return Content.assemble(*((text, self.get_visual_style(style)) for text, style in parts))

    async def on_click(self) -> None:
        """Open the screen with every figure."""
        await self.screen.run_action("do('study.open-costs')")

    def _show_session(self) -> None:
        if self.controller.outcome is None:
            self._forget()
        self.waiting_for = COUNTING if self.controller.rows is not None and len(self.controller.rows) else ""

    def _show_plan(self) -> None:
        if self.controller.plans is not None:
            self.plan_name = f"plan {self.controller.plans.letter}"

    def _show_costs(self) -> None:
        from inspector.ui.cost.summary import summarize

        session, outcome = self.controller, self.controller.outcome
        if outcome is not None:
            risks = session.risks or session.earlier_risks
            self.summary = summarize(outcome, session.call, risks, is_settled=session.risks is not None)

    def _show_answers(self) -> None:
        self.refresh()

    def _show_replaying(self) -> None:
        self.is_late = self.controller.replays.is_long

    def to_most_resent(self, step: int = 1) -> None:
        """Go to the next (1) or previous (-1) of the tool results that cost most to resend, wrapping around."""
        session, outcome = self.controller, self.controller.outcome
        if outcome is None:
            session.host.show_notice("nothing to go to yet")
            return
        replay, baseline = outcome.replay, outcome.baseline
        if self._resent is not None and self._resent[0] is replay:
            self._go_to_resent(step, self._resent[1])
            return

        def work(post: Post[dict[int, ResentBlock]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.replay.analysis.breakdown import Breakdown
            from inspector.replay.explain.cost_sheet import MOST_RESENT

            post(Breakdown(baseline, replay).heaviest(MOST_RESENT))

        take = partial(self._take_resent, step, replay)
        session.host.run(work, take, group="most resent", description="find the results that cost most to resend")

    def _take_resent(self, step: int, replay: Replay, found: dict[int, ResentBlock]) -> None:
        self._resent = (replay, found)
        self._go_to_resent(step, found)

    def _go_to_resent(self, step: int, found: dict[int, ResentBlock]) -> None:
        import numpy as np

        show, view, blocks = self.controller.host.show_notice, self._rows.view, list(found)
        if view is None or not found:
            show("no tool result was resent")
            return
        at = self._rows.cursor_block
        here = next((place for place, block in enumerate(blocks) if block == at), None)
        begins = 0 if step > 0 else -1
        first = begins if here is None else here + step
        places = ((first + step * far) % len(found) for far in range(len(found)))
        place = next((at for at in places if len(view.positions_of_blocks(np.array([blocks[at]])))), None)
        if place is None:
            show("the results that cost most to resend are hidden")
            return
        self._rows.timeline.move_to_block(blocks[place])
        each = found[blocks[place]]
        tool = one_line(each.tool)
        cost = ON_SCREEN.dollars(each.usd) if each.usd is not None else ON_SCREEN.short(each.sent_tokens)
        prompts = ON_SCREEN.plural(each.calls, "prompt")
        show(f"resend cost {place + 1}/{len(found)}: {tool} result, {cost} in {prompts}")

    def explain(self, part: str, block: int) -> None:
        """Open the explanation of the figures under the cursor.

        Args:
            part: Part of the screen with the figures, from `inspector.ui.part_names`.
            block: Block of the figures, the first one after a boundary; -1 for none.
        """
        session, outcome = self.controller, self.controller.outcome
        if outcome is None:
            session.host.show_notice("nothing to explain yet")
            return
        terms, runs = session.terms, session.runs_per_day
        search = session.search_for_uses(outcome.replay.history)

        def work(post: Post[tuple[tuple[Explained, ...], int]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.ui.explain import explained_focus

            post(explained_focus(outcome, (part, block), terms, runs, search))

        take = partial(self._show_explanation, outcome)
        session.host.run(work, take, group="explain", description="explain the figure")

    def _show_explanation(self, outcome: Outcome, explained: tuple[tuple[Explained, ...], int]) -> None:
        from inspector.ui.explain import ExplainScreen

        figures, first = explained
        if outcome is self.controller.outcome and figures:
            open_over(self.screen, ExplainScreen(figures, first))

    def ask_runs(self) -> None:
        run_dialog(self.screen, self._ask_runs(), "set the runs per day")

    def ask_model(self) -> None:
        from inspector.ui.cost.screen import ask_model

        run_dialog(self.screen, ask_model(self.app, self.controller), "price as another model")

    async def _ask_runs(self) -> None:
        from inspector.settings import problem_with_runs
        from inspector.ui.dialogs import ValueDialog

        text = "How many sessions like this one run per day. Daily and monthly savings are projected from it."
        shown = f"{self.controller.runs_per_day.number:g}"
        answer = await self.app.push_screen_wait(ValueDialog("Runs per day", text, shown, problem_with_runs))
        if answer is not None:
            self.controller.set_runs(float(answer.replace(",", "")))
