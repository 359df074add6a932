"""Recorded data of a session's calls as columns; only new calls are processed.

Response lengths: as reported, otherwise (including placeholders) measured from their texts.

A streamed response begins with a count of one or a few tokens. Some versions of Claude Code recorded that count and
never corrected it. The length is then measured from the recorded texts and thinking of the response, in the same way as
these blocks in later prompts, on the scale fitted to reported usage. If the file holds nothing measurable, that length
is a lower bound.

Apportion recorded totals to calls without reported prompts, or with placeholders for their output.

Some agents record the usage of a range of calls, not of each call: Copilot CLI writes one record per process. The sums
are exact. A call's share is an estimate: its counted prompt, plus an equal part of everything that the file does not
record (system prompt and tools, sent with every call). Cache reads go to prefixes shared with the previous prompt
first, cache writes to the rest of the prompts.

Printed runs of Claude Code report every prompt, but the size of responses only as they begin. The rest of the total
output is divided in proportion to the measured lengths of the responses.

Correct reported prompt sizes that count tokens twice.

For some calls to Claude models with thinking, GitHub Copilot reports the new part of the prompt twice: as cache writes
and as input. The cache read of the next call covers it only once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.session.model import BlockKind
from inspector.strategies.history.memo import cached_per_history
from inspector.tokens.model_names import Categorical

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.token_scale import TokenScale
    from inspector.session.model import Call, RecordedTotals, Session, Usage
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RecordedCalls:
    """Columns over the calls, in call order.

    Attributes:
        models: Model names as recorded.
        terms: Billing terms, in the format of `BillingTerms.code`.
        response: The message each call produced, int64.
        usage: Reported prompt tokens; zeros where nothing was reported.
        output: Reported response tokens, -1 where nothing was reported, int64.
        reasoning: The part of them that was reasoning, if reported, int64.
        is_placeholder: True if the reported output is not the response's size, bool.
    """

    models: Categorical
    terms: Categorical
    response: NDArray[np.int64]
    usage: PromptUsage
    output: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    is_placeholder: NDArray[np.bool_]


@cached_per_history
def recorded_calls(history: History) -> RecordedCalls:
    """Return the columns of a history's calls."""
    growing = history.growing
    numbers, terms = growing.numbers("models"), growing.numbers("billing terms")
    table = growing.over("recorded calls", history.session.calls, partial(_rows, numbers=numbers, terms=terms))
    model, term, response, uncached, cache_read, cache_write_5m, cache_write_1h, output, reasoning, is_placeholder = (
        table.T
    )
    return RecordedCalls(
        models=Categorical.renumbered(tuple(numbers), model),
        terms=Categorical.renumbered(tuple(terms), term),
        response=response,
        usage=PromptUsage(uncached, cache_read, cache_write_5m, cache_write_1h),
        output=output,
        reasoning=reasoning,
        is_placeholder=is_placeholder > 0,
    )


def _rows(calls: Sequence[Call], numbers: dict[str, int], terms: dict[str, int]) -> NDArray[np.int64]:
    """Return a row per call with model and terms as numbers, assigning new numbers as needed."""
    rows = [
        (*_numbers(call, numbers, terms), call.response, 0, 0, 0, 0, -1, 0, 0)
        if (usage := call.usage) is None
        else (
            *_numbers(call, numbers, terms),
            call.response,
            usage.uncached,
            usage.cache_read,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.output,
            usage.reasoning,
            usage.output_is_placeholder,
        )
        for call in calls
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 10)


def _numbers(call: Call, models: dict[str, int], terms: dict[str, int]) -> tuple[int, int]:
    return models.setdefault(call.model, len(models)), terms.setdefault(call.terms, len(terms))


def is_reported_in_full(session: Session) -> bool:
    """Return True if usage was reported for every prompt and response, and the agent itself cleared nothing.

    Each figure of such a session is then a reported one, provided that nothing is cut and every model has its own
    cache: no token count changes it.
    """
    usages = [call.usage for call in session.calls]
    reported = all(usage is not None and usage.prompt and not usage.output_is_placeholder for usage in usages)
    return reported and not any(compaction.is_partial for compaction in session.compactions)


