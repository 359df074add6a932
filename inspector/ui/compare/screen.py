"""Compare screen: one row per strategy or plan on this session."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from inspector.replay.analysis.best_plan import compared, place_in_order, plans_to_compare
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.replay.engine.replay import replay
from inspector.report.export import answer_for
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import NOTHING_WORTHWHILE, searching_words
from inspector.safe_text import one_line
from inspector.strategies.plan import Plan
from inspector.strategies.presets import display_name, saved_plans
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import COMPARE
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.compare.best import (
    applicable_of,
    applicable_part,
    best_of,
    front_of,
    front_table,
    headlines,
    not_recommended_legend,
    not_recommended_text,
    parts_of,
    recommended_of,
    safest_of,
    why,
)
from inspector.ui.compare.rows import (
    APPLIES_MARK,
    NEVER_APPLIED,
    NOTHING_CUT,
    CompareRow,
    PlanKind,
    PlanPurpose,
    about,
    about_never_applied,
    compare_table,
    current_name,
)
from inspector.ui.figure_table.table import Sorting, legend_of
from inspector.ui.figure_table.widget import FactList, FigureTable
from inspector.ui.part_names import APPLIED, NEEDED_PHRASES
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of
from inspector.ui.toolkit.pane import Pane
from inspector.ui.toolkit.status_bar import StatusBar, WorkProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.ui.compare.best import Headline
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain import Explained

BASELINE, CURRENT = "nothing cut", "current plan"
ABOUT_GROUPS = (
    "Plans by what they do to a prompt. In each group the plans that this session's agent can apply come first, then "
    "the others by net saving. ✗ and ? are not recommended: ? cuts more than public experiments or shipped defaults."
)
STILL_REPLAYING = "still replaying plans: wait for the best (★), or choose one with ↓"
MOST_LINES = 3
"""Lines above the rows: the agent's own plan, the best one, the safest one."""
SECONDS_BETWEEN_RUNS = 2.0
"""Minimum time between two comparisons of a growing session."""
SECONDS_BETWEEN_FILLS = 0.1
"""Minimum time between two updates of the rows while plans are replayed."""


