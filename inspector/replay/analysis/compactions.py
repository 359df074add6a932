"""Blocks removed and kept by a compaction, or by any other start of a context.

The work after recorded compactions until the next edit or finished step.

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
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Struct

from inspector.replay.analysis.cache_misses import CacheMisses, cache_misses
from inspector.replay.analysis.context_blocks import context_at
from inspector.replay.analysis.costs import side_spending
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure
from inspector.session.model import BlockKind, ContextCause
from inspector.strategies.history.reads import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.ledger import Figures
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History


class RemovedPart(NamedTuple):
    """Blocks of one kind that were removed together; `tool` is empty for other kinds, and may be session text."""

    kind: BlockKind
    tool: str
    blocks: int
    tokens: int


@dataclass(frozen=True, eq=False)
class CompactionEffect:
    """Comparison of the last prompt before a context and the first in it; compares by identity.

    Attributes:
        before: The last call before it.
        after: The first call after it.
        removed: Blocks that `before` sent, or its response, that `after` did not send; int32, ascending.
        kept: Blocks of `after` that `before` also sent, directly or as a block of the same kind and text: some agents
            record kept text a second time. int32, ascending.
        added: Blocks first sent by `after`, usually a summary and the next request; int32, ascending.
        repeated: Blocks of `before` that `after` sends as other blocks with the same text, int32, ascending.
    """

    before: int
    after: int
    removed: NDArray[np.int32]
    kept: NDArray[np.int32]
    added: NDArray[np.int32]
    repeated: NDArray[np.int32]

    @classmethod
    def between(cls, history: History, before: int, after: int) -> CompactionEffect:
        """Compare the prompts of two calls of one conversation."""
        sent, sent_after = history.prompt(before), history.prompt(after)
        response = history.session.calls[before].response
        answer = history.blocks_of(np.array([response], dtype=np.int32))
        there = np.union1d(sent, answer)
        gone, new = np.setdiff1d(there, sent_after), np.setdiff1d(sent_after, there)
        pairs = _of_one_text(history, gone, new)
        repeated, again = (np.array(list(each), dtype=np.int32) for each in (pairs.keys(), pairs.values()))
        return cls(
            before,
            after,
            removed=np.setdiff1d(gone, repeated),
            kept=np.union1d(np.intersect1d(there, sent_after), again),
            added=np.setdiff1d(new, again),
            repeated=np.sort(repeated),
        )

    def parts(self, history: History, tokens: NDArray[np.float64]) -> tuple[RemovedPart, ...]:
        """Return removed blocks by kind and tool, most tokens first; tokens add up to their rounded sum."""
        tool_count = len(history.tool_names) + 1
        tools = history.tool[self.removed].astype(np.int64)
        codes = history.kind[self.removed].astype(np.int64) * tool_count + np.where(tools < 0, tool_count - 1, tools)
        parts, sums = [], 0.0
        for code in np.unique(codes).tolist():
            kind, tool = divmod(code, tool_count)
            members = tokens[codes == code]
            before, sums = sums, sums + float(members.sum())
            name = history.tool_names[tool] if tool < len(history.tool_names) else ""
            parts.append(RemovedPart(BlockKind(kind), name, len(members), round(sums) - round(before)))
        return tuple(sorted(parts, key=lambda part: -part.tokens))


class CompactionSizes(NamedTuple):
    """Tokens of a compaction's blocks in the prompts around it, on the provider's scale.

    They count the removed blocks of the previous prompt, and of its response, which no prompt had contained yet.

    Attributes:
        removed: Tokens of every removed block, float64.
        removed_total: Their sum.
        answer: The part in the response to the last call before it.
        added: Tokens of new blocks in the prompt after it.
        prompts: The reported prompt sizes before and after it; None if either is missing.
        known: Confidence of all of these except the prompts.
    """

    removed: NDArray[np.float64]
    removed_total: int
    answer: int
    added: int
    prompts: tuple[int, int] | None
    known: HowKnown

    @property
    def rest(self) -> int | None:
        """Unexplained difference of the prompts: envelopes, unrecorded text, errors; None without reports."""
        if self.prompts is None:
            return None
        before, after = self.prompts
        return after - (before + self.answer - self.removed_total + self.added)


def sizes_of(effect: CompactionEffect, baseline: Replay) -> CompactionSizes:
    """Compute the tokens of a compaction's blocks in the prompts around it."""
    inputs = baseline.inputs
    count = len(baseline.history.kind)
    before, after = (context_at(baseline, baseline.state(call)) for call in (effect.before, effect.after))
    ratio = float(inputs.sizes.ratio[effect.before])
    taken = ratio * (inputs.table.tokens[:count] + inputs.layout.thinking_uncounted[:count]).astype(np.float64)
    taken[before.blocks] = before.sent
    answer = np.setdiff1d(effect.removed, before.blocks)
    new = np.zeros(count)
    new[after.blocks] = after.sent
    calls = [effect.before, effect.after]
    first, second = inputs.recorded.prompt[calls].tolist()
    return CompactionSizes(
        taken[effect.removed],
        round(float(taken[effect.removed].sum())),
        round(float(taken[answer].sum())),
        round(float(new[effect.added].sum())),
        (first, second) if inputs.reported[calls].all() else None,
        inputs.scale.known,
    )


