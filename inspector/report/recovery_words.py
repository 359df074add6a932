"""What a plan cut that was needed later, and what that leaves of its saving, in words: the same wherever it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.report.catalogue import NeededLaterFacts, Saving
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


def net_words(net: float | None, numbers: NumberFormat) -> str:
    """`net ~$8.36`, what a plan saves after recoveries; empty where there is no price."""
    return "" if net is None else f"net {numbers.marked(numbers.dollars(net), 'estimated')}"


def saved_words(saved: float | None, net: float | None, numbers: NumberFormat) -> str:
    """`saves $12.41, net ~$8.36`; empty where there is no price, or nothing is saved in the first place.

    Args:
        saved: Dollars saved if nothing was fetched again.
        net: Dollars saved after recoveries: if everything needed was.
        numbers: How numbers are written.
    """
    if net is None or saved is None or saved <= 0:
        return ""
    return f"saves {numbers.dollars(saved)}, {net_words(net, numbers)}"


def amount_words(saved: Saving, needed: NeededLaterFacts | None, numbers: NumberFormat) -> str:
    """`$3.70, net ~$1.37`, or a share of the tokens where there is no price; net only where something was needed.

    Args:
        saved: What a plan saves.
        needed: What of it was needed later; None where that was not looked for.
        numbers: How numbers are written.
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
    """All of it.

    `12 later calls needed cut text, ~$0.15 each to get back: saves $12.41, net ~$8.36; 83 such calls cancel the saving`

    Args:
        calls: Calls that needed text a plan had cut.
        cost_each: Dollars of getting it back, a call.
        saving: Dollars saved if nothing was fetched again, and after recoveries.
        break_even: How many recoveries cost as much as is saved.
        numbers: How numbers are written.
    """
    said = needed_words(calls, numbers)
    if not calls:
        return said
    each, saves = each_words(cost_each, numbers), saved_words(*saving, numbers)
    said += f", {each} to get back" if each else ""
    said += f": {saves}" if saves else ""
    if not break_even:
        return said
    cancel = "cancels" if break_even == 1 else "cancel"
    return f"{said}; {numbers.plural(break_even, 'such call')} {cancel} the saving"
