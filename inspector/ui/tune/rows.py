"""Content of the tune screen: a sweep as curves, and the marked values as table rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.plan_outcome import savings_of
from inspector.replay.analysis.recoveries import is_net_sure
from inspector.replay.analysis.sweep import Grid, LimitSizes, Point, Sweep, tunable_limits
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import net_words, refetch_range
from inspector.strategies.core.parameters import TOKENS, Parameter, ToolList
from inspector.strategies.core.strategy import Strategy, TieredStrategy
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import parameter_of, value_of, with_values
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell, legend_of, savings_style
from inspector.ui.plan.choices import ToolChoice, tool_choices, with_tools
from inspector.ui.tune.drawing import HERE, KNEE, LEAST, PLAN, Curve, HeatChart, TuneChart, short_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.ledger import Figures
    from inspector.strategies.history.history import History


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

UNTESTED: Final = "?"
"""Follows a value that no public evidence covers."""


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


BEST_TRIED: Final = "best tried"

Marked = tuple[str, str, str, "Figures | None", "Point | None"]
"""A marked value or pair: glyph, description, formatted value, its figures and its point; None until computed."""


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


def legend_of_values(marked: Sequence[Marked], table: Table) -> str:
    """Explain the marks of the table."""
    untested = any(point is not None and not point.is_tried for *_, point in marked)
    return " · ".join(filter(None, (legend_of(table), f"{UNTESTED} untested" if untested else "")))


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
        marked.append((LEAST, BEST_TRIED, least.value))
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
    """Return the selected pair, the plan's pair, and the best tried one."""
    grid = chart.grid
    places = [(HERE, "here", chart.here), (PLAN, in_plan, chart.plan)]
    if grid.least is not None:
        places.append((LEAST, BEST_TRIED, grid.least))
    marked: list[Marked] = []
    for mark, what, (row, column) in places:
        point = grid.points.get((row, column))
        value = f"{value_text(grid.columns[column])}, {value_text(grid.rows[row])}"
        marked.append((mark, what, value, None if point is None else point.figures, point))
    return marked


def value_text(value: float) -> str:
    """Format a value, in full if it is a whole number."""
    return ON_SCREEN.whole(value) if value == int(value) else short_value(value)


def _row(
    mark: str, what: str, value: str, figures: Figures | None, point: Point | None, baseline: Figures
) -> FigureRow:
    is_tried = point is None or point.is_tried
    value = value if is_tried else f"{value} {UNTESTED}"
    cells = {"what": Cell(what), "value": Cell(value, style="table--name")}
    if figures is None:
        return FigureRow(what, {**cells, "tokens": Cell(WAITING, style="table--waiting")}, mark)
    savings = savings_of(baseline, figures)
    style = savings_style(savings, is_sure=point is not None and _is_sure(point, savings.usd.value))
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


def _is_sure(point: Point, saved: float | None) -> bool:
    net = point.expected.net_range(saved)
    return net is not None and is_net_sure(net[0], point.expected, drops_text=point.drops_text)


def _risk_cells(point: Point, saved: float | None) -> dict[str, Cell]:
    """Return the cells of the net range and of the expected re-fetches."""
    expected = point.expected
    words = refetch_range(expected.count if expected.is_measured else None, ON_SCREEN)
    refetches = Cell(words)
    net = expected.net_range(saved)
    if net is None:
        return {"refetches": refetches}
    style = "table--saved" if _is_sure(point, saved) else ""
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


@dataclass(frozen=True, eq=False)
class SeparatedTool:
    """Plan with one tool separated; compared by identity.

    Attributes:
        before: The plan before.
        plan: The plan with the tool separated. A new tier starts with the tool's previous limit and so cuts the same.
        entry: Index of the strategy for this tool.
        limit: Name of the limit to tune.
        tool: The tool.
        is_copy: True if all limits of the strategy at `entry` apply to this tool only, not just `limit`.
    """

    before: Plan
    plan: Plan
    entry: int
    limit: str
    tool: str
    is_copy: bool = False


def can_separate(strategy: Strategy) -> bool:
    """Return True if a strategy can treat one tool differently."""
    return isinstance(strategy, TieredStrategy) or any(_lists(strategy))


def entry_to_separate(plan: Plan, wanted: int | None = None) -> int | None:
    """Return the index of the strategy to split; None if every strategy of the plan treats all tools the same.

    Args:
        plan: The plan.
        wanted: Preferred index. After it, enabled strategies and then tiered ones are preferred.
    """
    places = [place for place, entry in enumerate(plan.entries) if can_separate(entry.strategy)]
    if wanted in places:
        return wanted

    def rank(place: int) -> tuple[bool, bool]:
        return not plan.entries[place].enabled, not isinstance(plan.entries[place].strategy, TieredStrategy)

    return min(places, key=rank, default=None)


