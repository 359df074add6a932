"""Cut text that was needed later and the resulting net saving, in words shared by all outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.analysis.recoveries import NeededLater
    from inspector.report.catalogue import ExpectedRefetches, Saving
    from inspector.report.numbers import NumberFormat


def needed_words(calls: int, numbers: NumberFormat) -> str:
    """Return `12 later calls needed cut text`; empty for none, which does not mean that there is no risk."""
    return f"{numbers.plural(calls, 'later call')} needed cut text" if calls else ""


NetRange = tuple[float | None, float | None]
"""Net savings in dollars at the worst and the best end; None without a price."""

Expected = tuple[float, float, float] | None
"""Expected re-fetched results: estimate and 95 % interval; None if not measured."""

NOT_MEASURED: Final = "not measured"
"""Re-fetches of a plan that cuts no tool result: no rate is known for other text."""

REFETCHES_NOT_MEASURED: Final = f"re-fetches {NOT_MEASURED}"

HARDLY_ANY: Final = "hardly any"

NOTHING_WORTHWHILE: Final = "nothing worth changing here"
"""Recommendation for a session without a plan that can be recommended."""

NOTHING_SAVES: Final = f"{NOTHING_WORTHWHILE}: no plan saves anything"


def net_words(net: NetRange, numbers: NumberFormat) -> str:
    """Return the net saving after expected re-fetches, `net $8.36 to $9.10`; empty without a price."""
    low, high = net
    if low is None:
        return ""
    worst, best = numbers.dollars(low), numbers.dollars(low if high is None else high)
    return f"net about {worst}" if worst == best else f"net {worst} to {best}"


def saved_words(saved: float | None, net: NetRange, numbers: NumberFormat) -> str:
    """Return `net $8.36 to $9.10 (saves $12.41)`; empty without a price or a saving (before re-fetches)."""
    if net[0] is None or saved is None or saved <= 0:
        return ""
    return f"{net_words(net, numbers)} (saves {numbers.dollars(saved)})"


def net_after_words(net: NetRange, expected: Expected, numbers: NumberFormat) -> str:
    """Return `net $8.36 to $9.10 after about 12 re-fetches (8 to 17)`, or only the known part."""
    refetches, words = refetch_words(expected, numbers), net_words(net, numbers)
    return f"{words} after {refetches}" if words and expected is not None else refetches


def refetch_words(expected: Expected, numbers: NumberFormat) -> str:
    """Return `about 3 re-fetches (2 to 5)`."""
    if expected is None:
        return REFETCHES_NOT_MEASURED
    if not round(expected[2]):
        return f"{HARDLY_ANY} re-fetches"
    return _estimate(expected, lambda count: numbers.plural(count, "re-fetch"), numbers)


def refetch_range(expected: Expected, numbers: NumberFormat) -> str:
    """Return `about 3 (2 to 5)` for a table cell, or `not measured`."""
    if expected is None:
        return NOT_MEASURED
    return _estimate(expected, numbers.whole, numbers) if round(expected[2]) else HARDLY_ANY


def _estimate(expected: tuple[float, float, float], counted: Callable[[int], str], numbers: NumberFormat) -> str:
    middle, low, high = (round(each) for each in expected)
    if not middle:
        return f"up to {counted(high)}"
    return f"about {counted(middle)} ({numbers.whole(low)} to {numbers.whole(high)})"


def amount_words(saved: Saving, needed: NeededLater | None, numbers: NumberFormat) -> str:
    """Return `net $1.37 to $1.90`, or a share of the tokens without a price."""
    if saved.usd is None:
        return f"{numbers.percent(saved.percent)} of the tokens"
    net = "" if needed is None else net_words(net_of(needed), numbers)
    return net or numbers.dollars(saved.usd)


def net_of(needed: NeededLater | ExpectedRefetches) -> NetRange:
    """Return the net savings of a report's plan."""
    return needed.saved_at_least_usd, needed.saved_at_most_usd


def recovery_words(
    expected: Expected,
    calls: int,
    saving: tuple[float | None, NetRange],
    break_even: int | None,
    numbers: NumberFormat,
) -> str:
    """Return the full description of a plan's risk.

    `net $8.36 to $9.10 (saves $12.41) after about 12 re-fetches (8 to 17); 5 later calls needed cut text`

    Args:
        calls: Calls that needed text a plan had cut.
        saving: Dollars saved without re-fetches, and net.
        break_even: Number of re-fetches that cost as much as is saved.
    """
    saves, refetches = saved_words(*saving, numbers), refetch_words(expected, numbers)
    words = f"{saves} after {refetches}" if saves and expected is not None else refetches
    words += f"; {needed_words(calls, numbers)}" if calls else ""
    if not break_even or expected is None or not round(expected[2]):
        return words
    return f"{words}; break-even: {numbers.plural(break_even, 're-fetch')}"


def breakpoint_words(prices: Sequence[tuple[str, float]], numbers: NumberFormat) -> str:
    """Return the cost by breakpoint rule, the assumed one first; empty for fewer than two prices.

    `cost by cache breakpoints: $6.70 (system prompt, last block), $7.36 (last block)`
    """
    if len(prices) < 2:
        return ""
    return "cost by cache breakpoints: " + ", ".join(f"{numbers.dollars(usd)} ({places})" for places, usd in prices)


def refetches_of(needed: NeededLater | ExpectedRefetches) -> Expected:
    """Return the expected re-fetches of a report's plan."""
    middle, low, high = needed.refetches, needed.refetches_low, needed.refetches_high
    return None if middle is None or low is None or high is None else (middle, low, high)
