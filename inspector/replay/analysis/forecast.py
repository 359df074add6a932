"""Projected savings of a plan: on more runs like this session, and on the session's next calls.

Block-bootstrap intervals for projections, from resampling the session's own calls.

Runs of about √n consecutive calls are drawn with replacement from the session's n calls, because costs of consecutive
calls are correlated. The draws are deterministic.

Uncertainty of model behavior under a plan, from public paired experiments.

A replay keeps the recorded responses. Only running the same tasks with and without cuts shows whether a model then
takes more turns or fewer. A public experiment did this: 500 tasks each way with five model settings.
`scripts/paired_experiments.py` computes these numbers from the published table; docs/evidence.md names its source.

Uncertainty of a session's cost because caches do not always follow their rules.

Recorded reads are certain. Two kinds of calls are not: calls without reported usage, and calls at which a plan changes
text that was sent before, so that a different prefix must be found. Each of them reads the assumed prefix, or fails
independently with the probability from `inspector.replay.cache.cache_models`. That probability may itself be off, for
all calls together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Struct, structs

from inspector.replay.analysis.alternatives import IdleRule, compacted_tokens, idle_rule, main_calls
from inspector.replay.assumptions import DAYS_PER_MONTH, RunsPerDay
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.figure import Band, HowKnown
from inspector.replay.pricing.context_window import SUMMARY_TOKENS
from inspector.replay.pricing.rates import CallRates, RateColumn, Rates
from inspector.replay.quantity import Count, Known, about

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.ledger import Ledger
    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Session

    Floats = NDArray[np.float64]


class PairedExperiment(NamedTuple):
    """A paired comparison of tasks with old tool results masked, and without.

    Attributes:
        pairs: Tasks run both ways, over all settings.
        turns: Relative change of turns over all of them, 0.03 for 3 % more, with a 95 % bootstrap interval over tasks.
        models: The same change for every setting.
        lost: Pairs solved only without masking.
        won: Pairs solved only with masking.
    """

    pairs: int
    turns: Band
    models: Sequence[float]
    lost: int
    won: int


MASKING: Final = PairedExperiment(2_496, Band(-0.020, 0.033, 0.090), (-0.114, 0.033, 0.051, 0.044, 0.151), 188, 188)
"""The Complexity Trap, arXiv 2508.21433, auxiliary-data/experiment_instance_costs_sweagent.csv."""

TURNS_OF_A_MODEL: Final = Band(-0.255, 0.033, 0.321)
"""95 % interval of the relative change of turns for a model that was not in the experiment."""


def widened(saving: Band, planned: float) -> Band:
    """Widen savings for a model that takes more or fewer turns under the plan than recorded.

    All turns are assumed to cost the same, so the plan's cost scales with their number.

    Args:
        saving: Savings with the recorded responses, with their band; dollars.
        planned: The plan's cost with the recorded responses, dollars.
    """
    turns = TURNS_OF_A_MODEL
    return Band(saving.low - turns.high * planned, saving.middle, saving.high - turns.low * planned)


_LOW, _HIGH = 5, 95
_SEED = 20


@dataclass(frozen=True, slots=True)
class CostComparison:
    """Projected dollars without a plan, with it, and saved; savings can be negative."""

    baseline: Band
    plan: Band
    saving: Band
    known: HowKnown = HowKnown.PROJECTED

    @property
    def saved_share(self) -> float:
        """Savings as a share of the baseline, 0.37 for 37 %; NaN if the baseline costs nothing."""
        return self.saving.middle / self.baseline.middle if self.baseline.middle else float("nan")

    def widened(self) -> CostComparison:
        """Widen the bands, because a model may answer differently under the plan."""
        plan, turns = self.plan, TURNS_OF_A_MODEL
        more = Band(plan.low + turns.low * plan.middle, plan.middle, plan.high + turns.high * plan.middle)
        return CostComparison(self.baseline, more, widened(self.saving, plan.middle))

    def times(self, factor: float) -> CostComparison:
        """Multiply everything by a non-negative factor."""
        return CostComparison(self.baseline.times(factor), self.plan.times(factor), self.saving.times(factor))


def band(middle: float, draws: NDArray[np.float64]) -> Band:
    """Return the projected value with the 5th and 95th percentiles of the draws."""
    low, high = np.percentile(draws, (_LOW, _HIGH))
    # A total is outside the resamples of its own parts only by rounding.
    return Band(min(float(low), float(middle)), float(middle), max(float(high), float(middle)))


def resampled_totals(costs: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """Return totals of resampled sessions, a row per kind of cost (row of `costs`), a column per draw."""
    count = costs.shape[1]
    length = _stretch_length(count)
    whole, rest = divmod(count, length)
    # Running sums over two laps, so that a run is drawn by its start.
    around = np.concatenate((np.zeros((len(costs), 1)), np.cumsum(np.tile(costs, 2), axis=1)), axis=1)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, whole + 1))
    stretches = around[:, starts[:, :whole] + length] - around[:, starts[:, :whole]]
    remainder = around[:, starts[:, whole] + rest] - around[:, starts[:, whole]]
    totals: NDArray[np.float64] = stretches.sum(axis=2) + remainder
    return totals


def resampled_calls(count: int, calls: int, draws: int) -> NDArray[np.int64]:
    """Return indices below `count`, a row per draw, with `calls` columns made of runs of consecutive indices."""
    length = _stretch_length(count)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, -(-calls // length)))
    indices = (starts[:, :, None] + np.arange(length)) % count
    return indices.reshape(draws, -1)[:, :calls]


def _stretch_length(count: int) -> int:
    return max(math.isqrt(count), 1)


NINE_OF_TEN = 1.645
"""Standard deviations from the middle to either end of a 90 % band, for normal errors."""


@dataclass(frozen=True, eq=False)
class ReadSpread:
    """Deviations of dollars per call, float64: by chance, independent; by doubt, shared; zero if recorded."""

    chance: Floats
    doubt: Floats

    def deviation(self, calls: NDArray[np.bool_] | None = None, *, times: float = 1.0) -> float:
        """Return the standard deviation of the cost of calls, by default all, `times` as many, in dollars."""
        chance, doubt = (self.chance, self.doubt) if calls is None else (self.chance[calls], self.doubt[calls])
        return hypot(sqrt(times * float((chance**2).sum())), times * float(doubt.sum()))


def read_spread(replay: Replay) -> ReadSpread:
    """Return the cost uncertainty of each call of a replay from its cache reads."""
    inputs, ledger, odds = replay.inputs, replay.ledger, replay.inputs.read_odds
    count = len(ledger.cost)
    if odds is None:
        return ReadSpread(np.zeros(count), np.zeros(count))
    recorded = inputs.recorded
    is_changed = (ledger.first_changed >= 0) & (ledger.cache_read != recorded.cache_read)
    open_ = ~inputs.anchored | is_changed
    # Compute the read on success from the expected read: a miss leaves a share of it, or less.
    chance = np.maximum(odds.chance, 1e-9)
    high = np.maximum(ledger.cache_read - (1 - odds.chance) * odds.kept * odds.most_kept, 0.0) / chance
    if_less = ledger.cache_read / np.maximum(odds.chance + (1 - odds.chance) * odds.kept, 1e-9)
    high = np.where(if_less <= odds.most_kept, if_less, high)
    high = np.where(inputs.uses_expected_reads, np.minimum(high, ledger.prompt_tokens), ledger.cache_read)
    left = odds.kept * np.minimum(high, odds.most_kept)
    at_stake = np.where(open_, high - left, 0.0) * _dollars_more(replay)
    return ReadSpread(np.sqrt(odds.chance * (1 - odds.chance)) * at_stake, odds.doubt * at_stake)


def _dollars_more(replay: Replay) -> Floats:
    """Return the additional dollars per token that is not read, per call; 0 without a price."""
    inputs = replay.inputs
    rates = inputs.rates.of_prompts(replay.ledger.prompt_tokens)
    share = inputs.recorded.one_hour_share
    hour = np.where(np.isnan(share), inputs.caches.writes_one_hour, share)
    written = hour * rates[:, RateColumn.CACHE_WRITE_1H] + (1 - hour) * rates[:, RateColumn.CACHE_WRITE_5M]
    other = np.where(inputs.caches.writes, written, rates[:, RateColumn.UNCACHED])
    more: Floats = np.nan_to_num(np.maximum(other - rates[:, RateColumn.CACHE_READ], 0.0))
    return more


@dataclass(frozen=True, eq=False)
class CacheSpread:
    """Paired replays of a session without and with a plan: random cache behavior affects both."""

    baseline: ReadSpread
    plan: ReadSpread

    @classmethod
    def between(cls, baseline: Replay, planned: Replay) -> CacheSpread:
        return cls(read_spread(baseline), read_spread(planned))

    def widen(self, costs: CostComparison, calls: int | None = None) -> CostComparison:
        """Widen the bands of costs, by default of the session's calls, by the cache's uncertainty, never inward."""
        difference = ReadSpread(self.baseline.chance - self.plan.chance, self.baseline.doubt - self.plan.doubt)
        share = 1.0 if calls is None else calls / max(len(self.plan.chance), 1)
        return replace(
            costs,
            baseline=_wider(costs.baseline, self.baseline.deviation(times=share)),
            plan=_wider(costs.plan, self.plan.deviation(times=share)),
            saving=_wider(costs.saving, difference.deviation(times=share)),
        )


def _wider(band: Band, deviation: float) -> Band:
    """Widen a band by an independent error."""
    more = NINE_OF_TEN * deviation
    low, high = hypot(band.middle - band.low, more), hypot(band.high - band.middle, more)
    return Band(band.middle - low, band.middle, band.middle + high) if more else band


_RUN_DRAWS = 1000

_DRAWS = 200


@dataclass(frozen=True, slots=True)
class RunProjection:
    """A session as one of many runs.

    Its totals are scaled to a day and to a month. The uncertainty comes from the session itself: a run of equal length
    is assembled from resampled stretches of its calls, a thousand times, and the band covers the 5th to the 95th
    percentile of the totals. The band is scaled like the total, because errors of one agent's runs are correlated and
    do not average out.

    Savings are uncertain beyond chance, because cut results may be fetched again. The middle is therefore net of the
    expected re-fetches, the lower bound of those at the upper end, and the upper bound has none. A month is projected
    consistently with its session (`Recoveries.net`). If a plan changes cached prefixes, or usage was not reported,
    reads may also fail by chance, which widens the band (`CacheSpread`).

    Attributes:
        per_run: Dollars per run; for the plan, including all recoveries.
        recovered: Dollars of all recoveries of this session, included in the middle of the plan's cost; 0.0 if there
            are none, None if none were requested.
        days_per_month: Days with runs per month.
    """

    per_run: CostComparison
    runs: RunsPerDay
    days_per_month: float = DAYS_PER_MONTH
    recovered: float | None = None

    @property
    def per_day(self) -> CostComparison:
        return self.per_run.times(self.runs.number)

    @property
    def per_month(self) -> CostComparison:
        return self.per_day.times(self.days_per_month)


def run_seconds(session: Session) -> float:
    """Return the seconds between the first and the last call; 0 if not recorded."""
    times = [call.time for call in session.calls if call.time is not None]
    return max(times) - min(times) if times else 0.0


def project_runs(
    baseline_cost: NDArray[np.float64],
    plan_cost: NDArray[np.float64],
    runs: RunsPerDay,
    days_per_month: float = DAYS_PER_MONTH,
    recovery_cost: Mapping[int, float] | None = None,
    spread: CacheSpread | None = None,
    recovery_at_worst: float = 0.0,
    seconds: float = 0.0,
) -> RunProjection | None:
    """Project runs like this session.

    Args:
        baseline_cost: Dollars of every call without the plan.
        plan_cost: Dollars of every call with it.
        runs: Such runs per day; not negative.
        days_per_month: Days per month with runs; not negative.
        recovery_cost: Dollars of recovering each call's needs from the plan's cuts (`Recoveries.cost_at`); None if
            unknown.
        spread: Uncertainty of cache reads that were not recorded; none by default.
        recovery_at_worst: Dollars of recoveries at the upper end (`Recoveries.cost_at_worst`).
        seconds: Duration of the session (`run_seconds`).

    Returns:
        None if there are no calls, one has no price, or an assumed number of runs does not fit into a day.
    """
    if not runs.fits(seconds):
        return None
    costs = np.stack((baseline_cost, plan_cost, plan_cost + _at_calls(recovery_cost, len(plan_cost))))
    costs = costs.astype(np.float64)
    if not costs.shape[1] or not np.isfinite(costs).all():
        return None
    totals, (without, with_plan, recovered) = costs.sum(axis=1).tolist(), resampled_totals(costs, _RUN_DRAWS)
    net = band(totals[0] - totals[2], without - recovered)
    per_run = CostComparison(
        band(totals[0], without),
        replace(band(totals[2], recovered), low=band(totals[1], with_plan).low),
        replace(
            net,
            low=min(net.low, totals[0] - totals[1] - recovery_at_worst),
            high=band(totals[0] - totals[1], without - with_plan).high,
        ),
    )
    paid = None if recovery_cost is None else float(sum(recovery_cost.values()))
    return RunProjection(per_run if spread is None else spread.widen(per_run), runs, days_per_month, paid)


class NextCallsProjection(Struct, frozen=True, kw_only=True):
    """Projection of the session over a number of further calls."""

    calls: Annotated[Count, about("Number of further calls.")]
    baseline_usd: Annotated[Band, about("Dollars of all of them without the plan.")]
    plan_usd: Annotated[Band, about("Dollars of all of them with the plan.")]
    saved_usd: Annotated[Band, about("Difference of the two; negative if the plan costs more.")]
    baseline_prompt_tokens: Annotated[Band, about("Prompt of the last call without the plan.")]
    plan_prompt_tokens: Annotated[Band, about("Prompt of the last call with the plan.")]
    reaches_window: Annotated[
        bool, about("True if prompts reach the model's window without the plan, and are limited to it.")
    ]
    known: Known

    @property
    def cost(self) -> CostComparison:
        return CostComparison(self.baseline_usd, self.plan_usd, self.saved_usd)

    def widened(self) -> NextCallsProjection:
        """Widen the bands, because a model may answer differently under the plan."""
        wide = self.cost.widened()
        return structs.replace(self, plan_usd=wide.plan, saved_usd=wide.saving)

    def rounded(self, digits: int) -> NextCallsProjection:
        """Round all bands."""
        return structs.replace(self, **{name: getattr(self, name).rounded(digits) for name in _BANDS})


_BANDS: Final = ("baseline_usd", "plan_usd", "saved_usd", "baseline_prompt_tokens", "plan_prompt_tokens")


def project_session(
    baseline: Replay, planned: Replay, calls: int, recovery_cost: Mapping[int, float] | None = None
) -> NextCallsProjection | None:
    """Project the next calls, at least one, at the last call's rates; None if nothing can be drawn or priced."""
    inputs = planned.inputs
    made = inputs.history.session.calls
    rates = inputs.pricing.rates(made[-1].model, made[-1].time) if made else None
    if rates is None:
        return None
    return project_next_calls(
        baseline.ledger,
        planned.ledger,
        inputs.layout.previous_call[:-1],
        rates,
        calls,
        factor=inputs.pricing.factor,
        window=inputs.window.size,
        recovery_cost=recovery_cost,
        spread=CacheSpread.between(baseline, planned),
        idle=IdlePauses.of(baseline),
    )


