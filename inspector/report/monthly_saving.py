"""What a saving comes to a day and a month, in words: the same for the screen, texts, comparisons and pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.report.catalogue import ProjectionFacts
    from inspector.report.numbers import NumberFormat

SIGNIFICANT = 2
"""Digits of the spread that are shown: more would promise what a projection does not know."""


def monthly_range(low: float, high: float, numbers: NumberFormat) -> str:
    """The dollars a month a saving may come to, rounded to their spread: `$1,400 to $3,300`.

    Args:
        low: At worst; negative where the plan costs more.
        high: At best.
        numbers: How numbers are written.
    """
    spread = high - low
    if not math.isfinite(spread) or spread <= 0:
        return numbers.dollars(low)
    step = 10.0 ** (math.floor(math.log10(spread)) + 1 - SIGNIFICANT)
    written = numbers.whole_dollars if step >= 1 else numbers.dollars
    least, most = (written(round(value / step) * step) for value in (low, high))
    return least if least == most else f"{least} to {most}"


def daily_saving(day: float, numbers: NumberFormat) -> str:
    """The dollars a day a saving comes to: `saves $45 a day`, `costs $45 more a day`."""
    dollars = numbers.dollars(abs(day))
    return f"saves {dollars} a day" if day >= 0 else f"costs {dollars} more a day"


def saving_row(found: ProjectionFacts, numbers: NumberFormat, name: str = "") -> tuple[str, str]:
    """A line of a report on a saving over many runs: its label and what it says.

    Args:
        found: The projection.
        numbers: How numbers are written.
        name: The plan, where the line does not stand under its name.
    """
    said = daily_saving(found.usd_per_day, numbers)
    by_month = monthly_range(found.usd_per_month_low, found.usd_per_month_high, numbers)
    return runs_a_day(found.runs_per_day), f"{f'{name} ' if name else ''}{said}, {by_month} a month, projected"


def runs_a_day(runs: float) -> str:
    """How many runs: `24 runs a day`."""
    return f"{runs:,.6g} {'run' if runs == 1 else 'runs'} a day"
