"""The table every report centres on: one column for what was recorded, the baseline and each plan, one row a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.layout import HEADING, LABEL, LEFT, LOSS, RIGHT
from inspector.report.numbers import NOTHING, UNKNOWN, dollars, percent, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.report.document import FigureSet, PlanFacts, Report
    from inspector.report.layout import Page

COLUMNS_PER_TABLE = 3
"""As many as fit 80 columns; further plans follow in further tables."""


MARKS = {"exact": "", "calibrated": "c", "estimated": "e", "projected": "p"}
"""What stands behind a number for how it is known."""

_MEANINGS = {
    "calibrated": "our count fitted to what the provider reported for this session",
    "estimated": "our count alone",
    "projected": "about calls that did not happen",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, its figures, and the plan they belong to, if any."""

    title: str
    figures: FigureSet
    plan: PlanFacts | None = None


def figures_tables(page: Page, report: Report) -> None:
    """Write the table, in several parts where the plans are many."""
    columns = _columns(report)
    for start in range(0, len(columns), COLUMNS_PER_TABLE):
        if start:
            page.line()
        _table(page, columns[start : start + COLUMNS_PER_TABLE])


def legend(report: Report) -> list[tuple[str, str]]:
    """The marks in the table and what they mean, as far as they are used."""
    columns = _columns(report)
    used = {how for column in columns for how in column.figures.known.values()}
    used |= {how for column in columns if column.plan is not None for how in column.plan.saved.known.values()}
    rows = [(MARKS[how], f"{how}: {meaning}") for how, meaning in _MEANINGS.items() if how in used]
    return [*rows, ("no mark", "exact: reported by the provider, or counted in the file")] if "exact" in used else rows


def plan_letter(index: int) -> str:
    """What a plan is called by its place: `A`, `B`, …, and numbers when the letters are used up."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def _columns(report: Report) -> list[Column]:
    recorded = [Column("recorded", report.recorded)] if report.recorded is not None else []
    plans = [Column(f"plan {plan_letter(index)}", plan.figures, plan) for index, plan in enumerate(report.plans)]
    return [*recorded, Column("baseline", report.baseline), *plans]


def _table(page: Page, columns: Sequence[Column]) -> None:
    def figure(name: str, written: Callable[[float | None], str] = whole) -> list[Text]:
        cells = []
        for column in columns:
            how = column.figures.known.get(name, "exact")
            cells += [Text(written(getattr(column.figures, name))), Text(MARKS[how], LABEL)]
        return cells

    def of_plan(written: Callable[[PlanFacts], Text], name: str = "") -> list[Text]:
        cells = []
        for column in columns:
            text = Text() if column.plan is None else written(column.plan)
            known = {} if column.plan is None or not text else {**column.plan.saved.known, **column.plan.known}
            how = known.get(name, "exact")
            cells += [text, Text(MARKS[how], LABEL)]
        return cells

    rows: list[tuple[str, list[Text]]] = [
        ("calls", figure("calls")),
        ("prompt tokens", figure("prompt_tokens")),
        ("largest prompt", figure("peak_prompt_tokens")),
        ("cache read", figure("cache_read_tokens")),
        ("  of the prompt", [cell for column in columns for cell in _read_share(column.figures)]),
        ("cache write", figure("cache_write_tokens")),
        ("uncached", figure("uncached_tokens")),
        ("output tokens", figure("output_tokens")),
        ("cache breaks", figure("cache_breaks")),
        ("cost", figure("cost_usd", dollars)),
    ]
    if any(column.plan for column in columns):
        rows += [
            ("saved", of_plan(lambda plan: shown_saving(dollars(plan.saved.usd), plan.saved.usd), "usd")),
            ("  of the cost", of_plan(lambda plan: _saved_percent(plan, "cost_usd"), "percent")),
            ("  tokens", of_plan(lambda plan: shown_saving(whole(plan.saved.tokens), plan.saved.tokens), "tokens")),
            ("  of the prompt", of_plan(lambda plan: _saved_percent(plan, "prompt_tokens"), "percent")),
            ("pays off from call", of_plan(lambda plan: Text(pays_off(plan)), "break_even_call")),
            ("edits", of_plan(lambda plan: Text(whole(plan.edits)), "edits")),
        ]
    rows = [row for row in rows if any(cell.plain for cell in row[1])]
    head = ["", *(text for column in columns for text in (column.title, ""))]
    page.table(
        head,
        [(Text(label, HEADING if label in ("cost", "saved") else LABEL), *cells) for label, cells in rows],
        LEFT + (RIGHT + LEFT) * len(columns),
        gap=1,
    )


def _read_share(figures: FigureSet) -> tuple[Text, Text]:
    if not figures.prompt_tokens or figures.cache_read_tokens is None:
        return Text(), Text()
    how = figures.known.get("cache_read_tokens", "exact")
    return Text(percent(100 * figures.cache_read_tokens / figures.prompt_tokens)), Text(MARKS[how], LABEL)


def _saved_percent(plan: PlanFacts, of: str) -> Text:
    """The percentage where it is one of `of`, and nothing otherwise."""
    return shown_saving(percent(plan.saved.percent), plan.saved.percent) if plan.saved.percent_of == of else Text()


def shown_saving(text: str, value: float | None) -> Text:
    """A saving as written, losses in their colour."""
    return Text(text, LOSS if value is not None and value < 0 else "")


def pays_off(plan: PlanFacts) -> str:
    """From which call on a plan has paid off, in a word; `-` where it changes nothing."""
    if plan.edits == 0:
        return NOTHING
    if plan.break_even_call is None:
        return UNKNOWN if plan.saved.usd is None else "never"
    return whole(plan.break_even_call)
