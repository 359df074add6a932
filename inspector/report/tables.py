"""Tables of figures for display, independent of the output format.

A `Cell` with a figure holds the figure's location in the JSON report, so that a page can be verified against it.
`FigureCells` reads figures only from there, and formats them by the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from inspector.replay.quantity import Output, quantities, quantity
from inspector.report.catalogue import LOWER_BOUND, CostParts, FigureSet, PlanFacts, format_figure, totals_shown
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT, NOTHING, UNKNOWN
from inspector.report.secret_rules import says_something
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from inspector.report.document import Report, SessionFacts


NAME_WIDTH = 48
"""Cells of a foreign name in a table."""

Step = str | int


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text in a page.

    Attributes:
        text: Display text; foreign text is sanitized, and never markup.
        pointer: Location of the figure in the JSON report, as a JSON Pointer (RFC 6901); empty for words.
        value: The figure, for programs and for bars; None for words and unknown values.
        known: Certainty of the figure; empty for words.
        is_loss: The figure is an extra cost.
        is_code: Text to type or paste.
        is_lower_bound: The figure is a lower bound.
    """

    text: str
    pointer: str = ""
    value: float | None = None
    known: str = ""
    is_loss: bool = False
    is_code: bool = False
    is_lower_bound: bool = False

    @property
    def mark(self) -> str:
        """Mark before the number for its certainty: `~`, or nothing."""
        return self.shown.removesuffix(self.text)

    @property
    def shown(self) -> str:
        return IN_TEXT.qualified(self.text, self.known, is_lower_bound=self.is_lower_bound)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that a first cell names, with `words` columns of text, then `numbers` of figures; None for the rest."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    numbers: int | None = None

    def is_number(self, column: int) -> bool:
        return column >= self.words and (self.numbers is None or column < self.words + self.numbers)


class FigureCells:
    """The figures of one report as cells, by their path in the report."""

    def __init__(self, report: Struct) -> None:
        self._report = report

    def value(self, *steps: Step) -> Any:
        """Return the value at a path; None if there is none."""
        found: Any = self._report
        for step in steps:
            try:
                found = getattr(found, str(step)) if isinstance(found, Struct) else found[step]
            except (AttributeError, KeyError, IndexError, TypeError):
                return None
        return found

    def cell(self, *steps: Step) -> Cell:
        """Format a figure by the catalogue, or as a plain count if it is not in the catalogue."""
        *above, name = steps
        value, holder = self.value(*steps), self.value(*above)
        entry = quantities(type(holder)).get(str(name)) if isinstance(holder, Struct) else None
        hows: Mapping[str, str] = getattr(holder, "known", {})
        text = IN_TEXT.whole(value) if entry is None else format_figure(entry, value)
        if not text:
            return Cell("")
        return Cell(
            text,
            pointer(*steps),
            value,
            hows.get(str(name), "") if value is not None else "",
            is_loss=entry is not None and entry.is_loss(value),
            is_lower_bound=str(name) in getattr(holder, "at_least", ()),
        )

    def cost_with_plan(self, before: float | None, *steps: Step) -> Cell:
        """Format a plan's cost, or a loss, so that it adds up with the remainder as written."""
        cell = self.cell(*steps)
        if cell.value is None:
            return cell
        return replace(cell, text=IN_TEXT.dollars(IN_TEXT.cost_with_plan(before, cell.value)))

    def parts(self, total: float | None, *places: tuple[Step, ...]) -> list[Cell]:
        """Format the parts of a total, each by its path, so that they add up as written."""
        cells = [self.cell(*steps) for steps in places]
        written = IN_TEXT.dollars_of_parts(total, [cell.value for cell in cells])
        return [replace(cell, text=text) for cell, text in zip(cells, written, strict=True)]

    def table(
        self,
        caption: str,
        head: Iterable[str],
        rows: Iterable[tuple[tuple[Cell, ...], tuple[Step, ...]]],
        kind: type[Struct],
        *paths: str,
        titles: Mapping[str, str] | None = None,
    ) -> Table:
        """Build a table with a column per figure, titled by the catalogue.

        Args:
            head: Titles of the text columns at the left.
            rows: Cells of these columns, and the path of the row's figures.
            kind: The type that holds the figures.
            paths: The figures, each by a path of fields such as `saved.usd`.
            titles: Titles by path that differ from the catalogue.
        """
        words, titles = tuple(head), titles or {}
        found = [(*named, *(self.cell(*steps, *path.split(".")) for path in paths)) for named, steps in rows]
        labels = (titles.get(path) or quantity(kind, path).label for path in paths)
        return Table(caption, (*words, *labels), tuple(found), len(words))


