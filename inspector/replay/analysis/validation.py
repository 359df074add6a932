"""Validate predictions against recorded data: prompt sizes, cache usage, cost, the agents' own cuts, and invariants.

**Predictions.** A session with reported usage is predicted as if it had none: prompts from its texts on the calibrated
scale, caches from the provider's rules. Only two things are taken from the report: the lifetime of cache entries (five
minutes or an hour), which is the agent's setting, and response lengths, which are unpredictable.

**Cuts.** A partial compaction names the cleared results and, with some agents, the tokens saved by the agent's own
estimate. The agent's rule (`CLEAR_RULES`) must select the same results here. A full compaction records the size of the
context: our replay of the conversation without it (`without_compaction`) must reach that size at the same call. The
size after it is the report of the first call after it: the recorded texts of the new context, on the fitted scale and
with the unrecorded start of the previous context, must match it.

The rules spare the newest output up to a number of tokens; the result that exceeds it, and all earlier ones, are
cleared. OpenCode also spares two user turns (packages/opencode/src/session/compaction.ts). Claude Code's rule was
inferred from its records, which name every cleared result. Both assume four characters per token, and neither clears
the output of the skill tool.

**Invariants** of every session in every format, checked by `inspector check` and by a test:

- No share of a prompt is negative, and the parts of a prompt, and of all prompts, add up to the whole.
- No prompt is replayed as empty if its provider reports tokens for it, unless it is flagged: the file records none of
  its contents (`blank_prompts`).
- No block is larger than the largest prompt.
- A session followed while its file grew equals one loaded at once.
- Usage equals a count that shares no code with the format's reader.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Struct, structs

from inspector.replay.analysis.breakdown import resend_cost, results_by_difference
from inspector.replay.analysis.compaction_forecast import compaction_forecasts, first_call_after
from inspector.replay.analysis.context_blocks import AROUND_TEXTS, EARLIER, NOT_RECORDED, context_at
from inspector.replay.analysis.context_breakdown import Grouping, Scope, context_breakdown
from inspector.replay.analysis.forecast import NINE_OF_TEN, read_spread
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.recorded_calls import counted_twice, deduplicated_prompts
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.engine.simulation import CLEARED, results_by_call_id
from inspector.replay.engine.token_scale import fit_contents, prompt_contents
from inspector.replay.quantity import DOLLAR_DIGITS, SHARE_DIGITS, Count, about
from inspector.session.model import BlockKind, Session
from inspector.session.reading_check import compare_followed, independent_totals, totals_of
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from inspector.tokens.calibration import ResponseModel


_CHARACTERS_PER_TOKEN = 4
"""Characters per token assumed by agents, in their rules and in recorded savings."""


_NEVER_CLEARED = "skill"


class RecordedCut(Struct, frozen=True, kw_only=True):
    """A cut by the agent itself, compared with its replay."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    what: Annotated[str, about("Compared quantity.")]
    results: Annotated[Count, about("Cleared results; 0 for a full compaction.")] = 0
    missing: Annotated[Count, about("Number of these that the file does not hold.")] = 0
    recorded: Annotated[int, about("Tokens by the agent's own count; for cleared results, their number.")]
    replayed: Annotated[int, about("The same by our replay, with the agent's own rule if it has one.")]
    measured: Annotated[int | None, about("Tokens on the provider's scale, if the agent's rule uses another.")] = None
    off: Annotated[float | None, about("Relative error of the replay.")]
    alike: Annotated[int | None, about("Results cleared by both.")] = None


def _relative_error(recorded: float | None, predicted: float | None) -> float | None:
    """Return the error as a share of the recorded value; None if that is zero, or one is unknown."""
    return round(predicted / recorded - 1, SHARE_DIGITS) if recorded and predicted is not None else None


def recorded_cuts(baseline: Replay) -> tuple[RecordedCut, ...]:
    """Return every cut that a session's agent made and quantified, in order."""
    found = [*_partial(baseline), *_same_results(baseline), *_full(baseline), *_left(baseline)]
    return tuple(sorted(found, key=lambda cut: cut.call))