class PlansTable(FigureTable):
    """Table of plans."""

    TITLE_IN_HELP = "Plans"

    HELP = """One row per plan, replayed over every call of this session: single strategies, and built-in plans,
    which are complete plans of known agents. "saved" compares with the session with nothing cut and includes the
    cost of cache rewrites; a minus sign means that the plan costs more. "of total" is the saved share of the cost,
    or of the prompt tokens if the model has no price. "needed" counts later calls that used text the plan had cut;
    "?" is not measured: it cuts no tool result, or user or assistant text too. "net" is the saving at worst: minus
    the cost of expected re-fetches, by rates measured on recorded cuts, at their upper end. Plans are grouped by
    what they do: five rows of a group are shown until ⏎ opens it. In each, plans that the agent can apply come
    first, then the others by net saving, then those that are not recommended (✗) or untested (?). Green figures
    save over their whole net range. F shows the Pareto front: the plans where no other saves more and is needed
    less often, from the most careful to the boldest, each with a bar of its saving net and before re-fetches. ★ is
    the tested built-in plan with the largest net saving, as on the main screen; your own plans are only ranked. ◆ is
    a safer one: the fewest expected re-fetches, among plans that save at least half as much if there are any. Both
    keep every user and assistant message. ✓ marks plans that the agent of this session can apply through its settings
    or the hook, or the applicable part of a plan if that part saves most. `*` uses the best plan that the agent can
    apply, otherwise ★. "changed" counts calls with a prompt that differs from the previous one before its end and is
    written to the cache again. "applied" is the first call a plan changes. "risks" counts the kinds of risks. "breaks
    even" is the first call from which a plan costs less in total. Plans that were never applied share one row, which
    unfolds. Tokens left of cut texts are accurate to a few tokens; `inspector compare` counts them exactly."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPARE)


class BestLine(Widget):
    """Line above the rows about the best or the safest plan; hidden if there is none."""

    DEFAULT_CSS = """
    BestLine {
        height: 1;
        padding: 0 1;
        &.-silent { display: none; }
        & > .best--good { color: $saved; text-style: bold; }
        & > .best--none { color: $text-muted; }
        & > .best--key { color: $accent; }
        &:nocolor > .best--good { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"best--good", "best--none", "best--key"}

    headline: reactive[Headline | None] = reactive(None)
    """The line."""

    def render(self) -> Content:
        if self.headline is None:
            return Content()
        style = self.get_visual_style("best--good" if self.headline.is_good else "best--none")
        width = self.content_size.width
        fitting = (text for text in self.headline.wordings() if cell_len(text) <= width)
        words = Content.styled(next(fitting, self.headline.short), style)
        key = Content.styled(self.headline.key, self.get_visual_style("best--key"))
        return line_of((LinePiece(words), LinePiece(key, 1, right=True)), width)


class CompareScreen(AnalysisScreen):
    """Replays plans one after another in a thread, and fills each row when its replay is done."""

    screen_name = "compare"

    DEFAULT_CSS = """
    CompareScreen {
        #compare { height: 1fr; }
        #compare-about { height: 9; }
        &.-short #compare-about { height: 7; }
        &.-tall #compare-about { height: 11; }
    }
    """

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Compare", id="compare"):
            for place in range(MOST_LINES):
                yield BestLine(id=f"best-line-{place}", classes="-silent" if place else "")
            yield PlansTable(id="plans")
        with Pane("Plan", id="compare-about"):
            yield FactList()
        yield StatusBar()

    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self._contenders: dict[str, CompareRow] = {}
        self._waiting: list[str] = []
        self._inputs: ReplayInputs | None = None
        self._started = 0.0
        self._filled = 0.0
        self._fill_timer: Timer | None = None
        self._is_unfolded = False
        self._opened: frozenset[PlanPurpose] = frozenset()
        self.shows_front = False
        """True if only the plans of the front are shown."""
        self._best: CompareRow | None = None
        self._recommended: CompareRow | None = None
        """The plan to use."""
        self._begins = True
        """True until a key is pressed or the mouse clicked. Until then the cursor moves to the best plan found."""

    @property
    def plans(self) -> PlansTable:
        return self.query_one(PlansTable)

    @property
    def is_complete(self) -> bool:
        """True once every plan has been replayed."""
        return bool(self._contenders) and not self._waiting

    def on_mount(self) -> None:
        self.query_one("#compare-about", Pane).set_subtitle("")
        self.plans.sorting = Sorting("net")
        self.plans.focus()

    def on_key(self, event: events.Key) -> None:
        """Stop moving the cursor automatically."""
        del event
        self._begins = False

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Stop moving the cursor automatically."""
        del event
        self._begins = False

    def show_outcome(self) -> None:
        """Compare again: every plan if the session changed, otherwise the current plan."""
        plan = self.outcome.plan
        if self._inputs is None:
            self._start()
        elif self._inputs is self.outcome.inputs and self._contenders[CURRENT].plan != plan:
            answer = answer_for(self.outcome.inputs.history.session.format, plan)
            self._contenders[CURRENT] = CompareRow(CURRENT, current_name(plan), plan, PlanKind.CURRENT, answer=answer)
            self._waiting = [CURRENT, *(key for key in self._waiting if key != CURRENT)]
            self._fill()
            self._replay()
        elif not self._waiting:
            self._start_again()

    def _start_again(self) -> None:
        """Compare again if the session has grown, at most every `SECONDS_BETWEEN_RUNS`."""
        if self._inputs is not self.outcome.inputs:
            wait = self._started + SECONDS_BETWEEN_RUNS - monotonic()
            self.set_timer(max(wait, 0.001), self._start, name="start")

    def _start(self) -> None:
        outcome = self.outcome
        if self._inputs is outcome.inputs or self.controller.session is None:
            return
        self._inputs, self._started = outcome.inputs, monotonic()
        session = outcome.inputs.history.session
        found = [
            CompareRow(CURRENT, current_name(outcome.plan), outcome.plan, PlanKind.CURRENT),
            *self._saved(),
            *(
                CompareRow(plan.name, display_name(plan.name), plan, PlanKind.of(plan))
                for plan in plans_to_compare(session)
            ),
        ]
        found = [replace(each, answer=answer_for(session.format, each.plan)) for each in found]
        nothing_cut = CompareRow(BASELINE, NOTHING_CUT, Plan(), PlanKind.RECORDED)
        fresh = [nothing_cut, *found, *parts_of(found, session.format)]
        # Show the previous figures until the new ones are computed.
        known = {each.key: each for each in self._contenders.values()}
        self._contenders = {
            each.key: replace(each, found=known[each.key].found, recoveries=known[each.key].recoveries)
            if each.key in known and known[each.key].plan == each.plan
            else each
            for each in fresh
        }
        self._waiting = sorted(self._contenders, key=lambda key: self._order(self._contenders[key]))
        self._fill()
        self._replay()

    @staticmethod
    def _order(each: CompareRow) -> tuple[bool, bool, bool, int]:
        """Return the sort key for replaying: the baseline first, then plans that were best on other sessions."""
        return not each.is_baseline, not each.is_current, each.is_part, place_in_order(each.plan)

    def _saved(self) -> list[CompareRow]:
        """Return the other plan and the user's saved plans."""
        saved = [
            CompareRow(f"saved {each.path}", f"your {each.name}", each.plan, PlanKind.YOURS)
            for each in saved_plans()
            if each.plan
        ]
        other = self.controller.other_result
        if other is not None:
            saved.insert(0, CompareRow("other", f"plan {other.letter}", other.plan, PlanKind.YOURS))
        return saved

    def _replay(self) -> None:
        """Replay the pending plans one after another. A newer run replaces this one."""
        inputs, baseline = self.outcome.inputs, self.outcome.baseline
        contenders = [self._contenders[key] for key in self._waiting]
        search = self.controller.search_for_uses(inputs.history)

        def work(post: Post[CompareRow], is_cancelled: IsCancelled) -> None:
            own = inputs.isolated(is_cancelled)
            with suppress(ReplayCancelledError):
                if contenders and contenders[0].is_baseline:
                    post(_replayed(own, baseline, contenders.pop(0), None))
                uses = search.run(is_cancelled)
                if uses is not None:
                    for each in contenders:
                        post(_replayed(own, baseline, each, uses))

        self.jobs.run(work, self._take_replayed, group="compare", description="compare plans")

    def _take_replayed(self, each: CompareRow) -> None:
        self._contenders[each.key] = each
        if each.key in self._waiting:
            self._waiting.remove(each.key)
        if self._waiting:
            self._fill_soon()
            return
        self._fill()
        self._begin_at_best()
        if self.status.notice == STILL_REPLAYING:
            self.forget_notice()
        self._start_again()

    def _fill_soon(self) -> None:
        """Show the results so far, at most every `SECONDS_BETWEEN_FILLS`."""
        if self._fill_timer is None:
            wait = self._filled + SECONDS_BETWEEN_FILLS - monotonic()
            self._fill_timer = self.set_timer(max(wait, 0.001), self._fill, name="fill")

    def _begin_at_best(self) -> None:
        """Move the cursor to the recommended plan once, unless the user already did anything."""
        if self._begins and self._recommended is not None and self.plans.cursor_key == BASELINE:
            self.plans.move_to_key(self._recommended.key)
        self._begins = False

    def _fill(self) -> None:
        if self._fill_timer is not None:
            self._fill_timer.stop()
        self._fill_timer, self._filled = None, monotonic()
        contenders = list(self._contenders.values())
        self._best = best_of(contenders)
        best = "" if self._best is None else self._best.key
        safest, applicable = safest_of(contenders), applicable_of(contenders)
        self._recommended = recommended_of(contenders)
        if self.shows_front:
            self.plans.table = front_table(contenders, self._best, safest)
        else:
            self.plans.table = compare_table(
                contenders,
                best,
                "" if safest is None else safest.key,
                "" if applicable is None else applicable.key,
                opened=self._opened,
                is_unfolded=self._is_unfolded,
            )
        waiting = len(self._waiting)
        lines = headlines(contenders, waiting)
        for place in range(MOST_LINES):
            self._say(f"#best-line-{place}", lines[place] if place < len(lines) else None)
        done = len(contenders) - len(self._waiting)
        self.status.progress = WorkProgress("replaying plans", done / len(contenders)) if self._waiting else None
        count = sum(not (each.is_baseline or each.is_current or each.is_part) for each in contenders)
        pane = self.query_one("#compare", Pane)
        calls = ON_SCREEN.plural(self.outcome.inputs.history.call_count, "call")
        if self.shows_front:
            shown = len(self.plans.table.rows)
            title = f"Pareto front, saving vs. needed later: {shown} of {ON_SCREEN.plural(count, 'plan')} over {calls}"
        else:
            folded = 0 if self._is_unfolded else sum(each.is_idle for each in contenders)
            away = f" · {folded} never applied (hidden)" if folded else ""
            title = f"Compare {ON_SCREEN.plural(count, 'plan')} over {calls}{away}"
        pane.border_title = Content(title)
        of_rows = (self._contenders.get(str(row.key)) for row in self.plans.table.rows)
        excluded = not_recommended_legend(filter(None, of_rows))
        legends = [excluded, self._about_applicable(), legend_of(self.plans.table)]
        about_marks = filter(None, legends)
        # The front's table has no such column.
        terms = (NEEDED_PHRASES[-1], *((APPLIED,) if self.plans.shows("fires") else ()))
        pane.set_subtitle("  ".join(about_marks), *terms)

    def _about_applicable(self) -> str:
        """Return the legend of the mark for plans the session's agent can apply; empty if no row has it."""
        marked = (self._contenders.get(str(row.key)) for row in self.plans.table.rows if row.mark == APPLIES_MARK)
        each = next(marked, None)
        return f"{APPLIES_MARK} {each.answer.can}" if each is not None and each.answer is not None else ""

    def _say(self, line: str, headline: Headline | None) -> None:
        widget = self.query_one(line, BestLine)
        widget.headline = headline
        widget.set_class(headline is None, "-silent")

    @on(FigureTable.Highlighted)
    def _highlighted(self) -> None:
        pane, facts = self.query_one("#compare-about", Pane), self.query_one(FactList)
        if self.plans.cursor_key == NEVER_APPLIED:
            pane.border_title = Content(NEVER_APPLIED)
            facts.facts = tuple(about_never_applied(list(self._contenders.values())))
        elif isinstance(self.plans.cursor_key, PlanPurpose):
            pane.border_title = Content(self.plans.cursor_key)
            facts.facts = (("about", ABOUT_GROUPS),)
        each = self._contenders.get(str(self.plans.cursor_key))
        if each is None:
            return
        is_best = self._best is not None and each.key == self._best.key
        contenders = self._contenders.values()
        others = front_of(contenders, self._best, safest_of(contenders)) if is_best or self.shows_front else ()
        reason = why(each, self._best, others) if is_best or each.is_own or each in others else ""
        pane.border_title = Content(one_line(each.name))
        passed_over = not_recommended_text(each, self._best)
        nothing_cut = self._contenders[BASELINE].found
        part = applicable_part(self._contenders.values(), each)
        facts.facts = tuple(about(each, nothing_cut, reason, passed_over, is_best=is_best, part=part))

    @on(FigureTable.Clicked)
    def _clicked(self) -> None:
        self.action_take()

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """Return a function that explains the plan under the cursor."""
        from inspector.ui.explain import explained_plan

        each = self._contenders.get(str(self.plans.cursor_key))
        if each is None:
            return super().explains()
        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(outcome.replay.history)
        return partial(explained_plan, outcome, each.plan, terms, runs, search)

    def action_best(self) -> None:
        """Use the recommended plan, as on the main screen."""
        count = len(self._contenders)
        waiting = searching_words((count - len(self._waiting), count), ON_SCREEN) if self._waiting else ""
        best = None if self._recommended is None else self._recommended.plan
        why_not = self.controller.use_best(best, waiting or NOTHING_WORTHWHILE)
        if why_not:
            self.show_notice(why_not)
        else:
            self.dismiss(CloseResult())

    def action_front(self) -> None:
        """Toggle between the plans of the front and all plans."""
        key = self.plans.cursor_key
        self.shows_front = not self.shows_front
        self.plans.sorting = Sorting("needed", falls=False) if self.shows_front else Sorting("net")
        self.refresh_bindings()
        self._fill()
        if self.plans.rows and all(row.key != key for row in self.plans.rows):
            key = self._best.key if self._best is not None else self.plans.rows[0].key
        self.plans.move_to_key(key)
        if self.shows_front and not self.plans.rows:
            self.show_notice("no plan saves anything so far" if self._waiting else "no plan saves anything here")

    def action_fold(self) -> None:
        """Toggle between all rows, and a few of each group with one for the plans that never applied."""
        if self.shows_front:
            self.action_front()
        self._is_unfolded = not self._is_unfolded
        self._fill()

    def action_read_on(self) -> None:
        """Scroll the details of the plan under the cursor."""
        self.query_one(FactList).read_on()

    def action_take(self) -> None:
        if self.plans.cursor_key == NEVER_APPLIED:
            self.action_fold()
            return
        if isinstance(self.plans.cursor_key, PlanPurpose):
            self._opened ^= {self.plans.cursor_key}
            self._fill()
            return
        each = self._contenders.get(str(self.plans.cursor_key))
        if each is None:
            return
        if each.is_baseline and self._waiting:
            self._begins = True  # the user has chosen nothing yet
            self.show_notice(STILL_REPLAYING)
        elif each.is_baseline:
            self.show_notice("to cut nothing, switch off the strategies of the plan")
        elif each.is_current or each.plan.strategies == self.outcome.plan.strategies:
            self.show_notice(self.controller.already_on(self.outcome.plan))
        else:
            self.controller.use_plan(each.plan)
            self.dismiss(CloseResult())

    def action_add(self) -> None:
        """Append the strategies of the plan under the cursor to the current plan."""
        each = self._contenders.get(str(self.plans.cursor_key))
        plan = self.controller.plan
        if each is None or plan is None or each.is_baseline or each.is_current:
            self.show_notice("choose a plan with strategies to add")
            return
        for strategy in each.plan.strategies:
            plan = plan.added(strategy)
        self.controller.edit_plan(plan)
        self.show_notice(f"added {each.name} to the current plan; ctrl+z undoes it")


def _replayed(inputs: ReplayInputs, baseline: Replay, each: CompareRow, uses: ReuseEvidence | None) -> CompareRow:
    try:
        planned = baseline if each.is_baseline else replay(inputs, each.plan)
        priced = None if uses is None else recoveries(baseline, planned, uses)
        return replace(each, found=compared(baseline, planned), recoveries=priced, failure="")
    except ReplayCancelledError:
        raise
    except Exception as error:  # noqa: BLE001  a failing plan shows its error in its row, and the others are compared
        return replace(each, found=None, recoveries=None, failure=f"{type(error).__name__}: {error}")
