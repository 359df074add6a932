"""Prices of a session and its plans at another model, as data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct, field

from inspector.replay.analysis.recoveries import BEYOND, EvidenceLevel
from inspector.replay.quantity import DOLLAR_DIGITS, Count, How, Known, Unit, about, figure
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT, rounded
from inspector.report.recovery_words import net_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.best_plan import AsModel, PlanAsModel
    from inspector.replay.pricing.rates import Rates
    from inspector.report.recovery_words import NetRange

MOST_LISTED: Final = 5
"""Plans in the text; the JSON has all."""

READ_DIGITS: Final = 4


class PlanAsModelFacts(Struct, frozen=True, kw_only=True):
    """Net saving of a plan at the recorded models and at the other model, including expected re-fetches."""

    name: Annotated[str, about("Name of the plan; empty if it has none.")]
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    pays: Annotated[bool, about("True if it saves at both ends of the range at the other model.")]
    evidence: Annotated[str, about("`tried` if settings like these have been tried in public, otherwise `beyond`.")]
    recorded_at_least_usd: Annotated[
        float | None,
        figure("net as recorded, at worst", Unit.DOLLARS, "Net saving at the recorded models, lower end.", saves=True),
    ]
    recorded_at_most_usd: Annotated[
        float | None,
        figure("net as recorded, at best", Unit.DOLLARS, "Net saving at the recorded models, upper end.", saves=True),
    ]
    saved_at_least_usd: Annotated[
        float | None,
        figure(
            "net at the other model, at worst", Unit.DOLLARS, "Net saving at the other model, lower end.", saves=True
        ),
    ]
    saved_at_most_usd: Annotated[
        float | None,
        figure(
            "net at the other model, at best", Unit.DOLLARS, "Net saving at the other model, upper end.", saves=True
        ),
    ]
    known: Known

    @property
    def recorded(self) -> NetRange:
        return self.recorded_at_least_usd, self.recorded_at_most_usd

    @property
    def other(self) -> NetRange:
        return self.saved_at_least_usd, self.saved_at_most_usd


class AsModelFacts(Struct, frozen=True, kw_only=True):
    """The session priced as if another model had answered every call, with unchanged prompts, at today's rates."""

    model: Annotated[str, about("The other model.")]
    input_usd: Annotated[float, about("Dollars per million input tokens, for short prompts.")]
    output_usd: Annotated[float, about("Dollars per million response tokens, for short prompts.")]
    cache_read_share: Annotated[float | None, about("Price of cache reads as a share of input; null if input is free.")]
    dearer_above: Annotated[list[Count], about("Prompt lengths above which the whole request costs more.")]
    recorded_usd: Annotated[float | None, figure("cost as recorded", Unit.DOLLARS, "Cost at the recorded models.")]
    usd: Annotated[float | None, figure("cost at the other model", Unit.DOLLARS, "Projected cost at the other model.")]
    window: Annotated[int | None, about("Context window of the other model in tokens; null if unknown.")]
    beyond_window: Annotated[Count, figure("prompts beyond its window", Unit.CALLS, "Prompts that exceed it.")]
    plans: Annotated[list[PlanAsModelFacts], about("The given plans, otherwise the recommended ones.")]
    best: Annotated[
        PlanAsModelFacts | None, about("The best plan at the other model; null if none is worthwhile, or not searched.")
    ] = None
    is_searched: Annotated[bool, about("True if every plan was tried at the other model.")] = False
    known: Known = field(default_factory=dict)


def as_model_facts(found: AsModel) -> AsModelFacts:
    rates = found.rates
    known: dict[str, How] = {"recorded_usd": found.recorded_usd.known.value, "usd": "projected"}
    return AsModelFacts(
        model=found.model,
        input_usd=rates.input,
        output_usd=rates.output,
        cache_read_share=_read_share(rates),
        dearer_above=[row.above for row in rates.tiers],
        recorded_usd=rounded(found.recorded_usd.value, DOLLAR_DIGITS),
        usd=rounded(found.usd.value, DOLLAR_DIGITS),
        window=found.window,
        beyond_window=int(found.beyond_window.value or 0),
        plans=[_plan_facts(each) for each in found.plans],
        best=None if found.best is None else _plan_facts(found.best),
        is_searched=found.is_searched,
        known={**known, "beyond_window": "projected"},
    )


def _plan_facts(found: PlanAsModel) -> PlanAsModelFacts:
    figures = {
        "recorded_at_least_usd": found.recorded.net[0],
        "recorded_at_most_usd": found.recorded.net[1],
        "saved_at_least_usd": found.other.net[0],
        "saved_at_most_usd": found.other.net[1],
    }
    return PlanAsModelFacts(
        name=found.plan.name,
        strategies=found.plan.to_specs(),
        pays=_is_sure(found.other.net),
        evidence=found.recorded.envelope.evidence.value,
        **{name: rounded(value, DOLLAR_DIGITS) for name, value in figures.items()},
        known={name: "projected" for name, value in figures.items() if value is not None},
    )


def as_model_rows(found: AsModelFacts) -> list[tuple[str, str]]:
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


def plans_words(found: AsModelFacts) -> str:
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


def _cost_words(found: AsModelFacts) -> str:
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
    return _rates_words(rates.input, rates.output, _read_share(rates), [row.above for row in rates.tiers])


def _rates_words(given: float, output: float, read_share: float | None, dearer_above: Sequence[int]) -> str:
    words = [f"${given:g} in", f"${output:g} out"]
    words += [] if read_share is None else [f"cache reads {read_share:g} x"]
    return ", ".join((*words, *(f"more for requests over {IN_TEXT.short(above)}" for above in dearer_above)))


def _read_share(rates: Rates) -> float | None:
    return round(rates.cache_read / rates.input, READ_DIGITS) if rates.input else None


def _tried(found: AsModelFacts) -> list[PlanAsModelFacts]:
    """Return the plans with settings tried in public, highest net saving at the other model first."""
    tried = [each for each in found.plans if each.evidence == EvidenceLevel.TRIED]
    return sorted(tried, key=lambda each: -(each.saved_at_least_usd or 0.0))


def _plan_words(each: PlanAsModelFacts) -> str:
    """Return `newest-ten still pays: net $0.41 to $0.62, as recorded net $1.22 to $1.62`."""
    name = plain(each.name or " + ".join(each.strategies))
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
