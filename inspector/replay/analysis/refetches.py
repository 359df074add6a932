"""Expected re-fetches of a plan, from the rates at which agents fetched cut results again.

The rates were measured on 311 recorded cuts in 216 public sessions (docs/development/recorded-cuts.md): the share of
cut results that the agent fetched again within 30 calls, less the share for results of the same kind and age still in
the prompt. Intervals are 95 %, by resampling sessions.

A recovered result ages and is cut again, so a rate r stands for r + r² + … = r / (1 - r) re-fetches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.envelope import MOST_PER_100_CALLS
from inspector.replay.analysis.plan_cuts import CHANGES, CallsByThread, PlanCuts
from inspector.replay.pricing.rates import RateColumn
from inspector.session.model import BlockKind
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay


class Rate(NamedTuple):
    """Share of cut results that are fetched again because of the cut: estimate and 95 % interval."""

    rate: float
    low: float
    high: float


class MeasuredRate(NamedTuple):
    """A rate measured on recorded cuts, as `scripts/real_cuts.py` measures them.

    Attributes:
        rate: The rate.
        cuts: Number of cut results; None if not reported.
        date: Date of the measurement.
        source: Recorded sessions.
    """

    rate: Rate
    cuts: int | None
    date: str = "2026-11-28"
    source: str = "311 cuts in 216 public sessions of Claude Code, Codex, pi, Copilot and OpenCode"


READS: Final = (
    (3, MeasuredRate(Rate(0.359, 0.217, 0.488), 114)),
    (5, MeasuredRate(Rate(0.334, 0.211, 0.462), 173)),
    (20, MeasuredRate(Rate(0.151, 0.086, 0.224), 348)),
)
"""Rates of file reads by the maximum age in calls at the cut. The second sample includes the first."""

OLD_READS: Final = MeasuredRate(Rate(0.057, 0.031, 0.084), 1_664)
"""Rate of file reads cut at a higher age."""

LARGE_READS: Final = MeasuredRate(Rate(0.160, 0.098, 0.225), None)
"""File reads of more than `LARGE_CHARACTERS`, at any age: measured by tokens, on results of all kinds."""

LARGE_CHARACTERS: Final = 16_000

COMMANDS: Final = MeasuredRate(Rate(0.0, 0.0, 0.016), 586)
"""Commands, -0.3 % (-1.9 to 1.6 %), and searches, 0 % of 131."""

OTHER: Final = MeasuredRate(Rate(0.058, 0.015, 0.094), 353)
"""Results of other tools, as for cleared results of all kinds."""

CALLS_PER_REFETCH: Final = 247 / 341
"""Extra calls per re-fetched result: several results share a call."""

WITHIN: Final = 5
"""Calls between a cut and its priced re-fetch: half of them come within five."""


@dataclass(frozen=True, slots=True)
class Refetches:
    """Expected re-fetches of a plan on a session. All figures are projections.

    Attributes:
        count: Expected re-fetched results: estimate and 95 % interval.
        per_100_calls: The same for extra calls, in 100 calls of the session.
        cost: Their cost in dollars; None without a price.
        is_measured: False if the plan cuts no tool result, so that no rate applies.
        cost_at: Dollars expected at each call that has any; empty without a price.
    """

    count: Rate
    per_100_calls: Rate
    cost: Rate | None
    is_measured: bool
    cost_at: Mapping[int, float] = field(default_factory=dict)

    @property
    def is_few(self) -> bool:
        """True if they are few enough for a recommendation."""
        return self.per_100_calls.rate <= MOST_PER_100_CALLS

    def net_range(self, saved: float | None) -> tuple[float, float] | None:
        """Return a saving in dollars after re-fetches, at worst and at best; None without a price."""
        if saved is None or self.cost is None:
            return None
        return float(saved) - self.cost.high, float(saved) - self.cost.low


NO_REFETCHES: Final = Refetches(Rate(0.0, 0.0, 0.0), Rate(0.0, 0.0, 0.0), Rate(0.0, 0.0, 0.0), is_measured=False)
"""Result for a plan that cuts nothing."""


def expected_refetches(replay: Replay, cuts: PlanCuts | None = None) -> Refetches:
    """Sum the rates of all results that a plan cuts, and price the re-fetches.

    Args:
        replay: The session under the plan.
        cuts: Its cuts, if already found.
    """
    found = PlanCuts.of(replay) if cuts is None else cuts
    calls = replay.history.call_count
    # A cut that only the next call would show saves nothing so far, and costs nothing.
    results = found.is_result & (found.call < calls)
    if not results.any():
        return NO_REFETCHES
    rates = _rates(replay, found)[:, results] * found.share[results]
    rates = rates / (1 - rates)
    count = Rate(*rates.sum(axis=1).tolist())
    per_100 = Rate(*(100 * CALLS_PER_REFETCH * each / calls for each in count))
    at, each_usd = _costs(replay, found.block[results], found.call[results], found.age[results])
    usd = (rates * each_usd).sum(axis=1)
    if isnan(float(usd[0])):
        return Refetches(count, per_100, None, is_measured=True)
    by_call = np.bincount(at, rates[0] * each_usd).tolist()
    cost_at = {call: cost for call, cost in enumerate(by_call) if cost}
    return Refetches(count, per_100, Rate(*usd.tolist()), is_measured=True, cost_at=cost_at)


def _rates(replay: Replay, cuts: PlanCuts) -> NDArray[np.float64]:
    """Return the rate, its low and high end for every cut; shape (3, cuts)."""
    history = replay.history
    tool = history.tool[cuts.block]
    quiet = tool_kind_mask(
        history.tool_names, (ToolKind.SHELL, ToolKind.SEARCH, ToolKind.CONFIRMATION, ToolKind.LIGHT, *CHANGES)
    )[tool]
    measured = (*(each for _, each in READS), OLD_READS, COMMANDS, OTHER, LARGE_READS)
    table = np.array([each.rate for each in measured])
    group = np.searchsorted([age for age, _ in READS], cuts.age, side="right")
    group = np.where(cuts.is_read, group, np.where(quiet, len(READS) + 1, len(READS) + 2))
    rates = table[group].T
    is_large = cuts.is_read & (history.characters[cuts.block] > LARGE_CHARACTERS)
    return np.where(is_large, np.maximum(rates, table[-1][:, np.newaxis]), rates)


def _costs(
    replay: Replay, block: NDArray[np.int32], call: NDArray[np.int32], age: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the call of each re-fetch, and its dollars.

    Each costs its share of one more call, a cache write of its text, and cache reads until it is as old as the result
    was at the cut.
    """
    count = replay.history.call_count
    ledger, rates, ratio = replay.ledger, replay.inputs.rates, replay.inputs.sizes.ratio[:count]
    read, other = rates.read_and_other(ledger)
    rate = rates.of_prompts(ledger.prompt_tokens)
    is_cached = (ledger.cache_read + ledger.cache_write) > 0
    again = ledger.prompt_tokens * np.where(is_cached, read, other)
    extra_call = again + usual_output(replay) * rate[:, RateColumn.OUTPUT] + rate[:, RateColumn.PER_CALL]
    threads = CallsByThread.of(replay.history.call_thread[:count])
    staying = (np.where(ledger.cache_read > 0, read, other) * ratio)[threads.order]
    stay = np.concatenate(([0.0], np.cumsum(staying)))
    end = threads.end[call]
    place = np.minimum(threads.position[call] + WITHIN, end - 1)
    at = threads.order[place]
    until = np.minimum(place + np.maximum(age, 1), end)
    tokens = replay.table.tokens[block]
    costs: NDArray[np.float64] = CALLS_PER_REFETCH * extra_call[at] + tokens * (
        ratio[at] * other[at] + stay[until] - stay[place + 1]
    )
    return at, costs


def usual_output(replay: Replay) -> float:
    """Return the median tokens of the session's responses that call a tool; 0.0 if there are none."""
    history = replay.history
    asking = np.zeros(len(history.session.messages), dtype=bool)
    asking[history.message[history.kind == BlockKind.TOOL_CALL]] = True
    responses = np.array([call.response for call in history.session.calls], dtype=np.int64)
    outputs = replay.inputs.output[asking[responses]] if len(responses) else replay.inputs.output
    return float(np.median(outputs)) if len(outputs) else 0.0