def calls_around(history: History, block: int) -> tuple[int, int] | None:
    """Return the last call before a boundary in the conversation and the first one after it, or None."""
    after = int(history.enters[block]) if 0 <= block < len(history.enters) else -1
    if not 0 < after < history.call_count:
        return None
    contexts, calls = history.session.contexts, history.session.calls
    thread = contexts[calls[after].context].thread
    before = next((call for call in range(after - 1, -1, -1) if contexts[calls[call].context].thread == thread), None)
    return None if before is None else (before, after)


def _of_one_text(history: History, gone: NDArray[np.int32], new: NDArray[np.int32]) -> dict[int, int]:
    """Map blocks of one prompt to blocks of another with the same text, each used once."""
    blocks = history.session.blocks
    again: dict[tuple[BlockKind, bytes], list[int]] = {}
    for block in reversed(new.tolist()):
        again.setdefault((blocks[block].kind, blocks[block].digest), []).append(block)
    found = {}
    for block in gone.tolist():
        alike = again.get((blocks[block].kind, blocks[block].digest))
        if alike:
            found[block] = alike.pop()
    return found


_WRITING: Final = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_NAMING: Final = frozenset({ToolKind.READ, *_WRITING})


_UNTIL = "until the next edit or finished step"


class WorkStretch(FigureResult, frozen=True, kw_only=True):
    """Consecutive calls."""

    actions: Annotated[float, figure("actions", Unit.FREE, f"Tool calls {_UNTIL}.")]
    tokens: Annotated[float, figure("tokens", Unit.TOKENS, "Tokens of the prompts and responses.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of them; null without a price.")]
    rereads: Annotated[
        float, figure("re-reads", Unit.FREE, "Reads of files that had been read or written before, at any time.")
    ]
    known: Known


class CompactionAftermath(Struct, frozen=True, kw_only=True):
    """Calls around one compaction."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, f"Calls {_UNTIL}, inclusive.")]
    reached: Annotated[
        bool, about("True if an edit or finished step came before the end of the session or the next compaction.")
    ]
    reads: Annotated[Count, figure("reads", Unit.COUNT, "Reads of files in these calls.")]
    after: Annotated[WorkStretch, about("Figures of these calls.")]
    windows: Annotated[Count, figure("windows", Unit.COUNT, "Windows of equal length elsewhere in the session.")]
    elsewhere: Annotated[WorkStretch | None, about("Medians of these windows; null if there are none.")]


def compaction_aftermaths(replay: Replay) -> tuple[CompactionAftermath, ...]:
    """Return the work after every full compaction that was followed by a call, in order."""
    session = replay.history.session
    found: list[CompactionAftermath] = []
    if not any(context.cause is ContextCause.COMPACTION for context in session.contexts):
        return ()
    for thread in np.unique(replay.history.call_thread[: replay.history.call_count]).tolist():
        found += _of_thread(_Work.of(replay, int(thread)))
    return tuple(sorted(found, key=lambda each: each.call))


def rereads_of_calls(replay: Replay) -> NDArray[np.int64]:
    """Count the files that each call's response reads and its conversation had read or written before, int64."""
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
        figures: Totals of the session, for their confidence.
    """

    calls: NDArray[np.int64]
    context: NDArray[np.int32]
    begins: tuple[int, ...]
    actions: NDArray[np.int64]
    is_goal: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    usd: NDArray[np.float64]
    reads: NDArray[np.int64]
    figures: Figures

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
            replay.figures,
        )

    def goal_after(self, place: int) -> int | None:
        """Return the first goal in the same context at or after a place, or None."""
        end = int(np.flatnonzero(np.append(self.context[place:] != self.context[place], True))[0]) + place
        reached = np.flatnonzero(self.is_goal[place:end])
        return place + int(reached[0]) if len(reached) else None

    def stretch(self, start: int, stop: int, goal: int) -> WorkStretch:
        """Return the work between two places, with the next goal at a place."""
        again = self.reads[self.reads_between(start, stop), 1] < start
        known = lowest_confidence(self.figures.prompt_tokens.known, self.figures.output_tokens.known)
        return WorkStretch.of(
            actions=Figure(float(self.actions[start:goal].sum()), HowKnown.EXACT),
            tokens=Figure(float(self.tokens[start:stop].sum()), known),
            usd=Figure.of(float(self.usd[start:stop].sum()), self.figures.cost_usd.known),
            rereads=Figure(float(again.sum()), HowKnown.EXACT),
        )

    def reads_between(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return True per read of a file between two places, bool."""
        inside: NDArray[np.bool_] = (self.reads[:, 0] >= start) & (self.reads[:, 0] < stop)
        return inside


