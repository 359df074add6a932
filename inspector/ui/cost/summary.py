"""Figures of the cost bar: cost and savings of a plan, each with its confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.figure import Figure
from inspector.report.monthly_saving import runs_that_do_not_fit
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line

if TYPE_CHECKING:
    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.figure import Band
    from inspector.replay.projection_terms import RunsPerDay
    from inspector.session.model import Session
    from inspector.ui.outcome import Outcome


HOW_TO_PRICE = "z m prices it as another model"


def billed_before(copied: int, calls: int) -> str:
    """Describe calls that were billed in the session they were copied from; empty if none.

    Args:
        copied: Number of copied calls.
        calls: Number of calls in the session.
    """
    of_all = "" if copied == calls else f"{ON_SCREEN.plural(copied, 'call')} "
    return f"{of_all}billed in an earlier session" if copied else ""


def priced_as_words(model: str, recorded: Figure) -> str:
    """Return `as claude-opus-5-5, $9.51 as recorded`.

    Args:
        model: Model that prices every call.
        recorded: Cost at the recorded models.
    """
    if recorded.value is None:
        return f"as {one_line(model)}"
    return f"as {one_line(model)}, {ON_SCREEN.qualified(ON_SCREEN.dollars(recorded.value), recorded.known)} as recorded"


@dataclass(frozen=True, slots=True)
class CostUntil:
    """Costs up to and including a call.

    Attributes:
        call: Number of the call, counted from 1.
        recorded: Recorded cost, dollars.
        planned: Cost under the plan, dollars.
        saved: Saving of the plan up to the call, dollars; negative if it cost more.
    """

    call: int
    recorded: Figure
    planned: Figure
    saved: Figure


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One session under one plan.

    Attributes:
        recorded: Recorded cost of the session, dollars.
        planned: Cost under the plan, dollars.
        saved: Saving of the plan, dollars; negative if it costs more.
        saved_share: Saving as a share of `recorded`; None if that is zero or unknown.
        saved_tokens: Prompt tokens not sent over all calls; negative if more are sent.
        rebuilds: Cost of cache rewrites caused by the plan, dollars; None without a price.
        pays_off: Number of the first call after which the plan is cheaper in total; None if there is none.
        runs: Runs per day.
        per_day: Net saving per day with its range, dollars; None without a price.
        per_month: Net saving per month with its range, dollars.
        is_at_most: True if `per_day` and `per_month` assume that no cut text is recovered, because that cost is not
            computed yet.
        breaks: Number of cache misses caused by the plan.
        first_change: First call the plan changed; -1 if none.
        is_idle: True if the plan changes nothing.
        is_on: True if a strategy of the plan is on.
        copied: Text about calls billed in an earlier session; empty if none.
        advice: Advice about a model without a price; empty if it has one. May hold session text.
        until: Costs up to the selected call; None at the present.
        recoveries: Cut text that was needed later, priced; None until computed.
        priced_as: Model that prices every call although others answered; empty for the recorded models.
        as_recorded: Cost at the recorded models, dollars; None if these price the calls.
        runs_question: Question about runs that do not fit into a day; empty if they fit.
    """

    recorded: Figure
    planned: Figure
    saved: Figure
    saved_share: float | None
    saved_tokens: Figure
    rewrite_usd: float | None
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
    runs_question: str = ""
    priced_as: str = ""
    as_recorded: Figure | None = None


def summarize(
    outcome: Outcome,
    runs: RunsPerDay,
    projection: RunProjection | None = None,
    terms: Assumptions | None = None,
    call: int | None = None,
    recoveries: Recoveries | None = None,
) -> CostSummary:
    """Summarize a plan's figures next to the recorded ones.

    Args:
        outcome: Replay of the plan.
        runs: Number of such sessions per day.
        projection: Range of the saving over many runs, if already computed.
        terms: Assumptions, for the days per month.
        call: The selected call; None for the next one, not yet made.
        recoveries: Cut text that was needed later, priced; None until computed.
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
        recorded=before.cost_usd,
        planned=totals.figures.cost_usd,
        saved=savings.usd,
        saved_share=savings.share.value if dollars is not None else None,
        saved_tokens=savings.tokens,
        rewrite_usd=totals.break_usd.value,
        pays_off=None if pays_off is None else int(pays_off),
        runs=runs,
        per_day=per_day,
        per_month=None if per_day is None else per_day.times((terms or Assumptions()).days_per_month),
        is_at_most=projection is None or projection.recovered is None,
        breaks=int(totals.breaks.value or 0),
        first_change=-1 if first_change is None else first_change,
        is_idle=first_change is None,
        is_on=bool(outcome.plan.strategies),
        priced_as=inputs.other_model,
        as_recorded=outcome.as_recorded,
        copied=billed_before(session.copied_calls, len(session.calls)),
        until=_until(outcome, call),
        recoveries=recoveries,
        runs_question=runs_that_do_not_fit(runs, _hours(session)),
        advice="" if before.cost_usd.value is not None else _advice(inputs.pricing.lacking(models)),
    )


def _hours(session: Session) -> float:
    """Return the hours from the first call to the last; 0.0 if no times were recorded."""
    times = [call.time for call in session.calls if call.time is not None]
    return (max(times) - min(times)) / 3600 if times else 0.0


def _until(outcome: Outcome, call: int | None) -> CostUntil | None:
    """Return the costs up to and including a call; None at the present or if a price is missing."""
    from math import isnan

    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    if call is None or call >= len(costs[0]):
        return None
    recorded, planned = (float(each[: call + 1].sum()) for each in costs)
    if isnan(recorded) or isnan(planned):
        return None
    figures = outcome.baseline.figures.cost_usd, outcome.totals.figures.cost_usd, outcome.totals.savings.usd
    amounts = (
        Figure(value, figure.known, figure.is_lower_bound)
        for value, figure in zip((recorded, planned, recorded - planned), figures, strict=True)
    )
    return CostUntil(call + 1, *amounts)


def _advice(reason: str) -> str:
    """Word the advice for a model without a price for the app, which has no command line options."""
    return f"{reason} · {HOW_TO_PRICE}" if reason else ""
