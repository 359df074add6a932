"""The beginning of a page: what matters most, and the table every report centres on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.figures_table import pays_off, plan_letter
from inspector.report.layout import plain
from inspector.report.numbers import dollars, percent, plural, whole
from inspector.report.pages.figures import Figures, word
from inspector.report.pages.model import Cell, Line, Section, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.document import Report
    from inspector.report.pages.figures import Step

TOTALS: tuple[tuple[str, str], ...] = (
    ("calls", "calls"),
    ("prompt tokens", "prompt_tokens"),
    ("largest prompt", "peak_prompt_tokens"),
    ("cache read", "cache_read_tokens"),
    ("cache write", "cache_write_tokens"),
    ("uncached", "uncached_tokens"),
    ("output tokens", "output_tokens"),
    ("cache breaks", "cache_breaks"),
)


def plan_title(report: Report, index: int) -> str:
    """What a plan is called in headings."""
    name = plain(report.plans[index].name)
    return f"Plan {plan_letter(index)}: {name}" if name else f"Plan {plan_letter(index)}"


def lead(report: Report, figures: Figures) -> tuple[Line, ...]:
    """What matters most: what every plan saves, or what the session cost where there is no plan."""
    if not report.plans:
        found = ("baseline",)
        return (
            Line(
                (
                    Cell("This session sent "),
                    figures.count(*found, "prompt_tokens"),
                    Cell(f" prompt tokens over {plural(report.session.calls, 'call')}"),
                    *_cost(figures, *found),
                    Cell(". No plan was tried on it."),
                )
            ),
        )
    return tuple(_saving(report, figures, index) for index in range(len(report.plans)))


def _cost(figures: Figures, *steps: Step) -> tuple[Cell, ...]:
    cost = figures.money(*steps, "cost_usd")
    return () if cost.value is None else (Cell(" for "), cost)


def _saving(report: Report, figures: Figures, index: int) -> Line:
    saved = report.plans[index].saved
    if not report.session.calls:
        return Line((Cell("The session holds no call to a model: there is nothing to replay."),))
    if report.plans[index].edits == 0 and not saved.tokens:
        return Line((Cell(f"Plan {plan_letter(index)} changes nothing in this session."),))
    steps: tuple[Step, ...] = ("plans", index, "saved")
    name = f"Plan {plan_letter(index)}"
    if saved.usd is None:
        amount, of = figures.count(*steps, "tokens"), " prompt tokens ("
    else:
        amount, of = figures.money(*steps, "usd"), " ("
    share = figures.cell(lambda value: percent(None if value is None else abs(value)), *steps, "percent")
    what = "of the cost" if saved.percent_of == "cost_usd" else "of all prompts"
    value = amount.value or 0
    if value < 0:
        positive = Cell(amount.text.removeprefix("-"), amount.pointer, amount.value, amount.known, is_loss=True)
        return Line((Cell(f"{name} costs "), positive, Cell(" more" + of), share, Cell(f" {what}), {amount.known}.")))
    known = f", {amount.known}" if amount.known else ""
    return Line((Cell(f"{name} saves "), amount, Cell(of), share, Cell(f" {what}){known}.")))


def large_figures(report: Report, figures: Figures) -> tuple[tuple[str, Cell], ...]:
    """The figures to show large: those of the first plan, or of the session."""
    if not report.plans:
        at: tuple[Step, ...] = ("baseline",)
        return (
            ("cost", figures.money(*at, "cost_usd")),
            ("prompt tokens", figures.count(*at, "prompt_tokens")),
            ("largest prompt", figures.count(*at, "peak_prompt_tokens")),
            ("calls", figures.count(*at, "calls")),
        )
    saved: tuple[Step, ...] = ("plans", 0, "saved")
    first = "saved with plan A" if len(report.plans) > 1 else "saved"
    of = "of the cost" if report.plans[0].saved.percent_of == "cost_usd" else "of all prompts"
    return (
        (first, figures.saved_money(*saved, "usd")),
        (of, figures.percentage(*saved, "percent")),
        ("prompt tokens less", figures.saved_count(*saved, "tokens")),
        ("largest prompt", figures.count("plans", 0, "figures", "peak_prompt_tokens")),
    )


def totals_section(report: Report, figures: Figures) -> Section:
    """One column for what was recorded, the baseline and each plan; one row a figure."""
    places: list[tuple[str, tuple[Step, ...]]] = [("recorded", ("recorded",))] if report.recorded is not None else []
    places += [("baseline", ("baseline",))]
    places += [(f"plan {plan_letter(index)}", ("plans", index, "figures")) for index in range(len(report.plans))]
    rows = [(Cell(label), *(figures.count(*place, name) for _, place in places)) for label, name in TOTALS]
    rows.append((Cell("cost"), *(figures.cell(dollars, *place, "cost_usd") for _, place in places)))
    if report.plans:
        rows += _saving_rows(report, figures, len(places) - len(report.plans))
    table = Table(
        "Totals over all calls",
        ("figure", *(title for title, _ in places)),
        tuple(rows),
        frozenset(range(1, len(places) + 1)),
    )
    return Section("totals", "Totals", (table,))


def _saving_rows(report: Report, figures: Figures, before: int) -> list[tuple[Cell, ...]]:
    def row(label: str, cell: Callable[[int], Cell]) -> tuple[Cell, ...]:
        return (Cell(label), *[Cell("")] * before, *(cell(index) for index in range(len(report.plans))))

    def percentage_of(name: str) -> Callable[[int], Cell]:
        return lambda index: (
            figures.percentage("plans", index, "saved", "percent")
            if report.plans[index].saved.percent_of == name
            else Cell("")
        )

    def paid(index: int) -> Cell:
        found = figures.cell(whole, "plans", index, "break_even_call")
        return Cell(pays_off(report.plans[index]), found.pointer, found.value, found.known)

    rows = [
        row("saved", lambda index: figures.saved_money("plans", index, "saved", "usd")),
        row("saved, of the cost", percentage_of("cost_usd")),
        row("saved tokens", lambda index: figures.saved_count("plans", index, "saved", "tokens")),
        row("saved, of the prompt", percentage_of("prompt_tokens")),
        row("pays off from call", paid),
        row("first acts at call", lambda index: figures.count("plans", index, "first_firing")),
        row("edits", lambda index: figures.count("plans", index, "edits")),
    ]
    return [cells for cells in rows if any(cell.text for cell in cells[1:])]


def facts_table(report: Report, figures: Figures) -> Table:
    """What session it is and what is in it."""
    session = report.session
    words = (
        ("file", session.path),
        ("format", session.format + (f", recorded by {session.agent}" if session.agent else "")),
        ("model", ", ".join(session.models) or "not named in the file"),
    )
    counts = (
        ("messages", "messages"),
        ("blocks", "blocks"),
        ("tool results", "tool_results"),
        ("calls", "calls"),
        ("compactions", "compactions"),
        ("records that could not be read", "skipped_records"),
    )
    rows = [(Cell(label), word(text)) for label, text in words]
    rows += [(Cell(label), figures.count("session", name)) for label, name in counts]
    return Table("The session", ("", ""), tuple(rows), frozenset())
