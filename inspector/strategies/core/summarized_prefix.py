"""Conversations that begin with a summary: the messages that remain, and replacing earlier ones by a summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.strategy import Choice, Decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class HasBlocks(Protocol):
    """A message with block indices."""

    @property
    def blocks(self) -> Sequence[int]:
        """Its blocks, in the order they are sent; at least one."""


MessageT = TypeVar("MessageT", bound=HasBlocks)


@dataclass
class SummarizedPrefix(Generic[MessageT]):
    """The messages of a conversation, the first of which may be replaced by a summary.

    The summary is one user message. It takes the place of the first removed block and stays there when more messages
    are removed.

    Attributes:
        messages: All messages, including removed ones.
        sums: Running token estimate up to and including each message.
        start: Index of the first message not removed, which is the number of messages summarized.
        summary: Block that carries the summary, -1 for none yet.
        summary_tokens: Token estimate of the summary message, for rules that count it.
    """

    messages: list[MessageT] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    start: int = 0
    summary: int = -1
    summary_tokens: int = 0

    def add(self, message: MessageT, tokens: int) -> None:
        self.sums.append(self.before(len(self.sums)) + tokens)
        self.messages.append(message)

    def before(self, place: int) -> int:
        """Return the tokens of all messages before an index, including removed ones."""
        return self.sums[place - 1] if place else 0

    def since(self, place: int) -> int:
        """Return the tokens of all messages from an index on."""
        return self.before(len(self.sums)) - self.before(place)

    @property
    def all_tokens(self) -> int:
        """Tokens of everything sent, including the summary."""
        return self.summary_tokens + self.since(self.start)

    def blocks_until(self, place: int) -> list[int]:
        """Return the blocks of messages before an index that are not removed yet."""
        return [block for message in self.messages[self.start : place] for block in message.blocks]

    def summarize(self, place: int, text: str, reason: str) -> Iterator[Choice]:
        """Replace all messages before an index, at least one of them not removed yet, with a summary.

        Args:
            place: Index of the first message that stays.
            text: Text of the summary message.
            reason: Reason of the decisions.
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
