"""All cost figures of a session under a plan, each with its calculation.

Explain the figures of a plan's outcome, including the totals of its replay.

Names are those of the report: the fields of `Figures` for the replay's totals, and for the plan's effect
`cache_read_share`, `breaks`, `resent_tokens`, `rebuild_usd`, `break_usd`, `saved_tokens`, `saved_usd`, `saved_share`,
`break_even_call`, `usd_per_day` and `usd_per_month`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.breakdown import Breakdown, BreakdownRow, ResentBlock, results_by_difference
from inspector.replay.analysis.compaction_forecast import CompactionForecast, compaction_forecasts
from inspector.replay.analysis.compactions import CompactionTotals, compaction_totals
from inspector.replay.analysis.costs import model_costs, recorded_costs, side_spending
from inspector.replay.analysis.forecast import CacheSpread, project_runs, project_session, run_seconds
from inspector.replay.analysis.plan_outcome import CacheEffects, PlanOutcome, cache_read_share
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.explain.explanation import (
    Explanation,
    Input,
    breakdown_explanation,
    compaction_explanation,
    cost_part_explanations,
    cost_with_side_requests_explanation,
    model_cost_explanation,
    next_calls_explanation,
    overhead_explanation,
    replay_explanations,
    resent_explanation,
    side_explanation,
)
from inspector.replay.figure import Band, Figure, HowKnown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from inspector.replay.analysis.costs import ModelCost, RecordedCost, SideSpending
    from inspector.replay.analysis.forecast import NextCallsProjection, RunProjection
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.assumptions import Assumptions, RunsPerDay
    from inspector.replay.engine.replay import GroupEffect, Replay


_COMPARED = "the session replayed with and without the plan"
_DRAWN = (
    "the band covers the 5th to the 95th percentile of a thousand runs resampled from this session's calls; "
    "the upper end of a saving assumes no re-fetches"
)
_NET = "saved on this run, minus the cost of expected re-fetches"


def outcome_explanations(
    baseline: Replay, planned: Replay, outcome: PlanOutcome, projection: RunProjection | None = None
) -> dict[str, Explanation]:
    """Explain every figure of a plan, including the totals of its replay."""
    return {
        **replay_explanations(planned),
        **_cache_explanations(planned, outcome.cache),
        **_saving_explanations(baseline, planned, outcome),
        **(_projection_explanations(projection) if projection is not None else {}),
    }


def cache_read_explanation(replay: Replay, share: Figure) -> Explanation:
    figures = replay.figures
    return Explanation.of(
        share,
        "share",
        "tokens read from the cache, as a share of all prompt tokens",
        (
            Input("cache reads", figures.cache_read_tokens.value, "tokens"),
            Input("prompt tokens", figures.prompt_tokens.value, "tokens"),
        ),
        "the totals of this replay",
    )


def _cache_explanations(planned: Replay, found: CacheEffects) -> dict[str, Explanation]:
    resent = Input("tokens rewritten to cache", found.resent_tokens, "tokens")
    source = "the plan's prompts simulated twice: with and without the cache invalidated by its edits"
    return {
        "cache_read_share": cache_read_explanation(planned, found.figure("cache_read_share")),
        "breaks": Explanation.of(
            found.figure("plan_breaks"),
            "calls",
            "calls at which the plan changed text that was already sent",
            (Input("calls", planned.figures.calls.value, "calls"),),
            "each prompt compared with the previous one",
        ),
        "resent_tokens": Explanation.of(
            found.figure("resent_tokens"),
            "tokens",
            "tokens after the first change in each prompt, sent before and readable from the cache",
            (Input("prompts changed by the plan", found.plan_breaks, "calls"),),
            source,
        ),
        "rebuild_usd": Explanation.of(
            found.figure("rebuild_usd"),
            "$",
            "cost of these tokens as cache writes or uncached input",
            (resent,),
            source,
        ),
        "break_usd": Explanation.of(
            found.figure("break_usd"),
            "$",
            "cost of these tokens as cache writes or uncached input, minus their cost as cache reads",
            (resent, Input("cost of cache rewrites", found.rebuild_usd, "$")),
            source,
        ),
    }


def _saving_explanations(baseline: Replay, planned: Replay, outcome: PlanOutcome) -> dict[str, Explanation]:
    before, after, savings = baseline.figures, planned.figures, outcome.savings
    of_cost = savings.share_of == "cost_usd"
    part, whole, unit = (
        (savings.usd, before.cost_usd, "$") if of_cost else (savings.tokens, before.prompt_tokens, "tokens")
    )
    cumulated = np.cumsum(baseline.ledger.cost - planned.ledger.cost)
    lowest = float(cumulated.min()) if len(cumulated) and not np.isnan(cumulated).any() else None
    return {
        "saved_tokens": Explanation.of(
            savings.tokens,
            "tokens",
            "prompt tokens without the plan minus those with it",
            (
                Input("without", before.prompt_tokens.value, "tokens"),
                Input("with the plan", after.prompt_tokens.value, "tokens"),
            ),
            _COMPARED,
        ),
        "saved_usd": Explanation.of(
            savings.usd,
            "$",
            "cost without the plan minus cost with it; responses cost the same in both",
            (
                Input("without", before.cost_usd.value, "$"),
                Input("with the plan", after.cost_usd.value, "$"),
                Input("of this, cost of changes", outcome.cache.break_usd, "$"),
            ),
            _COMPARED,
        ),
        "saved_share": Explanation.of(
            savings.share,
            "share",
            "saved, as a share of the total without the plan",
            (Input("saved", part.value, unit), Input("without", whole.value, unit)),
            _COMPARED,
        ),
        "break_even_call": Explanation.of(
            outcome.break_even_call,
            "call",
            "the first call from which the cumulative cost stays lower with the plan than without",
            (
                Input("saved at the end", savings.usd.value, "$"),
                Input("lowest cumulative saving", lowest, "$"),
            ),
            "cumulative cost of all calls, with and without the plan",
        ),
    }


def _projection_explanations(projection: RunProjection) -> dict[str, Explanation]:
    day, month = projection.per_day.saving, projection.per_month.saving
    runs = Input(f"runs per day, {projection.runs.origin}", projection.runs.number)
    net = _NET if projection.recovered else "saved on this run"
    saved = _net_inputs(projection)
    return {
        "usd_per_day": _projected(day, f"{net}, times runs per day", (*saved, runs)),
        "usd_per_month": _projected(
            month,
            f"{net}, times runs per day, times days per month",
            (*saved, runs, Input("days per month", projection.days_per_month)),
        ),
    }


def net_saving_explanation(projection: RunProjection) -> Explanation:
    """Explain the plan's savings on this session after expected re-fetches."""
    return Explanation(
        projection.per_run.saving.middle, "$", HowKnown.ESTIMATED, _NET, _net_inputs(projection), _COMPARED
    )


