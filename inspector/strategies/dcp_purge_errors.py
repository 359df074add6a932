"""Take the input of failed tool calls out of the conversation some steps later; the error stays.

Source: purgeErrors of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/purge-errors.ts`,
`lib/messages/prune.ts`). A turn is a response of the model there, not a question of the user. Every string in the
input is replaced, other values stay. When the program acts, see `dcp-dedupe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.dcp_dedupe import BLANK_INPUT
from inspector.strategies.dcp_protection import DEFAULT_PROTECTED, WHEN, WHEN_HELP, batched, is_protected
from inspector.strategies.history import NEVER
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, tools, whole
from inspector.strategies.tool_inputs import BlankInput

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class DcpPurgeErrors(Batching):
    """Blank the input of tool calls that failed some turns ago."""

    name: ClassVar[str] = "dcp-purge-errors"
    title: ClassVar[str] = "Purge failed calls (DCP)"
    summary: ClassVar[str] = "Some responses after a tool call failed, blank the texts of its input and keep the error."
    source: ClassVar[str] = "opencode-dcp 3.1 lib/strategies/purge-errors.ts"

    turns: int = whole(
        "turns", 4, "Responses of the model after which a failed call's input goes.", "turns", minimum=1, maximum=1_000
    )
    when: str = choice("when", WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        "protected-tools", DEFAULT_PROTECTED, "Tools that are left alone; * and ? stand for any characters."
    )
    protected_files: tuple[str, ...] = tools(
        "protected-files", (), "Files whose calls are left alone, as patterns with *, ** and ?."
    )

    def schedule(self, history: History) -> Schedule:
        """Input goes at the call whose prompt holds `turns` responses after the one that made the call."""
        builder = ScheduleBuilder()
        old = Decision(BlankInput(BLANK_INPUT), f"failed {self.turns} turns ago")
        session = history.session
        failed = history.results[history.is_error[history.results] & (history.call_block[history.results] >= 0)]
        purged = np.zeros(len(history.kind), dtype=np.bool_)
        for call in history.call_block[failed].tolist():
            purged[call] = not is_protected(session, session.blocks[call], self.protected_tools, self.protected_files)
        responses = np.fromiter(
            (message.role is Role.ASSISTANT for message in session.messages), np.bool_, len(session.messages)
        )
        of_model = responses[history.message] & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, of_model):
            messages = history.message[context.blocks]
            first = np.append(True, messages[1:] != messages[:-1])[: len(messages)]
            step = np.cumsum(first) - 1
            arrival = np.append(context.calls[first], np.full(self.turns, NEVER, dtype=np.int32))
            chosen = purged[context.blocks]
            blocks = context.blocks[chosen]
            carried = blocks[: int(np.count_nonzero(chosen[: context.carried]))]
            builder.add(carried, context.calls[chosen][: len(carried)], Decision(None, "counted anew"))
            goes = arrival[step[chosen] + self.turns].astype(np.int32)
            builder.add(blocks, batched(history, context.context, goes, self.when), old)
        return builder.schedule()
