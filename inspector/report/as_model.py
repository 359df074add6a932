"""Prices of a session and its plans at another model, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.recoveries import BEYOND, EvidenceLevel
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT
from inspector.report.recovery_words import NetRange, net_words
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.best_plan import AsModel, PlanAsModel
    from inspector.replay.pricing.rates import Rates

MOST_LISTED: Final = 5
"""Plans in the text; the JSON has all."""


def as_model_rows(found: AsModel) -> list[tuple[str, str]]:
    """Describe the cost at the other model and the plans that pay there: a label, and a sentence per row."""
    rows = [(f"as {plain(found.model)}", f"{_cost_words(found)}; {plans_words(found)}")]
    if len(found.plans) > 1:
        listed = [each for each in _tried(found) if each.pays or _is_sure(each.recorded)]
        rows += [("", _plan_words(each)) for each in listed[:MOST_LISTED]]
    if found.best is not None and all(each.strategies != found.best.strategies for each in found.plans):
        rows.append(("", f"best plan there: {_plan_words(found.best)}"))
    if found.is_searched and found.best is None and found.plans:
        rows.append(("", "no other plan is worth using there"))
    return rows


def plans_words(found: AsModel) -> str:
    """Return one sentence on the plans that pay at the other model, with the net range at both."""
    if len(found.plans) == 1:
        return _plan_words(found.plans[0])
    if not found.plans:
        return "no plan is recommended as recorded" + (" or there" if found.is_searched and found.best is None else "")
    before = [each for each in _tried(found) if _is_sure(each.recorded)]
    if not before:
        return "no tried plan pays as recorded"
    still = sum(each.pays for each in before)
    if len(before) == 1:
        return f"the only tried plan that pays as recorded {'also pays' if still else 'does not pay'} there"
    return f"{still} of {len(before):,} tried plans that pay as recorded also pay there"


def _cost_words(found: AsModel) -> str:
    """Return `~$5.35 instead of $9.51 at today's rates ($4 in, $20 out, cache reads 0.05 x)`."""
    now = IN_TEXT.qualified(IN_TEXT.dollars(found.usd), "projected")
    was = IN_TEXT.qualified(IN_TEXT.dollars(found.recorded_usd), found.known.get("recorded_usd", ""))
    rates = _rates_words(found.input_usd, found.output_usd, found.cache_read_share, found.dearer_above)
    instead = "" if found.recorded_usd is None else f" instead of {was}"
    words = f"{now}{instead} at today's rates ({rates})"
    beyond = beyond_window_words(found.beyond_window, found.window)
    return f"{words}, {beyond}" if beyond else words


def beyond_window_words(prompts: int, window: int | None) -> str:
    """Return `but 3 prompts would not fit its window of 200k`; empty if all fit, or for an unknown window."""
    if not prompts or not window:
        return ""
    return f"but {IN_TEXT.plural(prompts, 'prompt')} would not fit its window of {IN_TEXT.short(window)}"


def rates_words(rates: Rates) -> str:
    """Return `$4 in, $20 out, cache reads 0.05 x` for rates per million tokens."""
    return _rates_words(rates.input, rates.output, rates.read_share, [row.above for row in rates.tiers])


def _rates_words(given: float, output: float, read_share: float | None, dearer_above: Sequence[int]) -> str:
    words = [f"${given:g} in", f"${output:g} out"]
    words += [] if read_share is None else [f"cache reads {read_share:g} x"]
    return ", ".join((*words, *(f"more for requests over {IN_TEXT.short(above)}" for above in dearer_above)))


def _tried(found: AsModel) -> list[PlanAsModel]:
    """Return the plans with settings tried in public, highest net saving at the other model first."""
    tried = [each for each in found.plans if each.evidence == EvidenceLevel.TRIED]
    return sorted(tried, key=lambda each: -(each.saved_at_least_usd or 0.0))


def _plan_words(each: PlanAsModel) -> str:
    """Return `newest ten still pays: net $0.41 to $0.62, as recorded net $1.22 to $1.62`."""
    name = plain(display_name(each.name, each.strategies))
    there, recorded = net_words(each.other, IN_TEXT), net_words(each.recorded, IN_TEXT)
    if not there:
        return f"{name} has no price there"
    if each.pays:
        verdict = "still pays" if _is_sure(each.recorded) else "pays only there" if recorded else "pays there"
    elif (each.saved_at_most_usd or 0.0) > 0:
        verdict = "may not pay there"
    else:
        verdict = "does not pay there"
    beyond = "" if each.evidence == EvidenceLevel.TRIED else f", {BEYOND}"
    return f"{name} {verdict}: {there}{f', as recorded {recorded}' if recorded else ''}{beyond}"


def _is_sure(net: NetRange) -> bool:
    return net[0] is not None and net[0] > 0
