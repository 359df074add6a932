"""Cut text that was needed later and the resulting net saving, in words shared by all outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.analysis.recoveries import NeededLater, Recoveries
    from inspector.report.catalogue import ExpectedRefetches, PlanFacts
    from inspector.report.document import SavingPlanFacts
    from inspector.report.numbers import NumberFormat


def needed_words(calls: int, numbers: NumberFormat) -> str:
    """Return `12 later calls needed cut text`; empty for none, which does not mean that there is no risk."""
    return f"{numbers.plural(calls, 'later call')} needed cut text" if calls else ""


def searching_words(tried: tuple[int, int] | None, numbers: NumberFormat) -> str:
    """Return `still searching for the best plan, 12 of 84 plans tried`; None for an unknown number."""
    far = "" if tried is None else f", {numbers.whole(tried[0])} of {numbers.plural(tried[1], 'plan')} tried"
    return f"still searching for the best plan{far}"


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


class PlanSaving(NamedTuple):
    """Saving of a plan, for the sentences of all outputs.

    Attributes:
        name: Display name of the plan; may hold user text.
        usd: Dollars saved before re-fetches; None without a price.
        share: Saved share of the cost, or of the prompt tokens without a price.
        known: Certainty of `usd`, or of `share` without a price.
        net: Net savings.
        expected: Expected re-fetches.
    """

    name: str
    usd: float | None
    share: float | None
    known: str
    net: NetRange
    expected: Expected

    def gross(self, numbers: NumberFormat) -> str:
        """Return the saving before re-fetches, `$2.71 (7.6 %)`, or without a price `21 % of the tokens`."""
        share = numbers.share(self.share)
        if self.usd is None:
            return f"{numbers.qualified(share, self.known)} of the tokens"
        return f"{numbers.qualified(numbers.dollars(self.usd), self.known)} ({share})"

    def amount(self, numbers: NumberFormat) -> str:
        """Return `net $2.44 to $2.63`, or the gross saving without a price."""
        return net_words(self.net, numbers) or self.gross(numbers)

    def named(self, numbers: NumberFormat) -> str:
        """Return `net $2.44 to $2.63 with newest ten`."""
        return f"{self.amount(numbers)} with {self.name}"

    def in_short(self, numbers: NumberFormat) -> str:
        """Return `saves net $2.44 to $2.63 with newest ten`, which fits names in the singular and the plural."""
        return f"saves {self.named(numbers)}"

    def in_full(self, numbers: NumberFormat) -> str:
        """Return `saves net $2.44 to $2.63 with newest ten, after about 1 re-fetch (0 to 2); $2.71 (7.6 %) gross`."""
        refetches = refetch_words(self.expected, numbers)
        if self.usd is None or self.expected is None or self.net[0] is None:
            return f"saves {self.gross(numbers)} with {self.name}; {refetches}"
        return f"{self.in_short(numbers)}, after {refetches}; {self.gross(numbers)} gross"

    def why_not(self, reason: str, numbers: NumberFormat, *, is_short: bool = False) -> str:
        """Explain why the plan that saves most is not recommended: a reason, or without one its re-fetches."""
        why = reason or net_after_words(self.net, self.expected, numbers)
        gross = "" if is_short else f" is {self.gross(numbers)}"
        return f"{NOTHING_WORTHWHILE}: largest saving{gross} with {self.name}, but {why}"


def plan_saving(name: str, savings: Savings, found: Recoveries | None) -> PlanSaving:
    """Return the saving of a replayed plan by its display name."""
    usd, share = savings.usd, savings.share
    known = share.known if usd.value is None else usd.known
    net, expected = ((None, None), None) if found is None else (found.net, found.refetched)
    return PlanSaving(name, usd.value, share.value, known, net, expected)


def saving_of(plan: PlanFacts | SavingPlanFacts) -> PlanSaving:
    """Return the saving of a report's plan."""
    from inspector.strategies.presets import display_name

    saved, needed = plan.saved, plan.needed_later
    known = saved.known.get("percent" if saved.usd is None else "usd", "")
    share = None if saved.percent is None else saved.percent / 100
    net, expected = ((None, None), None) if needed is None else (net_of(needed), refetches_of(needed))
    return PlanSaving(display_name(plan.name, plan.strategies), saved.usd, share, known, net, expected)


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
    """Return the cost by breakpoint rule, the assumed one first; empty for fewer than two prices."""
    if len(prices) < 2:
        return ""
    return "cost by cache breakpoints: " + ", ".join(f"{numbers.dollars(usd)} ({places})" for places, usd in prices)


def refetches_of(needed: NeededLater | ExpectedRefetches) -> Expected:
    """Return the expected re-fetches of a report's plan."""
    middle, low, high = needed.refetches, needed.refetches_low, needed.refetches_high
    return None if middle is None or low is None or high is None else (middle, low, high)
