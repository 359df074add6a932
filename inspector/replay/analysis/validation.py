"""Validate predictions against recorded data: prompt sizes, cache usage, cost, and the agents' own cuts.

A session with reported usage is predicted as if it had none: prompts from its texts on the calibrated scale, caches
from the provider's rules. Only two things are taken from the report: the lifetime of cache entries (five minutes or an
hour), which is the agent's setting, and response lengths, which are unpredictable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from inspector.replay.analysis.cache_spread import NINE_OF_TEN, read_spread
from inspector.replay.analysis.recorded_cuts import RecordedCut, recorded_cuts
from inspector.replay.analysis.result_sizes import results_by_difference
from inspector.replay.engine.deduplicated_prompts import counted_twice, deduplicated_prompts
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.engine.token_scale import fit_contents, prompt_contents
from inspector.session.model import BlockKind
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.tokens.calibration import ResponseModel

MEDIAN_PROMISE = 0.005

NINE_OF_TEN_PROMISE = 0.01
"""Promised relative error of a calibrated prompt, for half of the calls and for nine of ten."""

NEAR = 0.02
"""Tolerance of a predicted read, as a share of the prompt."""

LEAST_RESULT = 300
"""Minimum tokens of a result to judge; shorter ones are mostly envelope."""

CENT = 0.005
"""Dollars by which two costs may differ and still be equal to the cent."""

_FOLDS = 5

_MOST_OUTLIERS = 5

_SHOWN_KINDS = (BlockKind.IMAGE, BlockKind.DOCUMENT, BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.THINKING)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Recorded and predicted value of one total, in tokens or dollars."""

    recorded: float | None
    predicted: float | None

    @property
    def off(self) -> float | None:
        """Relative error of the prediction; None if the recorded value is zero or unknown."""
        if not self.recorded or self.predicted is None:
            return None
        return self.predicted / self.recorded - 1


@dataclass(frozen=True, slots=True)
class CacheGaps:
    """Differences between recorded and predicted reads in tokens, ignoring those within two percent of a prompt.

    Attributes:
        elsewhere: Read by first calls, from entries of other sessions.
        missed: Not read, although the entry was still alive by the rules.
        found: Read, although the entry had expired by the rules.
    """

    elsewhere: int
    missed: int
    found: int


@dataclass(frozen=True, slots=True)
class ResultFit:
    """Relative errors of predicted tool result sizes.

    Attributes:
        results: Number of results judged.
        median: Median error.
        nine_of_ten: 90th percentile of the error.
    """

    results: int
    median: float
    nine_of_ten: float


