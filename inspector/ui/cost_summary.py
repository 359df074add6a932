"""What a plan costs and saves, as the cost bar shows it: figures, each with how it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.replay.ledger import Figure
    from inspector.replay.projection import RunProjection
    from inspector.replay.replay import Replay


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and how it is known.

    Attributes:
        value: None where it cannot be known.
        known: `exact`, `calibrated`, `estimated` or `projected`.
    """

    value: float | None
    known: str


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One session under one plan.

    Attributes:
        recorded: Dollars of the session as it was recorded.
        planned: Dollars under the plan.
        saved: Dollars the plan saves; negative where it costs more.
        saved_share: The same as a share of `recorded`, None where that is nothing or unknown.
        saved_tokens: Prompt tokens not sent, over all calls; negative where more are.
        rebuilds: Dollars of writing to the cache again what the plan's own changes put out of it; None where unknown.
        pays_off: The number of the call from which on the plan has cost less in all, None where it never does.
        runs: Runs a day.
        per_day: Dollars saved a day.
        per_month: Dollars saved a month.
        plus_minus: How far the projection may be off as a share, 0.12 for ±12 %; None while unknown.
        breaks: Calls at which the plan broke the cache.
        first_change: The first call the plan changed, -1 when none.
        is_idle: The plan changes nothing.
        advice: What to do about a model without a price; empty where there is one. May hold session text.
    """

    recorded: Amount
    planned: Amount
    saved: Amount
    saved_share: float | None
    saved_tokens: Amount
    rebuilds: float | None
    pays_off: int | None
    runs: float
    per_day: Amount
    per_month: Amount
    plus_minus: float | None
    breaks: int = 0
    first_change: int = -1
    is_idle: bool = False
    advice: str = ""


def summarise(baseline: Replay, replay: Replay, runs: float, projection: RunProjection | None = None) -> CostSummary:
    """The figures of a plan beside those of the session as it was.

    Args:
        baseline: The session with nothing cut.
        replay: The session under the plan.
        runs: Such sessions a day.
        projection: How far the saving over many runs may be off, where that is known already.
    """
    from math import isnan

    from inspector.replay.comparison import compared
    from inspector.replay.projection import DAYS_PER_MONTH

    before, after = baseline.figures, replay.figures
    found = compared(baseline, replay)
    dollars = found.savings.usd.value
    per_day = None if dollars is None else dollars * runs
    plus_minus = projection.per_run.saving.plus_minus if projection is not None else None
    calls = replay.history.session.calls
    return CostSummary(
        recorded=_amount(before.cost_usd),
        planned=_amount(after.cost_usd),
        saved=_amount(found.savings.usd),
        saved_share=found.savings.share.value if dollars is not None else None,
        saved_tokens=_amount(found.savings.tokens),
        rebuilds=rebuild_cost(baseline, replay),
        pays_off=found.break_even_call,
        runs=runs,
        per_day=Amount(per_day, "projected"),
        per_month=Amount(None if per_day is None else per_day * DAYS_PER_MONTH, "projected"),
        plus_minus=None if plus_minus is None or isnan(plus_minus) else plus_minus,
        breaks=int((replay.ledger.is_break & ~baseline.ledger.is_break).sum()),
        first_change=-1 if found.first_firing is None else found.first_firing,
        is_idle=found.first_firing is None,
        advice="" if before.cost_usd.value is not None else replay.inputs.pricing.advice(call.model for call in calls),
    )


def rebuild_cost(baseline: Replay, replay: Replay) -> float | None:
    """Dollars of what the plan pays for tokens the recorded session read from its cache, and the plan's prompts do not.

    At a call the plan breaks, tokens behind the change are written again (or sent uncached) though they were sent
    before: the difference between that and reading them is the price of the change.
    """
    import numpy as np

    before, after = baseline.ledger, replay.ledger
    broken = after.is_break & ~before.is_break
    kinds = ("uncached", "cache_write_5m", "cache_write_1h")
    more = [np.where(broken, np.maximum(getattr(after, kind) - getattr(before, kind), 0), 0) for kind in kinds]
    nothing = np.zeros_like(more[0])
    rates = replay.inputs.rates
    written = rates.cost(more[0], nothing, more[1], more[2], nothing)
    read = rates.cost(nothing, more[0] + more[1] + more[2], nothing, nothing, nothing)
    cost = float((written - read).sum())
    return None if np.isnan(cost) else cost


def _amount(figure: Figure) -> Amount:
    return Amount(figure.value, figure.known.value)
