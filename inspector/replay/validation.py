"""Predictions against what was recorded: prompt sizes, what caches did, what it cost, and what agents themselves cut.

A session that reports usage is predicted as if it did not: prompts from its texts on the calibrated scale, caches from
the provider's rules. Only which kind of cache entries the agent asked for (five minutes or an hour) and how long
responses were is taken from the report: the one is the agent's setting, the other nobody can predict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from inspector.replay.differences import results_by_difference
from inspector.replay.inputs import ReplayInputs
from inspector.replay.prompt_fit import PromptFit, prompt_fit
from inspector.replay.recorded_cuts import RecordedCut, recorded_cuts
from inspector.replay.replay import replay
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.tokens.readings import Reading

NEAR = 0.02
"""A read is met when it is predicted to within this share of the prompt."""

LEAST_RESULT = 300
"""Tokens a result has to have to be judged: of shorter ones, the envelope is most."""

CENT = 0.005
"""Dollars by which two costs may differ and still be equal to the cent."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One total, recorded and predicted. Tokens, or dollars."""

    recorded: float | None
    predicted: float | None

    @property
    def off(self) -> float | None:
        """How far the prediction is off, as a share of what was recorded; None where that is nothing or unknown."""
        if not self.recorded or self.predicted is None:
            return None
        return self.predicted / self.recorded - 1


@dataclass(frozen=True, slots=True)
class CacheGaps:
    """Why recorded and predicted reads differ, in tokens. What is within two percent of a prompt is left out.

    Attributes:
        elsewhere: Read by first calls, from what other sessions had left in the cache.
        missed: Not read though by the rules the cache still held it.
        found: Read though by the rules the cache held it no more.
    """

    elsewhere: int
    missed: int
    found: int


@dataclass(frozen=True, slots=True)
class ResultFit:
    """How single tool results are met, as shares of them.

    Attributes:
        results: How many were judged.
        median: Half of them are met within this.
        nine_of_ten: Nine of ten are.
    """

    results: int
    median: float
    nine_of_ten: float


@dataclass(frozen=True, slots=True)
class Validation:
    """One session.

    Attributes:
        calls: Calls whose usage was reported.
        fit: How prompts are met.
        caches: The prompt caches that were simulated.
        cache_read: Tokens read.
        cache_write: Tokens written.
        gaps: Why these differ.
        reads_met: Share of calls whose read is predicted to within two percent of the prompt.
        cost: Dollars of the prediction beside those of the recorded usage.
        baseline_cost: Dollars of the replay without a plan beside those of the recorded usage; the same to the cent.
        cuts: What the agent itself cut, as recorded and as replayed.
        results: How single results are met; None where no two reports tell the size of one.
        readings: By model, what stands for responses in later prompts.
    """

    calls: int
    fit: PromptFit
    caches: tuple[str, ...]
    cache_read: Compared
    cache_write: Compared
    gaps: CacheGaps
    reads_met: float
    cost: Compared
    baseline_cost: Compared
    cuts: tuple[RecordedCut, ...]
    results: ResultFit | None
    readings: Mapping[str, Reading]

    @property
    def baseline_is_recorded(self) -> bool:
        """The replay without a plan costs what the recorded usage costs, to the cent."""
        recorded, baseline = self.baseline_cost.recorded, self.baseline_cost.predicted
        if recorded is None or baseline is None:
            return recorded is baseline
        return abs(recorded - baseline) < CENT


def validate(inputs: ReplayInputs) -> Validation | None:
    """Predict a session and compare; None where it reports no usage.

    Args:
        inputs: The session, as its provider reported it.
    """
    mine = inputs.reported
    if not mine.any():
        return None
    baseline = replay(inputs, Plan())
    predicted = replay(_unreported(inputs), Plan())
    recorded = inputs.recorded
    cost = inputs.rates.cost(
        recorded.uncached, recorded.cache_read, recorded.cache_write_5m, recorded.cache_write_1h, inputs.output
    )[mine]
    read, write = predicted.ledger.cache_read, predicted.ledger.cache_write_5m + predicted.ledger.cache_write_1h
    near = np.abs(read - recorded.cache_read)[mine] <= NEAR * recorded.prompt[mine]
    return Validation(
        calls=int(mine.sum()),
        fit=prompt_fit(inputs),
        caches=tuple(dict.fromkeys(cache.title for cache in predicted.inputs.cache_models.values())),
        cache_read=Compared(int(recorded.cache_read[mine].sum()), int(read[mine].sum())),
        cache_write=Compared(int(recorded.cache_write[mine].sum()), int(write[mine].sum())),
        gaps=_gaps(inputs, read),
        reads_met=float(near.mean()),
        cost=Compared(_dollars(cost), _dollars(predicted.ledger.cost[mine])),
        baseline_cost=Compared(_dollars(cost), _dollars(baseline.ledger.cost[mine])),
        cuts=recorded_cuts(baseline),
        results=result_fit(inputs),
        readings=inputs.scale.calibration.readings,
    )


def result_fit(inputs: ReplayInputs) -> ResultFit | None:
    """How our size of single results is met by the difference of two reported prompts."""
    sizes = results_by_difference(inputs)
    blocks = np.array([block for block, tokens in sizes.items() if tokens >= LEAST_RESULT], dtype=np.int64)
    if not len(blocks):
        return None
    told = np.array([sizes[block] for block in blocks.tolist()])
    ours = inputs.scale.calibration.ratio * inputs.table.tokens[blocks] + inputs.scale.beside[blocks]
    off = np.abs(ours / told - 1)
    return ResultFit(len(blocks), float(np.median(off)), float(np.quantile(off, 0.9)))


def _gaps(inputs: ReplayInputs, predicted: NDArray[np.int64]) -> CacheGaps:
    recorded, mine = inputs.recorded.cache_read, inputs.reported
    difference = predicted - recorded
    difference = np.where(np.abs(difference) <= NEAR * inputs.recorded.prompt, 0, difference)
    later = mine & (inputs.previous_call >= 0)
    return CacheGaps(
        elsewhere=int(recorded[mine & ~later].sum()),
        missed=int(np.maximum(difference, 0)[later].sum()),
        found=int(np.maximum(-difference, 0)[later].sum()),
    )


def _unreported(inputs: ReplayInputs) -> ReplayInputs:
    """The session as if its provider had reported nothing, on the scale its reports were fitted to."""
    session = inputs.history.session
    without = replace(session, calls=tuple(structs.replace(call, usage=None) for call in session.calls))
    recorded = inputs.recorded
    asked_for_hours = int(recorded.cache_write_1h.sum()) > int(recorded.cache_write_5m.sum())
    made = ReplayInputs.of(
        History.of(without),
        inputs.table,
        pricing=inputs.pricing,
        cache="anthropic-1h" if asked_for_hours else None,
        precise=inputs.renderer.precise,
        scale=inputs.scale,
    )
    return replace(made, output=inputs.output)


def _dollars(costs: NDArray[np.float64]) -> float | None:
    return None if np.isnan(costs).any() else float(costs.sum())
