"""What may go wrong with a plan on a session, each with the calls and blocks it happens at.

The kinds are those seen in systems in use; a hazard is a thing to look at, not an error.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.changes import RECORDED
from inspector.replay.pairs import orphaned_pairs
from inspector.replay.pointers import dangling_pointers
from inspector.replay.thinking import preserves_thinking
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.rendition import Action, Slice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.replay import Replay


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
    """Once it acts, the strategy changes something old at nearly every call, and breaks the cache each time."""
    NEVER_FIRES = "never fires"
    """The strategy is on and changes nothing in this session."""
    STALE_ESTIMATE = "stale estimate"
    """The strategy waits for a number of tokens that it estimates far from what the prompt measures."""
    THINKING_INVALIDATED = "thinking invalidated"
    """Something before a thinking block changed, on a model that binds its thinking to what stands before it."""


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
    history, changes = replay.history, replay.changes
    entry_of_row = _entries(replay)
    acting = (changes.action != Action.WHOLE) & (entry_of_row != RECORDED)
    retroactive = [isinstance(entry.strategy, Batching) for entry in replay.plan.entries]
    at_arrival = acting & (changes.call == history.enters[changes.block])
    unseen = at_arrival & (history.kind[changes.block] == BlockKind.TOOL_RESULT)
    for row in np.flatnonzero(unseen).tolist():
        block, call = int(changes.block[row]), int(changes.call[row])
        if retroactive[entry_of_row[row]] and not _is_sent_whole(replay, block, call):
            yield HazardKind.UNSEEN_SIBLING, int(entry_of_row[row]), call, block
    longer = acting & (changes.tokens > replay.table.tokens[changes.block])
    for row in np.flatnonzero(longer).tolist():
        kind = HazardKind.LONGER_THAN_ORIGINAL
        yield kind, int(entry_of_row[row]), int(changes.call[row]), int(changes.block[row])


def _is_sent_whole(replay: Replay, block: int, call: int) -> bool:
    """Whether all of a block's text is sent, with something said around it."""
    return Slice(0, int(replay.history.characters[block])) in replay.rendition(block, call).pieces


def _lost_goals(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    history, changes = replay.history, replay.changes
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
    first, last = np.searchsorted(changes.block, (goal, goal + 1))
    for row in range(int(first), int(last)):
        entry = int(_entries(replay)[row])
        kept = any(not isinstance(piece, str) for piece in replay.rendition(goal, int(changes.call[row])).pieces)
        if entry != RECORDED and not kept:
            yield HazardKind.LOST_GOAL, entry, int(changes.call[row]), goal


def _of_strategies(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    changes, history = replay.changes, replay.history
    entries = _entries(replay)
    retroactive = changes.call > history.enters[changes.block]
    for index, entry in enumerate(replay.plan.entries):
        if not entry.enabled:
            continue
        own = entries == index
        if not own.any():
            yield HazardKind.NEVER_FIRES, index, -1, -1
            continue
        breaking = np.unique(changes.call[own & retroactive])
        if len(breaking) > _SLIDING_CALLS:
            since = history.call_count - int(breaking[0]) + 1
            if len(breaking) >= _SLIDING_SHARE * since:
                for call in breaking.tolist():
                    yield HazardKind.SLIDING_BOUNDARY, index, int(call), -1
    prompts = replay.ledger.prompt_tokens
    for made in changes.estimates:
        sent = float(prompts[made.call]) if made.call < len(prompts) else 0.0
        if sent and abs(made.tokens - sent) > _ESTIMATE_SHARE * sent:
            yield HazardKind.STALE_ESTIMATE, made.entry, made.call, -1


def _invalidated_thinking(replay: Replay) -> Iterator[tuple[HazardKind, int, int, int]]:
    history, changes = replay.history, replay.changes
    models = history.session.calls
    thinking = np.flatnonzero(
        (history.kind == BlockKind.THINKING)
        & (np.array([block.signature_characters for block in history.session.blocks], dtype=np.int64) > 0)
    )
    if not len(thinking) or not any(preserves_thinking(model) for model in history.session.models):
        return
    entries = _entries(replay)
    retroactive = np.flatnonzero((changes.call > history.enters[changes.block]) & (entries != RECORDED))
    for row in retroactive.tolist():
        call, block = int(changes.call[row]), int(changes.block[row])
        model = models[min(call, len(models) - 1)].model if models else ""
        later = thinking[np.searchsorted(thinking, block, side="right") :]
        sent = (history.enters[later] < call) & (history.leaves[later] > call)
        if sent.any() and preserves_thinking(model):
            yield HazardKind.THINKING_INVALIDATED, int(entries[row]), call, int(later[np.argmax(sent)])


def _entries(replay: Replay) -> NDArray[np.int64]:
    """Per row of the changes, the entry of the plan that decided it."""
    table = np.array([reason.entry for reason in replay.changes.reasons], dtype=np.int64)
    return table[replay.changes.reason] if len(table) else np.zeros(0, dtype=np.int64)


def _entry_at(replay: Replay, block: int, call: int) -> int:
    row = replay.changes.row(block, call)
    return replay.changes.reasons[replay.changes.reason[row]].entry if row >= 0 else -1