def _partial(baseline: Replay) -> Iterator[RecordedCut]:
    inputs, session = baseline.inputs, baseline.history.session
    results = results_by_call_id(baseline.history)
    notice = CLEARED.operation.text if isinstance(CLEARED.operation, ReplaceText) else ""
    responses = [call.response for call in session.calls]
    for compaction in session.compactions:
        if not compaction.is_partial or not compaction.tokens_saved:
            continue
        named = [results[each] for each in compaction.cleared_tool_call_ids if each in results]
        blocks = [session.blocks[block] for block in named]
        whole = int(inputs.table.tokens[named].sum())
        left = len(named) * inputs.table.text_tokens(notice)
        replayed = sum(block.characters for block in blocks) // _CHARACTERS_PER_TOKEN
        yield RecordedCut(
            call=bisect_left(responses, compaction.message) + 1,
            what="tokens saved",
            results=len(compaction.cleared_tool_call_ids),
            missing=len(compaction.cleared_tool_call_ids) - len(named),
            recorded=compaction.tokens_saved,
            replayed=replayed,
            measured=round(inputs.scale.calibration.ratio * (whole - left)),
            off=_relative_error(compaction.tokens_saved, replayed),
        )


def _same_results(baseline: Replay) -> Iterator[RecordedCut]:
    session = baseline.history.session
    responses = [call.response for call in session.calls]
    gone: set[str] = set()
    for compaction in session.compactions:
        named = set(compaction.cleared_tool_call_ids) - gone
        rule = CLEAR_RULES.get(session.format)
        if not compaction.is_partial or not named or rule is None:
            continue
        ours = cleared_by(rule, baseline.history, compaction.message) - gone
        gone |= named
        yield RecordedCut(
            call=bisect_left(responses, compaction.message) + 1,
            what="results blanked",
            results=len(named),
            recorded=len(named),
            replayed=len(ours),
            off=_relative_error(len(named), len(ours)),
            alike=len(named & ours),
        )


def _left(baseline: Replay) -> Iterator[RecordedCut]:
    """Compare the contexts left by full compactions with the report of the first call after them."""
    inputs, session = baseline.inputs, baseline.history.session
    if not session.compactions:
        return
    counted = inputs.layout.whole_tokens - inputs.recorded_removed
    shown = inputs.scale.ratio * counted + inputs.layout.uncounted_in_prompts
    for index, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, index)
        before = -1 if call is None else int(inputs.previous_call[call])
        if call is None or before < 0 or not (inputs.reported[call] and inputs.reported[before]):
            continue
        # Unrecorded text that accumulates during a context is removed with it; text from its start remains.
        began = int(np.flatnonzero(baseline.history.call_context == baseline.history.call_context[before])[0])
        if not inputs.reported[began]:
            continue
        unseen = float(inputs.recorded.prompt[began] - shown[began])
        recorded = int(inputs.recorded.prompt[call])
        yield _full_cut(call + 1, "context after", recorded, round(float(shown[call]) + unseen))


def _full(baseline: Replay) -> Iterator[RecordedCut]:
    compactions = baseline.history.session.compactions
    for index, forecast in compaction_forecasts(baseline, asked_for=True):
        reported = compactions[index].tokens_before
        if reported and forecast.prompt_tokens is not None:
            yield _full_cut(forecast.call, "context before", reported, forecast.prompt_tokens)


def _full_cut(call: int, what: str, recorded: int, replayed: int) -> RecordedCut:
    error = _relative_error(recorded, replayed)
    return RecordedCut(call=call, what=what, recorded=recorded, replayed=replayed, off=error)


class ClearRule(NamedTuple):
    """Newest output, in tokens of four characters, and user turns that an agent spares when it clears in part."""

    tokens: int
    turns: int


CLEAR_RULES: Final[Mapping[str, ClearRule]] = {"claude-code": ClearRule(40_000, 0), "opencode": ClearRule(40_000, 2)}
"""By session format."""


