"""The part of a shared prefix that a cache with breakpoints can read.

Without breakpoints, a prompt reads the whole prefix that it shares with earlier prompts. With them, it reads an entry: a
prefix that an earlier request marked, that no edit has changed since, and that ends at most 20 positions before a breakpoint
of this request.
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

    Attributes:
        applies: True if the call's provider caches at breakpoints, bool.
        everywhere: True if the call's reads are not recorded, so that its breakpoints decide even without an edit, bool.
        place: Per breakpoint, the place after its last block, ascending, `NOWHERE` first; shape (calls, 4), int64.
        position: Per place, the cache positions before it, int64.
    """

    applies: NDArray[np.bool_]
    everywhere: NDArray[np.bool_]
    place: Integers
    position: Integers

    @classmethod
    def of(
        cls,
        layout: PromptLayout,
        rule: AgentRule,
        uses_breakpoints: NDArray[np.bool_],
        anchored: NDArray[np.bool_],
        recorded: Mapping[int, Integers],
    ) -> Breakpoints:
        """Place the breakpoints of every call.

        Args:
            layout: The session.
            rule: The rule for requests that are not recorded.
            uses_breakpoints: Per call, True if its provider caches at breakpoints; the next call is like the last one.
            anchored: Per call, True if its cache reads are recorded.
            recorded: Breakpoints of recorded requests by call, as ascending block counts.
        """
        columns, kind, message = layout.columns, layout.history.kind, layout.history.message
        place = np.full((len(columns.calls), MAX_PER_REQUEST), NOWHERE, dtype=np.int64)
        for context, entry, begin in zip(
            layout.contexts, columns.first_call.tolist(), columns.first_place.tolist(), strict=False
        ):
            if not len(context.calls):
                continue
            marks = breakpoints_of_prompts(rule, kind[context.blocks], message[context.blocks], context.prompt_blocks)
            for row, call in enumerate(context.calls.tolist() if recorded else ()):
                if call in recorded:
                    marks[row] = NOWHERE
                    given = recorded[call][-MAX_PER_REQUEST:]
                    marks[row, MAX_PER_REQUEST - len(given) :] = given
            place[entry : entry + len(marks)] = np.where(marks == NOWHERE, NOWHERE, marks + begin)
        last = bool(uses_breakpoints[-1]) if len(uses_breakpoints) else False
        applies = columns.of_calls(np.append(uses_breakpoints, last))
        everywhere = columns.of_calls(np.append(~anchored, False)) & applies
        position = np.concatenate([np.zeros(0, dtype=np.int64), *map(layout.positions_before, layout.contexts)])
        return cls(applies, everywhere, place, position)


def readable(
    layout: PromptLayout, breakpoints: Breakpoints, changed: Integers, ends: Integers, limited: NDArray[np.bool_]
) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the place up to which each prompt reads, and which prompts read nothing.

    Args:
        layout: The session.
        breakpoints: Breakpoints of its prompts.
        changed: Per entry of `PromptColumns.calls`, the place of the first edited block shared with the previous prompt, -1
            for none.
        ends: Per entry, the place up to which the prompt is unchanged and was cached.
        limited: Per entry, True if breakpoints decide what is read of it.
    """
    columns = layout.columns
    rows = np.flatnonzero(limited & breakpoints.applies)
    reads = ends.copy()
    nothing = np.zeros(len(ends), dtype=np.bool_)
    if not len(rows):
        return reads, nothing
    marks, position = breakpoints.place, breakpoints.position
    first = columns.first_call[columns.context]
    # A breakpoint before the first message is in every request, so its entry is always there.
    fixed = np.where(marks <= _first_message(layout)[:, np.newaxis], marks, NOWHERE).max(axis=1)
    best = np.where(fixed[rows] <= ends[rows], fixed[rows], NOWHERE)
    intact = ends[rows].copy()
    change = np.where(changed < 0, _UNCHANGED, changed)
    own = marks[rows]
    own_position = np.where(own == NOWHERE, -LOOKBACK_POSITIONS, position[np.maximum(own, 0)])
    tail = np.where(own > fixed[rows][:, np.newaxis], own_position, _UNCHANGED).min(axis=1)
    active = np.arange(len(rows))
    back = 0
    while len(active):
        back += 1
        earlier = rows[active] - back
        inside = earlier >= first[rows[active]]
        active, earlier = active[inside], earlier[inside]
        if not len(active):
            break
        if back > 1:
            intact[active] = np.minimum(intact[active], change[earlier + 1])
        entry = marks[earlier]
        entry_position = np.where(entry == NOWHERE, -LOOKBACK_POSITIONS, position[np.maximum(entry, 0)])
        is_intact = (entry != NOWHERE) & (entry <= intact[active][:, np.newaxis])
        reach = np.zeros_like(is_intact)
        for column in range(MAX_PER_REQUEST):
            mark, at = own[active, column][:, np.newaxis], own_position[active, column][:, np.newaxis]
            reach |= (mark >= entry) & (at - entry_position < LOOKBACK_POSITIONS)
        found = np.where(is_intact & reach, entry, NOWHERE).max(axis=1)
        best[active] = np.maximum(best[active], found)
        # Requests only grow within a context, so older entries are shorter and further away.
        newest = entry.max(axis=1)
        far = tail[active] - entry_position.max(axis=1) >= LOOKBACK_POSITIONS
        active = active[(best[active] < newest) & ~far]
    nothing[rows] = best == NOWHERE
    reads[rows] = np.where(best == NOWHERE, columns.first_place[columns.context][rows], best)
    return reads, nothing


def _first_message(layout: PromptLayout) -> Integers:
    """Return the place of the first message after the system prompt, per entry of `PromptColumns.calls`."""
    columns = layout.columns
    places: Integers = (columns.first_place + layout.system_blocks)[columns.context]
    return places