class IdlePauses(NamedTuple):
    """Idle compaction in a continuation: pauses before calls (NaN if unknown), tokens left, and of the summary."""

    rule: IdleRule
    gap_seconds: NDArray[np.float64]
    left: int
    summary: int

    @classmethod
    def of(cls, baseline: Replay) -> IdlePauses | None:
        """Return the pauses of a session that its agent compacts when idle; None for any other."""
        rule = idle_rule(baseline)
        main = main_calls(baseline)
        if rule is None or not len(main):
            return None
        fresh = int(baseline.ledger.prompt_tokens[int(main[0])])
        left = compacted_tokens(baseline, fresh)
        return cls(rule, baseline.inputs.gap_seconds, left, max(left - fresh, 0) or SUMMARY_TOKENS)


def project_next_calls(
    baseline: Ledger,
    plan: Ledger,
    previous_call: NDArray[np.int64],
    rates: Rates,
    calls: int,
    *,
    factor: float = 1.0,
    window: int | None = None,
    recovery_cost: Mapping[int, float] | None = None,
    spread: CacheSpread | None = None,
    idle: IdlePauses | None = None,
) -> NextCallsProjection | None:
    """Project the next calls of this session, from its last call on.

    Each future call takes three values from a resampled call of this session: the growth of its prompt, the shares
    read, written and uncached, and the response length. The same calls are drawn with and without the plan, so the
    savings are a paired comparison. Pauses are drawn as well: if the agent compacts idle sessions, a long pause shrinks
    a large prompt, for the price of a summary request. The band covers the 5th to the 95th percentile of two hundred
    continuations, and the projection is their median; the cost with the plan is the cost without it minus the savings.
    As in `RunProjection`, the middle and the lower bound of the savings include all recoveries that the drawn calls
    needed.

    Args:
        plan: The replay with it, of the same calls.
        previous_call: Per call, the call its prompt grew from, -1 for the first of a context.
        rates: Rates of the future calls, usually those of the last call.
        calls: Number of calls to project, at least one.
        factor: Factor on every price.
        window: The model's context window in tokens, which caps every prompt; None if unknown.
        recovery_cost: As for `project_runs`.
        spread: As for `project_runs`.
        idle: Idle compaction by the agent; none by default.

    Returns:
        None if no call grew from another.
    """
    steps = np.flatnonzero(previous_call >= 0)
    if not len(steps):
        return None
    draws = steps[resampled_calls(len(steps), calls, _DRAWS)]
    without, without_prompt = _continued(baseline, previous_call, draws, rates, factor, window, idle)
    with_plan, plan_prompt = _continued(plan, previous_call, draws, rates, factor, window, idle)
    recovered = with_plan + _at_calls(recovery_cost, len(plan.prompt_tokens))[draws].sum(axis=1)
    before = _around_median(without)
    saving = replace(_around_median(without - recovered), high=_around_median(without - with_plan).high)
    # Medians of a difference and of its parts do not add up, so the cost with the plan follows from the others.
    after, middle = _around_median(recovered), before.middle - saving.middle
    planned = Band(min(_around_median(with_plan).low, middle), middle, max(after.high, middle))
    cost = CostComparison(before, planned, saving)
    cost = cost if spread is None else spread.widen(cost, calls)
    return NextCallsProjection(
        calls=calls,
        baseline_usd=cost.baseline,
        plan_usd=cost.plan,
        saved_usd=cost.saving,
        baseline_prompt_tokens=_around_median(without_prompt),
        plan_prompt_tokens=_around_median(plan_prompt),
        reaches_window=window is not None and bool(np.median(without_prompt) >= window),
        known=dict.fromkeys(_BANDS, HowKnown.PROJECTED.value),
    )


