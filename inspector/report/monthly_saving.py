"""What is projected, in words: rounded to what its spread allows, the same on the screen, in texts and on pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inspector.replay.figure import Band
from inspector.replay.projection_terms import RunsPerDay

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.explain.explanation import Explanation
    from inspector.report.catalogue import BandFacts, ProjectionFacts
    from inspector.report.numbers import NumberFormat

FINER_BELOW = 5
"""A spread that begins with a lower digit than this is shown with a digit more: 4,900 in hundreds, 600 in hundreds."""


def monthly_range(low: float, high: float, numbers: NumberFormat) -> str:
    """The dollars a month a saving may come to, rounded to their spread: `$1,400 to $3,300`.

    Args:
        low: Its lower end; negative where the plan costs more.
        high: Its upper end.
        numbers: How numbers are written.
    """
    return between(Band(low, low, high), numbers)


def about(band: Band | BandFacts, numbers: NumberFormat) -> str:
    """The dollars in the middle, no more exactly than their spread allows: `$1,400`."""
    return rounded_to(band.middle, band, numbers)


def between(band: Band | BandFacts, numbers: NumberFormat) -> str:
    """From where to where they may be: `$1,000 to $1,600`; one amount where both are the same."""
    least, most = rounded_to(band.low, band, numbers, math.floor), rounded_to(band.high, band, numbers, math.ceil)
    return least if least == most else f"{least} to {most}"


def rounded_to(
    value: float, band: Band | BandFacts, numbers: NumberFormat, towards: Callable[[float], float] = round
) -> str:
    """Dollars no more exactly than a spread allows.

    Args:
        value: Dollars.
        band: How far they may be off.
        numbers: How numbers are written.
        towards: Where to a number of steps is rounded: a range never promises more at its ends than was found.
    """
    spread = band.high - band.low
    if not math.isfinite(spread) or spread <= 0:
        return numbers.short_dollars(value)
    step = 10.0 ** math.floor(math.log10(spread))
    if spread < FINER_BELOW * step:
        step /= 10
    return (numbers.whole_dollars if step >= 1 else numbers.dollars)(towards(round(value / step, 6)) * step)


def daily_saving(day: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """The dollars a day a saving comes to: `saves about $45 a day`, `costs about $45 more a day`.

    Args:
        day: The saving.
        numbers: How numbers are written.
        is_most: What gets needed text back is not taken off yet: `saves up to $45 a day`.
    """
    dollars = about(_positive(day), numbers)
    if day.middle < 0:
        return f"costs about {dollars} more a day"
    return f"saves {_nearness(is_most=is_most)} {dollars} a day"


def monthly_saving(month: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """The same a month, and from where to where it may be: `about $1,400 a month, $1,000 to $1,600`."""
    more = " more" if month.middle < 0 else ""
    shown = _positive(month)
    spread = between(shown, numbers)
    if month.middle < 0 < month.high:
        # An amount below zero of what is called a loss would have to be thought about.
        worst, best = (rounded_to(end, shown, numbers, math.ceil) for end in (-month.low, month.high))
        spread = f"{worst} more to {best} less"
    middle = about(shown, numbers)
    nearness = _nearness(is_most=is_most and not more)
    return f"{nearness} {middle}{more} a month{'' if spread == middle else f', {spread}'}"


def _nearness(*, is_most: bool) -> str:
    return "up to" if is_most else "about"


def at_best(month: Band, numbers: NumberFormat) -> str:
    """The best end of that range, as it is written there: `$1,600`, or `$140 more` of what costs more even then."""
    if month.high < 0:
        return f"{rounded_to(-month.high, month, numbers, math.floor)} more"
    return rounded_to(month.high, month, numbers, math.ceil) + (" less" if month.middle < 0 else "")


def _positive(band: Band) -> Band:
    """A loss as what it costs more."""
    return band if band.middle >= 0 else as_loss(band)


def as_loss(band: Band) -> Band:
    """A saving as what it costs more."""
    return Band(-band.high, -band.middle, -band.low)


def bands_of(found: ProjectionFacts) -> tuple[Band, Band]:
    """A projected saving a day and a month."""
    month = Band(found.usd_per_month_low, found.usd_per_month, found.usd_per_month_high)
    if not found.days_per_month:
        return Band(found.usd_per_day, found.usd_per_day, found.usd_per_day), month
    day = Band(month.low / found.days_per_month, found.usd_per_day, month.high / found.days_per_month)
    return day, month


def saving_row(found: ProjectionFacts, numbers: NumberFormat, name: str = "") -> tuple[str, str]:
    """A line of a report on a saving over many runs: its label and what it says.

    Args:
        found: The projection.
        numbers: How numbers are written.
        name: The plan, where the line does not stand under its name.
    """
    day, month = bands_of(found)
    said = f"{daily_saving(day, numbers)}, {monthly_saving(month, numbers)}"
    return runs_a_day(runs_of(found)), f"{f'{name} ' if name else ''}{said}"


def runs_of(found: ProjectionFacts) -> RunsPerDay:
    """How many runs a day a projection is about."""
    return RunsPerDay(found.runs_per_day, found.runs_are_assumed)


def explained_value(explanation: Explanation, numbers: NumberFormat) -> str:
    """An explained figure as people read it: marked, and a projection over many runs with its range."""
    band = explanation.band
    if band is not None:
        return f"about {about(band, numbers)}, {between(band, numbers)}"
    written = numbers.quantity(explanation.value, explanation.unit)
    return numbers.marked(written, explanation.known.value, is_least=explanation.is_least)


def runs_a_day(runs: RunsPerDay) -> str:
    """How many runs, and where that number comes from: `1 run a day, assumed`."""
    return f"{runs.number:,.6g} {'run' if runs.number == 1 else 'runs'} a day, {runs.origin}"
