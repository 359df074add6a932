"""Cache miss screen: why calls missed the prompt cache, the extra cost, and alternatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from inspector.replay.analysis.alternatives import ModelSwitch, model_switch
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.explain.cost_sheet import Spending, largest_part, resent_tokens, spending_of
from inspector.report.numbers import ON_SCREEN
from inspector.report.sentences import subagents_text
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import MISSES, MISSES_CALLS, MISSES_CAUSES
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.cost.screen import ask_model
from inspector.ui.cost.summary import Recommended, recommended_words
from inspector.ui.dialogs import ValueDialog
from inspector.ui.figure_table.table import Table, legend_of
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.miss_glyphs import no_misses_text
from inspector.ui.misses.drawing import BillRun, CostSeries, bill_of, call_at, call_summary, chart_title, draw_bill
from inspector.ui.misses.rows import (
    ALL,
    FOLDED,
    HELP,
    RESULT,
    RequestedModel,
    avoidable,
    call_phrases,
    call_table,
    call_to_switch_at,
    cause_table,
    kind_table,
    misses_of,
    parse_model_switch,
    resent_words,
    result_table,
    spent_on,
    switch_detail,
    switch_lines,
    switches_at,
    what_ifs,
    without_price,
)
from inspector.ui.timeline.jumps import place_of_call
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.line_view import component_classes, strip_of
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.live.away import PauseAdvice
    from inspector.ui.controller.answers import CacheAnswers
    from inspector.ui.controller.session import SessionController


class BillChart(Widget):
    """Cost per call. Set `series` to show a session. A click posts the call under the pointer."""

    DEFAULT_CSS = """
    BillChart {
        background: $background;
        color: $foreground;
        & > .bill--reads { color: $sent; }
        & > .bill--writes { color: $recorded; }
        & > .bill--uncached { color: $cut; }
        & > .bill--output { color: $assistant; }
        & > .bill--axis { color: $text-disabled; }
        & > .bill--label { color: $text-muted; }
        & > .bill--miss { color: $miss; text-style: bold; }
        & > .bill--compaction { color: $compaction; text-style: bold; }
        & > .bill--here { color: $primary; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(DEFAULT_CSS)

    series: reactive[CostSeries | None] = reactive[CostSeries | None](None)
    """The data on display."""

    @dataclass
    class Clicked(Message):
        """Posted when a call is clicked.

        Attributes:
            call: Index of the call.
        """

        call: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._drawn: tuple[tuple[BillRun, ...], ...] = ()
        self._drawn_as: tuple[CostSeries, int, int] | None = None

    def render_line(self, y: int) -> Strip:
        """Return one row. The chart is drawn again when its size or series changes."""
        (width, height), series, plain = self.size, self.series, self.rich_style
        if series is None:
            return Strip.blank(width, plain)
        if self._drawn_as is None or self._drawn_as[0] is not series or self._drawn_as[1:] != (width, height):
            self._drawn, self._drawn_as = draw_bill(series, width, height), (series, width, height)
        if y >= len(self._drawn):
            return Strip.blank(width, plain)
        parts = ((run.text, self.get_component_rich_style(run.style) if run.style else plain) for run in self._drawn[y])
        return strip_of(parts, width, plain)

    def on_click(self, event: events.Click) -> None:
        """Post the clicked call."""
        offset, series = event.get_content_offset(self), self.series
        call = None if offset is None or series is None else call_at(series, offset.x, self.size.width)
        if call is not None:
            self.post_message(self.Clicked(call))


LEAST_ROWS, AROUND_ROWS = 2, 3
"""Minimum rows of the cause table, and the rows of its frame and header."""

BILL_ROWS, AROUND_PANES = 11, 10
"""Rows of the bill if the calls need the rest, and rows of the header, cost lines, alternatives and status line."""

MEDIUM = 32
"""Screen height with room for the bill next to both tables."""

LEAST_FOR_WHAT_IFS = 22
"""Minimum screen height for single calls and alternatives."""


class Causes(FigureTable):
    """Table of causes."""

    HELP = """Causes of calls that read less from the prompt cache than it held. "tokens rewritten to cache" were
    written to the cache again or sent uncached, although the previous call had left them there. "cost" is their cost,
    "extra cost" its excess over a cache read, also as a share of the total cost. Expected misses (the first request, a
    compaction) are folded and not included in the sum. ~ marks estimates and projections."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(MISSES_CAUSES)


class Calls(FigureTable):
    """Table of calls."""

    HELP = """Calls that missed the cache for the selected cause, the costliest first, with the evidence for the cause.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MISSES_CALLS)


class MissesScreen(AnalysisScreen):
    """Causes, the calls of the cause under the cursor, the bill over all calls, and alternatives.

    A small screen has room for either the calls or the bill, and starts with the calls if any missed.
    """

    screen_name = "misses"

    DEFAULT_CSS = """
    MissesScreen {
        #spent { height: auto; padding: 0 2; color: $accent; }
        #causes-pane { max-height: 45%; }
        #calls-pane { height: 1fr; }
        #bill-pane { height: 1fr; }
        #what-ifs-pane { height: auto; }
        #what-ifs { padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MISSES)

    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self.found: CacheAnswers | None = None
        """Result on the screen; None until computed."""
        self.is_folded = True
        """True if the unavoidable misses share one row."""
        self.shows_bill: bool | None = None
        """True if the user wants the bill, False if not; None to decide by the screen's height."""
        self._spending: Spending | None = None
        """Resent content, for a replay without any cache miss; None until computed."""
        self._asked: RequestedModel | None = None
        self._switches: tuple[ModelSwitch, ...] = ()
        self._away: PauseAdvice | None = None
        """Costs of a pause now; None with a plan, while unknown, or while the agent works."""
        self._stop_listening_to_answers: Callable[[], None] | None = None

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        yield Static(id="spent", markup=False)
        with Pane("Cache misses", id="causes-pane"):
            yield Causes(id="causes")
            yield Placeholder()
        with Pane("Calls", id="calls-pane"):
            yield Calls(id="calls")
        with Pane("Cost per call", id="bill-pane"):
            yield BillChart(id="bill")
        with Pane("What if (projected)", id="what-ifs-pane"):
            yield Static(id="what-ifs", markup=False)
        yield StatusBar()

    @property
    def causes(self) -> Causes:
        return self.query_one(Causes)

    @property
    def calls(self) -> Calls:
        return self.query_one(Calls)

    def on_mount(self) -> None:
        """Subscribe to results, and focus the causes."""

        def show_next() -> None:
            self.call_next(self._show_newest)

        self._stop_listening_to_answers = self.controller.changes.listen({Change.ANSWERS: show_next})
        self.causes.focus()

    def on_unmount(self) -> None:
        if self._stop_listening_to_answers is not None:
            self._stop_listening_to_answers()

    def on_resize(self) -> None:
        """Lay out the screen for its new size."""
        self._place_bill()
        self._show_what_ifs()
        self._show_spent()

    def show_outcome(self) -> None:
        """Show the results for the current replay, which are computed in the background."""
        found = self.controller.answers.cache_of(self.outcome)
        pane = self.query_one("#causes-pane", Pane)
        if found is None:
            pane.border_subtitle = Content("calculating…")
        elif found is not self.found or not self.causes.table.columns:
            self.found = found
            self._asked = None
            self.query_one(BillChart).series = series = bill_of(found.misses)
            if series is not None:
                self.query_one("#bill-pane", Pane).border_title = Content(chart_title(series))
            self._place_bill()
            self._show_causes(found)
            self._price_pause(found)
            self._show_what_ifs()
            self._add_up(found)
            self.refresh_bindings()
        elif self.is_unpriced:
            self._show_what_ifs()
        self._show_spent()

    @property
    def is_unpriced(self) -> bool:
        """True if the session's models have no price. Works before anything is computed."""
        return self.found is not None and self.found.misses.replay.figures.cost_usd.value is None

    def _price_pause(self, found: CacheAnswers) -> None:
        """Price a pause now from the session's newest records, as `inspector status --away` does."""
        if found.outcome.replay is not found.outcome.baseline:
            self._away = None
            return
        path, pricing = self.controller.path, found.outcome.inputs.pricing

        def work(post: Post[PauseAdvice | None], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            from inspector.errors import SessionError
            from inspector.live.watch import session_status

            try:
                post(session_status(path, pricing).away)
            except SessionError:
                post(None)

        def take(away: PauseAdvice | None) -> None:
            if self.found is found:
                self._away = away
                self._show_what_ifs()

        self.jobs.run(work, take, group="pause", description="price a pause")

    def _add_up(self, found: CacheAnswers) -> None:
        """Compute the resent content if it takes the place of cache misses."""
        if found.misses.all:
            return

        def work(post: Post[Spending], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            post(spending_of(found.misses.replay))

        self.jobs.run(work, self._take_spending, group="resent", description="add up resent content")

    def _take_spending(self, spending: Spending) -> None:
        if self.found is not None and spending.replay is self.found.misses.replay:
            self._spending = spending
            self._show_causes(self.found)

    def _resent(self) -> Spending | None:
        """Return the resent content of the replay on the screen if it has no cache miss; None while unknown."""
        known, found = self._spending, self.found
        if known is None or found is None or found.misses.all or known.replay is not found.misses.replay:
            return None
        return known

    def _show_spent(self) -> None:
        found, reported = self.found, self.query_one("#spent", Static)
        if found is None:
            return
        is_recorded = found.outcome.replay is found.outcome.baseline
        best = self._recommended() if is_recorded else None
        avoided = avoidable(found.misses, best, found.lifetime, reported.content_size.width)
        part, before = largest_part(found.outcome.replay), found.outcome.baseline.figures.cost_usd.value
        if part is not None:
            # Rounded as everywhere, so that cost and saving add up.
            total = replace(part.total, value=ON_SCREEN.cost_with_plan(before, part.total.value))
            part = replace(part, total=total)
        replay, subagents = found.outcome.replay, self.controller.subagent_costs.costs
        spent = spent_on(part) if part is not None else resent_words(replay, resent_tokens(replay))
        started = subagents_text(subagents, ON_SCREEN) if subagents else ""
        lines = (spent, avoided, one_line(started))
        reported.update(Content("\n".join(filter(None, lines))))

    def _recommended(self) -> Recommended | None:
        answers, session = self.controller.answers, self.controller.session
        format_name = "" if session is None else session.format
        return recommended_words(answers.best, format_name, is_searching=answers.is_searching)

    def _show_causes(self, found: CacheAnswers) -> None:
        resent = self._resent()
        table = cause_table(found.misses, is_folded=self.is_folded) if resent is None else kind_table(resent)
        pane, placeholder = self.query_one("#causes-pane", Pane), self.query_one(Placeholder)
        is_empty = not found.misses.misses
        placeholder.display = is_empty and not table.rows
        placeholder.word = PlaceholderText(no_misses_text(found.misses))
        self.causes.display = not placeholder.display
        total = found.misses.total
        text = no_misses_text(found.misses) if is_empty else ON_SCREEN.plural(total.calls, "cache miss")
        text += "" if resent is None else "; content of all prompts"
        planned = "" if found.outcome.replay is found.outcome.baseline else " with the plan"
        pane.border_title = Content(f"{text[0].upper()}{text[1:]}{planned}")
        self.causes.table = table
        self._place_causes()
        self._show_calls()

    @on(FigureTable.Highlighted, "#causes")
    def _show_calls(self) -> None:
        found = self.found
        if found is None:
            return
        resent, rows = self._resent(), self.controller.rows
        if resent is not None and rows is not None:
            self._show_results(result_table(resent, rows))
            return
        key = self.causes.cursor_key
        misses = misses_of(found.misses, key)
        name = next((row.cells["name"].text for row in self.causes.rows if row.key == key and not row.words), "")
        prevented = key.prevention if isinstance(key, MissCause) else ""
        below = f"prevention: {prevented}" if prevented else legend_of(self.causes.table)
        self.query_one("#causes-pane", Pane).border_subtitle = Content(below)
        name = {ALL: "all causes", FOLDED: "expected"}.get(str(key), name)
        calls = ON_SCREEN.plural(len(misses), "call")
        self.query_one("#calls-pane", Pane).border_title = Content(f"{name}: {calls}, costliest first" if name else "")
        self.calls.table = call_table(found.misses, misses) if misses else Table()
        self._place_bill()

    def _show_results(self, table: Table) -> None:
        """Show the largest results in place of calls with cache misses."""
        self.query_one("#causes-pane", Pane).border_subtitle = Content(legend_of(self.causes.table))
        self.query_one("#calls-pane", Pane).border_title = Content("Results with the most resent tokens")
        self.calls.table = table
        self._place_bill()

    def _place_causes(self) -> None:
        """Show all causes, but only the selected one while a small screen's focus is in the calls."""
        is_short = self.size.height < MEDIUM and self.calls.has_focus
        rows = 1 if is_short else max(len(self.causes.rows), LEAST_ROWS)
        self.query_one("#causes-pane").styles.height = rows + AROUND_ROWS

    def _place_bill(self) -> None:
        """Show or hide the bill, and hide the calls if only one of them fits."""
        is_small = self.size.height < MEDIUM
        has_bill = self.query_one(BillChart).series is not None
        resent = self._resent()
        has_calls = self.found is None or bool(self.found.misses.misses) or bool(resent and resent.heaviest)
        is_shown = has_bill and (not (is_small and has_calls) if self.shows_bill is None else self.shows_bill)
        self.query_one("#bill-pane").display = is_shown
        calls = self.query_one("#calls-pane")
        if is_shown and is_small and self.calls.has_focus:
            self.causes.focus()
        has_nothing = resent is not None and not resent.heaviest
        calls.display = not (is_shown and is_small) and not has_nothing
        has_room = self.size.height >= LEAST_FOR_WHAT_IFS
        self.query_one("#what-ifs-pane").display = has_room and not (is_shown and is_small and has_calls)
        # Give the bill the space that a few calls leave free.
        needed = max(len(self.calls.rows), LEAST_ROWS) + AROUND_ROWS
        around = AROUND_PANES + max(len(self.causes.rows), LEAST_ROWS) + AROUND_ROWS
        is_free = is_shown and not is_small and needed + around + BILL_ROWS < self.size.height
        calls.styles.height = needed if is_free else "1fr"
        self.query_one("#bill-pane").styles.height = "1fr" if is_free or is_small else BILL_ROWS

    @on(FigureTable.Highlighted, "#calls")
    def _call_highlighted(self) -> None:
        """Mark the call in the bill, show the evidence for its cause, and price other models from this call on."""
        chart, call = self.query_one(BillChart), self.calls.cursor_key
        shown = () if self.found is None else call_phrases(self.found.misses, call)
        self.query_one("#calls-pane", Pane).set_subtitle(*shown)
        if chart.series is not None:
            chart.series = replace(chart.series, call=call if isinstance(call, int) else None)
            self.query_one("#bill-pane", Pane).border_subtitle = Content(call_summary(chart.series))
        self._compute_switches()

    @on(DescendantFocus)
    def _other_table(self) -> None:
        """Size the tables, and price other models: from the focused call table's call, otherwise from the first on."""
        self._place_causes()
        self._compute_switches()

    def _switch_call(self) -> int | None:
        call = self.calls.cursor_key if self.calls.has_focus else None
        if self.found is None:
            return None
        return call_to_switch_at(self.found.misses, call if isinstance(call, int) else None)

    def _compute_switches(self) -> None:
        found, asked, call = self.found, self._asked, self._switch_call()
        if found is None or call is None:
            return

        def work(post: Post[tuple[ModelSwitch, ...]], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            post(switches_at(found.misses, call, asked))

        self.jobs.run(work, self._take_switches, group="switches", description="price other models")

    def _take_switches(self, switches: tuple[ModelSwitch, ...]) -> None:
        self._switches = switches
        self._show_what_ifs()

    def _show_what_ifs(self) -> None:
        if self.found is None:
            return
        reported = self.query_one("#what-ifs", Static)
        width = reported.content_size.width
        # The current model's alternatives come first, because another model does not explain the cost.
        lines = (*what_ifs(self.found, width, self._away), *switch_lines(self._switches, width))
        if self.is_unpriced:
            inputs, is_recorded = self.outcome.inputs, not self.outcome.is_planned
            reason = inputs.pricing.lacking(inputs.cache_models or ("",))
            lines = (*lines, *without_price(self._recommended() if is_recorded else None, reason))
        reported.update(Content("\n".join(lines or ("nothing to project here",))))

    @on(FigureTable.Clicked, "#causes")
    def _cause_clicked(self) -> None:
        self.action_enter()

    @on(FigureTable.Clicked, "#calls")
    def _call_clicked(self) -> None:
        self.action_jump()

    def action_other(self) -> None:
        """Focus the other table."""
        (self.causes if self.calls.has_focus else self.calls).focus()

    @property
    def has_bill(self) -> bool:
        """True if a call has a price. Works before the screen is composed."""
        return any(chart.series is not None for chart in self.query(BillChart))

    @property
    def is_bill_shown(self) -> bool:
        """True if the bill is on the screen. Works before the screen is composed."""
        return any(pane.display for pane in self.query("#bill-pane"))

    def action_bill(self) -> None:
        if self.query_one(BillChart).series is None:
            self.show_notice("no call here has a price")
            return
        self.shows_bill = not self.is_bill_shown
        self._place_bill()

    @on(BillChart.Clicked)
    def _bill_clicked(self, event: BillChart.Clicked) -> None:
        if self.found is not None:
            self.dismiss(CloseResult(block=place_of_call(self.found.outcome.replay.history, event.call)))

    def action_model(self) -> None:
        """Open the dialog for another model to price from a call on, or all calls without a price."""
        if self.is_unpriced:
            self.run_dialog(ask_model(self.app, self.controller), "set a price")
            return
        call = self._switch_call()
        if self.found is None or call is None:
            self.show_notice("no call to switch the model at")
        else:
            self.run_dialog(self._ask_model(self.found, call), "price another model")

    async def _ask_model(self, cache: CacheAnswers, call: int) -> None:
        found = cache.misses
        first = next((each.model for each in self._switches), "")
        example = f"{first or 'claude-sonnet-4-6'} at {call + 1}"

        def problem(text: str) -> str:
            asked = parse_model_switch(text, found, call)
            return asked if isinstance(asked, str) else ""

        def remark(text: str) -> str:
            asked = parse_model_switch(text, found, call)
            switch = None if isinstance(asked, str) else model_switch(found, asked.call, asked.model)
            return "" if switch is None else switch_detail(switch)

        dialog = ValueDialog("Another model (projected)", HELP.format(example=example), example, problem, remark=remark)
        answer = await self.app.push_screen_wait(dialog)
        asked = None if answer is None else parse_model_switch(answer, found, call)
        if isinstance(asked, RequestedModel):
            self._asked = asked
            self._compute_switches()

    def action_fold(self) -> None:
        """Toggle the rows of unavoidable misses."""
        self.is_folded = not self.is_folded
        if self.found is not None:
            self._show_causes(self.found)

    def action_enter(self) -> None:
        """Focus the calls of the cause, or unfold the unavoidable misses."""
        if self.causes.cursor_key == FOLDED:
            self.action_fold()
        else:
            self.calls.focus()

    def action_jump(self) -> None:
        """Go to the call or the result in the timeline."""
        call = self.calls.cursor_key
        if isinstance(call, tuple) and call[0] == RESULT:
            self.dismiss(CloseResult(block=call[1]))
        elif isinstance(call, int) and self.found is not None:
            self.dismiss(CloseResult(block=place_of_call(self.found.outcome.replay.history, call)))