def _net_inputs(projection: RunProjection) -> tuple[Input, ...]:
    recovered = projection.recovered or 0.0
    saved = Input("saved on this run", projection.per_run.saving.middle + recovered, "$")
    return (saved, Input("cost of expected re-fetches", recovered, "$")) if recovered else (saved,)


def recorded_cost_explanations(projection: RunProjection) -> dict[str, Explanation]:
    """Explain the cost of such sessions per day and month without a plan, under the names of the savings."""
    runs = Input(f"runs per day, {projection.runs.origin}", projection.runs.number)
    cost = Input("cost of this run", projection.per_run.baseline.middle, "$")
    return {
        "usd_per_day": _projected(projection.per_day.baseline, "cost of this run, times runs per day", (cost, runs)),
        "usd_per_month": _projected(
            projection.per_month.baseline,
            "cost of this run, times runs per day, times days per month",
            (cost, runs, Input("days per month", projection.days_per_month)),
        ),
    }


def _projected(band: Band, formula: str, inputs: tuple[Input, ...]) -> Explanation:
    return Explanation(band.middle, "$", HowKnown.PROJECTED, formula, inputs, _DRAWN, band)


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
        kinds: Prompt usage of every tool's results and every other kind of block, largest first.
        tiers: Effect of every part of every strategy, and the prompt usage of its blocks; None if it changed none.
        models: Cost of each model's calls with nothing cut and under the plan; empty if there is one model.
        side_requests: Side requests by purpose; empty if there are none.
        recorded_costs: Costs recorded by the agent that differ from the computed ones.
        results: The tool results that cost most to resend, by block.
        compactions: Forecasts of recorded compactions by index.
        compacted: Totals of recorded compactions, independent of the plan; None if there are none.
        runs: Savings over many runs; None without a price.
        next_calls: Projection of the next calls; None without a price, or if no call grew from another.
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
    compactions: Mapping[int, CompactionForecast]
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
    """Compute all figures. Takes longer than a frame, because compactions are replayed as if they had not happened."""
    breakdown = Breakdown(baseline, planned)
    by_tier = breakdown.by_tier()
    kinds = breakdown.by_kind()
    tiers = tuple((group, by_tier.get((group.entry, group.group))) for group in planned.groups if group.results)
    results = breakdown.heaviest(HEAVIEST)
    compactions = dict(compaction_forecasts(planned))
    found = None if uses is None else recoveries(baseline, planned, uses)
    recovery_cost, worst = (None, 0.0) if found is None else (found.cost_at, found.cost_at_worst)
    spread = CacheSpread.between(baseline, planned)
    costs = baseline.ledger.cost, planned.ledger.cost
    seconds = run_seconds(baseline.history.session)
    runs = project_runs(*costs, runs_per_day, terms.days_per_month, recovery_cost, spread, worst, seconds)
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
        **{("compaction", index): compaction_explanation(each) for index, each in compactions.items()},
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