def cleared_by(rule: ClearRule, history: History, message: int) -> set[str]:
    """Return the ids of calls with results that the rule clears before a message, which follows the clearing."""
    session = history.session
    responses = [call.response for call in session.calls]
    last = bisect_left(responses, message) - 1
    if last < 0:
        return set()
    held = [block for block in history.prompt(last).tolist() if history.message[block] < message]
    first_block = history.message_first_block
    since = range(int(first_block[responses[last]]), int(first_block[min(message, len(session.messages))]))
    spared, turns = 0, 0
    cleared: set[str] = set()
    for index in reversed([*held, *since]):
        block = session.blocks[index]
        turns += block.kind is BlockKind.USER_TEXT
        if block.kind is not BlockKind.TOOL_RESULT or turns < rule.turns or block.tool_name.lower() == _NEVER_CLEARED:
            continue
        spared += round(block.characters / _CHARACTERS_PER_TOKEN)
        if spared > rule.tokens:
            cleared.add(block.tool_call_id)
    return cleared


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


class Prediction(Struct, frozen=True, kw_only=True):
    """One total, recorded and predicted."""

    recorded: Annotated[float | None, about("Recorded by the session.")]
    predicted: Annotated[float | None, about("Predicted without that report.")]
    off: Annotated[float | None, about("Relative error of the prediction: 0.01 is one percent too much.")]

    @classmethod
    def of(cls, recorded: float | None, predicted: float | None) -> Prediction:
        first, second = (None if each is None else round(each, DOLLAR_DIGITS) for each in (recorded, predicted))
        return cls(recorded=first, predicted=second, off=_relative_error(recorded, predicted))


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


class ResultFit(Struct, frozen=True, kw_only=True):
    """Local estimates of single tool results, compared with the difference of two reported prompts."""

    results: Annotated[Count, about("Results of 300 tokens and more with a size determined by two reports.")]
    median: Annotated[float, about("Median error.")]
    p90: Annotated[float, about("90th percentile error.")]


class Outlier(Struct, frozen=True, kw_only=True):
    """A call with a prompt that is off by more than one percent."""

    call: Annotated[Count, about("Call number, from 1.")]
    reported: Annotated[Count, about("Prompt tokens reported.")]
    predicted: Annotated[int, about("Prompt tokens predicted.")]
    off: Annotated[float, about("Relative error of the prediction.")]
    brought: Annotated[str, about("Content that entered the context with it.")]


class OverheadShift(Struct, frozen=True, kw_only=True):
    """A call at which content appeared or disappeared that the file does not show."""

    call: Annotated[Count, about("Call number, from 1.")]
    tokens: Annotated[int, about("Tokens added, or removed if negative.")]


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
        shifts: Calls at which the overhead shifted because of unrecorded changes.
        counted_twice: Number of calls with a report that counts new text twice; they are judged with single counts.
    """

    calls: int
    median: float
    nine_of_ten: float
    held_out_median: float
    held_out_nine_of_ten: float
    outliers: tuple[Outlier, ...]
    beyond: int
    shifts: tuple[OverheadShift, ...]
    counted_twice: int

    @property
    def is_judged(self) -> bool:
        """True if there were enough calls to fit and judge."""
        return not np.isnan(self.median)

    def keeps(self, median: float = MEDIAN_PROMISE, nine_of_ten: float = NINE_OF_TEN_PROMISE) -> bool:
        """Return True if prompt errors are within these limits."""
        return self.is_judged and self.median <= median and self.nine_of_ten <= nine_of_ten


class LearnedCaches(Struct, frozen=True, kw_only=True):
    """Cache predictions for one half of the calls learned from the other half, both ways."""

    cache_read: Annotated[Prediction, about("Tokens read from the cache.")]
    cache_write: Annotated[Prediction, about("Tokens written to the cache.")]
    cost: Annotated[Prediction, about("Dollars.")]
    later_cost: Annotated[Prediction, about("Dollars of all calls except the first of every conversation.")]
    low: Annotated[float | None, about("Lower end of the 90 % interval, in dollars.")]
    high: Annotated[float | None, about("Upper end of the 90 % interval, in dollars.")]
    within: Annotated[bool | None, about("True if the recorded cost is in the interval.")]


@dataclass(frozen=True, slots=True)
class Validation:
    """Validation of one session.

    Attributes:
        calls: Number of calls with reported usage.
        fit: Errors of predicted prompts.
        caches: The simulated prompt caches.
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
    """Predict a session and compare; None if it reports no usage."""
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
        cache_read=Prediction.of(int(recorded.cache_read[mine].sum()), int(read[mine].sum())),
        cache_write=Prediction.of(int(recorded.cache_write[mine].sum()), int(write[mine].sum())),
        gaps=_gaps(inputs, read),
        reads_met=float(near.mean()),
        cost=Prediction.of(_dollars(cost), _dollars(predicted.ledger.cost[mine])),
        learned=learned_caches(inputs),
        baseline_cost=Prediction.of(_dollars(cost), _dollars(baseline.ledger.cost[mine])),
        cuts=recorded_cuts(baseline),
        results=result_fit(inputs),
        readings=inputs.scale.calibration.readings,
        borrowed=inputs.scale.borrowed,
    )


