"""Everything that is known of what a session costs under a plan, and how each figure is calculated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.cache_spread import CacheSpread
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.compaction_totals import compaction_totals
from inspector.replay.analysis.forecast import project_runs, project_session
from inspector.replay.analysis.model_costs import model_costs
from inspector.replay.analysis.plan_outcome import cache_read_share
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.result_sizes import results_by_difference
from inspector.replay.analysis.side_calls import side_spending
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
    altogether_explanation,
    cost_part_explanations,
    model_cost_explanation,
    overhead_explanation,
    replay_explanations,
    side_explanation,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.compaction_totals import CompactionTotals
    from inspector.replay.analysis.forecast import NextCallsProjection, RunProjection
    from inspector.replay.analysis.model_costs import ModelCost
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.analysis.side_calls import SideSpending
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.replay.explain.explanation import Explanation
    from inspector.replay.projection_terms import RunsPerDay

HEAVIEST = 200
"""So many of the tool results that cost most are listed."""

OVERHEAD, CACHE_READ_SHARE = "overhead", "cache_read_share"

ALTOGETHER = "altogether"
"""The key of the cost with that of the requests beside the conversation."""

NET = "saved_at_least_usd"
"""The key of what the plan saves after recoveries; there where it needs any."""


@dataclass(frozen=True, eq=False)
class CostSheet:
    """The figures of a plan, in parts, each explained.

    Attributes:
        baseline: The session with nothing cut.
        planned: The session under the plan.
        outcome: The plan's totals.
        kinds: What every tool's results and every other kind of block take up of the prompts, most first.
        tiers: What every part of every strategy did, and what its blocks take up; None where it changed none.
        models: What each model's calls cost with nothing cut and under the plan; nothing where there is one model.
        beside: What requests cost that are not the conversation's, by purpose; nothing where there are none.
        results: The tool results that cost most to resend.
        compactions: What would have become of recorded compactions.
        compacted: What recorded compactions came to together, whatever the plan; None where there are none.
        runs: The saving over many runs; None without a price.
        next_calls: The session going on; None without a price, or where no call grew from another.
        terms: On which assumptions.
        runs_per_day: Such sessions a day.
        explained: By a key: a total's name, `("kind", place)`, `("tier", place)`, `("result", block)`,
            `("compaction", index)`, `("next", "calls")`, `("beside", purpose)`; totals of the session with nothing cut
            by `("before", name)`.
    """

    baseline: Replay
    planned: Replay
    outcome: PlanOutcome
    kinds: tuple[BreakdownRow, ...]
    tiers: tuple[tuple[GroupEffect, BreakdownRow | None], ...]
    models: tuple[tuple[ModelCost, ...], tuple[ModelCost, ...]]
    beside: tuple[SideSpending, ...]
    results: tuple[ResentBlock, ...]
    compactions: tuple[CompactionForecast, ...]
    compacted: CompactionTotals | None
    runs: RunProjection | None
    next_calls: NextCallsProjection | None
    terms: Assumptions
    runs_per_day: RunsPerDay
    explained: Mapping[Hashable, Explanation]

    @property
    def is_recorded(self) -> bool:
        """No strategy is on, so that all there is to say is of the session as it was recorded."""
        return self.planned is self.baseline


def cost_sheet(
    baseline: Replay,
    planned: Replay,
    outcome: PlanOutcome,
    terms: Assumptions,
    runs_per_day: RunsPerDay,
    uses: ReuseEvidence | None = None,
) -> CostSheet:
    """Work all of it out. Takes longer than a frame: compactions are replayed as if they had not happened.

    Args:
        baseline: The session with nothing cut.
        planned: The session under the plan.
        outcome: The plan's totals.
        terms: How many calls more, and how many days a month, are projected.
        runs_per_day: Such sessions a day.
        uses: Where the session used what its tool results said; None where that is not known.
    """
    breakdown = Breakdown(baseline, planned)
    by_tier = breakdown.by_tier()
    kinds = breakdown.by_kind()
    tiers = tuple((group, by_tier.get((group.entry, group.group))) for group in planned.groups if group.results)
    results = breakdown.heaviest(HEAVIEST)
    compactions = tuple(compaction_forecasts(planned))
    recovery_cost = None if uses is None else recoveries(baseline, planned, uses).cost_at
    spread = CacheSpread.between(baseline, planned)
    costs = baseline.ledger.cost, planned.ledger.cost
    runs = project_runs(*costs, runs_per_day, terms.days_per_month, recovery_cost, spread)
    next_calls = project_session(baseline, planned, terms.next_calls, recovery_cost)
    models = tuple(found if len(found) > 1 else () for found in map(model_costs, (baseline, planned)))
    differences = results_by_difference(planned.inputs)
    beside = side_spending(baseline.inputs.history.session, baseline.inputs.pricing)
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
        **{("result", row.block): resent_explanation(row, planned, differences) for row in results},
        **{("compaction", each.compaction): compaction_explanation(each) for each in compactions},
    }
    if planned is baseline and runs is not None:
        explained.update(recorded_cost_explanations(runs))
    elif runs is not None and runs.recovered:
        explained[NET] = net_saving_explanation(runs)
    if beside:
        explained.update({("beside", each.purpose): side_explanation(each, baseline) for each in beside})
        explained[ALTOGETHER] = altogether_explanation(planned, beside)
        explained["before", ALTOGETHER] = altogether_explanation(baseline, beside)
    if next_calls is not None:
        explained["next", "calls"] = next_calls_explanation(next_calls, planned.inputs.window)
    return CostSheet(
        baseline=baseline,
        planned=planned,
        outcome=outcome,
        kinds=kinds,
        tiers=tiers,
        models=(models[0], models[1]),
        beside=beside,
        results=results,
        compactions=compactions,
        compacted=compaction_totals(baseline),
        runs=runs,
        next_calls=next_calls,
        terms=terms,
        runs_per_day=runs_per_day,
        explained=explained,
    )
