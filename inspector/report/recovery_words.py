"""Cut text that was needed later and the resulting net saving, in words shared by all outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.report.catalogue import NeededLaterFacts, Saving
    from inspector.report.numbers import NumberFormat


def needed_words(calls: int, numbers: NumberFormat) -> str:
    """Return `12 later calls needed cut text`.

    Args:
        calls: Calls that needed text a plan had cut.
        numbers: Number format.
    """
    return f"{numbers.plural(calls, 'later call') if calls else 'no later call'} needed cut text"


def each_words(cost_each: float | None, numbers: NumberFormat) -> str:
    """Return the recovery cost per call, `~$0.15 each`; empty if unknown."""
    return "" if cost_each is None else f"{numbers.qualified(numbers.dollars(cost_each), 'estimated')} each"


def net_words(net: float | None, numbers: NumberFormat) -> str:
    """Return the net saving after recoveries, `net ~$8.36`; empty without a price."""
    return "" if net is None else f"net {numbers.qualified(numbers.dollars(net), 'estimated')}"


def saved_words(saved: float | None, net: float | None, numbers: NumberFormat) -> str:
    """Return `saves $12.41, net ~$8.36`; empty without a price, or without a saving.

    Args:
        saved: Dollars saved without recoveries.
        net: Dollars saved if everything needed was recovered.
        numbers: Number format.
    """
    if net is None or saved is None or saved <= 0:
        return ""
    return f"saves {numbers.dollars(saved)}, {net_words(net, numbers)}"


def amount_words(saved: Saving, needed: NeededLaterFacts | None, numbers: NumberFormat) -> str:
    """Return `$3.70, net ~$1.37`, or a share of the tokens without a price; net only if something was needed.

    Args:
        saved: Saving of a plan.
        needed: Cut text that was needed later; None if not determined.
        numbers: Number format.
    """
    if saved.usd is None:
        return f"{numbers.percent(saved.percent)} of the tokens"
    net = net_words(needed.saved_at_least_usd, numbers) if needed is not None and needed.calls else ""
    return ", ".join(filter(None, (numbers.dollars(saved.usd), net)))


def recovery_words(
    calls: int,
    cost_each: float | None,
    saving: tuple[float | None, float | None],
    break_even: int | None,
    numbers: NumberFormat,
) -> str:
    """Return the full description of recoveries.

    `12 later calls needed cut text, ~$0.15 each to recover: saves $12.41, net ~$8.36; break-even: 83 recoveries`

    Args:
        calls: Calls that needed text a plan had cut.
        cost_each: Dollars per recovery.
        saving: Dollars saved without and after recoveries.
        break_even: Number of recoveries that cost as much as is saved.
        numbers: Number format.
    """
    said = needed_words(calls, numbers)
    if not calls:
        return said
    each, saves = each_words(cost_each, numbers), saved_words(*saving, numbers)
    said += f", {each} to recover" if each else ""
    said += f": {saves}" if saves else ""
    if not break_even:
        return said
    return f"{said}; break-even: {numbers.plural(break_even, 'recovery')}"