def learned_caches(inputs: ReplayInputs) -> LearnedCaches | None:
    """Predict the cache usage of each half of the calls from the other, with nothing hidden but caches."""
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
    result = inputs.rates.cost(recorded, inputs.output)
    dollars, billed = _dollars(cost[reported]), _dollars(result[reported])
    later = inputs.reported & (inputs.previous_call >= 0)
    # The uncertainty of both halves is fitted separately, so their errors are independent.
    wide = NINE_OF_TEN * hypot(*deviations)
    return LearnedCaches(
        cache_read=Prediction.of(int(recorded.cache_read[reported].sum()), int(read.sum())),
        cache_write=Prediction.of(int(recorded.cache_write[reported].sum()), int(write.sum())),
        cost=Prediction.of(billed, dollars),
        # The read of a first call depends on entries of other sessions.
        later_cost=Prediction.of(_dollars(result[later]), _dollars(cost[later])),
        low=None if dollars is None else round(dollars - wide, DOLLAR_DIGITS),
        high=None if dollars is None else round(dollars + wide, DOLLAR_DIGITS),
        within=None if dollars is None or billed is None else dollars - wide <= billed <= dollars + wide,
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
    median, p90 = (round(float(each), SHARE_DIGITS) for each in (np.median(off), np.quantile(off, 0.9)))
    return ResultFit(results=len(blocks), median=median, p90=p90)


def prompt_fit(inputs: ReplayInputs) -> PromptFit:
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
        outliers=tuple(_outlier(inputs, call, int(reported[call]), round(float(predicted[call]))) for call in furthest),
        beyond=len(beyond),
        shifts=tuple(OverheadShift(call=shift.call + 1, tokens=shift.tokens) for shift in fit.shifts),
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


def _outlier(inputs: ReplayInputs, call: int, reported: int, predicted: int) -> Outlier:
    history = inputs.history
    kinds = {BlockKind(int(kind)) for kind in history.kind[history.enters == call]}
    media = any(history.session.blocks[block].media for block in np.flatnonzero(history.enters == call).tolist())
    named = [kind.label for kind in _SHOWN_KINDS if kind in kinds]
    return Outlier(
        call=call + 1,
        reported=reported,
        predicted=predicted,
        off=round(predicted / reported - 1, SHARE_DIGITS),
        brought=", ".join(["image or document", *named] if media and BlockKind.IMAGE not in kinds else named),
    )


def _dollars(costs: NDArray[np.float64]) -> float | None:
    return None if np.isnan(costs).any() else float(costs.sum())


ROUNDING = 2.0
"""Tolerance in tokens for sums of rounded figures."""

MOST_CALLS = 50
"""Prompts per session to check, evenly spread; the last one of every context is added."""


class Invariant(StrEnum):
    """An invariant, with its description."""

    SHARES = "no share is negative"
    SUMS = "parts add up"
    EMPTY = "no reported prompt is replayed as empty"
    LARGEST = "no block exceeds the largest prompt"
    GROWTH = "followed equals loaded"
    USAGE = "usage equals an independent count"


class Violation(Struct, frozen=True):
    """A violated invariant of a session."""

    invariant: Annotated[str, about("The invariant.")]
    call: Annotated[Count | None, about("The call that violates it, counted from 1; null if it is not about a call.")]
    detail: Annotated[str, about("Size of the violation.")]


def violations_in_file(session: Session) -> tuple[Violation, ...]:
    """Compare a session with its file, read again; raise `TemporaryFolderError` without a temporary folder."""
    found: list[Violation] = []
    if differs := compare_followed(session.path):
        found.append(Violation(Invariant.GROWTH, None, f"{differs} differ"))
    try:
        plain = independent_totals(session)
    except OSError:
        plain = None
    if plain is not None and plain != (ours := totals_of(session)):
        named = zip(plain._fields, ours, plain, strict=True)
        detail = ", ".join(f"{name} {mine:,}, independent count {theirs:,}" for name, mine, theirs in named)
        found.append(Violation(Invariant.USAGE, None, detail.replace("_", " ")))
    return tuple(found)


def violations_in_replay(baseline: Replay) -> tuple[Violation, ...]:
    """Return the violations in a session's replay without a plan, the first of each kind at each checked call."""
    return (*_ledger(baseline), *_largest(baseline), *_prompts(baseline))


def _ledger(baseline: Replay) -> Iterator[Violation]:
    ledger, inputs = baseline.ledger, baseline.inputs
    served = (ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h, ledger.uncached)
    for call in np.flatnonzero(np.minimum.reduce(served) < 0).tolist():
        yield Violation(Invariant.SHARES, call + 1, "a negative number of tokens read, written or uncached")
    for call in np.flatnonzero(sum(served) != ledger.prompt_tokens).tolist():
        yield Violation(Invariant.SUMS, call + 1, "tokens read, written and uncached do not add up to the prompt")
    for call in np.flatnonzero(inputs.reported & (ledger.prompt_tokens != inputs.recorded.prompt)).tolist():
        yield Violation(Invariant.SUMS, call + 1, "without a plan, the replayed prompt differs from the reported one")


def _largest(baseline: Replay) -> Iterator[Violation]:
    inputs = baseline.inputs
    sent = np.unique(np.concatenate([context.blocks for context in inputs.layout.contexts] or [np.zeros(0, int)]))
    most = float(inputs.sizes.whole.max(initial=0.0))
    for block in sent[inputs.block_tokens[sent] > most + ROUNDING].tolist():
        yield Violation(
            Invariant.LARGEST, None, f"block {block + 1:,}: {inputs.block_tokens[block]:,.0f} of at most {most:,.0f}"
        )


def _prompts(baseline: Replay) -> Iterator[Violation]:
    count = baseline.history.call_count
    resend = resend_cost(baseline)
    last_of_contexts = {int(context.calls[-1]) for context in baseline.inputs.layout.contexts if len(context.calls)}
    spread = set(np.linspace(0, count, MOST_CALLS, dtype=int).tolist())
    for call in sorted(last_of_contexts | spread):
        state = baseline.state(call)
        context = context_at(baseline, state)
        prompt = float(context.prompt.value or 0)
        if min(context.rest, context.rest - context.system, *context.sent.tolist()) < -ROUNDING:
            yield Violation(
                Invariant.SHARES, call + 1, f"{context.rest:,.0f} of {prompt:,.0f} tokens are outside blocks"
            )
        if abs(float(context.sent.sum()) + context.rest - prompt) > ROUNDING:
            yield Violation(Invariant.SUMS, call + 1, "blocks and the rest do not add up to the prompt")
        breakdown = context_breakdown(baseline, state, resend, Grouping.ROLE, Scope.WINDOW)
        if abs(sum(part.tokens for part in breakdown.parts) - breakdown.everything.tokens) > ROUNDING:
            yield Violation(Invariant.SUMS, call + 1, "the parts by role do not add up to the prompt")
        names = {part.name for part in breakdown.parts if not len(part.blocks) and part.tokens > ROUNDING}
        is_blank = call < count and not len(context.blocks) and bool(baseline.inputs.reported[call])
        if is_blank and not names <= {EARLIER, AROUND_TEXTS}:
            yield Violation(Invariant.EMPTY, call + 1, f"{prompt:,.0f} tokens attributed to {NOT_RECORDED}")
    whole = context_breakdown(baseline, baseline.state(count), resend, Grouping.ROLE, Scope.SESSION)
    for part in whole.parts:
        if part.token_calls < -ROUNDING:
            yield Violation(Invariant.SHARES, None, f"{part.name} of all prompts: {part.token_calls:,.0f} tokens")
    token_calls = sum(part.token_calls for part in whole.parts)
    if abs(token_calls - float(baseline.ledger.prompt_tokens.sum())) > ROUNDING * max(count, 1):
        yield Violation(Invariant.SUMS, None, "the parts do not add up to all prompts")
