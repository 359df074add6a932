"""Apportion recorded totals to calls without reported prompts, or with placeholders for their output.

Some agents record the usage of a range of calls, not of each call: Copilot CLI writes one record per process. The sums
are exact. A call's share is an estimate: its counted prompt, plus an equal part of everything that the file does not
record (system prompt and tools, sent with every call). Cache reads go to prefixes shared with the previous prompt
first, cache writes to the rest of the prompts.

Printed runs of Claude Code report every prompt, but the size of responses only as they begin. The rest of the total
output is divided in proportion to the measured lengths of the responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.engine.recorded_calls import RecordedCalls
    from inspector.session.model import RecordedTotals, Session, Usage

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


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
