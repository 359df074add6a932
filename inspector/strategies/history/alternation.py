"""Messages as APIs with two alternating speakers see them: all results of a batch are one message of the user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.strategies.history.history import ASSISTANT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.history.conversation_items import Item
    from inspector.strategies.history.history import History


@dataclass
class Turn:
    """One message.

    Attributes:
        is_answer: Whether the model said it.
        blocks: Its block indices, in order.
        message: Index of the last recorded message it is made of.
        ends_with_result: Whether the last thing in it so far is a tool result.
    """

    is_answer: bool
    blocks: list[int]
    message: int
    ends_with_result: bool


@dataclass
class Alternation:
    """The messages of one conversation, as they arrive.

    Attributes:
        history: What was recorded.
        turns: The messages that are still sent, oldest first.
    """

    history: History
    turns: list[Turn] = field(default_factory=list)

    def add(self, items: Iterable[Item]) -> None:
        """Take in items in the order they are sent."""
        for item in items:
            last = self.turns[-1] if self.turns else None
            goes_on = last is not None and (item.message == last.message or (item.is_result and last.ends_with_result))
            if last is not None and goes_on:
                last.blocks.extend(item.blocks)
                last.message, last.ends_with_result = item.message, item.is_result
            else:
                is_answer = self.history.kind_bytes[item.blocks[0]] in ASSISTANT
                self.turns.append(Turn(is_answer, list(item.blocks), item.message, item.is_result))
