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

_COMPARED = "the session replayed with the plan and without"
_DRAWN = (
    "the band is from the 5th to the 95th percentile of a thousand runs put together from stretches of this session's "
    "own calls; of a saving, the upper end is with nothing fetched again"
)
_NET = "what this run saves, less what getting needed text back would cost"


def outcome_explanations(
    baseline: Replay, planned: Replay, outcome: PlanOutcome, projection: RunProjection | None = None
) -> dict[str, Explanation]:
    """Explain every figure of a plan, including those of its replay."""
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
        "tokens read from the cache, of all prompt tokens",
        (
            Input("cache reads", figures.cache_read_tokens.value, "tokens"),
            Input("prompt tokens", figures.prompt_tokens.value, "tokens"),
        ),
        "the totals of this replay",
    )


def _cache_explanations(planned: Replay, outcome: PlanOutcome) -> dict[str, Explanation]:
    resent = Input("tokens re-cached", outcome.resent_tokens.value, "tokens")
    source = "the plan's prompts served twice: as they are, and by a cache that no change reaches"
    return {
        "cache_read_share": cache_read_explanation(planned, outcome.cache_read_share),
        "breaks": Explanation.of(
            outcome.breaks,
            "calls",
            "calls at which the plan changed something that had been sent before",
            (Input("calls", planned.figures.calls.value, "calls"),),
            "the prompts of all calls, compared one with the next",
        ),
        "resent_tokens": Explanation.of(
            outcome.resent_tokens,
            "tokens",
            "what stands behind the first change of each call, was sent before and could have been read",
            (Input("prompts changed by the plan", outcome.breaks.value, "calls"),),
            source,
        ),
        "rebuild_usd": Explanation.of(
            outcome.rebuild_usd,
            "$",
            "what these tokens cost as new ones, as cache writes or uncached input",
            (resent,),
            source,
        ),
        "break_usd": Explanation.of(
            outcome.break_usd,
            "$",
            "what these tokens cost as new ones, less what reading them from the cache would have cost",
            (resent, Input("cost of re-caching", outcome.rebuild_usd.value, "$")),
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
            "prompt tokens without the plan less those with it",
            (
                Input("without", before.prompt_tokens.value, "tokens"),
                Input("with the plan", after.prompt_tokens.value, "tokens"),
            ),
            _COMPARED,
        ),
        "saved_usd": Explanation.of(
            savings.usd,
            "$",
            "cost without the plan less cost with it; responses cost the same in both",
            (
                Input("without", before.cost_usd.value, "$"),
                Input("with the plan", after.cost_usd.value, "$"),
                Input("of which the cost of changes", outcome.break_usd.value, "$"),
            ),
            _COMPARED,
        ),
        "saved_share": Explanation.of(
            savings.share,
            "share",
            "what is saved, of what it is without the plan",
            (Input("saved", part.value, unit), Input("without", whole.value, unit)),
            _COMPARED,
        ),
        "break_even_call": Explanation.of(
            outcome.break_even_call,
            "call",
            "the first call from which on, to the end of the session, less has been spent with the plan than without",
            (
                Input("saved at the end", savings.usd.value, "$"),
                Input("saved at its lowest", lowest, "$"),
            ),
            "the costs of all calls added up, with the plan and without",
        ),
    }


def _projection_explanations(projection: RunProjection) -> dict[str, Explanation]:
    day, month = projection.per_day.saving, projection.per_month.saving
    runs = Input(f"runs a day, {projection.runs.origin}", projection.runs.number)
    net = _NET if projection.recovered else "what this run saves"
    saved = _net_inputs(projection)
    return {
        "usd_per_day": _projected(day, f"{net}, times runs a day", (*saved, runs)),
        "usd_per_month": _projected(
            month,
            f"{net}, times runs a day, times the days of a month",
            (*saved, runs, Input("days a month", projection.days_per_month)),
        ),
    }


def net_saving_explanation(projection: RunProjection) -> Explanation:
    """Explain the plan's savings on this session after all recoveries."""
    return Explanation(
        projection.per_run.saving.middle, "$", HowKnown.ESTIMATED, _NET, _net_inputs(projection), _COMPARED
    )


def _net_inputs(projection: RunProjection) -> tuple[Input, ...]:
    recovered = projection.recovered or 0.0
    saved = Input("saved on this run", projection.per_run.saving.middle + recovered, "$")
    return (saved, Input("getting needed text back would cost", recovered, "$")) if recovered else (saved,)


def recorded_cost_explanations(projection: RunProjection) -> dict[str, Explanation]:
    """Explain the cost of such sessions per day and month without a plan, under the names of the savings."""
    runs = Input(f"runs a day, {projection.runs.origin}", projection.runs.number)
    cost = Input("cost of this run", projection.per_run.baseline.middle, "$")
    return {
        "usd_per_day": _projected(projection.per_day.baseline, "what this run costs, times runs a day", (cost, runs)),
        "usd_per_month": _projected(
            projection.per_month.baseline,
            "what this run costs, times runs a day, times the days of a month",
            (cost, runs, Input("days a month", projection.days_per_month)),
        ),
    }


def _projected(band: Band, formula: str, inputs: tuple[Input, ...]) -> Explanation:
    return Explanation(band.middle, "$", HowKnown.PROJECTED, formula, inputs, _DRAWN, band)
