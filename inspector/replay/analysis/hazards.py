"""Risks of a plan on a session, each with the calls and blocks it happens at.

The kinds are those seen in systems in use; a hazard is a thing to look at, not an error.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.edits import RECORDED
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.rendition import Action, Slice
from inspector.strategies.history.arguments import path_of
from inspector.strategies.history.history import NEVER
from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.engine.replay import Replay


class HazardKind(StrEnum):
    """What may go wrong."""

    UNSEEN_SIBLING = "unseen sibling"
    """A result was cut before the model ever saw it whole, by a strategy that means to cut only what is old."""
    LONGER_THAN_ORIGINAL = "longer than original"
    """What is sent instead has more tokens than what it replaces."""
    DANGLING_POINTER = "dangling pointer"
    """What is sent points to another result that is itself gone, cut, or holds something else by then."""
    ORPHANED_PAIR = "orphaned pair"
    """A tool call is sent without its result, or a result without its call; providers reject such prompts."""
    LOST_GOAL = "lost goal"
    """The first thing the user asked for is no longer sent."""
    SLIDING_BOUNDARY = "sliding boundary"
    """Once it acts, the strategy changes what was sent before at nearly every call. What that re-caches is in the
    plan's cost, and so in its saving; where little stands behind the change it is next to nothing: no miss."""
    NEVER_FIRES = "never fires"
    """The strategy is on and changes nothing in this session."""
    STALE_ESTIMATE = "stale estimate"
    """The strategy waits for a number of tokens that it estimates far from what the prompt measures."""
    THINKING_INVALIDATED = "thinking invalidated"
    """Something before a thinking block changed, on a model that binds its thinking to what stands before it."""

    @property
    def label(self) -> str:
        """What people read; the value is what data calls it."""
        return _LABELS[self]

    @property
    def brief(self) -> str:
        """The same for a narrow panel: what happens, without what comes of it."""
        return self.label.partition(",")[0]


_LABELS = {
    HazardKind.UNSEEN_SIBLING: "cut before it was read",
    HazardKind.LONGER_THAN_ORIGINAL: "marker longer than the text",
    HazardKind.DANGLING_POINTER: "points to text that is gone",
    HazardKind.ORPHANED_PAIR: "call and result separated",
    HazardKind.LOST_GOAL: "first request no longer sent",
    HazardKind.SLIDING_BOUNDARY: "changes most prompts, counted in the saving",
    HazardKind.NEVER_FIRES: "never applied",
    HazardKind.STALE_ESTIMATE: "its token estimate is far off",
    HazardKind.THINKING_INVALIDATED: "thinking blocks invalidated",
}


def hazard_label(name: str) -> str:
    """What people read for what data calls a kind of hazard."""
    return HazardKind(name).label


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of hazard, and where it happens.

    Attributes:
        kind: What may go wrong.
        entry: Index of the strategy among the plan's entries, -1 where it is the plan as a whole.
        calls: Calls it happens at, in order; empty where it is about the whole session.
        blocks: Blocks it is about, in order.
        count: How often it happens.
    """

    kind: HazardKind
    entry: int
    calls: tuple[int, ...]
    blocks: tuple[int, ...]
    count: int


_SLIDING_CALLS = 10

_SLIDING_SHARE = 0.5

_ESTIMATE_SHARE = 0.25


def hazards_of(replay: Replay) -> tuple[Hazard, ...]:
    """Everything that may go wrong with a replay's plan, in the order of `HazardKind`."""
    found: dict[tuple[HazardKind, int], list[tuple[int, int]]] = defaultdict(list)
    for kind, entry, call, block in _rows(replay):
        found[kind, entry].append((call, block))
    kinds = list(HazardKind)
    return tuple(
        Hazard(
            kind,
            entry,
            calls=tuple(sorted({call for call, _ in places if call >= 0})),
            blocks=tuple(sorted({block for _, block in places if block >= 0})),
            count=len(places),
        )
        for (kind, entry), places in sorted(found.items(), key=lambda item: (kinds.index(item[0][0]), item[0][1]))
    )


