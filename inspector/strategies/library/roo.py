"""Hide half of the conversation after its first message when the window is nearly full, as Roo Code does.

Source: `truncateConversation` and `manageContext` of Roo Code (RooCodeInc/Roo-Code
`src/core/context-management/index.ts`), the part that acts when its model-written condensing is off or fails. If a
prompt would leave less than 10 % of the window plus the room reserved for the answer, the oldest half of the messages
after the first is hidden, an even number, and a note replaces them. Tool results may lose their calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.parametrized import Parametrized, integer, model_window, number, window_of
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.conversation_items import MessageList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.history import History

_BUFFER = 0.1


@dataclass(frozen=True)
class RooTruncate(Parametrized):
    """Hide the oldest half of the messages after the first when the window is nearly full."""

    name = "roo-truncate"
    title = "Sliding window (Roo Code)"
    summary = "When a prompt nearly fills the window, hide the oldest half of the messages after the first."
    source = "RooCodeInc/Roo-Code src/core/context-management/index.ts"
    note = "Messages are counted, not pairs: a result may be sent without its call, which APIs refuse."

    fraction: float = number(0.5, "Fraction of the messages after the first that is hidden.", minimum=0.0, maximum=1.0)
    window: int = model_window()
    reserved: int = integer(8_192, "Size reserved for the answer.", "tokens", maximum=1_000_000)

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * (1 - _BUFFER) - self.reserved,)

    def start(self, history: History) -> RooTruncateRun:
        return RooTruncateRun(self, history)


class RooTruncateRun(ThreadRun[RooTruncate, MessageList]):
    """A run of the truncation on one session.

    Attributes:
        allowed: Maximum tokens of a prompt.
    """

    def __init__(self, strategy: RooTruncate, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = window_of(history, strategy.window) * (1 - _BUFFER) - strategy.reserved

    def begin(self) -> MessageList:
        return MessageList(self.history)

    def decide(self, state: MessageList, arrived: list[int], context: CallContext) -> Iterator[Choice]:
        state.add(self.items(arrived))
        tokens = context.prompt_tokens
        if tokens <= self.allowed:
            return
        count = int((len(state.turns) - 1) * self.strategy.fraction)
        count -= count % 2
        if count <= 0:
            return
        reason = f"hidden when the prompt had {tokens:,} tokens"
        removed = Decision(RemoveBlock(), reason)
        hidden = [block for turn in state.turns[1 : count + 1] for block in turn.blocks]
        del state.turns[1 : count + 1]
        for block in hidden[:-1]:
            yield Choice(block, removed)
        note = f"[Sliding window truncation: {count} messages hidden to reduce context]"
        yield Choice(hidden[-1], Decision(ReplaceWithMessage(note, BlockKind.USER_TEXT), reason))
