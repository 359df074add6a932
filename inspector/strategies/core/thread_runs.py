"""Sequential strategies that remember something of a conversation: one state per thread, and what arrives as items.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from inspector.session.model import Role
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.history.conversation_items import ConversationItem
from inspector.strategies.history.history import NEVER_SENT, TOOL_RESULT
from inspector.strategies.history.memo import once_a_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.history import History

Values = TypeVar("Values")
State = TypeVar("State")


class _Columns:
    """What every run over a history looks things up in. A few at a time, plain lists are quicker than columns."""

    def __init__(self, history: History) -> None:
        self.messages: list[int] = history.message.tolist()
        self.first_blocks: list[int] = history.message_first_block.tolist()
        self.threads: list[int] = history.call_thread.tolist()
        self.items: list[tuple[ConversationItem, ...] | None] = [None] * len(history.session.messages)


_columns_of = once_a_history(_Columns)


class ThreadRun(Generic[Values, State]):
    """A strategy at work on one session, with a state for every thread's conversation.

    A conversation begins with a state from `begin`, and again wherever a new context does: at the start, after a
    recorded compaction, after a rewind. What of its beginning was changed before is then sent as recorded again.
    `decide` says what changes at a call.

    Class attributes:
        measures_prompts: False where no decision looks at what prompts come to, which is then not worked out.
        keeps_changes: What was changed stays so when another conversation begins with it.
        sent_again: What is decided about it otherwise.

    Attributes:
        strategy: The values.
        history: What was recorded.
        changed: Blocks that were changed, and not sent as recorded again because another conversation began.
        again: What is sent as recorded again at the present call.
    """

    measures_prompts: bool = True
    keeps_changes: ClassVar[bool] = False
    sent_again: ClassVar[Decision] = Decision(None, "another conversation began")

    def __init__(self, strategy: Values, history: History) -> None:
        self.strategy = strategy
        self.history = history
        self.changed: set[int] = set()
        self.again: Sequence[Choice] = ()
        self._kinds = history.kind_bytes
        self._columns = _columns_of(history)
        self._states: dict[int, State] = {}

    def begin(self) -> State:
        """The state of a conversation that begins."""
        raise NotImplementedError

    def begin_again(self, before: State) -> State:  # noqa: ARG002  for those that carry something over
        """The state of a conversation that begins where the thread had another, which `before` is of."""
        return self.begin()

    def decide(self, state: State, arrived: list[int], moment: Moment) -> Iterable[Choice]:
        """What changes at a call.

        Args:
            state: The state of the conversation.
            arrived: Blocks of the prompt that the conversation did not hold before, in the order they are sent.
            moment: The call about to be made.
        """
        raise NotImplementedError

    def step(self, moment: Moment) -> Iterable[Choice]:
        """What changes at this call. Called once for every call, in order."""
        state, arrived = self.take_in(moment)
        # Everything is decided before anything of it is done.
        return [*self.again, *self.noted(self.decide(state, arrived, moment))]

    def take_in(self, moment: Moment) -> tuple[State, list[int]]:
        """The state of the conversation a call continues, and what arrived."""
        thread = self._columns.threads[moment.call]
        if thread in self._states and not moment.starts_context:
            self.again = ()
            return self._states[thread], moment.arrived.tolist()
        blocks = self.history.prompt(moment.call) if moment.starts_context else moment.arrived
        arrived: list[int] = blocks.tolist()
        before = self._states.get(thread)
        state = self._states[thread] = self.begin() if before is None else self.begin_again(before)
        self.again = () if self.keeps_changes else self.restored(arrived)
        return state, arrived

    def restored(self, arrived: list[int]) -> list[Choice]:
        """What another conversation begins with is sent as recorded again, and is no longer among what was changed."""
        choices = [Choice(block, self.sent_again) for block in arrived if block in self.changed]
        self.changed.difference_update(arrived)
        return choices

    def noted(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """The choices, one by one, after a note of what they change."""
        for choice in choices:
            if choice.decision.operation is not None:
                self.changed.add(choice.block)
            yield choice

    def results(self, blocks: list[int]) -> list[int]:
        """The tool results among some blocks."""
        kinds = self._kinds
        return [block for block in blocks if kinds[block] == TOOL_RESULT]

    def items(self, blocks: list[int]) -> list[ConversationItem]:
        """Blocks in the order they are sent, as items; system texts are none."""
        messages, first_blocks, known = self._columns.messages, self._columns.first_blocks, self._columns.items
        found: list[ConversationItem] = []
        at, before, count = 0, -1, len(blocks)
        while at < count:
            message = messages[blocks[at]]
            last = first_blocks[message + 1] - 1
            end = at + last - first_blocks[message]
            # A message arrives whole, and what its items are is the same under every plan.
            if message == before or end >= count or blocks[end] != last:
                return self._gathered(blocks)
            items = known[message]
            if items is None:
                items = known[message] = tuple(self._gathered(blocks[at : end + 1]))
            found += items
            at, before = end + 1, message
        return found

    def asks(self, item: ConversationItem) -> bool:
        """Whether the item begins a new run of the agent: what a user said, in a message without results."""
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
            if kind in NEVER_SENT:
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