def _rows(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    """Kind, entry, call and block of every single hazard; -1 for a call or block there is none of."""
    yield from _of_changes(replay)
    for entry, call, block in dangling_pointers(replay):
        yield HazardKind.DANGLING_POINTER, entry, call, block
    for call, block in orphaned_pairs(replay):
        yield HazardKind.ORPHANED_PAIR, _entry_at(replay, block, call), call, block
    yield from _lost_goals(replay)
    yield from _of_strategies(replay)
    yield from _invalidated_thinking(replay)


def _of_changes(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    history, edits = replay.history, replay.edits
    entry_of_row = replay.edits.entry
    acting = (edits.action != Action.WHOLE) & (entry_of_row != RECORDED)
    retroactive = [isinstance(entry.strategy, Batching) for entry in replay.plan.entries]
    at_arrival = acting & (edits.call == history.enters[edits.block])
    unseen = at_arrival & (history.kind[edits.block] == BlockKind.TOOL_RESULT)
    for row in np.flatnonzero(unseen).tolist():
        block, call = int(edits.block[row]), int(edits.call[row])
        if retroactive[entry_of_row[row]] and not _is_sent_whole(replay, block, call):
            yield HazardKind.UNSEEN_SIBLING, int(entry_of_row[row]), call, block
    longer = acting & (edits.tokens > replay.table.tokens[edits.block])
    for row in np.flatnonzero(longer).tolist():
        kind = HazardKind.LONGER_THAN_ORIGINAL
        yield kind, int(entry_of_row[row]), int(edits.call[row]), int(edits.block[row])


def _is_sent_whole(replay: Replay, block: int, call: int) -> bool:
    """Whether all of a block's text is sent, with something said around it."""
    return Slice(0, int(replay.history.characters[block])) in replay.rendition(block, call).pieces


def dangling_pointers(replay: Replay) -> Iterator[tuple[int, int, int]]:
    """Entry, call and block of every pointer whose target is gone, cut, or says something else.

    A pointer's target is a result of a call that names the same file, or has the same arguments where it names none,
    before or after it as the strategy's decision says.
    """
    edits, history = replay.edits, replay.history
    pointing = [reason.decision.points_to for reason in edits.reasons]
    rows = [row for row, reason in enumerate(edits.reason.tolist()) if pointing[reason]]
    rows = [row for row in rows if edits.action[row] == Action.REPLACED]
    if not rows:
        return
    subjects = _subjects(replay)
    same_subject: dict[object, list[int]] = {}
    for block, subject in subjects.items():
        same_subject.setdefault(subject, []).append(block)
    blocks = history.session.blocks
    for row in rows:
        block, call = int(edits.block[row]), int(edits.call[row])
        reason = edits.reasons[edits.reason[row]]
        others = same_subject.get(subjects.get(block), [])
        earlier = reason.decision.points_to == "earlier"
        targets = [other for other in others if (other < block if earlier else other > block)]
        if not any(
            _is_whole(replay, other, call) and blocks[other].digest == blocks[block].digest for other in targets
        ):
            yield reason.entry, call, block


def _subjects(replay: Replay) -> dict[int, object]:
    """Per tool result, what it is about: the file its call names, or the call's arguments."""
    history = replay.history
    results = history.results[history.call_block[history.results] >= 0]
    calls = [history.session.blocks[block] for block in history.call_block[results].tolist()]
    paths = path_of.each(history.session, calls)
    return {
        block: path or (call.tool_name, call.digest)
        for block, path, call in zip(results.tolist(), paths, calls, strict=True)
    }


def _is_whole(replay: Replay, block: int, call: int) -> bool:
    history = replay.history
    if not int(history.enters[block]) <= call < int(history.leaves[block]):
        return False
    row = replay.edits.row(block, call)
    return row < 0 or replay.edits.action[row] == Action.WHOLE


_WORDS = (BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT)


def leaves_out_words(replay: Replay) -> bool:
    """Whether a plan removes or replaces what a person or the model said. Nothing tells what that loses."""
    return any(kind in _WORDS for kind in kinds_left_out(replay))


def kinds_left_out(replay: Replay) -> tuple[BlockKind, ...]:
    """The kinds of blocks of which a plan removes or replaces some, in the order of `BlockKind`."""
    edits = replay.edits
    gone = edits.block[(edits.action >= Action.REPLACED) & edits.by_plan]
    return tuple(BlockKind(kind) for kind in np.unique(replay.history.kind[gone]).tolist())


def orphaned_pairs(replay: Replay) -> Iterator[tuple[int, int]]:
    """The first call at which one half of a pair is sent without the other, and the half that is sent.

    Pairs the record itself does not hold together are not counted: the plan did not part them.
    """
    history = replay.history
    gone = _stretches_without(replay)
    results = history.results[history.call_block[history.results] >= 0].tolist()
    for result in results:
        call_block = int(history.call_block[result])
        if result not in gone and call_block not in gone:
            continue
        first = max(int(history.enters[result]), int(history.enters[call_block]))
        end = min(int(history.leaves[result]), int(history.leaves[call_block]), history.call_count + 1)
        if first == NEVER or first >= end:
            continue
        moments = {first}
        for block in (result, call_block):
            moments.update(call for call, _ in gone.get(block, ()) if first <= call < end)
        for call in sorted(moments):
            without_result, without_call = _is_gone(gone, result, call), _is_gone(gone, call_block, call)
            if without_result != without_call:
                yield call, call_block if without_result else result
                break


def _stretches_without(replay: Replay) -> dict[int, list[tuple[int, bool]]]:
    """Per block that is ever removed: from which call on it is removed (True) or sent again (False)."""
    edits = replay.edits
    removed = np.unique(edits.block[edits.action == Action.REMOVED])
    rows = np.flatnonzero(np.isin(edits.block, removed))
    stretches: dict[int, list[tuple[int, bool]]] = {}
    columns = (edits.block[rows].tolist(), edits.call[rows].tolist(), edits.action[rows].tolist())
    for block, call, action in zip(*columns, strict=True):
        stretches.setdefault(block, []).append((call, action == Action.REMOVED))
    return stretches


def _is_gone(stretches: dict[int, list[tuple[int, bool]]], block: int, call: int) -> bool:
    state = False
    for since, gone in stretches.get(block, ()):
        if since > call:
            break
        state = gone
    return state


def _lost_goals(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    history, edits = replay.history, replay.edits
    goal = next(
        (
            int(history.message_first_block[index]) + at
            for index, message in enumerate(history.session.messages)
            if message.role is Role.USER and not message.is_meta and not message.is_summary
            for at, block in enumerate(message.blocks)
            if block.kind is BlockKind.USER_TEXT
        ),
        None,
    )
    if goal is None:
        return
    first, last = np.searchsorted(edits.block, (goal, goal + 1))
    for row in range(int(first), int(last)):
        entry = int(replay.edits.entry[row])
        kept = any(not isinstance(piece, str) for piece in replay.rendition(goal, int(edits.call[row])).pieces)
        if entry != RECORDED and not kept:
            yield HazardKind.LOST_GOAL, entry, int(edits.call[row]), goal


def _of_strategies(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    edits, history = replay.edits, replay.history
    entries = replay.edits.entry
    retroactive = edits.call > history.enters[edits.block]
    for index, entry in enumerate(replay.plan.entries):
        if not entry.enabled:
            continue
        own = entries == index
        if not own.any():
            yield HazardKind.NEVER_FIRES, index, -1, -1
            continue
        # The next prompt, not yet made, has cost nothing.
        breaking = np.unique(edits.call[own & retroactive & (edits.call < history.call_count)])
        if len(breaking) > _SLIDING_CALLS:
            since = history.call_count - int(breaking[0])
            if len(breaking) >= _SLIDING_SHARE * since:
                for call in breaking.tolist():
                    yield HazardKind.SLIDING_BOUNDARY, index, int(call), -1
    prompts = replay.ledger.prompt_tokens
    for made in edits.estimates:
        sent = float(prompts[made.call]) if made.call < len(prompts) else 0.0
        if sent and abs(made.tokens - sent) > _ESTIMATE_SHARE * sent:
            yield HazardKind.STALE_ESTIMATE, made.entry, made.call, -1


def _invalidated_thinking(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    history, edits = replay.history, replay.edits
    models = history.session.calls
    thinking = np.flatnonzero((history.kind == BlockKind.THINKING) & (history.signature > 0))
    if not len(thinking) or not any(preserves_thinking(model) for model in history.session.models):
        return
    entries = replay.edits.entry
    retroactive = np.flatnonzero((edits.call > history.enters[edits.block]) & (entries != RECORDED))
    for row in retroactive.tolist():
        call, block = int(edits.call[row]), int(edits.block[row])
        model = models[min(call, len(models) - 1)].model if models else ""
        later = thinking[np.searchsorted(thinking, block, side="right") :]
        sent = (history.enters[later] < call) & (history.leaves[later] > call)
        if sent.any() and preserves_thinking(model):
            yield HazardKind.THINKING_INVALIDATED, int(entries[row]), call, int(later[np.argmax(sent)])


_FIRST_PRESERVED = {"opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5), "fable": (5, 1), "mythos": (5, 1)}
"""The first version of each Claude family whose thinking blocks are checked against what stands before them.

Source: Anthropic's documentation on preserved thinking, 2026.
"""


def preserves_thinking(model: str) -> bool:
    """Whether a model binds its thinking to what stands before it: an edit there makes later thinking invalid."""
    name = parse_model_name(model).name
    versions = ((model_version(name, family), first) for family, first in _FIRST_PRESERVED.items())
    return any(version is not None and version >= first for version, first in versions)


def _entry_at(replay: Replay, block: int, call: int) -> int:
    row = replay.edits.row(block, call)
    return replay.edits.reasons[replay.edits.reason[row]].entry if row >= 0 else -1
