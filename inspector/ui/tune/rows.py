"""Content of the tune screen: a sweep as curves, and the marked values as table rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.plan_outcome import savings_of
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import net_words, refetch_range
from inspector.strategies.core.parameters import TOKENS
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell, savings_style
from inspector.ui.tune.drawing import HERE, KNEE, LEAST, PLAN, Curve, TuneChart, short_value
from inspector.ui.tune.heat_drawing import HeatChart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.sweep import Grid, Point, Sweep
    from inspector.replay.analysis.tunable_limits import LimitSizes
    from inspector.replay.engine.ledger import Figures
    from inspector.strategies.plan import Plan

COLUMNS: Final = (
    Column("what", "", 11, 24, is_text=True),
    Column("value", "value", 13, 18),
    Column("tokens", "tokens", 8, 14),
    Column("cost", "cost", 10),
    Column("net", "net saving", 18, 24, rank=1),
    Column("refetches", "re-fetches", 18, 30, rank=1),
    Column("saved", "saved", 10, rank=2),
    Column("share", "share", 8, rank=2),
    Column("breaks", "changed prompts", 8, 15, short="changed", rank=3),
    Column("peak", "peak", 8, rank=4),
)

WAITING: Final = "…"


def tokens_text(tokens: float) -> str:
    """Format tokens with one more digit than in tables, so that the ends of a curve differ: `47.8M`."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(tokens) >= size:
            return f"{tokens / size:,.1f}{suffix}"
    return ON_SCREEN.whole(tokens)


_CURVES: Final[tuple[tuple[str, str, str, Callable[[float], str]], ...]] = (
    ("cost", "cost_usd", "tune--cost", ON_SCREEN.dollars),
    ("tokens", "prompt_tokens", "tune--tokens", tokens_text),
    ("changed", "cache_breaks", "tune--breaks", ON_SCREEN.whole),
)


def chart_of(found: Sweep, baseline: Figures, sizes: LimitSizes | None, here: float, plan: float) -> TuneChart:
    """Build the chart of a sweep.

    Args:
        found: The sweep so far.
        baseline: The session with nothing cut.
        sizes: Sizes the limit is compared with.
        here: The selected value.
        plan: The plan's value.
    """
    curves = []
    for name, amounts, written in _net_curves(found, baseline):
        if not np.isnan(amounts).any():
            mark = partial(_marked, written, HowKnown.ESTIMATED.value)
            curves.append(Curve(name, f"tune--{name}", found.fractions, amounts, None, mark))
    for name, field, style, written in _CURVES:
        amounts = found.column(field)
        if not np.isnan(amounts).any():
            level = getattr(baseline, field).value
            mark = partial(_marked, written, found.known(field).value)
            curves.append(Curve(name, style, found.fractions, amounts, level, mark))
    # Cost comes first, next to what it leaves out.
    curves.sort(key=lambda curve: curve.name != "cost")
    knee, least = _advised(found)
    return TuneChart(
        found.axis.scale,
        tuple(curves),
        sizes,
        here,
        plan,
        None if knee is None else knee.value,
        None if least is None else least.value,
        found.axis,
    )


def _net_curves(found: Sweep, baseline: Figures) -> tuple[tuple[str, NDArray[np.float64], Callable[[float], str]], ...]:
    """Return the curves of net savings and of expected re-fetches."""
    net, counts = found.net_savings(baseline), found.refetch_counts
    return ("net", net, ON_SCREEN.dollars), ("refetch", counts, ON_SCREEN.whole)


def _advised(found: Sweep) -> tuple[Point | None, Point | None]:
    """Return the knee and the best tried value; None for an assumption, which is not to be tuned."""
    return (None, None) if found.axis.parameter.is_assumed else (found.knee, found.least)


def _marked(written: Callable[[float], str], known: str, amount: float) -> str:
    """Return a label of the axis, which has no room for `about` before a minus sign."""
    return ON_SCREEN.qualified(written(amount), known).removeprefix("about ")


Marked = tuple[str, str, str, "Figures | None", "Point | None"]
"""A marked value: glyph, description, formatted value, its figures and its point; None until computed or for a pair."""


def rows_of(marked: Sequence[Marked], baseline: Figures, unit: str) -> Table:
    """Build the table of marked values with their results.

    Args:
        marked: The values.
        baseline: The session with nothing cut.
        unit: Unit of the values.
    """
    columns = tuple(
        replace(column, title=f"value, {unit}", short="value" if unit == TOKENS else unit)
        if column.name == "value" and unit
        else column
        for column in COLUMNS
    )
    return Table(columns, tuple(_row(*each, baseline) for each in marked))


