"""Compare plans on a session at the recorded models and at another model's prices.

A plan sends the same prompts at both, so its edits, risks and expected re-fetches are the same; only prices differ. The
cheaper a cache read is, the longer an edit of cached text takes to pay back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.engine.inputs import as_other_model
from inspector.replay.engine.replay import replay
from inspector.replay.figure import Figure, HowKnown
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.best_plan import SavingPlan
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.rates import Rates


@dataclass(frozen=True, slots=True)
class PlanAsModel:
    """A plan at both prices.

    Attributes:
        plan: The plan.
        recorded: Its recoveries and net savings at the recorded models.
        other: The same at the other model.
    """

    plan: Plan
    recorded: Recoveries
    other: Recoveries


@dataclass(frozen=True, slots=True)
class AsModel:
    """A session priced as if another model had answered every call.

    Attributes:
        model: The other model.
        rates: Its rates.
        recorded_usd: Cost at the recorded models.
        usd: Cost at the other model.
        plans: The compared plans.
        best: The best plan at the other model; None if none can be recommended there, or if not searched.
        is_searched: True if all plans were tried at the other model.
        window: Its context window in tokens; None if unknown.
        beyond_window: Number of longer prompts.
    """

    model: str
    rates: Rates
    recorded_usd: Figure
    usd: Figure
    plans: tuple[PlanAsModel, ...]
    best: PlanAsModel | None
    is_searched: bool
    window: int | None
    beyond_window: Figure


def priced_baseline(baseline: Replay, model: str) -> Replay | None:
    """Replay a session without a plan at another model's prices; None if the model has no price.

    Args:
        baseline: The session at the recorded models.
        model: Name of the other model.
    """
    inputs = as_other_model(baseline.inputs, model)
    return None if inputs.pricing.rates(model) is None else replay(inputs, Plan())


def as_model(
    baseline: Replay,
    other: Replay,
    plans: Sequence[Plan],
    uses: ReuseEvidence,
    best: SavingPlan | None = None,
    *,
    is_searched: bool = False,
) -> AsModel | None:
    """Compare plans at both prices.

    Args:
        baseline: The session without a plan at the recorded models.
        other: The same at the other model's prices, from `priced_baseline`.
        plans: Plans to compare.
        uses: Later uses of the session's tool results.
        best: The best plan at the other model.
        is_searched: True if all plans were tried there.
    """
    pricing = other.inputs.pricing
    model = pricing.model or ""
    rates = pricing.rates(model)
    if rates is None:
        return None

    def at_both(plan: Plan) -> PlanAsModel:
        recorded, there = (recoveries(without, replay(without.inputs, plan), uses) for without in (baseline, other))
        return PlanAsModel(plan, recorded, there)

    window = pricing.own_window(model) or pricing.listed_window(model)
    beyond = int((other.ledger.prompt_tokens > window).sum()) if window else 0
    return AsModel(
        model=model,
        rates=rates,
        recorded_usd=baseline.figures.cost_usd,
        usd=other.figures.cost_usd,
        plans=tuple(at_both(plan) for plan in dict.fromkeys(plans)),
        best=None if best is None else at_both(best.plan),
        is_searched=is_searched,
        window=window,
        beyond_window=Figure(beyond, HowKnown.PROJECTED),
    )
