"""Renditions that point to another result, and whether what they point to is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.strategies.core.rendition import Action
from inspector.strategies.history.arguments import paths_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.replay import Replay


def dangling_pointers(replay: Replay) -> Iterator[tuple[int, int, int]]:
    """Entry, call and block of every pointer whose target is gone, cut, or says something else.

    A pointer's target is a result of a call that names the same file, or has the same arguments where it names none,
    before or after it as the strategy's decision says.
    """
    changes, history = replay.changes, replay.history
    pointing = [reason.decision.points_to for reason in changes.reasons]
    rows = [row for row, reason in enumerate(changes.reason.tolist()) if pointing[reason]]
    rows = [row for row in rows if changes.action[row] == Action.REPLACED]
    if not rows:
        return
    subjects = _subjects(replay)
    same_subject: dict[object, list[int]] = {}
    for block, subject in subjects.items():
        same_subject.setdefault(subject, []).append(block)
    blocks = history.session.blocks
    for row in rows:
        block, call = int(changes.block[row]), int(changes.call[row])
        reason = changes.reasons[changes.reason[row]]
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
    paths = paths_of(history.session, calls)
    return {
        block: path or (call.tool_name, call.digest)
        for block, path, call in zip(results.tolist(), paths, calls, strict=True)
    }


def _is_whole(replay: Replay, block: int, call: int) -> bool:
    history = replay.history
    if not int(history.enters[block]) <= call < int(history.leaves[block]):
        return False
    row = replay.changes.row(block, call)
    return row < 0 or replay.changes.action[row] == Action.WHOLE
