"""What a plan cut that was needed later, and what that leaves of its saving, in words: the same wherever it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.report.numbers import NumberFormat


def needed_words(calls: int, numbers: NumberFormat) -> str:
    """`12 later calls needed cut text`.

    Args:
        calls: Calls that needed text a plan had cut.
        numbers: How numbers are written.
    """
    return f"{numbers.plural(calls, 'later call') if calls else 'no later call'} needed cut text"


def each_words(cost_each: float | None, numbers: NumberFormat) -> str:
    """`~$0.15 each`, what getting it back costs a call; empty where that is not known."""
    return "" if cost_each is None else f"{numbers.marked(numbers.dollars(cost_each), 'estimated')} each"


def band_words(low: float | None, saved: float | None, numbers: NumberFormat) -> str:
    """`saves ~$8.36 to $12.41`; empty where there is no price, or nothing is saved in the first place.

    Args:
        low: Dollars saved if everything needed was fetched again.
        saved: Dollars saved if nothing was.
        numbers: How numbers are written.
    """
    if low is None or saved is None or saved <= 0:
        return ""
    return f"saves {numbers.marked(numbers.dollars(low), 'estimated')} to {numbers.dollars(saved)}"


def recovery_words(
    calls: int,
    cost_each: float | None,
    band: tuple[float | None, float | None],
    break_even: int | None,
    numbers: NumberFormat,
) -> str:
    """All of it: `12 later calls needed cut text, ~$0.15 each: saves ~$8.36 to $12.41, 83 such calls would use it up`.

    Args:
        calls: Calls that needed text a plan had cut.
        cost_each: Dollars of getting it back, a call.
        band: Dollars saved if everything needed was fetched again, and if nothing was.
        break_even: How many recoveries use up the saving.
        numbers: How numbers are written.
    """
    said = needed_words(calls, numbers)
    if not calls:
        return said
    each, saves = each_words(cost_each, numbers), band_words(*band, numbers)
    said += f", {each}" if each else ""
    said += f": {saves}" if saves else ""
    if not break_even:
        return said
    return f"{said}, {numbers.plural(break_even, 'such call')} would use it up"
