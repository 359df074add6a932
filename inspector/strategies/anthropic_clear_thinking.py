"""Drop the thinking of earlier turns: the Anthropic API's own context editing.

Source: Anthropic's documentation of context editing, strategy `clear_thinking_20251015` (beta header
`context-management-2025-06-27`). An assistant turn is everything the model said until the user speaks again, tool
results apart: a turn with tools is one, however many responses it took. Where the strategy is not configured, the API
keeps the last turn's thinking only, older models at least; `keep=0` keeps all of it, the setting `"all"`. It comes
before `anthropic-clear-tool-uses` in a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.history import NEVER
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class AnthropicClearThinking(Batching):
    """Keep the thinking of the newest turns that have any."""

    name: ClassVar[str] = "anthropic-clear-thinking"
    title: ClassVar[str] = "Clear thinking (Anthropic API)"
    summary: ClassVar[str] = "Keep the thinking of the newest assistant turns and drop that of earlier ones."
    source: ClassVar[str] = "Anthropic API context editing, clear_thinking_20251015"

    keep: int = whole("keep", 1, "How many of the newest turns keep their thinking; 0 for all.", "turns", maximum=1_000)
    turn: str = choice(
        "turn",
        ("until-user-speaks", "response"),
        "What a turn is: all responses until the user speaks again, or each response.",
    )

    def schedule(self, history: History) -> Schedule:
        """Thinking goes at the call that brings the thinking of the last of `keep` later turns."""
        builder = ScheduleBuilder()
        if not self.keep:
            return builder.schedule()
        old = Decision(RemoveBlock(), f"thinking of a turn older than the newest {self.keep}")
        thinking = history.kind == BlockKind.THINKING
        asks = _asks(history)
        counted = np.isin(history.kind, (BlockKind.SYSTEM_TEXT, BlockKind.OTHER), invert=True)
        for context in arrivals(history, counted):
            messages = history.message[context.blocks]
            begins = np.append(True, messages[1:] != messages[:-1])[: len(messages)]
            new_turn = begins & (asks[messages] if self.turn == "until-user-speaks" else True)
            of_turn = np.cumsum(new_turn)
            is_thinking = thinking[context.blocks]
            blocks, calls = context.blocks[is_thinking], context.calls[is_thinking]
            carried = int(np.count_nonzero(is_thinking[: context.carried]))
            builder.add(blocks[:carried], calls[:carried], Decision(None, "counted anew"))
            # Turns without thinking do not count.
            turns, turn = np.unique(of_turn[is_thinking], return_inverse=True)
            first = np.searchsorted(turn, np.arange(len(turns)))
            arrival = np.append(calls[first], np.full(self.keep, NEVER, dtype=np.int32))
            builder.add(blocks, arrival[turn + self.keep].astype(np.int32), old)
        return builder.schedule()


def _asks(history: History) -> NDArray[np.bool_]:
    """Per message, whether the user speaks in it, and not only tools."""
    messages = history.session.messages
    users = np.fromiter((message.role is Role.USER for message in messages), np.bool_, len(messages))
    return users & ~history.message_has_results