@dataclass(frozen=True, slots=True)
class Outlier:
    """A call with a prompt error beyond the promise.

    Attributes:
        call: Its index.
        reported: Reported prompt tokens.
        predicted: Predicted prompt tokens.
        brought: Kinds of blocks added by this call: `image, tool result`.
    """

    call: int
    reported: int
    predicted: int
    brought: str

    @property
    def off(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.reported - 1


@dataclass(frozen=True, slots=True)
class PromptFit:
    """Relative errors of predicted prompts.

    Attributes:
        calls: Number of calls judged.
        median: Median error; NaN if nothing was fitted.
        nine_of_ten: 90th percentile of the error.
        held_out_median: Median error for calls held out of the fit.
        held_out_nine_of_ten: 90th percentile of the error for these.
        outliers: The calls with the largest errors beyond the promise for nine of ten, largest first.
        beyond: Number of such calls.
        shifts: Calls at which the overhead shifted because of unrecorded changes; call, tokens.
        counted_twice: Number of calls with a report that counts new text twice; they are judged with single counts.
    """

    calls: int
    median: float
    nine_of_ten: float
    held_out_median: float
    held_out_nine_of_ten: float
    outliers: tuple[Outlier, ...]
    beyond: int
    shifts: tuple[tuple[int, int], ...]
    counted_twice: int

    @property
    def is_judged(self) -> bool:
        """True if there were enough calls to fit and judge."""
        return not np.isnan(self.median)

    def keeps(self, median: float = MEDIAN_PROMISE, nine_of_ten: float = NINE_OF_TEN_PROMISE) -> bool:
        """Return True if prompt errors are within these limits."""
        return self.is_judged and self.median <= median and self.nine_of_ten <= nine_of_ten


@dataclass(frozen=True, slots=True)
class LearnedCaches:
    """Cache usage of each half of the calls, predicted from the other half.

    Attributes:
        cache_read: Tokens read.
        cache_write: Tokens written.
        cost: Dollars.
        later_cost: Dollars of all calls except the first of every conversation, because its read depends on entries of
            other sessions.
        low: Lower bound in dollars for nine of ten such sessions; None without a price.
        high: Upper bound in dollars.
    """

    cache_read: Prediction
    cache_write: Prediction
    cost: Prediction
    later_cost: Prediction
    low: float | None
    high: float | None

    @property
    def is_within(self) -> bool | None:
        """True if the recorded cost is within the bounds; None without a price."""
        if self.cost.recorded is None or self.low is None or self.high is None:
            return None
        return self.low <= self.cost.recorded <= self.high


@dataclass(frozen=True, slots=True)
class Validation:
    """Validation of one session.

    Attributes:
        calls: Number of calls with reported usage.
        fit: Errors of predicted prompts.
        caches: The simulated prompt caches.
        cache_read: Tokens read.
        cache_write: Tokens written.
        gaps: Differences of the reads.
        reads_met: Share of calls with a predicted read within two percent of the prompt.
        cost: Dollars of the prediction and of the recorded usage.
        learned: Cache usage predicted from the other half of the session; None if a half has no call.
        baseline_cost: Dollars of the replay without a plan and of the recorded usage; equal to the cent.
        cuts: The agent's own cuts, as recorded and as replayed.
        results: Errors of predicted tool result sizes; None if no two reports determine one.
        readings: Representation of responses in later prompts, by model.
        borrowed: Source of a borrowed fit if there are too few calls; empty for none.
    """

    calls: int
    fit: PromptFit
    caches: tuple[str, ...]
    cache_read: Prediction
    cache_write: Prediction
    gaps: CacheGaps
    reads_met: float
    cost: Prediction
    learned: LearnedCaches | None
    baseline_cost: Prediction
    cuts: tuple[RecordedCut, ...]
    results: ResultFit | None
    readings: Mapping[str, ResponseModel]
    borrowed: str

    @property
    def baseline_is_recorded(self) -> bool:
        """True if the replay without a plan costs the same as the recorded usage, to the cent."""
        recorded, baseline = self.baseline_cost.recorded, self.baseline_cost.predicted
        if recorded is None or baseline is None:
            return recorded is baseline
        return abs(recorded - baseline) < CENT


def validate(inputs: ReplayInputs) -> Validation | None:
    """Predict a session and compare; None if it reports no usage.

    Args:
        inputs: The session, as reported by its provider.
    """
    mine = inputs.reported
    if not mine.any():
        return None
    baseline = replay(inputs, Plan())
    predicted = replay(_unreported(inputs), Plan())
    recorded = inputs.recorded
    cost = inputs.rates.cost(recorded, inputs.output)[mine]
    read, write = predicted.ledger.cache_read, predicted.ledger.cache_write
    near = np.abs(read - recorded.cache_read)[mine] <= NEAR * recorded.prompt[mine]
    return Validation(
        calls=int(mine.sum()),
        fit=prompt_fit(inputs),
        caches=tuple(dict.fromkeys(cache.title for cache in predicted.inputs.cache_models.values())),
        cache_read=Prediction(int(recorded.cache_read[mine].sum()), int(read[mine].sum())),
        cache_write=Prediction(int(recorded.cache_write[mine].sum()), int(write[mine].sum())),
        gaps=_gaps(inputs, read),
        reads_met=float(near.mean()),
        cost=Prediction(_dollars(cost), _dollars(predicted.ledger.cost[mine])),
        learned=learned_caches(inputs),
        baseline_cost=Prediction(_dollars(cost), _dollars(baseline.ledger.cost[mine])),
        cuts=recorded_cuts(baseline),
        results=result_fit(inputs),
        readings=inputs.scale.calibration.readings,
        borrowed=inputs.scale.borrowed,
    )


def learned_caches(inputs: ReplayInputs) -> LearnedCaches | None:
    """Predict cache usage of each half of the reported calls from the other half.

    Prompts and responses are measured with nothing hidden, so all differences are due to caches.
    """
    reported = np.flatnonzero(inputs.reported)
    halves = np.array_split(reported, 2)
    if not all(map(len, halves)):
        return None
    count = inputs.history.call_count
    read, write = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    cost, deviations = np.zeros(count), []
    for half in halves:
        hidden = np.zeros(count, dtype=np.bool_)
        hidden[half] = True
        found = replay(_hidden(inputs, hidden), Plan())
        read[half], write[half] = found.ledger.cache_read[half], found.ledger.cache_write[half]
        cost[half] = found.ledger.cost[half]
        deviations.append(read_spread(found).deviation(hidden))
    recorded = inputs.recorded
    dollars = _dollars(cost[reported])
    result = inputs.rates.cost(recorded, inputs.output)
    later = inputs.reported & (inputs.previous_call >= 0)
    # The uncertainty of both halves is fitted separately, so their errors are independent.
    wide = NINE_OF_TEN * hypot(*deviations)
    return LearnedCaches(
        cache_read=Prediction(int(recorded.cache_read[reported].sum()), int(read.sum())),
        cache_write=Prediction(int(recorded.cache_write[reported].sum()), int(write.sum())),
        cost=Prediction(_dollars(result[reported]), dollars),
        later_cost=Prediction(_dollars(result[later]), _dollars(cost[later])),
        low=None if dollars is None else dollars - wide,
        high=None if dollars is None else dollars + wide,
    )


def _unreported(inputs: ReplayInputs) -> ReplayInputs:
    """Return the session without reported usage, on the scale fitted to its reports."""
    recorded = inputs.recorded
    asked_for_hours = int(recorded.cache_write_1h.sum()) > int(recorded.cache_write_5m.sum())
    everything = np.ones(inputs.history.call_count, dtype=np.bool_)
    return _hidden(inputs, everything, "anthropic-1h" if asked_for_hours else None)


def _hidden(inputs: ReplayInputs, hidden: NDArray[np.bool_], cache: str | None = None) -> ReplayInputs:
    """Return the session without the reported usage of some calls, on the scale fitted to all of its reports."""
    session = inputs.history.session
    calls = zip(session.calls, hidden.tolist(), strict=True)
    without = replace(
        session,
        calls=tuple(structs.replace(call, usage=None) if hides else call for call, hides in calls),
        recorded_totals=(),
    )
    made = ReplayInputs.of(
        History.of(without),
        inputs.table,
        pricing=inputs.pricing,
        cache=cache,
        precise=inputs.renderer.precise,
        scale=inputs.scale,
    )
    return replace(made, output=inputs.output)


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


def result_fit(inputs: ReplayInputs) -> ResultFit | None:
    """Compare our sizes of single results with the difference of two reported prompts."""
    sizes = results_by_difference(inputs)
    blocks = np.array([block for block, tokens in sizes.items() if tokens >= LEAST_RESULT], dtype=np.int64)
    if not len(blocks):
        return None
    reported = np.array([sizes[block] for block in blocks.tolist()])
    ours = inputs.scale.calibration.ratio * inputs.table.tokens[blocks] + inputs.scale.uncounted[blocks]
    off = np.abs(ours / reported - 1)
    return ResultFit(len(blocks), float(np.median(off)), float(np.quantile(off, 0.9)))


def prompt_fit(inputs: ReplayInputs) -> PromptFit:
    """Return the errors of a session's predicted prompts."""
    fit = inputs.scale.calibration
    reported = deduplicated_prompts(inputs.history)
    predicted = inputs.scale.prompt[:-1]
    distance = np.where(reported > 0, np.abs(predicted - reported) / np.maximum(reported, 1), 0.0)
    beyond = np.flatnonzero(distance > NINE_OF_TEN_PROMISE) if fit.is_fitted else np.zeros(0, dtype=np.int64)
    furthest = beyond[np.argsort(-distance[beyond], kind="stable")][:_MOST_OUTLIERS].tolist()
    held_out = _held_out(inputs) if fit.is_fitted else np.zeros(0)
    return PromptFit(
        calls=fit.calls,
        median=fit.residual,
        nine_of_ten=fit.residual_p90,
        held_out_median=float(np.median(held_out)) if len(held_out) else float("nan"),
        held_out_nine_of_ten=float(np.quantile(held_out, 0.9)) if len(held_out) else float("nan"),
        outliers=tuple(
            Outlier(call, int(reported[call]), round(float(predicted[call])), _brought(inputs, call))
            for call in furthest
        ),
        beyond=len(beyond),
        shifts=tuple((shift.call, shift.tokens) for shift in fit.shifts),
        counted_twice=int(np.count_nonzero(counted_twice(inputs.history))),
    )


def _held_out(inputs: ReplayInputs) -> NDArray[np.float64]:
    """Return the errors of the fit at held-out calls, a fifth of them at a time."""
    history, reported = inputs.history, np.append(deduplicated_prompts(inputs.history), 0)
    columns = prompt_contents(history, inputs.table, inputs.recorded_removed)
    fold = np.arange(len(reported)) % _FOLDS
    found = []
    for each in range(_FOLDS):
        kept = np.where(fold == each, 0, reported)
        fit = fit_contents(history, columns, kept)
        mine = (fold == each) & (reported > 0)
        found.append(np.abs(fit.prompt[mine] - reported[mine]) / reported[mine])
    return np.concatenate(found)


def _brought(inputs: ReplayInputs, call: int) -> str:
    history = inputs.history
    kinds = {BlockKind(int(kind)) for kind in history.kind[history.enters == call]}
    media = any(history.session.blocks[block].media for block in np.flatnonzero(history.enters == call).tolist())
    named = [kind.label for kind in _SHOWN_KINDS if kind in kinds]
    return ", ".join(["image or document", *named] if media and BlockKind.IMAGE not in kinds else named)


def _dollars(costs: NDArray[np.float64]) -> float | None:
    return None if np.isnan(costs).any() else float(costs.sum())
