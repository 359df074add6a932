"""What a plan costs and saves, as the cost bar shows it: figures, each with how it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.figure import Band, Figure
    from inspector.replay.projection_terms import RunsPerDay
    from inspector.ui.outcome import Outcome


HOW_TO_PRICE = "$ g a prices it as another model"


def billed_before(copied: int, calls: int) -> str:
    """That calls were billed in the session they were copied from; empty where none was.

    Args:
        copied: How many.
        calls: How many the session has.
    """
    of_all = "" if copied == calls else f"{ON_SCREEN.plural(copied, 'call')} "
    return f"{of_all}billed in an earlier session" if copied else ""


@dataclass(frozen=True, slots=True)
class KnownNumber:
    """A number and how it is known.

    Attributes:
        value: None where it cannot be known.
        known: `exact`, `calibrated`, `estimated` or `projected`.
        is_least: It is more than that: nothing tells the rest.
    """

    value: float | None
    known: str
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class CostUntil:
    """What a session had cost at a call, that call included.

    Attributes:
        call: The number of the call, counted from 1.
        recorded: Dollars as it was recorded.
        planned: Dollars under the plan.
        saved: Dollars the plan had saved by then; negative where it had cost more.
    """

    call: int
    recorded: KnownNumber
    planned: KnownNumber
    saved: KnownNumber


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One session under one plan.

    Attributes:
        recorded: Dollars of the session as it was recorded.
        planned: Dollars under the plan.
        saved: Dollars the plan saves; negative where it costs more.
        saved_share: The same as a share of `recorded`, None where that is nothing or unknown.
        saved_tokens: Prompt tokens not sent, over all calls; negative where more are.
        rebuilds: What re-caching the prompts that the plan changes costs, dollars; None without a price.
        pays_off: The number of the call from which on the plan has cost less in all, None where it never does.
        runs: Runs a day.
        per_day: Dollars saved a day, net, with how far that may be off; None without a price.
        per_month: The same a month.
        is_at_most: They are what is saved if nothing needed is got back: what that costs is not known yet.
        breaks: Calls that miss the cache because of the plan.
        first_change: The first call the plan changed, -1 when none.
        is_idle: The plan changes nothing.
        is_on: Some strategy of the plan is switched on.
        copied: That calls were billed in an earlier session, in words; empty where none was.
        advice: What to do about a model without a price; empty where there is one. May hold session text.
        until: The same at the call looked at; None at the present.
        recoveries: What it cut that was needed later, priced; None while that is not known.
    """

    recorded: KnownNumber
    planned: KnownNumber
    saved: KnownNumber
    saved_share: float | None
    saved_tokens: KnownNumber
    rebuilds: float | None
    pays_off: int | None
    runs: RunsPerDay
    per_day: Band | None
    per_month: Band | None
    is_at_most: bool = False
    breaks: int = 0
    first_change: int = -1
    is_idle: bool = False
    is_on: bool = False
    copied: str = ""
    advice: str = ""
    until: CostUntil | None = None
    recoveries: Recoveries | None = None


def summarise(
    outcome: Outcome,
    runs: RunsPerDay,
    projection: RunProjection | None = None,
    terms: Assumptions | None = None,
    call: int | None = None,
    recoveries: Recoveries | None = None,
) -> CostSummary:
    """The figures of a plan beside those of the session as it was.

    Args:
        outcome: The plan's replay.
        runs: Such sessions a day.
        projection: How far the saving over many runs may be off, where that is known already.
        terms: How many days a month are projected.
        call: The call looked at; None for the next one, not yet made.
        recoveries: What the plan cut that was needed later, priced; None while that is not known.
    """
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.figure import Band

    before, totals = outcome.baseline.figures, outcome.totals
    savings, first_change = totals.savings, outcome.first_change
    dollars, pays_off = savings.usd.value, totals.break_even_call.value
    per_run = projection.per_run.saving if projection is not None else None
    if per_run is None and dollars is not None:
        per_run = Band(dollars, dollars, dollars)
    per_day = None if per_run is None else per_run.times(runs.number)
    session = outcome.replay.history.session
    models = (call.model for call in session.calls)
    inputs = outcome.inputs
    return CostSummary(
        recorded=_amount(before.cost_usd),
        planned=_amount(totals.figures.cost_usd),
        saved=_amount(savings.usd),
        saved_share=savings.share.value if dollars is not None else None,
        saved_tokens=_amount(savings.tokens),
        rebuilds=totals.break_usd.value,
        pays_off=None if pays_off is None else int(pays_off),
        runs=runs,
        per_day=per_day,
        per_month=None if per_day is None else per_day.times((terms or Assumptions()).days_per_month),
        is_at_most=projection is None or projection.recovered is None,
        breaks=int(totals.breaks.value or 0),
        first_change=-1 if first_change is None else first_change,
        is_idle=first_change is None,
        is_on=bool(outcome.plan.strategies),
        copied=billed_before(session.copied_calls, len(session.calls)),
        until=_until(outcome, call),
        recoveries=recoveries,
        advice="" if before.cost_usd.value is not None else _advice(inputs.pricing.lacking(models)),
    )


def _until(outcome: Outcome, call: int | None) -> CostUntil | None:
    """What every call up to one, that one included, had cost; None at the present, or where a price is missing."""
    from math import isnan

    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    if call is None or call >= len(costs[0]):
        return None
    recorded, planned = (float(each[: call + 1].sum()) for each in costs)
    if isnan(recorded) or isnan(planned):
        return None
    figures = outcome.baseline.figures.cost_usd, outcome.totals.figures.cost_usd, outcome.totals.savings.usd
    amounts = (
        KnownNumber(value, figure.known.value, figure.is_least)
        for value, figure in zip((recorded, planned, recorded - planned), figures, strict=True)
    )
    return CostUntil(call + 1, *amounts)


def _advice(reason: str) -> str:
    """What to do about a model without a price here, where no switch of a command line is at hand."""
    return f"{reason} · {HOW_TO_PRICE}" if reason else ""


def _amount(figure: Figure) -> KnownNumber:
    return KnownNumber(figure.value, figure.known.value, figure.is_least)
