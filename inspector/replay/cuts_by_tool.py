"""What a plan cuts of every tool's results: what they measured, what is left, and what that has saved so far.

The telemetry the proposal of insertion-time trimming asks for, for any plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.changes import RECORDED
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.figure import HowKnown
    from inspector.replay.replay import Replay
    from inspector.replay.tallies import Tallies


class ToolCuts(NamedTuple):
    """One tool.

    Attributes:
        tool: Its name; empty for results of no known tool.
        results: How many of its results the plan changed at any call.
        original: Counted tokens of these, whole.
        sent: Counted tokens of these as they were sent last.
        saved: The provider's tokens that this left out of all prompts together; negative where it added.
        known: How `saved` is known.
    """

    tool: str
    results: int
    original: int
    sent: int
    saved: int
    known: HowKnown


def cuts_by_tool(tallies: Tallies) -> tuple[ToolCuts, ...]:
    """Every tool whose results a plan changed, by what that saved, most first."""
    planned, history = tallies.planned, tallies.planned.history
    blocks, sent = _last_sent(planned)
    saved = tallies.before.tokens[blocks] - tallies.after.tokens[blocks]
    whole = planned.table.tokens[blocks]
    known = planned.inputs.scale.known
    found = []
    for tool in np.unique(history.tool[blocks]).tolist():
        own = history.tool[blocks] == tool
        name = history.tool_names[tool] if tool >= 0 else ""
        totals = (int(whole[own].sum()), int(sent[own].sum()), round(float(saved[own].sum())))
        found.append(ToolCuts(name, int(own.sum()), *totals, known))
    return tuple(sorted(found, key=lambda row: -row.saved))


def _last_sent(planned: Replay) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The results a plan changed at any call, and their tokens after its last change."""
    changes, history = planned.changes, planned.history
    if not len(changes.block):
        return changes.block, changes.tokens
    entries = np.array([reason.entry for reason in changes.reasons], dtype=np.int64)[changes.reason]
    acting = (changes.action != Action.WHOLE) & (entries != RECORDED)
    touched = np.unique(changes.block[acting & (history.kind[changes.block] == BlockKind.TOOL_RESULT)])
    last = np.searchsorted(changes.block, touched, side="right") - 1
    return touched, changes.tokens[last]
