"""Cuts of a plan with age, size and kind: the input of `refetches` and `envelope`."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.arguments import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History

CHANGES: Final = (ToolKind.EDIT, ToolKind.WRITE)


class CallsByThread(NamedTuple):
    """Calls in the order of their thread, so that ages and durations count calls of one conversation.

    Attributes:
        order: Calls sorted by thread, then by index, int64.
        position: Per call, its place in `order`, int64.
        end: Per call, the place in `order` after the last call of its thread, int64.
        keys: Thread and call of each entry of `order` as one sortable integer, int64.
    """

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    end: NDArray[np.int64]
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, threads: NDArray[np.int32]) -> CallsByThread:
        """Sort the calls by thread."""
        order = np.argsort(threads, kind="stable").astype(np.int64)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        end = np.searchsorted(threads[order], threads, side="right").astype(np.int64)
        return cls(order, position, end, _thread_keys(threads[order], order))

    def next_of(self, thread: NDArray[np.int32], call: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the first call of each thread from a call on, -1 if there is none."""
        key = _thread_keys(thread, call.astype(np.int64))
        place = np.searchsorted(self.keys, key)
        found = np.append(self.keys, -1)[place]
        is_there = (place < len(self.keys)) & (found >> 32 == thread)
        return np.where(is_there, np.append(self.order, -1)[place], -1).astype(np.int32)


def _thread_keys(thread: NDArray[np.int32], call: NDArray[np.int64]) -> NDArray[np.int64]:
    return (thread.astype(np.int64) << 32) + call


class PlanCuts(NamedTuple):
    """Cuts of tool results, tool calls and thinking blocks under a plan, by block, then call.

    A block that is cut in several steps has a row for each. Rows that leave a block as long as before, or restore text,
    are not cuts. Rows that no prompt includes are not cuts either.

    Attributes:
        block: Block index, int32.
        call: First call that sends it with the cut, the number of calls for the next one, int32.
        age: Calls of its thread since it was first sent; 0 if no prompt ever had it whole, int64.
        share: Share of its tokens that the cut takes, 0 to 1, float64.
        kept_characters: Characters that stay, int64.
        newer_tokens: Tokens of tool results after it in that prompt, int64.
        is_result: Tool result, otherwise a call or thinking of the agent, bool.
        is_read: Result of a file read with a known path, bool.
        is_superseded: Such a read whose file was read again or changed before the cut, bool.
    """

    block: NDArray[np.int32]
    call: NDArray[np.int32]
    age: NDArray[np.int64]
    share: NDArray[np.float64]
    kept_characters: NDArray[np.int64]
    newer_tokens: NDArray[np.int64]
    is_result: NDArray[np.bool_]
    is_read: NDArray[np.bool_]
    is_superseded: NDArray[np.bool_]

    @classmethod
    def of(cls, replay: Replay) -> PlanCuts:
        """Find the cuts of a replay's plan."""
        history, edits = replay.history, replay.edits
        kinds = (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.THINKING)
        before = np.minimum(edits.previous_tokens, replay.table.tokens[edits.block])
        rows = np.flatnonzero(
            edits.by_plan & ((edits.tokens < before) | (edits.removals > 0)) & np.isin(history.kind[edits.block], kinds)
        )
        threads = CallsByThread.of(history.call_thread)
        block = edits.block[rows]
        call = threads.next_of(history.message_thread[history.message[block]], edits.call[rows])
        is_sent = call >= 0
        rows, block, call = rows[is_sent], block[is_sent], call[is_sent]
        tokens = np.maximum(replay.table.tokens[block], 1)
        is_result = history.kind[block] == BlockKind.TOOL_RESULT
        is_read, is_superseded = _reads(history, block, call)
        return cls(
            block=block,
            call=call,
            age=np.maximum(threads.position[call] - threads.position[history.enters[block]], 0),
            share=np.clip((before[rows] - edits.tokens[rows]) / tokens, 0.0, 1.0),
            kept_characters=np.rint(history.characters[block] * np.minimum(edits.tokens[rows] / tokens, 1.0)).astype(
                np.int64
            ),
            newer_tokens=_newer_tokens(replay, block, call),
            is_result=is_result,
            is_read=is_read & is_result,
            is_superseded=is_superseded,
        )


def _newer_tokens(replay: Replay, block: NDArray[np.int32], call: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the tokens of tool results after a block in the prompt of a call."""
    history = replay.history
    tokens = np.where(history.kind == BlockKind.TOOL_RESULT, replay.table.tokens, 0)
    # Blocks of a thread are in sent order, so a running sum over them gives those between two of them.
    order = np.argsort(history.message_thread[history.message], kind="stable")
    running = np.empty(len(order), dtype=np.int64)
    running[order] = np.cumsum(tokens[order])
    last = history.message_first_block[history.call_last_message[call] + 1] - 1
    newer: NDArray[np.int64] = np.maximum(running[last] - running[block], 0)
    return newer


def _reads(
    history: History, block: NDArray[np.int32], call: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which blocks are results of reads of a known file, and which of them are superseded at a call."""
    blocks, session = history.session.blocks, history.session
    uses = tool_kind_mask(history.tool_names, (ToolKind.READ, *CHANGES))
    reads = tool_kind_mask(history.tool_names, (ToolKind.READ,))
    results = history.results_of(uses)
    results = results[history.call_block[results] >= 0]
    paths = path_of.each(session, [blocks[each] for each in history.call_block[results].tolist()])
    used_at: dict[str, list[int]] = defaultdict(list)
    path_of_result: dict[int, str] = {}
    for result, path in zip(results.tolist(), paths, strict=True):
        if path:
            used_at[path].append(int(history.enters[result]))
            path_of_result[result] = path
    for times in used_at.values():
        times.sort()
    is_read, is_superseded = np.zeros(len(block), dtype=np.bool_), np.zeros(len(block), dtype=np.bool_)
    for row, (result, cut_at) in enumerate(zip(block.tolist(), call.tolist(), strict=True)):
        if result not in path_of_result or not reads[history.tool[result]]:
            continue
        is_read[row] = True
        times = used_at[path_of_result[result]]
        later = bisect_right(times, int(history.enters[result]))
        is_superseded[row] = later < len(times) and times[later] <= cut_at
    return is_read, is_superseded
