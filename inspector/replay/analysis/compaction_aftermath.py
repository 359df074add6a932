"""The work after recorded compactions until the next edit or finished step.

A compaction removes context; the next actions show how much of it was needed. Calls are counted from the first one
after it until one edits or writes a file, or answers without a tool call (a finished step). This is the only ground
truth in a file, and it is weak, because any other call is also followed by some work before the next edit. Each stretch
is therefore compared with windows of equal length elsewhere in the session, which are in one context and overlap no
such stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, ContextCause
from inspector.strategies.history.arguments import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.ledger import Figures
    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import HowKnown

_WRITING: Final = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_NAMING: Final = frozenset({ToolKind.READ, *_WRITING})


class WorkStretch(NamedTuple):
    """Consecutive calls of one conversation.

    Attributes:
        calls: Number of calls.
        actions: Tool calls from the first of them to the next edit or finished step.
        tokens: Tokens of their prompts and responses.
        usd: Dollars of these, NaN without a price.
        reads: Number of file reads.
        rereads: Of these, reads of files that had been read or written before the first call.
    """

    calls: int
    actions: float
    tokens: float
    usd: float
    reads: float
    rereads: float


@dataclass(frozen=True)
class CompactionAftermath:
    """Work after one compaction.

    Attributes:
        call: Index of the first call after it.
        reached: True if an edit or a finished step came before the end of the session or context.
        after: From that call to the one that reached it, inclusive.
        elsewhere: Medians over windows of equal length elsewhere in the session; None if there are none.
        windows: Number of windows.
        tokens_known: Confidence of the tokens.
        usd_known: Confidence of the dollars.
    """

    call: int
    reached: bool
    after: WorkStretch
    elsewhere: WorkStretch | None
    windows: int
    tokens_known: HowKnown
    usd_known: HowKnown


def compaction_aftermaths(replay: Replay) -> tuple[CompactionAftermath, ...]:
    """Return the work after every full compaction that was followed by a call, in order.

    Args:
        replay: The session with nothing cut.
    """
    session = replay.history.session
    found: list[CompactionAftermath] = []
    if not any(context.cause is ContextCause.COMPACTION for context in session.contexts):
        return ()
    for thread in np.unique(replay.history.call_thread[: replay.history.call_count]).tolist():
        found += _of_thread(_Work.of(replay, int(thread)), replay.figures)
    return tuple(sorted(found, key=lambda each: each.call))


def rereads_of_calls(replay: Replay) -> NDArray[np.int64]:
    """Count the files that each call's response reads and its conversation had read or written before, int64.

    Args:
        replay: The session with nothing cut.
    """
    count = replay.history.call_count
    found = np.zeros(count, dtype=np.int64)
    for thread in np.unique(replay.history.call_thread[:count]).tolist():
        work = _Work.of(replay, int(thread))
        place, first_named = work.reads.T
        np.add.at(found, work.calls[place[first_named < place]], 1)
    return found


@dataclass(frozen=True, eq=False)
class _Work:
    """One conversation call by call; places are indices of its calls.

    Attributes:
        calls: Its calls, as indices of the session.
        context: Per call, its context.
        begins: Places of the first calls of contexts that a compaction began.
        actions: Per call, tool calls in its response.
        is_goal: Per call, True if its response edits, writes, or calls no tool.
        tokens: Per call, prompt and response tokens.
        usd: Per call, dollars.
        reads: Per read of a file, its place and the first place that named the file.
    """

    calls: NDArray[np.int64]
    context: NDArray[np.int32]
    begins: tuple[int, ...]
    actions: NDArray[np.int64]
    is_goal: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    usd: NDArray[np.float64]
    reads: NDArray[np.int64]

    @classmethod
    def of(cls, replay: Replay, thread: int) -> _Work:
        history, ledger = replay.history, replay.ledger
        session = history.session
        calls = np.flatnonzero(history.call_thread[: history.call_count] == thread)
        context = history.call_context[calls]
        begins = tuple(
            place
            for place, (before, now) in enumerate(pairwise([-1, *context.tolist()]))
            if now != before and place and session.contexts[now].cause is ContextCause.COMPACTION
        )
        actions, goals, reads = np.zeros(len(calls), dtype=np.int64), np.zeros(len(calls), dtype=bool), []
        first_named: dict[str, int] = {}
        for place, call in enumerate(calls.tolist()):
            asked = [
                block
                for block in session.messages[session.calls[call].response].blocks
                if block.kind is BlockKind.TOOL_CALL
            ]
            meanings = [tool_kind(block.tool_name) for block in asked]
            actions[place] = len(asked)
            goals[place] = not asked or not _WRITING.isdisjoint(meanings)
            for block, meaning in zip(asked, meanings, strict=True):
                path = path_of(session, block) if meaning in _NAMING else ""
                if path:
                    first = first_named.setdefault(path, place)
                    if meaning is ToolKind.READ:
                        reads.append((place, first))
        return cls(
            calls,
            context,
            begins,
            actions,
            goals,
            (ledger.prompt_tokens + ledger.output)[calls],
            ledger.cost[calls],
            np.array(reads, dtype=np.int64).reshape(-1, 2),
        )

    def goal_after(self, place: int) -> int | None:
        """Return the first goal in the same context at or after a place, or None."""
        end = int(np.flatnonzero(np.append(self.context[place:] != self.context[place], True))[0]) + place
        reached = np.flatnonzero(self.is_goal[place:end])
        return place + int(reached[0]) if len(reached) else None

    def stretch(self, start: int, stop: int, goal: int) -> WorkStretch:
        """Return the work between two places, with the next goal at a place."""
        inside = (self.reads[:, 0] >= start) & (self.reads[:, 0] < stop)
        return WorkStretch(
            stop - start,
            float(self.actions[start:goal].sum()),
            float(self.tokens[start:stop].sum()),
            float(self.usd[start:stop].sum()),
            float(inside.sum()),
            float((inside & (self.reads[:, 1] < start)).sum()),
        )


def _of_thread(work: _Work, figures: Figures) -> list[CompactionAftermath]:
    ends = []
    for begin in work.begins:
        goal = work.goal_after(begin)
        same = work.context[begin:] == work.context[begin]
        ends.append((begin, begin + (len(same) if same.all() else int(np.argmin(same))) if goal is None else goal + 1))
    found = []
    for begin, end in ends:
        goal = work.goal_after(begin)
        windows = list(_windows(work, end - begin, ends))
        found.append(
            CompactionAftermath(
                int(work.calls[begin]),
                goal is not None,
                work.stretch(begin, end, end if goal is None else goal),
                _medians(windows),
                len(windows),
                figures.prompt_tokens.known,
                figures.cost_usd.known,
            )
        )
    return found


def _windows(work: _Work, length: int, taken: Sequence[tuple[int, int]]) -> list[WorkStretch]:
    """Return windows of consecutive calls that are in one context and do not overlap the taken ones."""
    found, start = [], 0
    while start + length <= len(work.calls):
        stop = start + length
        hindered = [end for begin, end in taken if begin < stop and start < end]
        goal = work.goal_after(start)
        if hindered:
            start = max(hindered)
        elif work.context[start] != work.context[stop - 1]:
            start += int(np.argmax(work.context[start:stop] != work.context[start]))
        else:
            if goal is not None:
                found.append(work.stretch(start, stop, goal))
            start = stop
    return found


def _medians(stretches: Sequence[WorkStretch]) -> WorkStretch | None:
    if not stretches:
        return None
    return WorkStretch(
        stretches[0].calls, *(float(median(column)) for column in list(zip(*stretches, strict=True))[1:])
    )