def rounding_note(total: float | None, parts: Iterable[float | None]) -> str:
    """Explain why dollars, None if unknown, do not add up to their total as written; empty if they do."""
    together = IN_TEXT.sum_of_dollars([part for part in parts if part is not None])
    if total is None or together is None or IN_TEXT.dollars(together) == IN_TEXT.dollars(total):
        return ""
    return (
        f"Amounts are rounded separately: as written they add up to {IN_TEXT.dollars(together)}, unrounded to "
        f"{IN_TEXT.dollars(total)}."
    )


def pointer(*steps: Step) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def word(text: str) -> Cell:
    """Build a cell of sanitized words."""
    return Cell(plain(text))


def name_cell(text: str) -> Cell:
    return Cell(clip_cells(plain(text), NAME_WIDTH))


RECORDED: Final = "recorded"
"""Column of the provider's reported figures."""

PARTS_OF = {"cost_usd": "of the cost", "prompt_tokens": "of the prompt"}
"""Totals that a saving may be a percentage of."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, the path of its totals in the report, and its plan, if any."""

    title: str
    figures: tuple[Step, ...]
    plan: int | None = None


@dataclass(frozen=True, slots=True)
class TotalsRow:
    """One row: a figure in every column; `part` labels it below its total, empty if it is not a part."""

    label: str
    cells: tuple[Cell, ...]
    part: str = ""


def session_heading(session: SessionFacts) -> str:
    """Return the heading: the session's name, unless it is only masks or left out, otherwise its kind."""
    text = f"Session of {IN_TEXT.plural(session.calls, 'call')}, {session.agent or session.format}"
    return plain(session.title if says_something(session.title) else text)


def content_title(report: Report) -> str:
    """Return the title of the prompt content; it mentions plans only if there are any."""
    return f"Content of the prompts, over all calls{_without(report)}"


def misses_title(report: Report) -> str:
    """Return the title of the cache misses; it mentions plans only if there are any."""
    return f"Causes of cache misses{_without(report)}"


def _without(report: Report) -> str:
    return ", without a plan" if report.plans else ""


def series_names(plans: int) -> tuple[str, ...]:
    """Return the name of the session without a plan, followed by one name per plan."""
    return ("without a plan" if plans else "the session", *(f"plan {plan_letter(index)}" for index in range(plans)))


