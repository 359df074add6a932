"""The part of a shared prefix that a cache with breakpoints can read.

Without breakpoints, a prompt reads the whole prefix that it shares with earlier prompts. With them, it reads an entry:
a prefix that an earlier request marked, that no edit has changed since, and that ends at most 20 positions before a
breakpoint of this request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.agent_breakpoints import (
    LOOKBACK_POSITIONS,
    MAX_PER_REQUEST,
    NOWHERE,
    breakpoints_of_prompts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.cache.agent_breakpoints import AgentRule
    from inspector.replay.engine.prompt_layout import PromptLayout

    Integers = NDArray[np.int64]

_UNCHANGED = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """Breakpoints of all prompts of a session, one row per entry of `PromptColumns.calls`.

    Positions in a prompt are counts of leading blocks, so that they can be compared across the contexts of a thread.

    Attributes:
        applies: True if the call's provider caches at breakpoints, bool.
        everywhere: True if the call's reads are not recorded, so breakpoints decide even without an edit, bool.
        blocks: Per breakpoint, the number of blocks before it, ascending, `NOWHERE` first; shape (calls, 4), int64.
        positions: Cache positions before each of `blocks`, same shape, int64.
        system: Number of blocks before the first message, int64.
        previous: Entry of the thread's previous call, -1 for its first, int64.
        lasting: Number of leading blocks with entries that outlast the pause before the call, and the change of
            context if it is the first of one, int64.
    """

    applies: NDArray[np.bool_]
    everywhere: NDArray[np.bool_]
    blocks: Integers
    positions: Integers
    system: Integers
    previous: Integers
    lasting: Integers

    @classmethod
    def of(
        cls,
        layout: PromptLayout,
        rule: AgentRule,
        uses_breakpoints: NDArray[np.bool_],
        follows: NDArray[np.bool_],
        expired: NDArray[np.bool_],
        recorded: Mapping[int, Integers],
    ) -> Breakpoints:
        """Place the breakpoints of every call.

        Args:
            layout: The session.
            rule: The rule for requests that are not recorded.
            uses_breakpoints: Per call, True if its provider caches at breakpoints; the next call is like the last one.
            follows: Per call, True if its reads without an edit are known to follow the agent's breakpoints.
            expired: Per call, True if entries of the previous call have expired.
            recorded: Breakpoints of recorded requests by call, as ascending block counts.
        """
        columns, kind, message = layout.columns, layout.history.kind, layout.history.message
        count = len(columns.calls)
        blocks = np.full((count, MAX_PER_REQUEST), NOWHERE, dtype=np.int64)
        positions = np.zeros_like(blocks)
        previous = np.arange(count, dtype=np.int64) - 1
        last_of_thread: dict[int, int] = {}
        for context, entry in zip(layout.contexts, columns.first_call.tolist(), strict=False):
            if not len(context.calls):
                continue
            marks = breakpoints_of_prompts(rule, kind[context.blocks], message[context.blocks], context.prompt_blocks)
            for row, call in enumerate(context.calls.tolist() if recorded else ()):
                if call in recorded:
                    given = recorded[call][-MAX_PER_REQUEST:]
                    marks[row] = NOWHERE
                    marks[row, MAX_PER_REQUEST - len(given) :] = given
            here = slice(entry, entry + len(marks))
            blocks[here] = marks
            positions[here] = layout.positions_before(context)[np.maximum(marks, 0)]
            previous[entry] = last_of_thread.get(context.thread, -1)
            last_of_thread[context.thread] = entry + len(marks) - 1
        last = bool(uses_breakpoints[-1]) if len(uses_breakpoints) else False
        applies = columns.of_calls(np.append(uses_breakpoints, last))
        is_first = np.zeros(count, dtype=np.bool_)
        is_first[columns.first_call[:-1][np.diff(columns.first_call) > 0]] = True
        shared = columns.previous_end - columns.first_place[columns.context]
        lasting = np.where(is_first, shared, _UNCHANGED)
        return cls(
            applies=applies,
            everywhere=columns.of_calls(np.append(~follows, False)) & applies,
            blocks=blocks,
            positions=positions,
            system=layout.system_blocks[columns.context],
            previous=previous,
            lasting=np.where(columns.of_calls(np.append(expired, False)), NOWHERE, lasting),
        )


def readable_blocks(
    breakpoints: Breakpoints, changed: Integers, unchanged: Integers, limited: NDArray[np.bool_]
) -> Integers:
    """Return the number of leading blocks that each prompt reads from the cache; -1 if no entry is in reach.

    Args:
        breakpoints: Breakpoints of the prompts.
        changed: Per entry of `PromptColumns.calls`, the number of blocks before the first edited block that it shares
            with the previous prompt; the largest integer if there is none.
        unchanged: Per entry, the number of leading blocks that are unchanged and were cached.
        limited: Per entry, True if breakpoints decide what is read.
    """
    reads = unchanged.copy()
    rows = np.flatnonzero(limited & breakpoints.applies)
    if not len(rows):
        return reads
    blocks, positions = breakpoints.blocks, breakpoints.positions
    # A breakpoint before the first message is in every request of the thread, so its entry is always there.
    before_messages = np.where(blocks <= breakpoints.system[:, np.newaxis], blocks, NOWHERE).max(axis=1)
    fixed = before_messages[rows]
    is_repeated = (breakpoints.previous[rows] >= 0) & (fixed <= unchanged[rows])
    best = np.where(is_repeated, fixed, NOWHERE)
    lasting = np.minimum(breakpoints.lasting, changed)
    intact = np.minimum(unchanged[rows], breakpoints.lasting[rows])
    own, own_positions = blocks[rows], positions[rows]
    nearest = np.where(own > fixed[:, np.newaxis], own_positions, _UNCHANGED).min(axis=1)
    active = np.arange(len(rows))
    entries = rows
    while len(active):
        earlier = breakpoints.previous[entries]
        inside = earlier >= 0
        active, entries = active[inside], earlier[inside]
        marks, at = blocks[entries], positions[entries]
        in_reach = np.zeros_like(marks, dtype=np.bool_)
        for column in range(MAX_PER_REQUEST):
            mark, place = own[active, column, np.newaxis], own_positions[active, column, np.newaxis]
            in_reach |= (mark >= marks) & (place - at < LOOKBACK_POSITIONS)
        is_intact = (marks != NOWHERE) & (marks <= intact[active, np.newaxis])
        found = np.where(is_intact & in_reach, marks, NOWHERE).max(axis=1, initial=NOWHERE)
        best[active] = np.maximum(best[active], found)
        # Requests grow within a context, so older entries are shorter and further away.
        newest, newest_at = marks.max(axis=1, initial=NOWHERE), at.max(axis=1, initial=0)
        goes_on = (best[active] < np.minimum(newest, intact[active])) & (
            nearest[active] - newest_at < LOOKBACK_POSITIONS
        )
        intact[active] = np.minimum(intact[active], lasting[entries])
        active, entries = active[goes_on], entries[goes_on]
    reads[rows] = best
    return reads
