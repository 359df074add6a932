"""Collect the figures that the explain key explains on the main screen, depending on the focused pane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.cache_spread import CacheSpread
from inspector.replay.analysis.compaction_effect import calls_around
from inspector.replay.analysis.forecast import project_runs
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.result_sizes import results_by_difference
from inspector.replay.engine.replay import replay
from inspector.replay.explain.parts import (
    block_explanation,
    breakdown_explanation,
    counted_explanation,
    prompt_explanation,
    resent_explanation,
)
from inspector.replay.explain.plan import outcome_explanations
from inspector.replay.explain.totals import overhead_explanation, replay_explanations
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.ui.explain.dialog import Explained
from inspector.ui.outcome import Outcome
from inspector.ui.part_names import BOUNDARY, CHART, PLAN, TIMELINE
from inspector.ui.timeline.tokens import LOCAL_ESTIMATE

if TYPE_CHECKING:
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.projection_terms import RunsPerDay
    from inspector.strategies.plan import Plan

_COST_NAMES: Final = {
    "cost_usd": "cost with the plan",
    "saved_usd": "saved",
    "saved_share": "saved, of the cost",
    "saved_tokens": "saved tokens",
    "break_usd": "cost of changes",
    "break_even_call": "breaks even at call",
    "usd_per_day": "saved per day",
    "usd_per_month": "saved per month",
    "breaks": "prompts changed by the plan",
    "prompt_tokens": "prompt tokens",
    "peak_prompt_tokens": "largest prompt",
    "cache_read_share": "cache reads, share of prompts",
}


def explained_focus(
    outcome: Outcome, focus: tuple[str, int], terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[tuple[Explained, ...], int]:
    """Return the explained figures of a pane and the index of the first one to show.

    Args:
        outcome: The outcome on the screen.
        focus: The pane, see `inspector.ui.part_names`, and the block under the cursor: the first one after a boundary,
            -1 for none. A block that was not replayed yet counts as none.
        terms: Assumptions.
        runs_per_day: Number of such sessions per day.
        search: Finds where the session reused content of its tool results.
    """
    part, block = focus
    if part == TIMELINE and 0 <= block < len(outcome.state.sent):
        return _of_block(outcome, block), 0
    if part == BOUNDARY:
        return _of_boundary(outcome, block), 0
    if part == CHART:
        return _of_prompts(outcome), 0
    if part == PLAN:
        return _of_plan(outcome) or _of_costs(outcome, terms, runs_per_day, search), 0
    return _of_costs(outcome, terms, runs_per_day, search), 0


def explained_plan(
    outcome: Outcome, plan: Plan, terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[Explained, ...]:
    """Return the explained costs of another plan on the same session.

    Args:
        outcome: The outcome on the main screen.
        plan: The plan; strategies that are off are ignored.
        terms: Assumptions.
        runs_per_day: Number of such sessions per day.
        search: Finds where the session reused content of its tool results.
    """
    baseline = outcome.baseline
    planned = replay(outcome.inputs, plan) if plan.strategies else baseline
    state = planned.state(outcome.inputs.history.call_count)
    there = Outcome(plan, baseline, planned, plan_outcome(baseline, planned), None, state, outcome.terms)
    return _of_costs(there, terms, runs_per_day, search)


def _of_block(outcome: Outcome, block: int) -> tuple[Explained, ...]:
    replay, state = outcome.replay, outcome.state
    differences = results_by_difference(outcome.inputs)
    tallies = Breakdown(outcome.baseline, replay)
    is_fitted = outcome.inputs.scale.known is HowKnown.CALIBRATED
    scale = "calibrated to reported usage" if is_fitted else "scaled to the model"
    return (
        Explained(f"tokens of this row, {LOCAL_ESTIMATE}", counted_explanation(replay, state, block)),
        Explained(f"  in the prompt, {scale}", block_explanation(replay, state, block, differences)),
        Explained("cost of resending it", resent_explanation(tallies.block(block), replay, differences)),
        *_of_prompts(outcome),
    )


def _of_boundary(outcome: Outcome, block: int) -> tuple[Explained, ...]:
    around = calls_around(outcome.inputs.history, block)
    if around is None:
        return _of_prompts(outcome)
    prompts = zip(("before", "after"), around, strict=True)
    parts = [
        Explained(f"prompt {when} it, call {call + 1:,}", prompt_explanation(outcome.replay, call))
        for when, call in prompts
    ]
    return (*parts, _of_overhead(outcome))


def _of_prompts(outcome: Outcome) -> tuple[Explained, ...]:
    call, count = outcome.state.call, outcome.inputs.history.call_count
    name = "the next prompt" if call >= count else f"the prompt of call {call + 1:,}"
    found = [Explained(name, prompt_explanation(outcome.replay, call))]
    if outcome.replay is not outcome.baseline and call < count:
        found.append(Explained("  without the plan", prompt_explanation(outcome.baseline, call)))
    return (*found, _of_overhead(outcome))


def _of_overhead(outcome: Outcome) -> Explained:
    return Explained("system prompt and tools, calibrated over all calls", overhead_explanation(outcome.inputs))


def _of_plan(outcome: Outcome) -> tuple[Explained, ...]:
    if outcome.replay is outcome.baseline:
        return ()
    entries = outcome.replay.plan.entries
    return tuple(
        Explained(f"{entries[entry].strategy.name} {group}".rstrip(), breakdown_explanation(row, outcome.replay))
        for (entry, group), row in Breakdown(outcome.baseline, outcome.replay).by_tier().items()
    )


def _of_costs(
    outcome: Outcome, terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[Explained, ...]:
    recorded = replay_explanations(outcome.baseline)["cost_usd"]
    if outcome.replay is outcome.baseline:
        return (Explained("cost", recorded), *_of_prompts(outcome))
    before = Explained("cost without the plan", recorded)
    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    recovered = recoveries(outcome.baseline, outcome.replay, search.run_to_the_end())
    spread = CacheSpread.between(outcome.baseline, outcome.replay)
    days, worst = terms.days_per_month, recovered.cost_at_worst
    runs = project_runs(*costs, runs_per_day, days, recovered.cost_at, spread, worst)
    found = outcome_explanations(outcome.baseline, outcome.replay, outcome.totals, runs)
    cost = found["cost_usd"]
    # Rounded as everywhere, so that cost and saving add up.
    found["cost_usd"] = replace(cost, value=ON_SCREEN.cost_with_plan(recorded.value, cost.value))
    return (before, *(Explained(label, found[name]) for name, label in _COST_NAMES.items() if name in found))