def marked_values(found: Sweep, here: float, plan: float, in_plan: str) -> list[Marked]:
    """Return the selected value, the plan's, the knee and the best tried value.

    Args:
        found: The sweep so far.
        here: The selected value.
        plan: The plan's value.
        in_plan: Description of the plan's value.
    """
    knee, least = _advised(found)
    marked: list[tuple[str, str, float]] = [(HERE, "here", here), (PLAN, in_plan, plan)]
    if knee is not None:
        marked.append((KNEE, "knee", knee.value))
    if least is not None:
        marked.append((LEAST, "best tried", least.value))
    points = [(*each, found.at(each[-1])) for each in marked]
    return [
        (mark, what, value_text(value), None if point is None else point.figures, point)
        for mark, what, value, point in points
    ]


def heat_of(found: Grid, here: tuple[float, float], plan: tuple[float, float]) -> HeatChart:
    """Build the heat map of a grid; pairs are horizontal and vertical values."""
    written: Callable[[float], str] = ON_SCREEN.dollars if found.has_cost else ON_SCREEN.short
    amount = "cost" if found.has_cost else "tokens"
    return HeatChart(found, found.place(*here), found.place(*plan), written, amount)


def marked_pairs(chart: HeatChart, in_plan: str) -> list[Marked]:
    """Return the selected pair, the plan's pair, and the minimum."""
    grid = chart.grid
    places = [(HERE, "here", chart.here), (PLAN, in_plan, chart.plan)]
    if grid.least is not None:
        places.append((LEAST, f"lowest {chart.amount}", grid.least))
    return [
        (
            mark,
            what,
            f"{value_text(grid.columns[column])}, {value_text(grid.rows[row])}",
            grid.figures.get((row, column)),
            None,
        )
        for mark, what, (row, column) in places
    ]


def value_text(value: float) -> str:
    """Format a value, in full if it is a whole number."""
    return ON_SCREEN.whole(value) if value == int(value) else short_value(value)


def _row(
    mark: str, what: str, value: str, figures: Figures | None, point: Point | None, baseline: Figures
) -> FigureRow:
    is_tried = point is None or point.is_tried
    cells = {"what": Cell(what if is_tried else f"{what}, untested"), "value": Cell(value, style="table--name")}
    if figures is None:
        return FigureRow(what, {**cells, "tokens": Cell(WAITING, style="table--waiting")}, mark)
    savings = savings_of(baseline, figures)
    style = savings_style(savings)
    cells |= {
        "tokens": figure_cell(figures.prompt_tokens, ON_SCREEN.whole, ON_SCREEN.short),
        "cost": figure_cell(
            figures.cost_usd,
            lambda cost: ON_SCREEN.dollars(ON_SCREEN.cost_with_plan(baseline.cost_usd.value, cost)),
        ),
        "saved": figure_cell(savings.usd, ON_SCREEN.dollars, style=style),
        "share": figure_cell(savings.share, ON_SCREEN.share, style=style),
        "breaks": figure_cell(figures.cache_breaks, ON_SCREEN.whole),
        "peak": figure_cell(figures.peak_prompt_tokens, ON_SCREEN.short),
    }
    if point is not None:
        cells |= _risk_cells(point, savings.usd.value)
    return FigureRow(what, cells, mark)


def _risk_cells(point: Point, saved: float | None) -> dict[str, Cell]:
    """Return the cells of the net range and of the expected re-fetches."""
    expected = point.expected
    words = refetch_range(expected.count if expected.is_measured else None, ON_SCREEN)
    refetches = Cell(words)
    net = expected.net_range(saved)
    if net is None:
        return {"refetches": refetches}
    style = "table--saved" if net[0] > 0 else ""
    return {"net": Cell(net_words(net, ON_SCREEN).removeprefix("net "), style=style), "refetches": refetches}


def nothing_to_tune(plan: Plan) -> tuple[str, ...]:
    """Return the advice for a plan without limits."""
    names = ", ".join(dict.fromkeys(entry.strategy.name for entry in plan.entries))
    why = f"{names}: no limit to move." if names else "The plan holds no strategy."
    return (
        why,
        "c compares all plans: ⏎ there uses one, then t comes back here.",
        "Or esc, then + adds a strategy to the plan.",
    )
