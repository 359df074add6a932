"""Projected savings in words, rounded to their spread; shared by screen, texts and pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inspector.replay.assumptions import RunsPerDay
from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.explain.explanation import Explanation
    from inspector.report.catalogue import BandFacts, ProjectionFacts
    from inspector.report.numbers import NumberFormat

CENTS_FROM = 0.1
"""Amounts of this many dollars or more have no digits below a cent."""

FINER_BELOW = 5
"""A spread with a lower leading digit gets one more digit: 4,900 rounds to hundreds, and so does 600."""


def about(band: Band | BandFacts, numbers: NumberFormat) -> str:
    """Format the middle of a band, rounded to its spread: `$1,400`."""
    return rounded_to(band.middle, band, numbers)


def between(band: Band | BandFacts, numbers: NumberFormat) -> str:
    """Format the ends of a band: `$1,000 to $1,600`; a single amount if both are equal."""
    least, most = rounded_to(band.low, band, numbers, math.floor), rounded_to(band.high, band, numbers, math.ceil)
    return least if least == most else f"{least} to {most}"


def rounded_to(
    value: float, band: Band | BandFacts, numbers: NumberFormat, towards: Callable[[float], float] = round
) -> str:
    """Format dollars, rounded to the precision of a spread.

    Args:
        value: Dollars.
        band: Their spread.
        numbers: Number format.
        towards: Rounding function for steps: the ends of a range are never rounded to the optimistic side.
    """
    step = _step(band)
    return numbers.short_dollars(value) if step is None else _written(value, step, numbers, towards)


def adding_up(before: Band, saved: Band, numbers: NumberFormat) -> tuple[str, str, str]:
    """Format a cost without a plan, the cost with it, and the saving, so that they add up as written.

    Args:
        before: Dollars without the plan.
        saved: Dollars saved; negative if the plan costs more.
        numbers: Number format.
    """
    step = min((each for each in (_step(before), _step(saved)) if each is not None), default=None)
    if step is None:
        after = before.middle - saved.middle
        return numbers.dollars(before.middle), numbers.dollars(after), numbers.dollars(saved.middle)
    if before.middle >= CENTS_FROM:
        step = max(step, 0.01)
    first, less = (round(round(each.middle / step, 6)) for each in (before, saved))
    one, two, three = (_written(count * step, step, numbers, round) for count in (first, first - less, less))
    return one, two, three


def _step(band: Band | BandFacts) -> float | None:
    """Return the unit to round a band to, according to its spread; None for a certain amount."""
    spread = band.high - band.low
    if not math.isfinite(spread) or spread <= 0:
        return None
    step = 10.0 ** math.floor(math.log10(spread))
    return step / 10 if spread < FINER_BELOW * step else step


def _written(value: float, step: float, numbers: NumberFormat, towards: Callable[[float], float]) -> str:
    return (numbers.whole_dollars if step >= 1 else numbers.dollars)(towards(round(value / step, 6)) * step)


def daily_saving(day: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """Describe the saving per day: `saves about $45 a day`, `costs about $45 more a day`.

    Args:
        day: The saving.
        numbers: Number format.
        is_most: Recoveries are not subtracted yet: `saves up to $45 a day`.
    """
    dollars = about(_positive(day), numbers)
    if day.middle < 0:
        return f"costs about {dollars} more a day"
    return f"saves {_nearness(is_most=is_most)} {dollars} a day"


def monthly_saving(month: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """Describe the saving per month with its range: `about $1,400 a month, $1,000 to $1,600`."""
    more = " more" if month.middle < 0 else ""
    shown = _positive(month)
    spread = between(shown, numbers)
    if month.middle < 0 < month.high:
        # A negative amount of extra cost would be hard to read.
        worst, best = (rounded_to(end, shown, numbers, math.ceil) for end in (-month.low, month.high))
        spread = f"between {worst} more and {best} less"
    middle = about(shown, numbers)
    nearness = _nearness(is_most=is_most and not more)
    return f"{nearness} {middle}{more} a month{'' if spread == middle else f', {spread}'}"


def _nearness(*, is_most: bool) -> str:
    return "up to" if is_most else "about"


def at_best(month: Band, numbers: NumberFormat) -> str:
    """Format the best end of the range as in the text: `$1,600`, or `$140 more` if it is still an extra cost."""
    if month.high < 0:
        return f"{rounded_to(-month.high, month, numbers, math.floor)} more"
    return rounded_to(month.high, month, numbers, math.ceil) + (" less" if month.middle < 0 else "")


def _positive(band: Band) -> Band:
    """Return a loss as an extra cost, a saving unchanged."""
    return band if band.middle >= 0 else as_loss(band)


def as_loss(band: Band) -> Band:
    """Negate a saving to an extra cost."""
    return Band(-band.high, -band.middle, -band.low)


def bands_of(found: ProjectionFacts) -> tuple[Band, Band]:
    """Return a projected saving per day and per month."""
    month = Band(found.usd_per_month_low, found.usd_per_month, found.usd_per_month_high)
    if not found.days_per_month:
        return Band(found.usd_per_day, found.usd_per_day, found.usd_per_day), month
    day = Band(month.low / found.days_per_month, found.usd_per_day, month.high / found.days_per_month)
    return day, month


def saving_row(found: ProjectionFacts, numbers: NumberFormat, name: str = "") -> tuple[str, str]:
    """Return label and text of a report line on a saving over many runs.

    Args:
        found: The projection.
        numbers: Number format.
        name: The plan, if the line is not below its name.
    """
    day, month = bands_of(found)
    text = f"{daily_saving(day, numbers)}, {monthly_saving(month, numbers)}"
    return runs_a_day(runs_of(found)), f"{f'{name} ' if name else ''}{text}"


def runs_of(found: ProjectionFacts) -> RunsPerDay:
    return RunsPerDay(found.runs_per_day, found.runs_are_assumed)


def explained_value(explanation: Explanation, numbers: NumberFormat) -> str:
    """Format an explained figure with its mark, and a projection over many runs with its range."""
    band = explanation.band
    if band is not None:
        return f"about {about(band, numbers)}, {between(band, numbers)}"
    written = numbers.quantity(explanation.value, explanation.unit)
    return numbers.qualified(written, explanation.known.value, is_lower_bound=explanation.is_lower_bound)


def runs_a_day(runs: RunsPerDay) -> str:
    """Describe the number of runs and its origin: `1 run a day, assumed`."""
    return f"{runs.number:,.6g} {'run' if runs.number == 1 else 'runs'} a day, {runs.origin}"