MOST_RESENT = 10
"""Maximum number of tool results listed, most expensive to resend first."""


@dataclass(frozen=True, eq=False)
class Spending:
    """Spending of a session with nothing cut.

    Attributes:
        total: Total dollars; None without a price.
        parts: Dollars of each kind of token, by its name in `COST_PARTS`.
        kinds: Resend cost of every tool's results and every other kind of block, highest first.
        heaviest: The tool results that cost most to resend by block, highest first.
        side_requests: Dollars of side requests by purpose; None for one without a price.
        copied_calls: Calls copied from an earlier session, which was billed for them.
    """

    replay: Replay
    total: Figure
    parts: dict[str, Figure]
    kinds: tuple[BreakdownRow, ...]
    heaviest: dict[int, ResentBlock]
    side_requests: tuple[float | None, ...] = ()
    copied_calls: int = 0

    def share(self, figure: Figure) -> float | None:
        """Return dollars as a share of the whole cost, 0.25 for a quarter; None if unknown."""
        return figure.value / self.total.value if figure.value is not None and self.total.value else None


@dataclass(frozen=True, slots=True)
class LargestPart:
    """The kind of token with the largest share of the cost, and its origin.

    Attributes:
        name: One of `COST_PARTS`.
        share: Share of the cost, 0.25 for a quarter.
        total: The cost in dollars.
        calls: Number of calls.
        sent: Sum of prompt tokens.
        uncached: Tokens neither read from the cache nor written to it, part of `sent`.
    """

    name: str
    share: float
    total: Figure
    calls: int
    sent: float
    uncached: float

    @property
    def prompt(self) -> float:
        """Average prompt tokens per call."""
        return self.sent / self.calls


def largest_part(replay: Replay) -> LargestPart | None:
    """Return the largest part of a replay's cost; None without a price, or if nothing cost anything."""
    total, figures = replay.figures.cost_usd, replay.figures
    costs = {name: each.value or 0.0 for name, each in cost_part_explanations(replay).items()}
    name = max(costs, key=lambda part: costs[part])
    calls = replay.history.call_count
    if not total.value or costs[name] <= 0 or not calls:
        return None
    sent, uncached = (each.value or 0.0 for each in (figures.prompt_tokens, figures.uncached_tokens))
    return LargestPart(name, costs[name] / total.value, total, calls, sent, uncached)


def resent_tokens(replay: Replay) -> int:
    """Return prompt tokens also in the conversation's previous prompt, except after compaction or rewind, summed."""
    prompts, inputs = replay.ledger.prompt_tokens, replay.inputs
    if not len(prompts):
        return 0
    grows = (inputs.previous_call >= 0) & ~inputs.restarts
    return int(np.where(grows, np.minimum(prompts, prompts[inputs.previous_call]), 0).sum())


def spending_of(replay: Replay) -> Spending:
    """Compute the spending of a session."""
    breakdown = Breakdown(replay, replay)
    explained = cost_part_explanations(replay)
    kinds = sorted(breakdown.by_kind(), key=lambda row: -(row.usd or 0.0))
    session = replay.inputs.history.session
    side_requests = side_spending(session, replay.inputs.pricing)
    return Spending(
        replay=replay,
        total=replay.figures.cost_usd,
        parts={name: Figure(each.value, each.known, each.is_lower_bound) for name, each in explained.items()},
        kinds=tuple(kinds),
        heaviest=breakdown.heaviest(MOST_RESENT),
        side_requests=tuple(each.cost_usd for each in side_requests),
        copied_calls=session.copied_calls,
    )