@dataclass(frozen=True, eq=False)
class ResponseTokens:
    """Response lengths per call, in call order.

    Attributes:
        tokens: Tokens of the response, int64.
        is_reported: True if the provider reported them, bool.
        is_lower_bound: True if `tokens` is a lower bound, because part of the response has no known size, bool.
    """

    tokens: NDArray[np.int64]
    is_reported: NDArray[np.bool_]
    is_lower_bound: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, calls: RecordedCalls, table: TokenTable, scale: TokenScale) -> ResponseTokens:
        """Take reported lengths and measure the rest.

        Args:
            history: The session's columns.
            calls: Recorded data of its calls.
            table: Its token counts.
            scale: Conversion of counted tokens to provider tokens.
        """
        reported, silent, placeholder = calls.output, calls.output < 0, calls.is_placeholder
        tokens, is_lower_bound = reported, np.zeros_like(placeholder)
        if silent.any():
            counted = _within(calls.response, history, table.tokens.astype(np.float64))
            tokens = np.where(silent, np.rint(scale.ratio[:-1] * counted).astype(np.int64), tokens)
        if placeholder.any():
            thinks = history.kind == BlockKind.THINKING
            # Thinking is at least as long as its displayed text, even if its signature measures less.
            uncounted = np.where(thinks, np.maximum(scale.uncounted, 0), scale.uncounted)
            measured = scale.ratio[:-1] * _within(calls.response, history, table.tokens.astype(np.float64))
            measured += _within(calls.response, history, uncounted)
            # The reported count had already been streamed.
            lengths = np.maximum(np.rint(measured).astype(np.int64), reported)
            tokens = np.where(placeholder, lengths, tokens)
            hidden = thinks & (table.tokens == 0) & ~scale.has_signature
            first = history.message_first_block
            is_empty = first[calls.response] == first[calls.response + 1]
            hides = _within(calls.response, history, hidden.astype(np.float64)) > 0
            is_lower_bound = placeholder & (is_empty | hides)
        return cls(tokens, ~silent & ~placeholder, is_lower_bound)


