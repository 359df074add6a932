"""Differences between plans A and B: their settings and their results."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.strategies.registry import unit_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.figure import Figure
    from inspector.strategies.plan import Plan, PlanEntry

ABSENT = "·"


@dataclass(frozen=True, eq=False)
class OtherPlan:
    """The other plan, replayed on the same session; compared by identity.

    Attributes:
        letter: `A` or `B`.
        plan: The plan.
        totals: Totals of its replay.
        first_change: First call it changes; None if it changes none.
    """

    letter: str
    plan: Plan
    totals: PlanOutcome
    first_change: int | None


class DifferenceRow(NamedTuple):
    """A difference between two plans.

    Attributes:
        name: Name of the setting or figure.
        here: Value in the plan on the screen.
        there: Value in the other plan.
        change: Change from switching to the other plan; empty if it is not a number.
    """

    name: str
    here: str
    there: str
    change: str = ""


def figure_rows(here: PlanOutcome, there: PlanOutcome) -> list[DifferenceRow]:
    """Compare the figures of two plans on one session. Changes are from the first to the second."""
    pairs: list[tuple[str, Figure, Figure, Callable[[float], str]]] = [
        ("cost", here.figures.cost_usd, there.figures.cost_usd, ON_SCREEN.dollars),
        ("saved", here.savings.usd, there.savings.usd, ON_SCREEN.dollars),
        ("prompt tokens", here.figures.prompt_tokens, there.figures.prompt_tokens, ON_SCREEN.short),
        ("largest prompt", here.figures.peak_prompt_tokens, there.figures.peak_prompt_tokens, ON_SCREEN.short),
        ("prompts changed by the plan", here.breaks, there.breaks, ON_SCREEN.whole),
        ("cost of changes", here.break_usd, there.break_usd, ON_SCREEN.dollars),
        ("breaks even at call", here.break_even_call, there.break_even_call, ON_SCREEN.whole),
    ]
    rows = []
    for name, first, second, shown in pairs:
        change = ""
        if first.value is not None and second.value is not None:
            change = ON_SCREEN.qualified(_signed(second.value - first.value, shown), second.known.value)
        ours, theirs = (
            ABSENT
            if each.value is None
            else ON_SCREEN.qualified(shown(each.value), each.known.value, is_lower_bound=each.is_lower_bound)
            for each in (first, second)
        )
        rows.append(DifferenceRow(name, ours, theirs, change))
    return rows


def brief(here: PlanOutcome, other_result: OtherPlan) -> str:
    """Return two short lines about the effect of switching to the other plan."""
    cost, _, tokens, _, changed, *_ = figure_rows(here, other_result.totals)
    first = cost.change or f"{tokens.there} tokens"
    return f"switch to {other_result.letter}: {first}\n  {tokens.change} tokens, {changed.change} changed prompts"


def setting_rows(here: Plan, there: Plan) -> list[DifferenceRow]:
    """Compare the settings of two plans. Strategies are matched by name and order."""
    ours, theirs = here.entries, there.entries
    matcher = SequenceMatcher(None, [e.strategy.name for e in ours], [e.strategy.name for e in theirs], autojunk=False)
    rows: list[DifferenceRow] = []
    for kind, first, last, other_first, other_last in matcher.get_opcodes():
        if kind == "equal":
            for ours_entry, theirs_entry in zip(ours[first:last], theirs[other_first:other_last], strict=True):
                rows += _entry_rows(ours_entry, theirs_entry)
        else:
            rows += [DifferenceRow(each.strategy.name, _state(each), ABSENT) for each in ours[first:last]]
            rows += [DifferenceRow(each.strategy.name, ABSENT, _state(each)) for each in theirs[other_first:other_last]]
    return rows


def _entry_rows(here: PlanEntry, there: PlanEntry) -> list[DifferenceRow]:
    name = here.strategy.name
    rows = []
    if here.enabled != there.enabled:
        rows.append(DifferenceRow(name, _state(here), _state(there)))
    for parameter in here.strategy.parameters:
        ours, theirs = value_of(here.strategy, parameter), value_of(there.strategy, parameter)
        if ours != theirs:
            shown = (
                shown_value(ours, unit_of(here.strategy, parameter)),
                shown_value(theirs, unit_of(there.strategy, parameter)),
            )
            rows.append(DifferenceRow(f"{name}: {parameter.name}", *shown))
    return rows


def _state(entry: PlanEntry) -> str:
    return "on" if entry.enabled else "off"


def shown_value(value: object, unit: str) -> str:
    """Format a parameter's value in one line: `24,000 characters`, `Bash, Read`, `on`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return one_line(", ".join(value)) or "none"
    if isinstance(value, int | float):
        return f"{value:,} {unit}".rstrip()
    return one_line(str(value)) or "empty"


def _signed(change: float, shown: Callable[[float], str]) -> str:
    text = shown(change)
    return f"+{text}" if change > 0 else text
