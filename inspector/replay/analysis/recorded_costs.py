"""Costs that the agent recorded, next to the cost of the same requests at the prices used here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta, Struct

from inspector.replay.analysis.side_requests import side_spending
from inspector.replay.cache.prompt_usage import PromptUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.engine.replay import Replay
    from inspector.session.model import RecordedTotals, Usage

LEAST_USD, LEAST_SHARE = 0.005, 0.01
"""Smaller differences, in dollars or as a share, are attributed to rounding and price dates."""


class RecordedCost(Struct, frozen=True, kw_only=True):
    """A cost recorded by the agent, for a session or for a range of its calls."""

    source: Annotated[str, Meta(description="Type of the record: `result`, `cost-state`, `session.shutdown`.")]
    recorded_usd: Annotated[float, Meta(description="Dollars as recorded.")]
    computed_usd: Annotated[
        float | None, Meta(description="Dollars of the same requests, as far as known; null without a price.")
    ]
    includes_subagents: Annotated[bool, Meta(description="True if the recorded cost includes subagents.")]

    @property
    def differs(self) -> bool:
        if self.computed_usd is None:
            return True
        return abs(self.recorded_usd - self.computed_usd) > max(LEAST_USD, LEAST_SHARE * self.recorded_usd)


def recorded_costs(baseline: Replay, subagents: float | None = None) -> tuple[RecordedCost, ...]:
    """Return the recorded costs of a session, in order.

    Args:
        baseline: The session with nothing cut.
        subagents: Dollars of its subagents; None if unknown.
    """
    found = []
    for totals in baseline.inputs.history.session.recorded_totals:
        if totals.cost_usd is None:
            continue
        calls = float(baseline.ledger.cost[totals.first_call : totals.end_call].sum())
        others = (subagents or 0.0) if totals.includes_subagents else 0.0
        computed = calls + _side_cost(baseline, totals) + others
        found.append(
            RecordedCost(
                source=totals.source,
                recorded_usd=totals.cost_usd,
                computed_usd=None if np.isnan(computed) else computed,
                includes_subagents=totals.includes_subagents,
            )
        )
    return tuple(found)


def _side_cost(baseline: Replay, totals: RecordedTotals) -> float:
    """Return dollars of the side requests in a total; NaN without a price."""
    inputs = baseline.inputs
    if totals.includes_subagents:
        spent = side_spending(inputs.history.session, inputs.pricing)
        return float(sum(np.nan if each.cost is None else each.cost for each in spent))
    return _cost(baseline, totals.end_call, totals.side_usages)


def _cost(baseline: Replay, end: int, usages: Sequence[tuple[str, Usage]]) -> float:
    if not usages:
        return 0.0
    inputs = baseline.inputs
    calls = inputs.history.session.calls
    time = calls[end - 1].time if 0 < end <= len(calls) else None
    times = np.full(len(usages), np.nan if time is None else time)
    rates = inputs.pricing.call_rates([model for model, _ in usages], times, [""] * len(usages))
    output = np.array([usage.output for _, usage in usages], dtype=np.int64)
    unknown = np.zeros(len(usages), dtype=np.int64)
    return float(rates.cost(PromptUsage.of([usage for _, usage in usages]), output, unknown).sum())