def plan_letter(index: int) -> str:
    """Return the letter of a plan by its position: `A`, `B`, …, and numbers after the last letter."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def columns_of(report: Report, *, is_merged: bool = False) -> list[Column]:
    """Return the columns: recording, baseline, plans; `is_merged` merges the first two if all totals are equal."""
    recorded = [Column(RECORDED, ("recorded",))] if report.recorded is not None else []
    if recorded and is_merged and _is_recorded(report.baseline, report.recorded):
        recorded = []
    plans = [
        Column(f"plan {plan_letter(index)}", ("plans", index, "figures"), index) for index in range(len(report.plans))
    ]
    return [*recorded, Column("baseline", ("baseline",)), *plans]


def _is_recorded(baseline: FigureSet, recorded: FigureSet | None) -> bool:
    """Return True if the baseline equals the recorded totals; totals that were not recorded are ignored."""
    totals = [(getattr(baseline, name), getattr(recorded, name)) for name in quantities(FigureSet)]
    return all(was is None or was == value for value, was in totals)


def totals_rows(report: Report, figures: FigureCells, columns: list[Column], output: Output) -> list[TotalsRow]:
    """Build the rows that an output shows for some columns, without empty ones."""

    def of_plans(label: str, cell: Callable[[int], Cell], part: str = "") -> TotalsRow:
        cells = (Cell("") if column.plan is None else cell(column.plan) for column in columns)
        return TotalsRow(label, tuple(cells), part)

    def saved(name: str) -> Callable[[int], Cell]:
        return lambda index: figures.cell("plans", index, "saved", name)

    def percentage_of(name: str) -> Callable[[int], Cell]:
        return lambda index: (
            figures.cell("plans", index, "saved", "percent")
            if report.plans[index].saved.percent_of == name
            else Cell("")
        )

    def labelled(path: str) -> str:
        return quantity(PlanFacts, path).label

    rows = []
    for each in totals_shown(output):
        cells = tuple(
            figures.cell(*column.figures, each.name)
            if column.plan is None or each.name != "cost_usd"
            else figures.cost_with_plan(report.baseline.cost_usd, *column.figures, each.name)
            for column in columns
        )
        rows.append(TotalsRow(each.label, cells))
        if each.name == "cache_read_tokens" and output is Output.TEXT:
            rows.append(_read_share(figures, columns))
    for of, part in PARTS_OF.items():
        name = "usd" if of == "cost_usd" else "tokens"
        main = quantity(PlanFacts, f"saved.{name}")
        rows += [of_plans(main.label, saved(name), main.as_part), of_plans(f"saved, {part}", percentage_of(of), part)]
    rows.append(of_plans(labelled("break_even_call"), lambda index: pays_off(report, figures, index)))
    if output is Output.PAGE:
        rows.append(of_plans(labelled("first_firing"), lambda index: figures.cell("plans", index, "first_firing")))
    rows.append(of_plans(labelled("edits"), lambda index: figures.cell("plans", index, "edits")))
    return [row for row in rows if any(cell.text for cell in row.cells)]


def _read_share(figures: FigureCells, columns: list[Column]) -> TotalsRow:
    cells = []
    for column in columns:
        read, prompt = (figures.cell(*column.figures, name) for name in ("cache_read_tokens", "prompt_tokens"))
        share = None if read.value is None or not prompt.value else read.value / prompt.value
        cells.append(Cell("" if share is None else IN_TEXT.share(share), known=read.known))
    return TotalsRow("cache reads, share of prompts", tuple(cells), PARTS_OF["prompt_tokens"])


def cost_parts(report: Report) -> list[tuple[str, str]]:
    """Return each known part of the baseline's cost, a `CostParts` field, and its share (empty for no cost)."""
    total = report.baseline.cost_usd
    if report.cost is None or total is None:
        return []
    names = [name for name, entry in quantities(CostParts).items() if entry.part_of == "cost_usd"]
    parts = {name: value for name in names if (value := getattr(report.cost, name)) is not None}
    shares = IN_TEXT.shares_of_parts([value / total for value in parts.values()]) if total else [""] * len(parts)
    return list(zip(parts, shares, strict=True))


def pays_off(report: Report, figures: FigureCells, index: int) -> Cell:
    """Return the first call after which a plan has paid off; `-` if it changes nothing."""
    plan, found = report.plans[index], figures.cell("plans", index, "break_even_call")
    if plan.edits == 0:
        return Cell(NOTHING)
    never = UNKNOWN if plan.saved.usd is None else "never"
    text = never if plan.break_even_call is None else found.text
    return replace(found, text=text, known=plan.known.get("break_even_call", ""))


def marks_used(report: Report) -> set[str]:
    """Return the certainties of the figures shown, and `LEAST` if some are lower bounds."""
    listed = (*report.plans, *report.carried, *report.heaviest, *report.comparison)
    totals = (report.recorded, report.baseline, report.subagents, report.cost, report.cache_misses, report.compacted)
    return marks_in(*totals, *listed)


def marks_in(*facts: Struct | None) -> set[str]:
    """Return the certainties in some parts of a report, and `LEAST` if some are lower bounds."""
    return set().union(*(_breakpoints_in(each) for each in facts if each is not None))


def _breakpoints_in(facts: Struct) -> set[str]:
    used: set[str] = set()
    for name in facts.__struct_fields__:
        value = getattr(facts, name)
        if name == "known":
            used |= set(value.values()) if isinstance(value, dict) else {value}
        elif name in ("at_least", "is_lower_bound"):
            used |= {LOWER_BOUND} if value else set()
        elif name != "explain":
            parts = value if isinstance(value, list) else [value]
            used = used.union(*(_breakpoints_in(part) for part in parts if isinstance(part, Struct)))
    return used