def _within(response: NDArray[np.int64], history: History, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum a column over the blocks of each response."""
    before = np.concatenate(([0.0], np.cumsum(column)))
    first = history.message_first_block
    found: NDArray[np.float64] = before[first[response + 1]] - before[first[response]]
    return found


@dataclass(frozen=True, eq=False)
class ApportionedUsage:
    """Reported usage of a session's calls, completed from recorded totals.

    Attributes:
        usage: Per call, reported prompt tokens or its share of a total; zeros where neither exists.
        output: Per call, response tokens, int64.
        calls: Per call, True if its prompt is a share of a total, bool.
        outputs: Per call, True if its output is a share of a total, bool.
    """

    usage: PromptUsage
    output: Integers
    calls: NDArray[np.bool_]
    outputs: NDArray[np.bool_]


def apportioned_usage(
    session: Session, calls: RecordedCalls, prompts: Floats, output: Integers, previous: Integers
) -> ApportionedUsage:
    """Complete the reported usage of a session from its recorded totals.

    Args:
        session: The session.
        calls: Recorded data of its calls.
        prompts: Per call, estimated tokens of the prompt, without unrecorded text.
        output: Per call, response tokens: reported, otherwise measured.
        previous: Per call, the previous call of its thread, -1 for the first.
    """
    columns = np.stack(
        (calls.usage.cache_read, calls.usage.cache_write_5m, calls.usage.cache_write_1h, calls.usage.uncached)
    )
    output, shared = output.copy(), np.zeros(len(previous), dtype=np.bool_)
    shared_output = shared.copy()
    unsized = (calls.output < 0) | calls.is_placeholder
    for mine, total, whole_output in _stretches(session, calls, columns):
        silent = mine[columns[:, mine].sum(axis=0) == 0]
        if len(silent) and total.any():
            columns[:, silent] = _shares(total, prompts[silent], continues=np.isin(previous[silent], silent))
            shared[silent] = True
        receivers = mine[unsized[mine]]
        rest = whole_output - int(calls.output[mine[~unsized[mine]]].sum())
        if rest > 0 and len(receivers):
            # The count in a placeholder was streamed before the response ended.
            known = np.maximum(calls.output[receivers], 0)
            known = known if int(known.sum()) <= rest else np.zeros_like(known)
            lengths = np.maximum(output[receivers] - known, 1).astype(np.float64)
            output[receivers] = known + apportion(rest - int(known.sum()), lengths)
            shared_output[receivers] = True
        elif rest > 0 and len(silent):
            # Reasoning may be included only in the total.
            output[silent] += apportion(rest, np.maximum(output[silent], 1).astype(np.float64))
            shared_output[silent] = True
    read, written, written_1h, uncached = columns
    return ApportionedUsage(PromptUsage(uncached, read, written, written_1h), output, shared, shared | shared_output)


def _stretches(session: Session, calls: RecordedCalls, columns: Integers) -> Iterator[tuple[Integers, Integers, int]]:
    """Yield the calls of one model in a range, with the part of the total prompt they do not report, and all output.

    The prompt is in the order of `columns`. Totals that are smaller than the reported usage are skipped, as are those
    that include requests of other files.
    """
    numbers = {name: code for code, name in enumerate(calls.models.names)}
    for totals in session.recorded_totals:
        stretch = np.arange(totals.first_call, min(totals.end_call, len(session.calls)))
        for model, usage in totals.usages if not totals.includes_subagents else ():
            mine = stretch[calls.models.code[stretch] == numbers.get(model, -1)]
            outside = _outside(totals, model)
            total = _columns(usage) - outside[:-1] - columns[:, mine].sum(axis=1)
            if len(mine) and int(total.min()) >= 0:
                yield mine, total, usage.output - int(outside[-1])


def _columns(usage: Usage) -> Integers:
    return np.array((usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.uncached), dtype=np.int64)


def _outside(totals: RecordedTotals, model: str) -> Integers:
    """Return the usage of requests outside the conversation in a total: prompt columns, then output."""
    found = [(*_columns(usage).tolist(), usage.output) for name, usage in totals.side_usages if name == model]
    summed: Integers = np.array(found, dtype=np.int64).reshape(-1, 5).sum(axis=0)
    return summed


def _shares(total: Integers, prompts: Floats, continues: NDArray[np.bool_]) -> Integers:
    """Split a total among calls.

    Args:
        total: Prompt tokens: cache reads, both kinds of writes, uncached.
        prompts: Per call, estimated tokens of its prompt.
        continues: Per call, True if its prompt extends the prompt of another of these calls.

    Returns:
        The same rows, one column per call.
    """
    whole = int(total.sum())
    unrecorded = max(whole - float(prompts.sum()), 0.0) / len(prompts)
    sizes = apportion(whole, np.maximum(prompts, 0) + unrecorded)
    before = np.concatenate(([0], sizes[:-1]))
    shared = np.where(continues, np.minimum(before, sizes), 0)
    read, *written = (int(each) for each in total[:3])
    first = apportion(min(read, int(shared.sum())), shared.astype(np.float64), shared)
    rows = [first + apportion(read - int(first.sum()), (sizes - first).astype(np.float64), sizes - first)]
    for each in written:
        room = sizes - np.sum(rows, axis=0)
        rows.append(apportion(each, room.astype(np.float64), room))
    return np.stack([*rows, sizes - np.sum(rows, axis=0)])


def apportion(total: int, weights: Floats, most: Integers | None = None) -> Integers:
    """Split a total into whole parts in proportion to weights.

    Args:
        total: Sum of the parts; at most the sum of `most`.
        weights: Weight of each part; equal if all are zero.
        most: Maximum of each part; no maximum by default.

    Returns:
        The parts, int64.
    """
    parts = np.zeros(len(weights), dtype=np.int64)
    room = np.full(len(weights), total, dtype=np.int64) if most is None else most.copy()
    rest = total
    while rest > 0 and room.any():
        share = np.where(room > 0, weights, 0.0)
        share = share if share.sum() > 0 else (room > 0).astype(np.float64)
        ends = np.rint(np.cumsum(share) / share.sum() * rest).astype(np.int64)
        more = np.minimum(np.diff(ends, prepend=0), room)
        parts, room, rest = parts + more, room - more, rest - int(more.sum())
    return parts


_LEAST_CALLS = 3
"""Number of such calls in a session; a single one could be chance."""

_LEAST_TOKENS = 64

_TOLERANCE = 3
"""Tolerance in tokens: the part after the last cache breakpoint."""


@cached_per_history
def counted_twice(history: History) -> NDArray[np.int64]:
    """Return the tokens that each call's report counts a second time, int64.

    A call is affected if its prompt equals its cache read plus twice the next call's growth in cache reads.
    """
    usage = recorded_calls(history).usage
    twice = np.zeros(len(usage.prompt), dtype=np.int64)
    for _, calls in history.calls_of_contexts():
        made = calls[calls < len(twice)]
        call, following = made[:-1], made[1:]
        read = usage.cache_read[call]
        grown = usage.cache_read[following] - read
        remainder = usage.prompt[call] - read - 2 * grown
        is_so = (read > 0) & (grown >= _LEAST_TOKENS) & (remainder >= 0) & (remainder <= _TOLERANCE)
        twice[call] = np.where(is_so, grown, 0)
    return twice if np.count_nonzero(twice) >= _LEAST_CALLS else np.zeros_like(twice)


def deduplicated_prompts(history: History) -> NDArray[np.int64]:
    """Return each prompt's reported size with every token counted once; 0 if not reported. int64."""
    return recorded_calls(history).usage.prompt - counted_twice(history)
