"""Conclusions on the difference between two sets of sessions, in words."""

from __future__ import annotations

from math import isfinite, isnan
from typing import TYPE_CHECKING

from inspector.replay.analysis.before_after import LEAST_SESSIONS, ChangeVerdict
from inspector.report.numbers import IN_TEXT, NOTHING, with_minus_sign

if TYPE_CHECKING:
    from inspector.replay.analysis.before_after import SetDifference


def written(value: float | None, unit: str) -> str:
    """Format a figure of `MeasureFacts`, or a difference of two; a difference of shares is in points."""
    match unit:
        case "$":
            return IN_TEXT.dollars(value)
        case "share":
            return IN_TEXT.share(value)
        case "tokens":
            return IN_TEXT.whole(value)
        case _:
            if value is None:
                return NOTHING
            return with_minus_sign(f"{value:,.{2 if abs(value) < 9.995 else 1}f}")


def answer(found: SetDifference, unit: str, effect: float) -> str:
    """Describe a difference: `18.3 % less (8.0 to 27.1 %)`.

    Args:
        found: The difference.
        unit: Unit, as in `MeasureFacts`.
        effect: The size of difference to detect, as a share of before.
    """
    wanted = f"{100 * effect:g} {'points' if unit == 'share' else '%'}"
    before, after = found.sessions
    match found.verdict:
        case ChangeVerdict.TOO_FEW if min(before, after) >= LEAST_SESSIONS:
            return "nothing to compare: one of the sets has none"
        case ChangeVerdict.TOO_FEW:
            kind = "sessions with a price" if unit == "$" else "sessions"
            return (
                f"too few {kind} to compare, {before:,} before and {after:,} after: with fewer than {LEAST_SESSIONS} "
                f"in each set, chance dominates; {_more_of_each(before, after)}"
            )
        case ChangeVerdict.LESS | ChangeVerdict.MORE:
            low, middle, high = _sizes(found, unit)
            if found.verdict is ChangeVerdict.LESS:
                low, high = high, low
            size = _size(middle, unit, found)
            return f"{size} {found.verdict.value} ({_size(low, unit, found, bare=True)} to {_size(high, unit, found)})"
        case _:
            low, _, high = _sizes(found, unit)
            if low == high:
                return "equal in both sets"
            between = f"{_signed(low, unit, found)} to {_signed(high, unit, found)}"
            if found.verdict is ChangeVerdict.SMALL:
                return f"no difference of {wanted} or more: {between}"
            return f"no significant difference, {between}: {_needed(found, wanted)}"


def _more_of_each(before: int, after: int) -> str:
    lacks = ((LEAST_SESSIONS - before, "before"), (LEAST_SESSIONS - after, "after"))
    return " and ".join(f"{count:,} more {name}" for count, name in lacks if count > 0) + " needed"


def _needed(found: SetDifference, wanted: str) -> str:
    """Describe how many more sessions would detect a difference of a given size."""
    if not isfinite(found.more):
        return f"no number of sessions would detect a difference of {wanted}"
    if not found.more:
        return f"these sessions would detect a difference of {wanted} four times in five"
    alone = f" (or {found.more_after:,.0f} more after only)" if isfinite(found.more_after) else ""
    return f"about {found.more:,.0f} more sessions per set{alone} are needed to detect a difference of {wanted}"


def _sizes(found: SetDifference, unit: str) -> tuple[float, float, float]:
    """Return lower end, middle and upper end: in percent of before, or in the unit if percentages make no sense."""
    if unit == "share" or isnan(found.share_low):
        return found.low, found.change, found.high
    return 100 * found.share_low, 100 * found.share, 100 * found.share_high


def _size(value: float, unit: str, found: SetDifference, *, bare: bool = False) -> str:
    """Format the size of a difference without its sign; `bare` omits the unit if another one follows."""
    if unit == "share":
        return f"{100 * abs(value):,.1f}{'' if bare else ' points'}"
    if isnan(found.share_low):
        return written(abs(value), unit)
    return f"{abs(value):,.1f}{'' if bare else ' %'}"


def _signed(value: float, unit: str, found: SetDifference) -> str:
    return f"{_size(value, unit, found)} {'less' if value < 0 else 'more'}"


def headline(verdict: str, text: str, per: str) -> str:
    """Describe the difference in cost, in a sentence: `after costs 18.3 % less per call (8.0 to 27.1 %)`.

    Args:
        verdict: The verdict, a value of `ChangeVerdict`.
        text: The description by `answer`.
        per: The unit that has the cost, such as a call.
    """
    if verdict not in (ChangeVerdict.LESS, ChangeVerdict.MORE):
        return f"cost per {per}: {text}"
    size, bracket, interval = text.partition(" (")
    return f"after costs {size} per {per}{bracket}{interval}"
