"""The cost pane: recorded cost, cost under the plan, runs per day, and explanations of the figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.controller.host import Change
from inspector.ui.cost.bar import CostBar
from inspector.ui.main.session_pane import FailSafePane
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of
from inspector.ui.toolkit.pane import set_subtitle, set_title
from inspector.ui.toolkit.single_result_screen import open_over, run_dialog

if TYPE_CHECKING:
    from inspector.replay.analysis.breakdown import ResentBlock
    from inspector.replay.engine.replay import Replay
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.cost.summary import CostSummary
    from inspector.ui.cost.unplanned_lines import Line, Styled
    from inspector.ui.explain.dialog import Explained
    from inspector.ui.main.timeline_pane import TimelinePane
    from inspector.ui.outcome import Outcome


COUNTING = "counting tokens, then replaying every call…"


class CostPane(CostBar, FailSafePane):
    """The pane with the results of the latest replay; without an active strategy it shows where the money went."""

    HELP = """The session's cost and, with a strategy on, its cost with the plan and the difference.

    Without a strategy: the cost of each kind of token; the best plan's savings, searched in the background; the calls
    that read less from the prompt cache than they could have (cache misses), with causes and extra cost over a cache
    read; and the results that cost most to resend with every prompt. ~ marks estimates and projections.

    With a plan: how many later calls needed text it had cut, the cost of getting that text back, and the plan's net
    savings."""

    def __init__(self, controller: SessionController, rows: TimelinePane) -> None:
        super().__init__(id="cost", classes="section")
        self.controller = controller
        self._rows = rows
        self._resent: tuple[Replay, tuple[ResentBlock, ...]] | None = None
        self.listen(
            controller,
            {
                Change.FORGOTTEN: self._forget,
                Change.SESSION: self._show_session,
                Change.PLAN: self._show_plan,
                Change.OUTCOME: self._show_costs,
                Change.CALL: self._show_costs,
                Change.COSTS: self._show_costs,
                Change.RISKS: self._show_costs,
                Change.ANSWERS: self._show_answers,
                Change.REPLAYING: self._show_replaying,
            },
        )

    def on_mount(self) -> None:
        set_title(self, "Cost")

    def _forget(self) -> None:
        self.summary = self._resent = None

    def render(self) -> Content:
        """Render the plan's costs or where the money went; nothing if a failure notice covers the pane."""
        if self.has_failed:
            return Content("")
        summary = self.summary
        lines = () if summary is None else self._answers(summary)
        if not lines:
            return super().render()
        width = self.content_size.width
        return Content("\n").join([line_of(pieces, width) for pieces in lines])

    def _answers(self, summary: CostSummary) -> list[list[LinePiece]]:
        """Return the lines shown without an active strategy; empty if a strategy is on or nothing is computed yet."""
        from inspector.ui.cost.unplanned_lines import answer_lines

        answers, outcome, room = self.controller.answers, self.controller.outcome, max(self.content_size.height, 1)
        spending = answers.spending
        if summary.is_on or spending is None:
            return []
        until = [] if summary.until is None else [self._until(summary, summary.until)]
        cache = answers.recorded_cache
        parts = answer_lines(
            spending,
            None if cache is None else cache.misses,
            answers.best,
            (max(room - len(until), 1), self.content_size.width),
            is_searching=answers.is_searching,
            advice=summary.advice,
            subagents=self.controller.subagent_costs.costs,
            is_behind=outcome is not None and spending.replay.history.call_count < outcome.replay.history.call_count,
            as_recorded=summary.as_recorded,
        )
        first, *others = [self._pieces(line) for line in parts]
        return [first, *until, *others][:room]

    def _pieces(self, line: Line) -> list[LinePiece]:
        return [
            LinePiece(self._styled(reported), rank, right, None if shorter is None else self._styled(shorter))
            for reported, rank, shorter, right in line
        ]

    def _styled(self, parts: Styled) -> Content:
        return Content.assemble(*((text, self.get_visual_style(style)) for text, style in parts))

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
            self.summary = summarize(
                outcome,
                session.runs_per_day,
                session.projection,
                session.given_terms,
                session.call,
                None if session.risks is None else session.risks.needed,
            )

    def _show_answers(self) -> None:
        self.refresh()

    def _show_replaying(self) -> None:
        set_subtitle(self, "replaying…" if self.controller.replays.is_long else "")

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

        def work(post: Post[tuple[ResentBlock, ...]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.replay.analysis.breakdown import Breakdown
            from inspector.replay.explain.spending import MOST_RESENT

            post(Breakdown(baseline, replay).heaviest(MOST_RESENT))

        take = partial(self._take_resent, step, replay)
        session.host.run(work, take, group="most resent", description="find the results that cost most to resend")

    def _take_resent(self, step: int, replay: Replay, found: tuple[ResentBlock, ...]) -> None:
        self._resent = (replay, found)
        self._go_to_resent(step, found)

    def _go_to_resent(self, step: int, found: tuple[ResentBlock, ...]) -> None:
        import numpy as np

        show, view, history = self.controller.host.show_notice, self._rows.view, self.controller.history
        if view is None or history is None or not found:
            show("no tool result was resent")
            return
        at = self._rows.cursor_block
        here = next((place for place, each in enumerate(found) if each.block == at), None)
        begins = 0 if step > 0 else -1
        first = begins if here is None else here + step
        places = ((first + step * far) % len(found) for far in range(len(found)))
        place = next((at for at in places if len(view.positions_of_blocks(np.array([found[at].block])))), None)
        if place is None:
            show("the results that cost most to resend are hidden")
            return
        each = found[place]
        self._rows.timeline.move_to_block(each.block)
        tool = one_line(history.session.all_blocks[each.block].tool_name)
        cost = ON_SCREEN.dollars(each.cost.value) if each.cost.value is not None else ON_SCREEN.short(each.sent.value)
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
            from inspector.ui.explain.dialog import explained_focus

            post(explained_focus(outcome, (part, block), terms, runs, search))

        take = partial(self._show_explanation, outcome)
        session.host.run(work, take, group="explain", description="explain the figure")

    def _show_explanation(self, outcome: Outcome, explained: tuple[tuple[Explained, ...], int]) -> None:
        from inspector.ui.explain.dialog import ExplainScreen

        figures, first = explained
        if outcome is self.controller.outcome and figures:
            open_over(self.screen, ExplainScreen(figures, first))

    def on_cost_bar_runs_requested(self) -> None:
        self.ask_runs()

    def ask_runs(self) -> None:
        run_dialog(self.screen, self._ask_runs(), "set the runs per day")

    def ask_model(self) -> None:
        from inspector.ui.cost.screen import ask_model

        run_dialog(self.screen, ask_model(self.app, self.controller), "price as another model")

    async def _ask_runs(self) -> None:
        from inspector.settings import problem_with_runs
        from inspector.ui.dialogs.dialog import ValueDialog

        text = "How many sessions like this one run per day. Daily and monthly savings are projected from it."
        shown = f"{self.controller.runs_per_day.number:g}"
        answer = await self.app.push_screen_wait(ValueDialog("Runs per day", text, shown, problem_with_runs))
        if answer is not None:
            self.controller.set_runs(float(answer.replace(",", "")))
