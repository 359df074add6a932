"""Arrival order of blocks in a context, and when they become stale: the basis of "the newest three" and "fresh".

A rule that looks at the whole prompt at every call ("keep the newest N") can be inverted: a block is dropped at the
call that adds the N-th block after it. A context that began with a compaction or a rewind counts again from the blocks
carried into it.

In several systems "fresh" means the end of the prompt: the newest batch of tool results, the newest single result, the
newest question. Such a rule looks at one prompt at a time, so a result can be fresh in several consecutive prompts (a
repeated request) and even become fresh again (after a rewind). It is computed here for all calls at once.

A *group* is any set of blocks that are fresh together, identified by a number; every call has one number, the group its
prompt ends with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.strategies.history.history import NEVER, History

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Arrivals(NamedTuple):
    """Blocks of a context as sent, int32, with the first call of each; the first `retained` are older."""

    context: int
    blocks: NDArray[np.int32]
    calls: NDArray[np.int32]
    retained: int


def arrivals(history: History, chosen: NDArray[np.bool_]) -> Iterator[Arrivals]:
    """Yield the chosen blocks of every context. `chosen`: per block, True to include it."""
    for index, (members, own_calls) in enumerate(history.calls_of_contexts()):
        sent = history.call_prompt_messages[own_calls]
        entering = np.append(own_calls, NEVER)[np.searchsorted(sent, np.arange(len(members)), side="right")]
        blocks = history.blocks_of(members)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        calls = np.repeat(entering, counts).astype(np.int32)
        keep = chosen[blocks] & (calls != NEVER)
        retained = int(np.count_nonzero(keep[: int(counts[: history.session.contexts[index].retained].sum())]))
        yield Arrivals(index, blocks[keep], calls[keep], retained)


def later(calls: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    """Return, per arrival, the call of the arrival `by` places later, or `NEVER` if there is none."""
    return np.append(calls[by:], np.full(min(by, len(calls)), NEVER, dtype=np.int32))


class FreshnessChanges(NamedTuple):
    """Changes between fresh and stale: positions in the columns passed in, first calls, new states."""

    rows: NDArray[np.int32]
    calls: NDArray[np.int32]
    stale: NDArray[np.bool_]


def freshness_changes(
    history: History, blocks: NDArray[np.int32], groups: NDArray[np.int32], ends: NDArray[np.int32]
) -> FreshnessChanges:
    """Compute when each of `blocks` becomes stale, i.e. is in a prompt that does not end with its group.

    Args:
        blocks: Block indices, shape (n,).
        groups: The group of each block, shape (n,), non-negative.
        ends: Per call, including the next one, the group its prompt ends with, -1 for none.
    """
    starts, stops, interval_groups = _intervals(history, ends)
    first = np.searchsorted(interval_groups, groups, side="left")
    count = np.searchsorted(interval_groups, groups, side="right") - first
    rows = np.repeat(np.arange(len(blocks), dtype=np.int32), count)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    interval = np.repeat(first, count) + offsets
    begin, end = starts[interval], stops[interval]
    enters = history.enters[blocks]
    entered = enters[rows]
    covers = (begin <= entered) & (entered < end)
    fresh_at_first = np.zeros(len(blocks), dtype=np.bool_)
    fresh_at_first[rows[covers]] = True
    at_once = np.flatnonzero(~fresh_at_first & (enters != NEVER)).astype(np.int32)
    again = entered < begin
    later = (end != NEVER) & (end > entered) & (entered != NEVER)
    return FreshnessChanges(
        rows=np.concatenate((at_once, rows[later], rows[again])),
        calls=np.concatenate((enters[at_once], end[later], begin[again])),
        stale=np.concatenate(
            (np.ones(len(at_once) + int(later.sum()), np.bool_), np.zeros(int(again.sum()), np.bool_))
        ),
    )


def last_marked_messages(history: History, marked: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return, per call, the last marked message of its prompt, -1 for none. `marked`: per message, True if marked."""
    found = np.full(len(history.call_context), -1, dtype=np.int32)
    for members, calls in history.calls_of_contexts():
        places = np.flatnonzero(marked[members])
        if len(places) and len(calls):
            last = np.searchsorted(places, history.call_prompt_messages[calls], side="left") - 1
            found[calls] = np.where(last >= 0, members[places[np.maximum(last, 0)]], -1)
    return found


def result_runs(history: History) -> NDArray[np.int32]:
    """Return, per message, the number of its run of tool-result messages, -1 for none.

    Consecutive result messages that answer the same assistant message are one run. A provider that expects all results
    of a batch in one message receives the run as one message.
    """
    runs = np.full(len(history.message_enters), -1, dtype=np.int32)
    sent = np.flatnonzero(history.message_enters != NEVER)
    if not len(sent):
        return runs
    sent = sent[np.argsort(history.message_thread[sent], kind="stable")]
    thread = history.message_thread[sent]
    holds, batch = history.message_has_results[sent], history.message_batch[sent]
    new = np.ones(len(sent), dtype=np.bool_)
    new[1:] = (thread[1:] != thread[:-1]) | (batch[1:] != batch[:-1]) | ~holds[:-1]
    runs[sent] = np.where(holds, np.cumsum(new & holds) - 1, -1)
    return runs


def _intervals(
    history: History, ends: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return runs of calls of one thread that end with the same group: first call, next call, group; by group."""
    calls = np.flatnonzero(history.call_context >= 0).astype(np.int32)
    thread = history.call_thread[calls]
    order = np.argsort(thread, kind="stable")
    calls, thread = calls[order], thread[order]
    group = ends[calls]
    changes = (thread[1:] != thread[:-1]) | (group[1:] != group[:-1])
    begins = np.flatnonzero(np.append(True, changes)) if len(calls) else calls
    after = np.append(begins[1:], len(calls))
    following = np.append(calls, NEVER)[after]
    same_thread = np.append(thread, -1)[after] == thread[begins]
    stop = np.where(same_thread, following, NEVER).astype(np.int32)
    held = group[begins] >= 0
    start, stop, group = calls[begins][held], stop[held], group[begins][held]
    by_group = np.argsort(group, kind="stable")
    return start[by_group], stop[by_group], group[by_group]
