"""Cost screen: every figure of a plan, its forecast, and how each figure is calculated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from inspector.replay.explain.cost_sheet import CostSheet, cost_sheet
from inspector.replay.pricing.price_tables import closest_known
from inspector.report.as_model import rates_words
from inspector.safe_text import one_line
from inspector.settings import problem_with_runs
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import COSTS, COSTS_FIGURES
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.controller.answers import HookTrims
from inspector.ui.cost.assumptions import RUNS, TERMS, Assumption, TermError, term_lines
from inspector.ui.cost.rows import (
    ABOUT_HOOK,
    HOOK,
    CostSection,
    boundary_at,
    compaction_text,
    default_sorting,
    empty_section_text,
    explained_at,
    hook_row,
    section_table,
    section_title,
    subagent_rows,
    term_table,
)
from inspector.ui.dialogs import ValueDialog
from inspector.ui.explain import Explained, ExplainScreen, explanation_content
from inspector.ui.figure_table.table import Cell, legend_of
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.help.palette import PaletteCommand
from inspector.ui.performance.painting import after_frame
from inspector.ui.session_screen import scale_words
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText, set_subtitle
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from textual.app import App, ComposeResult
    from textual.binding import BindingType

    from inspector.replay.explain.explanation import Explanation
    from inspector.replay.pricing.prices import Pricing
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.timeline.boundaries import Boundary

SECTIONS = tuple(CostSection)

NOTHING_TO_EXPLAIN = "no figure to explain here"

_OF_PROMPTS = (CostSection.PARTS, CostSection.TIERS, CostSection.RESULTS)
"""Sections with tokens of blocks."""


class CostFigures(FigureTable):
    """Table of a section's figures."""

    TITLE_IN_HELP = "Figures"

    HELP = """Every figure of the replay, in seven sections. The pane below shows the calculation of the one under the
    cursor, E all of it. For a recorded compaction it shows the removed and kept blocks, and enter goes to its row. ~
    marks estimates and projections, ≥ lower bounds. The assumptions can be changed: runs per day and days per month,
    number of further calls, price factor, model or rates for pricing, prompt cache, context window. `inspector report`
    and `inspector compare` have the same as options."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COSTS_FIGURES)


class Calculation(Static):
    """Calculation of a figure."""

    class HeightChanged(Message):
        """Posted when the number of rows changes, even if they do not fit."""

    def on_resize(self) -> None:
        self.post_message(self.HeightChanged())


class CostsScreen(AnalysisScreen):
    """Figures at the top, and the calculation of the one under the cursor below."""

    screen_name = "costs"
    MENU_TITLES: ClassVar[Mapping[str, str]] = {**AnalysisScreen.MENU_TITLES, "g": "Show"}

    DEFAULT_CSS = """
    CostsScreen {
        #figures-pane { height: 1fr; }
        #how-pane { height: 9; }
        #how { padding: 0 1; }
        &.-medium #how-pane { height: 13; }
        &.-tall #how-pane { height: 20; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(COSTS)

    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self.section = CostSection.TOTALS
        """The selected section."""
        self.sheet: CostSheet | None = None
        """The newest figures; None before the first."""
        self._is_wanted = self._is_computing = False
        self._trims = HookTrims(self.jobs, self._show)

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Cost", id="figures-pane"):
            yield ChoiceStrip()
            yield CostFigures(id="figures")
            yield Placeholder()
        with Pane("Calculation", id="how-pane"):
            yield Calculation(id="how", markup=False)
        yield StatusBar()

    @property
    def figures(self) -> CostFigures:
        return self.query_one(CostFigures)

    def on_mount(self) -> None:
        self.query_one(Placeholder).display = False
        self.figures.focus()

    def show_outcome(self) -> None:
        """Compute the figures, now or once the running computation ends."""
        names = tuple(("", section.value) for section in SECTIONS)
        self.query_one(ChoiceStrip).choices = Choices(names, SECTIONS.index(self.section))
        self.query_one("#figures-pane", Pane).border_title = Content(section_title(self.section, self.sheet))
        self._trims.ask(self.controller.session)
        self._is_wanted = True
        if not self._is_computing:
            self._compute_costs()

    def _compute_costs(self) -> None:
        self._is_computing, self._is_wanted = True, False
        self.query_one("#figures-pane", Pane).border_subtitle = Content("calculating…")
        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        known = self.sheet
        if known is not None and known.planned is outcome.replay and (known.terms, known.runs_per_day) == (terms, runs):
            self._is_computing = False
            self._show()
            return

        search = self.controller.search_for_uses(outcome.replay.history)

        def work(post: Post[CostSheet], is_cancelled: IsCancelled) -> None:
            uses = None if outcome.replay is outcome.baseline else search.run(is_cancelled)
            if not is_cancelled():
                post(cost_sheet(outcome.baseline, outcome.replay, outcome.totals, terms, runs, uses))

        self.jobs.run(
            work, self._take_sheet, group="costs", description="calculate the figures", failed=self._stop_computing
        )

    def _stop_computing(self) -> None:
        self._is_computing = False

    def _take_sheet(self, sheet: CostSheet) -> None:
        self._is_computing = False
        self.sheet = sheet
        self._show()
        if self._is_wanted:
            self._compute_costs()

    def _show(self) -> None:
        sheet, rows = self.sheet, self.controller.rows
        if sheet is None or rows is None:
            return
        terms = term_table(term_lines(self.controller.terms, self.controller.runs_per_day, sheet.planned.inputs))
        table = section_table(self.section, sheet, rows, terms)
        if self.section is CostSection.TOTALS:
            subagents, trims = self.controller.subagent_costs.costs, self._trims.found
            more = [*(subagent_rows(subagents, sheet) if subagents else ()), *([hook_row(trims)] if trims else [])]
            table = replace(table, rows=(*table.rows, *more))
        pane = self.query_one("#figures-pane", Pane)
        scale = scale_words(sheet.planned.inputs.scale) if self.section in _OF_PROMPTS else ""
        pane.border_title = Content(section_title(self.section, sheet))
        pane.border_subtitle = Content(" · ".join(filter(None, (legend_of(table), scale))))
        self.figures.table = table
        placeholder = self.query_one(Placeholder)
        placeholder.display = not table.rows
        headline, meaning = empty_section_text(self.section, sheet)
        placeholder.word = PlaceholderText(headline, (meaning,) if meaning else ())
        # The table's keys work in every section, so it takes the focus whenever it is visible.
        was_empty = not self.figures.display
        self.figures.display = bool(table.rows)
        if was_empty and table.rows:
            self.figures.focus()

    @on(FigureTable.Highlighted)
    def _explain_below(self) -> None:
        self.query_one(Calculation).update(self._text())

    def on_resize(self) -> None:
        after_frame(self, self._show_truncation)

    @on(Calculation.HeightChanged)
    def _show_truncation(self) -> None:
        pane, taken = self.query_one("#how-pane", Pane), self.query_one(Calculation).size.height
        set_subtitle(pane, "E explains in full" if taken > pane.content_size.height else "")

    def _text(self) -> Content:
        explanation, sheet, rows = self._explanation(), self.sheet, self.controller.rows
        if sheet is not None and rows is not None and (sheet.is_recorded or explanation is None):
            # Without a plan, show the effects of the compaction, which are more useful than a forecast.
            text = compaction_text(self.figures.cursor_key, sheet, rows)
            if text:
                return Content(text)
        if explanation is not None:
            return explanation_content(explanation, in_lines=False)
        if self.sheet is not None and not self.figures.rows:
            return Content(NOTHING_TO_EXPLAIN)
        return Content(self._about_term(self.figures.cursor_key))

    def _explanation(self) -> Explanation | None:
        key, sheet = self.figures.cursor_key, self.sheet
        if sheet is None:
            return None
        if key == ("next", "prompt"):
            key = ("next", "calls")
        return explained_at(sheet, key)

    def _about_term(self, key: Hashable) -> str:
        if key == ("term", RUNS):
            return "Number of sessions like this one per day."
        term = _term(key)
        if term is not None:
            return term.help
        row = next((row for row in self.figures.rows if row.key == key), None)
        if row is None:
            return ""
        if key == HOOK:
            return ABOUT_HOOK
        if "value" not in row.cells:
            return "The plan changed none of these."
        # The column may be too narrow, so show the full value here.
        text = f"{row.cells['name'].text.strip()}: {row.cells['value'].text}"
        return f"{text}\nA source of the figures; the assumptions above override it."

    @on(ChoiceStrip.Chosen)
    def _chosen(self, event: ChoiceStrip.Chosen) -> None:
        self.action_section(SECTIONS[event.place].value)

    @on(FigureTable.Clicked)
    def _clicked(self) -> None:
        self.action_enter()

    def action_section(self, name: str) -> None:
        self.section = CostSection(name)
        self.figures.set_reactive(FigureTable.sorting, default_sorting(self.section))
        self.figures.set_reactive(FigureTable.cursor, 0)
        self.figures.scroll_to_line(0)
        self.show_outcome()

    def action_turn(self, step: int) -> None:
        """Show the next or the previous section."""
        self.action_section(SECTIONS[(SECTIONS.index(self.section) + step) % len(SECTIONS)].value)

    def action_enter(self) -> None:
        """Change an assumption, go to a result, or explain a figure."""
        key = self.figures.cursor_key
        if key == ("term", RUNS):
            self.action_ask_runs()
        elif (term := _term(key)) is not None:
            self._ask(term)
        elif isinstance(key, tuple) and key[0] == "result":
            self.dismiss(CloseResult(block=key[1]))
        elif (boundary := self._boundary(key)) is not None:
            self.dismiss(CloseResult(block=boundary.block, is_boundary=True))
        else:
            self.action_explain()

    def _boundary(self, key: Hashable) -> Boundary | None:
        sheet, rows = self.sheet, self.controller.rows
        return None if sheet is None or rows is None else boundary_at(key, sheet, rows)

    def action_explain(self) -> None:
        """Explain the figure under the cursor in full, along with the section's other figures."""
        if self.sheet is None:
            return
        rows = [row for row in self.figures.rows if row.key in self.sheet.explained]
        keys = [row.key for row in rows]
        # Cost parts are rounded to add up. In other sections a row has several figures and only one is explained.
        column = "after" if self.section is CostSection.TOTALS else ""
        figures = [
            Explained(self._called(row.key), explanation, row.cells.get(column, Cell()).text)
            for row in rows
            if (explanation := explained_at(self.sheet, row.key)) is not None
        ]
        if not figures:
            self.show_notice(NOTHING_TO_EXPLAIN)
            return
        key = self.figures.cursor_key
        self.open_over(ExplainScreen(figures, keys.index(key) if key in keys else 0))

    def _called(self, key: Hashable) -> str:
        row = next(row for row in self.figures.rows if row.key == key)
        shown = row.cells.get("name") or row.cells["tool"]
        number = row.cells.get("number")
        return f"{shown.text.strip()} #{number.text}" if number is not None else shown.text.strip()

    def action_ask_runs(self) -> None:
        """Open the dialog for the number of such sessions per day."""
        self.run_dialog(self._ask_runs(), "set the runs per day")

    async def _ask_runs(self) -> None:
        shown = f"{self.controller.runs_per_day.number:g}"
        dialog = ValueDialog("Runs per day", "Number of sessions like this one per day.", shown, problem_with_runs)
        answer = await self.app.push_screen_wait(dialog)
        if answer is not None:
            self.controller.set_runs(float(answer.replace(",", "")))
            self.show_outcome()

    def _ask(self, term: Assumption) -> None:
        self.run_dialog(self._ask_term(term), "change the assumption")

    async def _ask_term(self, term: Assumption) -> None:
        def problem(text: str) -> str:
            try:
                term.taken(self.controller.terms, text)
            except TermError as error:
                return str(error)
            return ""

        dialog = ValueDialog(term.label.capitalize(), term.help, term.shown(self.controller.terms), problem)
        answer = await self.app.push_screen_wait(dialog)
        if answer is not None:
            self.controller.set_terms(term.taken(self.controller.terms, answer))
            self.show_outcome()

    def commands(self) -> Iterable[PaletteCommand]:
        for term in TERMS:
            yield PaletteCommand(
                f"Set {term.label}", term.help, partial(self._ask, term), also="assumption price forecast"
            )
        yield from super().commands()


def _term(key: Hashable) -> Assumption | None:
    return next((term for term in TERMS if key == ("term", term.name)), None)


TITLE: Final = "Price as another model"


async def ask_model(app: App[object], controller: SessionController) -> None:
    """Ask for the model that prices every call, and price the session; ctrl+z returns to the previous one.

    Args:
        app: Shows the dialog.
        controller: The session.
    """
    outcome = controller.outcome
    if outcome is None:
        controller.host.show_notice("still counting tokens")
        return
    term, pricing = next(each for each in TERMS if each.name == "model"), outcome.inputs.pricing
    dialog = ValueDialog(
        TITLE,
        term.help,
        term.shown(controller.terms),
        lambda text: problem_with_model(pricing, text),
        remark=lambda text: remark_on_model(pricing, text),
    )
    answer = await app.push_screen_wait(dialog)
    if answer is None:
        return
    terms = term.taken(controller.terms, answer)
    if terms != controller.terms:
        controller.set_terms(terms)
        shown = f"priced as {one_line(terms.model)}" if terms.model else "priced as recorded"
        controller.host.show_notice(f"{shown}; ctrl+z undoes it")


def problem_with_model(pricing: Pricing, text: str) -> str:
    """Return the reason why a model cannot price a session, with the nearest names; empty if it can."""
    model = text.strip()
    if not model or pricing.as_model(model).rates(model) is not None:
        return ""
    return "; ".join(filter(None, ("no price for this model", closest_known(model))))


def remark_on_model(pricing: Pricing, text: str) -> str:
    """Return the rates of a model; empty for no model."""
    model = text.strip()
    rates = pricing.as_model(model).rates(model) if model else None
    return "" if rates is None else rates_words(rates)
