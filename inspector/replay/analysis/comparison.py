"""Compare many plans on one session: the rows of the table.

Compare plans on a session at the recorded models and at another model's prices.

A plan sends the same prompts at both, so its edits, risks and expected re-fetches are the same; only prices differ. The
cheaper a cache read is, the longer an edit of cached text takes to pay back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.hazards import drops_text, hazards_of, kinds_left_out
from inspector.replay.analysis.plan_outcome import break_even_call, savings_of
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.engine.inputs import as_other_model
from inspector.replay.engine.replay import replay
from inspector.replay.figure import Figure, HowKnown
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES, FailedPlugInError, strategy_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.replay.analysis.best_plan import SavingPlan
    from inspector.replay.analysis.hazards import Hazard
    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.ledger import Figures
    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.rates import Rates
    from inspector.session.model import BlockKind, Session


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """One plan's results on a session.

    Attributes:
        plan: The plan.
        figures: Totals over all calls.
        savings: Savings compared with the session with nothing cut.
        break_even_call: First call, counted from 1, after which its cumulative cost stays lower; None if there is none.
        first_firing: Index of the first call it changes something at; the number of recorded calls for the next one,
            None if it changes nothing.
        edits: Number of rendition changes over all calls.
        hazards: Its hazards, including a strategy that never applies.
        drops_text: True if it removes or replaces user or assistant text.
        left_out: The kinds of blocks it removes or replaces.
    """

    plan: Plan
    figures: Figures
    savings: Savings
    break_even_call: int | None
    first_firing: int | None
    edits: int
    hazards: tuple[Hazard, ...]
    drops_text: bool = False
    left_out: tuple[BlockKind, ...] = ()


def plans_to_compare(session: Session) -> tuple[Plan, ...]:
    """Return every strategy as a single plan, with defaults for the session, and the presets that combine several."""
    alone = tuple(_alone(session))
    known = {plan.strategies for plan in alone} | {()}
    presets = (preset.plan(session) for preset in PRESETS.values())
    return (*alone, *(plan for plan in presets if plan.strategies not in known and plan.name not in STRATEGIES))


def _alone(session: Session) -> Iterator[Plan]:
    for name in STRATEGIES:
        with suppress(FailedPlugInError):  # listed by `inspector strategies`
            yield Plan.of(strategy_for(name, session), name=name)


def replays_of(inputs: ReplayInputs, plans: Iterable[Plan]) -> Iterator[Replay]:
    """Replay a session under each plan, leaving out those of plug-ins that fail."""
    for plan in plans:
        with suppress(FailedPlugInError):
            yield replay(inputs, plan)


def compare(inputs: ReplayInputs, plans: Iterable[Plan], baseline: Replay | None = None) -> Iterator[ComparedPlan]:
    """Replay a session under each plan and yield each result immediately.

    Args:
        inputs: The session.
        plans: Plans to replay.
        baseline: The session with nothing cut, if already replayed.
    """
    baseline = baseline or replay(inputs, Plan())
    for planned in replays_of(inputs, plans):
        yield compared(baseline, planned)


def compared(baseline: Replay, planned: Replay) -> ComparedPlan:
    """Summarize a replay compared with the session with nothing cut."""
    return ComparedPlan(
        plan=planned.plan,
        figures=planned.figures,
        savings=savings_of(baseline.figures, planned.figures),
        break_even_call=break_even_call(baseline.ledger, planned.ledger),
        first_firing=first_firing(planned),
        edits=int(planned.ledger.edits.sum()),
        hazards=hazards_of(planned),
        drops_text=drops_text(planned),
        left_out=kinds_left_out(planned),
    )


def first_firing(planned: Replay) -> int | None:
    """Return the first call a plan changes something at; see `ComparedPlan.first_firing`."""
    calls = planned.edits.call[planned.edits.by_plan]
    return int(calls.min()) if len(calls) else None


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
