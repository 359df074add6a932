"""Sequential strategies with state per thread, which receive new blocks as items, and replacing old ones by a summary.

Inline subagents have separate conversations, with separate usage and old results, so state is held per thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from inspector.session.model import BlockKind, Role
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.strategy import CallContext, Choice, Decision
from inspector.strategies.history.conversation_items import ConversationItem
from inspector.strategies.history.history import OUTSIDE_CONVERSATION, TOOL_RESULT, History
from inspector.strategies.history.memo import cached_per_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


Values = TypeVar("Values")
State = TypeVar("State")


class _Columns:
    """Lookup tables of every run over a history. For a few values at a time, plain lists are faster than columns."""

    def __init__(self, history: History) -> None:
        self.messages: list[int] = history.message.tolist()
        self.first_blocks: list[int] = history.message_first_block.tolist()
        self.threads: list[int] = history.call_thread.tolist()
        self.items: list[tuple[ConversationItem, ...] | None] = [None] * len(history.session.messages)


_columns_of = cached_per_history(_Columns)


class ThreadRun(Generic[Values, State]):
    """A run of a strategy on one session, with a state for every thread's conversation.

    A conversation starts with a state from `begin`, and again with every new context: at the start, after a recorded
    compaction, after a rewind. Changed blocks that the new context begins with are then sent as recorded again.
    `decide` returns the changes at a call.

    Class attributes:
        measures_prompts: False if no decision uses prompt token counts, which are then not computed.
        keeps_changes: True if changed blocks stay changed when another conversation begins with them.
        reset_decision: The decision about such blocks otherwise.

    Attributes:
        changed: Blocks changed and not reset by a new conversation.
        again: Choices that reset blocks at the current call.
    """

    measures_prompts: bool = True
    keeps_changes: ClassVar[bool] = False
    reset_decision: ClassVar[Decision] = Decision(None, "a new conversation began")

    def __init__(self, strategy: Values, history: History) -> None:
        self.strategy = strategy
        self.history = history
        self.changed: set[int] = set()
        self.again: Sequence[Choice] = ()
        self._kinds = history.kind_bytes
        self._columns = _columns_of(history)
        self._states: dict[int, State] = {}

    def begin(self) -> State:
        raise NotImplementedError

    def begin_again(self, before: State) -> State:  # noqa: ARG002  used by subclasses that carry state over
        """Return the state of a conversation that replaces an earlier one of the thread, with state `before`."""
        return self.begin()

    def decide(self, state: State, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        """Return the changes at a call; `arrived` are the prompt's new blocks, in the order they are sent."""
        raise NotImplementedError

    def step(self, context: CallContext) -> Iterable[Choice]:
        state, arrived = self.advance(context)
        # Decide everything before any of it takes effect.
        return [*self.again, *self.record_changes(self.decide(state, arrived, context))]

    def advance(self, context: CallContext) -> tuple[State, list[int]]:
        """Return the state of the conversation that a call continues, and the new blocks."""
        thread = self._columns.threads[context.call]
        if thread in self._states and not context.starts_context:
            self.again = ()
            return self._states[thread], context.arrived.tolist()
        blocks = self.history.prompt(context.call) if context.starts_context else context.arrived
        arrived: list[int] = blocks.tolist()
        before = self._states.get(thread)
        state = self._states[thread] = self.begin() if before is None else self.begin_again(before)
        self.again = () if self.keeps_changes else self.restored(arrived)
        return state, arrived

    def restored(self, arrived: list[int]) -> list[Choice]:
        """Reset the changed blocks that another conversation begins with, and forget them."""
        choices = [Choice(block, self.reset_decision) for block in arrived if block in self.changed]
        self.changed.difference_update(arrived)
        return choices

    def record_changes(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Yield the choices, recording the blocks they change."""
        for choice in choices:
            if choice.decision.operation is not None:
                self.changed.add(choice.block)
            yield choice

    def results(self, blocks: list[int]) -> list[int]:
        kinds = self._kinds
        return [block for block in blocks if kinds[block] == TOOL_RESULT]

    def items(self, blocks: list[int]) -> list[ConversationItem]:
        """Group blocks, in the order they are sent, into items; system texts are skipped."""
        messages, first_blocks, known = self._columns.messages, self._columns.first_blocks, self._columns.items
        found: list[ConversationItem] = []
        at, before, count = 0, -1, len(blocks)
        while at < count:
            message = messages[blocks[at]]
            last = first_blocks[message + 1] - 1
            end = at + last - first_blocks[message]
            # A message arrives whole, and its items are the same under every plan.
            if message == before or end >= count or blocks[end] != last:
                return self._gathered(blocks)
            items = known[message]
            if items is None:
                items = known[message] = tuple(self._gathered(blocks[at : end + 1]))
            found += items
            at, before = end + 1, message
        return found

    def asks(self, item: ConversationItem) -> bool:
        """Return True if the item begins a new run of the agent: user text in a message without results."""
        if item.is_result:
            return False
        message = self.history.session.messages[item.message]
        return message.role is Role.USER and not self.history.message_has_results[item.message]

    def _gathered(self, blocks: list[int]) -> list[ConversationItem]:
        kinds, messages = self._kinds, self._columns.messages
        found: list[ConversationItem] = []
        gathered: list[int] = []
        for block in blocks:
            kind, message = kinds[block], messages[block]
            if kind in OUTSIDE_CONVERSATION:
                continue
            if gathered and (kind == TOOL_RESULT or message != messages[gathered[0]]):
                found.append(ConversationItem(messages[gathered[0]], tuple(gathered), is_result=False))
                gathered = []
            if kind == TOOL_RESULT:
                found.append(ConversationItem(message, (block,), is_result=True))
            else:
                gathered.append(block)
        if gathered:
            found.append(ConversationItem(messages[gathered[0]], tuple(gathered), is_result=False))
        return found


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
        """Replace all messages before index `place`, at least one of them still there, with a summary."""
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
