"""What the agent itself blanked while the session ran, as a layer under every plan.

Claude Code's partial compactions leave the file as it was and record only whose results were no longer sent. Recorded
prompts are that much smaller from then on; a plan must not be credited with cutting what was already gone.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from inspector.strategies.history.history import History

CLEARED = Decision(ReplaceText("[Old tool result content cleared]"), "cleared by the agent itself when it was recorded")
"""The text Claude Code sends in place of a blanked result."""


def recorded_clearing(history: History) -> list[tuple[int, Choice]]:
    """Which blocks the agent blanked, from which call on, in call order."""
    session = history.session
    partial = [compaction for compaction in session.compactions if compaction.is_partial]
    if not partial:
        return []
    results = {
        session.blocks[block].tool_call_id: block
        for block in history.results.tolist()
        if session.blocks[block].kind is BlockKind.TOOL_RESULT
    }
    responses = [call.response for call in session.calls]
    cleared = [
        (bisect_left(responses, compaction.message), Choice(results[identifier], CLEARED))
        for compaction in partial
        for identifier in compaction.cleared_tool_call_ids
        if identifier in results
    ]
    enters, leaves = history.enters, history.leaves
    sent = [each for each in cleared if enters[each[1].block] != NEVER and each[0] < leaves[each[1].block]]
    return sorted(sent, key=lambda item: item[0])
