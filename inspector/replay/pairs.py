"""Tool calls sent without their results, and results without their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.core.rendition import Action
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.replay import Replay


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
    changes = replay.changes
    removed = np.unique(changes.block[changes.action == Action.REMOVED])
    rows = np.flatnonzero(np.isin(changes.block, removed))
    stretches: dict[int, list[tuple[int, bool]]] = {}
    columns = (changes.block[rows].tolist(), changes.call[rows].tolist(), changes.action[rows].tolist())
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
