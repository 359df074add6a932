"""Risks of a plan on a session, with the affected calls and blocks.

The kinds are those seen in deployed systems. A hazard needs review; it is not an error.
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
from inspector.strategies.core.operations import Action, Slice
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.reads import path_of
from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.engine.edits import EditedSession
    from inspector.replay.engine.replay import Replay


class HazardKind(StrEnum):
    """Kind of hazard."""

    UNSEEN_SIBLING = "unseen sibling"
    """A strategy meant to cut only old results cut one that the model had not yet received whole."""
    LONGER_THAN_ORIGINAL = "longer than original"
    """A replacement has more tokens than the original."""
    DANGLING_POINTER = "dangling pointer"
    """Pointer to a result that is removed, cut, or has different content."""
    ORPHANED_PAIR = "orphaned pair"
    """A tool call is sent without its result, or a result without its call; providers reject such prompts."""
    LOST_GOAL = "lost goal"
    """The first user request is no longer sent."""
    SLIDING_BOUNDARY = "sliding boundary"
    """Once active, the strategy edits earlier text at almost every call.

    The resulting cache rewrites are in the plan's cost and savings. With little text after the edit they are negligible
    and no cache miss."""
    NEVER_FIRES = "never fires"
    """The strategy is enabled and changes nothing in this session."""
    STALE_ESTIMATE = "stale estimate"
    """The strategy triggers on an estimated token count far from the prompt's real size."""
    THINKING_INVALIDATED = "thinking invalidated"
    """Text before a thinking block changed, on a model that binds its thinking to the preceding text."""

    @property
    def label(self) -> str:
        """Label for users; the value is for data."""
        return _LABELS[self]

    @property
    def brief(self) -> str:
        """Shorter label for narrow panels, without the consequence."""
        return self.label.partition(",")[0]


_LABELS = {
    HazardKind.UNSEEN_SIBLING: "result cut before it was read",
    HazardKind.LONGER_THAN_ORIGINAL: "marker longer than cut text",
    HazardKind.DANGLING_POINTER: "marker points to removed text",
    HazardKind.ORPHANED_PAIR: "call and result separated",
    HazardKind.LOST_GOAL: "first request no longer sent",
    HazardKind.SLIDING_BOUNDARY: "most prompts edited, cost included in savings",
    HazardKind.NEVER_FIRES: "strategy never applied",
    HazardKind.STALE_ESTIMATE: "token estimate far off",
    HazardKind.THINKING_INVALIDATED: "thinking blocks invalidated",
}


def hazard_label(name: str) -> str:
    """Return the label of a kind of hazard from its name in data."""
    return HazardKind(name).label


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of hazard, with its places.

    Attributes:
        entry: Index of the strategy among the plan's entries, -1 for the plan as a whole.
        calls: Affected calls, in order; empty if it concerns the whole session.
        blocks: Affected blocks, in order.
        count: Number of occurrences.
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
    """Return all hazards of a replay's plan, in the order of `HazardKind`."""
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
    """Yield kind, entry, call and block of every occurrence; -1 if there is no call or block."""
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
    """Return True if all of a block's text is sent, possibly with text added around it."""
    return Slice(0, int(replay.history.characters[block])) in replay.rendition(block, call).pieces


def dangling_pointers(replay: Replay) -> Iterator[tuple[int, int, int]]:
    """Yield entry, call and block of every pointer with a target that is removed, cut, or different.

    A pointer's target is the result of a call with the same file, or the same arguments if it names no file. It
    precedes or follows the pointer, according to the strategy's decision.
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
    """Map each tool result to its subject: the file its call names, or the call's arguments."""
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


_IS_TEXT = np.isin(np.arange(len(BlockKind)), (BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT))


def drops_text(replay: Replay | EditedSession) -> bool:
    """Return True if a plan removes or replaces user or assistant text. No detector measures that loss."""
    return bool(_IS_TEXT[_kinds_left_out(replay)].any())


def kinds_left_out(replay: Replay) -> tuple[BlockKind, ...]:
    """Return the kinds of blocks that a plan removes or replaces, in the order of `BlockKind`."""
    return tuple(BlockKind(kind) for kind in np.unique(_kinds_left_out(replay)).tolist())


def _kinds_left_out(replay: Replay | EditedSession) -> NDArray[np.uint8]:
    edits = replay.edits
    return replay.history.kind[edits.block[(edits.action >= Action.REPLACED) & edits.by_plan]]


def orphaned_pairs(replay: Replay) -> Iterator[tuple[int, int]]:
    """Yield the first call that sends half of a pair alone, and the half, except pairs recorded incomplete."""
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
        calls = {first}
        for block in (result, call_block):
            calls.update(call for call, _ in gone.get(block, ()) if first <= call < end)
        for call in sorted(calls):
            without_result, without_call = _is_gone(gone, result, call), _is_gone(gone, call_block, call)
            if without_result != without_call:
                yield call, call_block if without_result else result
                break


def _stretches_without(replay: Replay) -> dict[int, list[tuple[int, bool]]]:
    """Return, for every block ever removed, the calls at which it is removed (True) or restored (False)."""
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
        # The next prompt has not been sent, so it has no cost.
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
"""First version of each Claude family that validates thinking blocks against the preceding text.

Source: Anthropic's documentation on preserved thinking, 2026.
"""


def preserves_thinking(model: str) -> bool:
    """Return True if a model binds its thinking to the preceding text: an edit there invalidates later thinking."""
    name = parse_model_name(model).name
    versions = ((model_version(name, family), first) for family, first in _FIRST_PRESERVED.items())
    return any(version is not None and version >= first for version, first in versions)


def _entry_at(replay: Replay, block: int, call: int) -> int:
    row = replay.edits.row(block, call)
    return replay.edits.reasons[replay.edits.reason[row]].entry if row >= 0 else -1