def _continued(
    figures: Ledger,
    previous_call: NDArray[np.int64],
    draws: NDArray[np.int64],
    rates: Rates,
    factor: float,
    window: int | None,
    idle: IdlePauses | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the dollars of all calls, and the last prompt, of each draw (a row of `draws`, a column per call)."""
    prompt = figures.prompt_tokens
    growth = (prompt - prompt[previous_call])[draws]
    largest = np.inf if window is None else float(window)
    prompts = np.empty(draws.shape, dtype=np.float64)
    size = np.full(len(draws), float(prompt[-1]))
    requested = np.zeros(draws.shape, dtype=np.float64)
    for call in range(draws.shape[1]):
        if idle is not None:
            waits = idle.gap_seconds[draws[:, call]] >= idle.rule.after_seconds
            compacts = waits & (size >= max(idle.rule.min_tokens, idle.left))
            requested[:, call] = np.where(compacts, size, 0)
            size = np.where(compacts, idle.left, size)
        size = np.clip(size + growth[:, call], 0, largest)
        prompts[:, call] = size
    scale = prompts / np.maximum(prompt[draws], 1)
    read, write_5m, write_1h = (
        np.rint(column[draws] * scale).astype(np.int64).ravel()
        for column in (figures.cache_read, figures.cache_write_5m, figures.cache_write_1h)
    )
    uncached = np.maximum(np.rint(prompts).astype(np.int64).ravel() - read - write_5m - write_1h, 0)
    priced = CallRates.of((rates,), np.zeros(draws.size, dtype=np.int32), factor)
    cost = priced.cost(PromptUsage(uncached, read, write_5m, write_1h), figures.output[draws].ravel())
    total = cost.reshape(draws.shape).sum(axis=1)
    if idle is not None and requested.any():
        # The cache is still warm.
        sent = np.rint(requested).astype(np.int64).ravel()
        nothing = np.zeros_like(sent)
        requests = priced.cost(PromptUsage(nothing, sent, nothing, nothing), np.where(sent > 0, idle.summary, 0))
        total += np.where(sent > 0, requests, 0.0).reshape(draws.shape).sum(axis=1)
    return total, prompts[:, -1]


def _at_calls(recovery_cost: Mapping[int, float] | None, calls: int) -> NDArray[np.float64]:
    spread = np.zeros(calls, dtype=np.float64)
    for call, dollars in (recovery_cost or {}).items():
        spread[call] = dollars
    return spread


def _around_median(draws: NDArray[np.float64]) -> Band:
    return band(float(np.median(draws)), draws)