def tools_with_results(plan: Plan, history: History, entry: int | None = None) -> list[ToolChoice]:
    """Return the session's tools with results, the most first, and how the strategy treats each.

    Args:
        plan: The plan.
        history: History of the session.
        entry: Index of the strategy; None for the preferred one.
    """
    place = entry_to_separate(plan) if entry is None else entry
    if place is None or not can_separate(plan.entries[place].strategy):
        return []
    strategy = plan.entries[place].strategy
    if isinstance(strategy, TieredStrategy):
        listed = parameter_of(strategy, f"{strategy.tiers[-1]}-tools")
        choices = (each for each in tool_choices(history, strategy, listed) if each.results)
        return [replace(each, place=f"now {strategy.tier_of(each.name)}") for each in choices]
    left_alone, only = _lists(strategy)
    alone = set(_listed(strategy, left_alone))
    parameter = left_alone or only
    if parameter is None:
        return []
    choices = (each for each in tool_choices(history, strategy, parameter) if each.results)
    return [replace(each, place="excluded now" if each.name in alone else "like the others") for each in choices]


def separate_tool(
    plan: Plan, history: History, tool: str, entry: int | None = None, limit: str = ""
) -> SeparatedTool | None:
    """Separate a tool from the others in a plan.

    Args:
        plan: The plan.
        history: History of the session.
        tool: The tool.
        entry: Index of the strategy to split; None for the preferred one.
        limit: Limit to tune if the strategy is copied; empty for its first.

    Returns:
        None if there is no such strategy, or if each of its tiers has another tool of the session.
    """
    place = entry_to_separate(plan) if entry is None else entry
    if place is None or not can_separate(plan.entries[place].strategy):
        return None
    strategy = plan.entries[place].strategy
    if isinstance(strategy, TieredStrategy):
        return _in_a_tier(plan, history, place, strategy, tool)
    others = tuple(each.name for each in tools_with_results(plan, history, place) if each.name != tool)
    made = Plan(
        (
            *plan.entries[:place],
            replace(plan.entries[place], strategy=_without(strategy, tool, others)),
            PlanEntry(_for_only(strategy, tool, others), enabled=plan.entries[place].enabled),
            *plan.entries[place + 1 :],
        ),
        name=plan.name,
    )
    limits = [axis.parameter.name for axis in tunable_limits(made) if axis.entry == place + 1]
    if not limits:
        return None
    return SeparatedTool(plan, made, place + 1, limit if limit in limits else limits[0], tool, is_copy=True)


def _in_a_tier(plan: Plan, history: History, entry: int, strategy: TieredStrategy, tool: str) -> SeparatedTool | None:
    """Move the tool to a tier without other tools of the session."""
    now = strategy.tier_of(tool)
    taken = {strategy.tier_of(each.name) for each in tools_with_results(plan, history, entry) if each.name != tool}
    tier = next((tier for tier in (now, *strategy.tiers) if tier not in taken), None)
    if tier is None:
        return None
    if tier == now:
        return SeparatedTool(plan, plan, entry, tier, tool)
    edited = parameter_of(strategy, f"{tier}-tools")
    moved = with_tools(strategy, edited, (*_listed(strategy, edited), tool))
    moved = with_values(moved, {tier: value_of(strategy, now)})
    return SeparatedTool(plan, plan.with_strategy(entry, moved), entry, tier, tool)


def _without(strategy: Strategy, tool: str, others: tuple[str, ...]) -> Strategy:
    """Return the strategy for all tools but one."""
    left_alone, only = _lists(strategy)
    if left_alone is not None:
        return with_values(strategy, {left_alone.name: _with(_listed(strategy, left_alone), tool)})
    if only is None:
        raise AssertionError(f"{strategy.name} treats all tools alike")
    about = _listed(strategy, only) or others
    return with_values(strategy, {only.name: tuple(each for each in about if each != tool)})


def _for_only(strategy: Strategy, tool: str, others: tuple[str, ...]) -> Strategy:
    """Return the strategy for one tool only."""
    left_alone, only = _lists(strategy)
    if only is not None:
        return with_values(strategy, {only.name: (tool,)})
    if left_alone is None:
        raise AssertionError(f"{strategy.name} treats all tools alike")
    kept = (each for each in _listed(strategy, left_alone) if each != tool)
    return with_values(strategy, {left_alone.name: _with(tuple(kept), *others)})


def _lists(strategy: Strategy) -> tuple[Parameter | None, Parameter | None]:
    """Return the parameters of excluded tools and of exclusively included tools."""
    left_alone, only = (
        next((each for each in strategy.parameters if each.about is about), None)
        for about in (ToolList.LEFT_ALONE, ToolList.ONLY)
    )
    return left_alone, only


def _listed(strategy: Strategy, parameter: Parameter | None) -> tuple[str, ...]:
    value = value_of(strategy, parameter) if parameter is not None else ()
    return value if isinstance(value, tuple) else ()


def _with(listed: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*listed, *more)))