def _of_thread(work: _Work) -> list[CompactionAftermath]:
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
                call=int(work.calls[begin]) + 1,
                calls=end - begin,
                reached=goal is not None,
                reads=int(work.reads_between(begin, end).sum()),
                after=work.stretch(begin, end, end if goal is None else goal),
                windows=len(windows),
                elsewhere=median_stretch(windows),
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


def median_stretch(found: Sequence[WorkStretch]) -> WorkStretch | None:
    """Return the medians of stretches, each with the lowest confidence; None if there are none."""
    if not found:
        return None
    costs = [each.usd for each in found if each.usd is not None]
    names = dict.fromkeys(name for each in found for name in each.known)
    hows = {name: [HowKnown(each.known[name]) for each in found if name in each.known] for name in names}
    return WorkStretch(
        actions=float(median(each.actions for each in found)),
        tokens=float(median(each.tokens for each in found)),
        usd=median(costs) if len(costs) == len(found) else None,
        rereads=float(median(each.rereads for each in found)),
        known={name: lowest_confidence(*each).value for name, each in hows.items()},
    )


_SUMMARIZING: Final = frozenset({"compaction", "condenser"})
"""Recorded purposes of side requests that write a compaction's summary."""


class CompactionTotals(FigureResult, frozen=True, kw_only=True):
    """Totals of all compactions of a session, except those that cleared only a few results."""

    compactions: Annotated[Count, about("Compactions recorded by the agent.")]
    measured: Annotated[Count, about("Compactions with calls on both sides, for which the removed tokens are known.")]
    removed_tokens: Annotated[
        int | None,
        figure("tokens removed", Unit.TOKENS, "Tokens these compactions removed from the prompt."),
    ]
    misses: Annotated[Count, figure("cache misses", Unit.CALLS, "Calls that missed the cache because of a compaction.")]
    recached_tokens: Annotated[Count, figure("tokens rewritten", Unit.TOKENS, "Tokens these calls did not read.")]
    recached_usd: Annotated[
        float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens; null without a price.")
    ]
    summaries: Annotated[Count, about("Summary requests outside the conversation.")]
    summaries_usd: Annotated[
        float | None,
        figure("cost of summaries", Unit.DOLLARS, "Dollars of these requests; null if the file does not record them."),
    ]
    known: Known


def compaction_totals(baseline: Replay, misses: CacheMisses | None = None) -> CompactionTotals | None:
    """Compute the totals of all compactions; None if the agent recorded none. `misses` are computed if None."""
    history = baseline.history
    session = history.session
    count = sum(not each.is_partial for each in session.compactions)
    if not count:
        return None
    effects = [CompactionEffect.between(history, *around) for around in _around_each(history)]
    removed = sum(sizes_of(effect, baseline).removed_total for effect in effects)
    found = cache_misses(baseline) if misses is None else misses
    others = [each for each in side_spending(session, baseline.inputs.pricing) if each.purpose in _SUMMARIZING]
    costs = [each.cost_usd for each in others]
    rewritten = found.total_of(MissCause.COMPACTION, (miss for miss in found.all if miss.cause is MissCause.COMPACTION))
    return CompactionTotals.of(
        compactions=count,
        measured=len(effects),
        removed_tokens=Figure(removed if effects else None, baseline.inputs.scale.known),
        misses=rewritten.figure("calls"),
        recached_tokens=rewritten.figure("tokens"),
        recached_usd=rewritten.figure("usd"),
        summaries=sum(each.calls for each in others),
        summaries_usd=Figure(None if not costs or None in costs else sum(filter(None, costs)), HowKnown.EXACT),
    )


def _around_each(history: History) -> Iterator[tuple[int, int]]:
    """Yield the calls around each full compaction; several without a call in between count once."""
    seen = set()
    for compaction in history.session.compactions:
        message = compaction.message
        if compaction.is_partial or not 0 <= message < len(history.session.messages):
            continue
        around = calls_around(history, int(history.message_first_block[message]))
        if around is not None and around not in seen:
            seen.add(around)
            yield around
