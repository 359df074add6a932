"""First cut of every block under a plan: its age, size and kind, the input of risk and of the envelope."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action
from inspector.strategies.history.arguments import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History

CHANGES: Final = (ToolKind.EDIT, ToolKind.WRITE)


class PlanCuts(NamedTuple):
    """One row per tool result, tool call or thinking block that a plan cuts or removes, in block order.

    Attributes:
        block: Block index, int32.
        call: First call that sends it cut, int32.
        age: Calls of its thread since it was first sent; 0 if no prompt ever had it whole, int64.
        share: Share of its tokens that is cut, 0 to 1, float64.
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
        """Find the first cut of every block of a replay's plan."""
        history, edits = replay.history, replay.edits
        kinds = (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.THINKING)
        shrinks = (edits.tokens < replay.table.tokens[edits.block]) | (edits.action == Action.REMOVED)
        rows = np.flatnonzero(
            edits.by_plan & (edits.action != Action.WHOLE) & shrinks & np.isin(history.kind[edits.block], kinds)
        )
        rows = rows[np.unique(edits.block[rows], return_index=True)[1]]
        block, call = edits.block[rows], np.minimum(edits.call[rows], history.call_count)
        tokens = np.maximum(replay.table.tokens[block], 1)
        share = np.clip(1 - edits.tokens[rows] / tokens, 0.0, 1.0)
        share[edits.action[rows] == Action.REMOVED] = 1.0
        is_result = history.kind[block] == BlockKind.TOOL_RESULT
        is_read, is_superseded = _reads(history, block, call)
        return cls(
            block=block,
            call=call,
            age=_age(history, block, call),
            share=share,
            kept_characters=np.rint(history.characters[block] * (1 - share)).astype(np.int64),
            newer_tokens=_newer_tokens(replay, block, call),
            is_result=is_result,
            is_read=is_read & is_result,
            is_superseded=is_superseded,
        )


def _age(history: History, block: NDArray[np.int32], call: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of calls of the thread from the first with the block to the given one."""
    threads = history.call_thread
    rank = np.zeros(len(threads), dtype=np.int64)
    for thread in np.unique(threads):
        mine = threads == thread
        rank[mine] = np.arange(int(mine.sum()))
    last = len(threads) - 1
    entered = np.minimum(history.enters[block], last)
    age: NDArray[np.int64] = np.maximum(rank[np.minimum(call, last)] - rank[entered], 0)
    return age


def _newer_tokens(replay: Replay, block: NDArray[np.int32], call: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the tokens of tool results after a block in the prompt of a call."""
    history = replay.history
    is_result = history.kind == BlockKind.TOOL_RESULT
    # Blocks of a thread are in sent order, so a running sum over the session's blocks gives those between two of them.
    running = np.concatenate(([0], np.cumsum(np.where(is_result, replay.table.tokens, 0))))
    last = np.array([_last_block(history, each) for each in np.unique(call).tolist()], dtype=np.int64)
    ends = last[np.searchsorted(np.unique(call), call)] if len(call) else np.zeros(0, dtype=np.int64)
    newer: NDArray[np.int64] = np.maximum(running[ends + 1] - running[block + 1], 0)
    return newer


def _last_block(history: History, call: int) -> int:
    prompt = history.prompt(min(call, history.call_count))
    return int(prompt.max()) if len(prompt) else -1


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
