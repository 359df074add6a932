"""All cost figures of a session under a plan, each with its calculation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.compactions import compaction_totals
from inspector.replay.analysis.costs import model_costs, recorded_costs, side_spending
from inspector.replay.analysis.forecast import CacheSpread, project_runs, project_session
from inspector.replay.analysis.plan_outcome import cache_read_share
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.result_sizes import results_by_difference
from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.explain.parts import (
    breakdown_explanation,
    compaction_explanation,
    next_calls_explanation,
    resent_explanation,
)
from inspector.replay.explain.plan import (
    cache_read_explanation,
    net_saving_explanation,
    outcome_explanations,
    recorded_cost_explanations,
)
from inspector.replay.explain.totals import (
    cost_part_explanations,
    cost_with_side_requests_explanation,
    model_cost_explanation,
    overhead_explanation,
    replay_explanations,
    side_explanation,
)
from inspector.replay.figure import HowKnown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.compactions import CompactionTotals
    from inspector.replay.analysis.costs import ModelCost, RecordedCost, SideSpending
    from inspector.replay.analysis.forecast import NextCallsProjection, RunProjection
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.replay.projection_terms import RunsPerDay

HEAVIEST = 200
"""Maximum number of tool results listed, most expensive first."""

OVERHEAD, CACHE_READ_SHARE = "overhead", "cache_read_share"

WITH_SIDE_REQUESTS = "altogether"
"""Key of the total cost including side requests."""

NET = "saved_at_least_usd"
"""Key of the savings after expected re-fetches; present if there are any."""


@dataclass(frozen=True, eq=False)
class CostSheet:
    """The figures of a plan, in parts, each explained.

    Attributes:
        baseline: The session with nothing cut.
        planned: The session under the plan.
        outcome: The plan's totals.
        kinds: Prompt usage of every tool's results and every other kind of block, largest first.
        tiers: Effect of every part of every strategy, and the prompt usage of its blocks; None if it changed none.
        models: Cost of each model's calls with nothing cut and under the plan; empty if there is one model.
        side_requests: Side requests by purpose; empty if there are none.
        recorded_costs: Costs recorded by the agent that differ from the computed ones.
        results: The tool results that cost most to resend, by block.
        compactions: Forecasts of recorded compactions.
        compacted: Totals of recorded compactions, independent of the plan; None if there are none.
        runs: Savings over many runs; None without a price.
        next_calls: Projection of the next calls; None without a price, or if no call grew from another.
        terms: The assumptions.
        runs_per_day: Runs per day of such a session.
        explained: Explanations by key: a total's name, `("kind", place)`, `("tier", place)`, `("result", block)`,
            `("compaction", index)`, `("next", "calls")`, `("beside", purpose)`; totals of the session with nothing cut
            have the key `("before", name)`.
    """

    baseline: Replay
    planned: Replay
    outcome: PlanOutcome
    kinds: tuple[BreakdownRow, ...]
    tiers: tuple[tuple[GroupEffect, BreakdownRow | None], ...]
    models: tuple[tuple[ModelCost, ...], tuple[ModelCost, ...]]
    side_requests: tuple[SideSpending, ...]
    recorded_costs: tuple[RecordedCost, ...]
    results: Mapping[int, ResentBlock]
    compactions: tuple[CompactionForecast, ...]
    compacted: CompactionTotals | None
    runs: RunProjection | None
    next_calls: NextCallsProjection | None
    terms: Assumptions
    runs_per_day: RunsPerDay
    explained: Mapping[Hashable, Explanation]

    @property
    def is_recorded(self) -> bool:
        """True if no strategy is enabled, so that all figures are of the recorded session."""
        return self.planned is self.baseline


def cost_sheet(
    baseline: Replay,
    planned: Replay,
    outcome: PlanOutcome,
    terms: Assumptions,
    runs_per_day: RunsPerDay,
    uses: ReuseEvidence | None = None,
) -> CostSheet:
    """Compute all figures. Takes longer than a frame, because compactions are replayed as if they had not happened.

    Args:
        baseline: The session with nothing cut.
        planned: The session under the plan.
        outcome: The plan's totals.
        terms: Assumptions, with the number of next calls and of days per month to project.
        runs_per_day: Runs per day of such a session.
        uses: Later uses of tool results; None if unknown.
    """
    breakdown = Breakdown(baseline, planned)
    by_tier = breakdown.by_tier()
    kinds = breakdown.by_kind()
    tiers = tuple((group, by_tier.get((group.entry, group.group))) for group in planned.groups if group.results)
    results = breakdown.heaviest(HEAVIEST)
    compactions = tuple(compaction_forecasts(planned))
    found = None if uses is None else recoveries(baseline, planned, uses)
    recovery_cost, worst = (None, 0.0) if found is None else (found.cost_at, found.cost_at_worst)
    spread = CacheSpread.between(baseline, planned)
    costs = baseline.ledger.cost, planned.ledger.cost
    runs = project_runs(*costs, runs_per_day, terms.days_per_month, recovery_cost, spread, worst)
    next_calls = project_session(baseline, planned, terms.next_calls, recovery_cost)
    models = tuple(found if len(found) > 1 else () for found in map(model_costs, (baseline, planned)))
    differences = results_by_difference(planned.inputs)
    side_requests = side_spending(baseline.inputs.history.session, baseline.inputs.pricing)
    totals = outcome_explanations(baseline, planned, outcome, runs)
    explained: dict[Hashable, Explanation] = {
        **dict(totals.items()),
        **dict(cost_part_explanations(planned).items()),
        **{("model", row.model): model_cost_explanation(row, planned) for row in models[1]},
        **{("before", ("model", row.model)): model_cost_explanation(row, baseline) for row in models[0]},
        **{("before", name): each for name, each in replay_explanations(baseline).items()},
        **{("before", name): each for name, each in cost_part_explanations(baseline).items()},
        ("before", CACHE_READ_SHARE): cache_read_explanation(baseline, cache_read_share(baseline.figures)),
        OVERHEAD: overhead_explanation(planned.inputs),
        **{("kind", place): breakdown_explanation(row, planned) for place, row in enumerate(kinds)},
        **{
            ("tier", place): breakdown_explanation(row, planned)
            for place, (_, row) in enumerate(tiers)
            if row is not None
        },
        **{("result", at): resent_explanation(at, row, planned, differences) for at, row in results.items()},
        **{("compaction", each.compaction): compaction_explanation(each) for each in compactions},
    }
    if planned is baseline and runs is not None:
        explained.update(recorded_cost_explanations(runs))
    elif runs is not None and runs.recovered:
        explained[NET] = net_saving_explanation(runs)
    if side_requests:
        explained.update({("beside", each.purpose): side_explanation(each, baseline) for each in side_requests})
        explained[WITH_SIDE_REQUESTS] = cost_with_side_requests_explanation(planned, side_requests)
        explained["before", WITH_SIDE_REQUESTS] = cost_with_side_requests_explanation(baseline, side_requests)
    differing = tuple(each for each in recorded_costs(baseline) if each.differs)
    for number, each in enumerate(differing):
        known = (Input("known requests at the prices used here", each.computed_usd, "$"),)
        explained["recorded", number] = Explanation(
            each.recorded_usd, "$", HowKnown.EXACT, "as recorded by the agent", known, each.source
        )
    if next_calls is not None:
        explained["next", "calls"] = next_calls_explanation(next_calls, planned.inputs.window)
    return CostSheet(
        baseline=baseline,
        planned=planned,
        outcome=outcome,
        kinds=kinds,
        tiers=tiers,
        models=(models[0], models[1]),
        side_requests=side_requests,
        recorded_costs=differing,
        results=results,
        compactions=compactions,
        compacted=compaction_totals(baseline),
        runs=runs,
        next_calls=next_calls,
        terms=terms,
        runs_per_day=runs_per_day,
        explained=explained,
    )
