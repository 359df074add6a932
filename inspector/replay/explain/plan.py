"""Explain the figures of a plan's outcome, including the totals of its replay.

Names are those of the report: the fields of `Figures` for the replay's totals, and for the plan's effect
`cache_read_share`, `breaks`, `resent_tokens`, `rebuild_usd`, `break_usd`, `saved_tokens`, `saved_usd`, `saved_share`,
`break_even_call`, `usd_per_day` and `usd_per_month`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.explain.totals import replay_explanations
from inspector.replay.figure import HowKnown

if TYPE_CHECKING:
    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import Band, Figure

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
        **_cache_explanations(planned, outcome),
        **_saving_explanations(baseline, planned, outcome),
        **(_projection_explanations(projection) if projection is not None else {}),
    }


def cache_read_explanation(replay: Replay, share: Figure) -> Explanation:
    """Explain the share of its prompts that a replay reads from the cache."""
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


def _cache_explanations(planned: Replay, outcome: PlanOutcome) -> dict[str, Explanation]:
    resent = Input("tokens rewritten to cache", outcome.resent_tokens.value, "tokens")
    source = "the plan's prompts simulated twice: with and without the cache invalidated by its edits"
    return {
        "cache_read_share": cache_read_explanation(planned, outcome.cache_read_share),
        "breaks": Explanation.of(
            outcome.breaks,
            "calls",
            "calls at which the plan changed text that was already sent",
            (Input("calls", planned.figures.calls.value, "calls"),),
            "each prompt compared with the previous one",
        ),
        "resent_tokens": Explanation.of(
            outcome.resent_tokens,
            "tokens",
            "tokens after the first change in each prompt, sent before and readable from the cache",
            (Input("prompts changed by the plan", outcome.breaks.value, "calls"),),
            source,
        ),
        "rebuild_usd": Explanation.of(
            outcome.rebuild_usd,
            "$",
            "cost of these tokens as cache writes or uncached input",
            (resent,),
            source,
        ),
        "break_usd": Explanation.of(
            outcome.break_usd,
            "$",
            "cost of these tokens as cache writes or uncached input, minus their cost as cache reads",
            (resent, Input("cost of cache rewrites", outcome.rebuild_usd.value, "$")),
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
                Input("of this, cost of changes", outcome.break_usd.value, "$"),
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
