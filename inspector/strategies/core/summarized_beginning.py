"""A conversation whose beginning is a summary: what is held of it, and how its beginning gives way to one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.strategy import Choice, Decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class HasBlocks(Protocol):
    """A message by its blocks."""

    @property
    def blocks(self) -> Sequence[int]:
        """Its blocks, in the order they are sent; at least one."""


MessageT = TypeVar("MessageT", bound=HasBlocks)


@dataclass
class SummarizedBeginning(Generic[MessageT]):
    """The messages of a conversation, the first of which a summary stands for.

    The summary is one message of the user. It takes the place of the first block that went, and stays there when more
    of the conversation goes.

    Attributes:
        messages: All of them, those that are gone included.
        sums: For each, the tokens that it and all before it are taken for.
        start: The first that is not gone: how many the summary stands for.
        summary: The block that carries the summary, -1 for none yet.
        summary_tokens: What the summary's message is taken for, by rules that count it.
    """

    messages: list[MessageT] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    start: int = 0
    summary: int = -1
    summary_tokens: int = 0

    def add(self, message: MessageT, tokens: int) -> None:
        """Take in a message, and what it is taken for."""
        self.sums.append(self.before(len(self.sums)) + tokens)
        self.messages.append(message)

    def before(self, place: int) -> int:
        """What all messages before a place are taken for, those that are gone included."""
        return self.sums[place - 1] if place else 0

    def since(self, place: int) -> int:
        """What all messages from a place on are taken for."""
        return self.before(len(self.sums)) - self.before(place)

    @property
    def all_tokens(self) -> int:
        """What all that is sent is taken for, the summary included."""
        return self.summary_tokens + self.since(self.start)

    def blocks_until(self, place: int) -> list[int]:
        """The blocks of the messages that would go if those before a place did; those that are gone not included."""
        return [block for message in self.messages[self.start : place] for block in message.blocks]

    def summarize(self, place: int, text: str, reason: str) -> Iterator[Choice]:
        """Let a summary stand for all messages before a place, of which at least one is not gone yet.

        Args:
            place: The first message that stays.
            text: What the message with the summary says.
            reason: Why.
        """
        gone = self.blocks_until(place)
        self.start = place
        if self.summary < 0:
            self.summary = gone[0]
        return self._choices(gone, text, reason)

    def _choices(self, gone: Iterable[int], text: str, reason: str) -> Iterator[Choice]:
        yield Choice(self.summary, Decision(ReplaceWithMessage(text, BlockKind.USER_TEXT), reason))
        removed = Decision(RemoveBlock(), reason)
        for block in gone:
            if block != self.summary:
                yield Choice(block, removed)
