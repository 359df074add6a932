"""A session as columns of numbers: what strategies and the replay compute on.

One row a block, one a message, one a call. A history grows with its session: `History.of` with the previous history
looks only at messages that are new or changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.session.snapshot_list import unchanged
from inspector.strategies.history.call_columns import NEVER, CallColumns, call_columns
from inspector.strategies.history.growing_columns import GrowingColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Message, Session


__all__ = ["NEVER", "History"]

LOOKED_AT_ONCE = 1024
"""Entries of a column."""


@dataclass(frozen=True, eq=False)
class History:
    """The columns. Call index `call_count` is the next call, not yet made; every call column has an entry for it.

    Attributes:
        session: What the columns describe.
        kind: Per block, `BlockKind`, uint8.
        characters: Per block, length of its text, int32.
        signature: Per block, characters of its signature or encrypted content, int32.
        message: Per block, its message's index, int32.
        tool: Per block, index into `tool_names`, -1 for blocks of no tool, int32.
        tool_names: The tools in order of first use.
        plain_text: Per block, whether its text was one plain string in the record.
        is_error: Per block, whether it is a tool result that reports failure.
        call_block: Per block, for a tool result the block index of its tool call, -1 otherwise or where that is
            missing, int32. Where an id was used twice, the latest call before the result.
        message_first_block: Per message, index of its first block, and at the end the number of blocks, int32.
        message_thread: Per message, its thread, int32.
        message_batch: Per message, the number of assistant messages of its thread before it, int32. Messages with
            tool results and equal thread and batch answer the same assistant message.
        message_has_results: Per message, whether it holds tool results.
        message_enters: Per message, the first call whose prompt holds it, `NEVER` when none does, int32.
        message_leaves: Per message, the first later call of its thread whose prompt no longer holds it, or `NEVER`.
        call_context: Per call, its context, int32.
        call_prompt_messages: Per call, how many members of the context are sent, int32.
        call_last_message: Per call, the message its prompt ends with, -1 for none, int32.
        call_time: Per call, seconds since the epoch, NaN where unknown, float64.
        context_members: Per context, its message indices in the order they are sent, int32.
        window: The model's context window in tokens where more is known of it than the file says; None where not.
        growing: Where the columns are, and those of the session's other states.
    """

    session: Session
    kind: NDArray[np.uint8]
    characters: NDArray[np.int32]
    signature: NDArray[np.int32]
    message: NDArray[np.int32]
    tool: NDArray[np.int32]
    tool_names: tuple[str, ...]
    plain_text: NDArray[np.bool_]
    is_error: NDArray[np.bool_]
    call_block: NDArray[np.int32]
    message_first_block: NDArray[np.int32]
    message_thread: NDArray[np.int32]
    message_batch: NDArray[np.int32]
    message_has_results: NDArray[np.bool_]
    message_enters: NDArray[np.int32]
    message_leaves: NDArray[np.int32]
    call_context: NDArray[np.int32]
    call_prompt_messages: NDArray[np.int32]
    call_last_message: NDArray[np.int32]
    call_time: NDArray[np.float64]
    context_members: tuple[NDArray[np.int32], ...]
    window: int | None = None
    growing: GrowingColumns = field(default_factory=GrowingColumns, repr=False)

    @classmethod
    def of(cls, session: Session, previous: History | None = None) -> History:
        """The columns of `session`, built from those of an earlier state of it where one is given."""
        kept = unchanged(session.messages, previous.session.messages) if previous is not None else 0
        growing = GrowingColumns() if previous is None else previous.growing
        columns = _message_columns(session.messages, kept, previous, growing)
        before = (previous.session, previous.call_columns) if previous is not None else None
        return cls(session=session, **columns, **call_columns(session, before, growing)._asdict(), growing=growing)

    @property
    def call_columns(self) -> CallColumns:
        """The columns that follow from calls and contexts."""
        return CallColumns(*(getattr(self, name) for name in CallColumns._fields))

    @property
    def call_count(self) -> int:
        """Recorded calls; also the index of the next one."""
        return len(self.session.calls)

    @cached_property
    def findings(self) -> dict[object, object]:
        """What was worked out of these columns; see `once_a_history`."""
        return {}

    @cached_property
    def call_thread(self) -> NDArray[np.int32]:
        """Per call, its thread; -1 where nothing was said, int32."""
        threads = np.array([*(context.thread for context in self.session.contexts), -1], dtype=np.int32)
        return threads[self.call_context]

    @cached_property
    def kind_bytes(self) -> bytes:
        """`kind` for looking at blocks one by one, which is far quicker in bytes than in a column."""
        return self.kind.tobytes()

    @cached_property
    def enters(self) -> NDArray[np.int32]:
        """Per block, the first call whose prompt holds it, `NEVER` when none does."""
        return self.message_enters[self.message]

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        """Per block, the first later call of its thread whose prompt no longer holds it, or `NEVER`."""
        return self.message_leaves[self.message]

    @cached_property
    def results(self) -> NDArray[np.int32]:
        """Indices of all tool results, in order."""
        return np.flatnonzero(self.kind == BlockKind.TOOL_RESULT).astype(np.int32)

    def results_of(self, tools: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The tool results of some tools, given per tool whether it is one of them, and at last for no tool."""
        return self.results[tools[self.tool[self.results]]]

    def prompt_messages(self, call: int) -> NDArray[np.int32]:
        """Message indices of a call's prompt, in the order they are sent."""
        if not self.session.contexts:
            return np.zeros(0, dtype=np.int32)
        members: NDArray[np.int32] = self.context_members[self.call_context[call]]
        return members[: int(self.call_prompt_messages[call])]

    def prompt(self, call: int) -> NDArray[np.int32]:
        """Block indices of a call's prompt as recorded, in the order they are sent."""
        return self.blocks_of(self.prompt_messages(call))

    def still_sends(self, call: int, block: int) -> bool:
        """Whether a call's prompt holds a block that entered it, or an earlier one of its thread."""
        return bool(call < self.leaves[block]) or bool((self.prompt_messages(call) == self.message[block]).any())

    def blocks_of(self, messages: NDArray[np.int32]) -> NDArray[np.int32]:
        """Block indices of the given messages, in that order."""
        first = self.message_first_block[messages]
        counts = self.message_first_block[messages + 1] - first
        starts = np.cumsum(counts) - counts
        blocks: NDArray[np.int32] = np.repeat(first - starts, counts) + np.arange(int(counts.sum()), dtype=np.int32)
        return blocks.astype(np.int32)

    def calls_of_contexts(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Per context, its messages in the order they are sent, and its calls, rising, the next one's included."""
        order = np.argsort(self.call_context, kind="stable")
        bounds = np.searchsorted(self.call_context[order], np.arange(len(self.context_members) + 1))
        for context, members in enumerate(self.context_members):
            yield members, order[bounds[context] : bounds[context + 1]]


def _message_columns(
    messages: Sequence[Message], kept: int, previous: History | None, growing: GrowingColumns
) -> dict[str, Any]:
    names = {} if previous is None else {name: index for index, name in enumerate(previous.tool_names)}
    first_block = 0 if previous is None else int(previous.message_first_block[kept])
    kind, characters, signature, message_of, tool = bytearray(), [], [], [], []
    plain, error = bytearray(), bytearray()
    call_block: list[int] = []
    calls = _ToolCalls(messages, kept, first_block)
    firsts, threads, batches, has_results = [], [], [], bytearray()
    batch_of_thread: dict[int, int] = {}
    block_count = first_block
    for index, message in enumerate(messages[kept:], kept):
        firsts.append(block_count)
        batch = batch_of_thread.get(message.thread, -1)
        if batch < 0:
            batch = _batch_after(message.thread, messages, kept, previous)
        threads.append(message.thread)
        batches.append(batch)
        batch_of_thread[message.thread] = batch + _is_answer(message)
        holds_results = False
        for block in message.blocks:
            kind.append(block.kind)
            characters.append(block.characters)
            signature.append(block.signature_characters)
            message_of.append(index)
            tool.append(names.setdefault(block.tool_name, len(names)) if block.tool_name else -1)
            plain.append(block.plain_text)
            error.append(block.is_error)
            if block.kind is BlockKind.TOOL_CALL:
                calls.add(block.tool_call_id, first_block + len(call_block))
            call_block.append(calls.find(block.tool_call_id) if block.kind is BlockKind.TOOL_RESULT else -1)
            holds_results = holds_results or block.kind is BlockKind.TOOL_RESULT
        has_results.append(holds_results)
        block_count += len(message.blocks)
    firsts.append(block_count)

    def joined(column: str, count: int, new: NDArray[Any]) -> NDArray[Any]:
        return new if previous is None else growing.grown(column, getattr(previous, column), count, new)

    block_columns: dict[str, NDArray[Any]] = {
        "kind": np.frombuffer(bytes(kind), dtype=np.uint8),
        "characters": np.array(characters, dtype=np.int32),
        "signature": np.array(signature, dtype=np.int32),
        "message": np.array(message_of, dtype=np.int32),
        "tool": np.array(tool, dtype=np.int32),
        "plain_text": np.frombuffer(bytes(plain), dtype=np.bool_),
        "is_error": np.frombuffer(bytes(error), dtype=np.bool_),
        "call_block": np.array(call_block, dtype=np.int32),
    }
    message_columns: dict[str, NDArray[Any]] = {
        "message_first_block": np.array(firsts, dtype=np.int32),
        "message_thread": np.array(threads, dtype=np.int32),
        "message_batch": np.array(batches, dtype=np.int32),
        "message_has_results": np.frombuffer(bytes(has_results), dtype=np.bool_),
    }
    return {
        "tool_names": tuple(names),
        **{name: joined(name, first_block, column) for name, column in block_columns.items()},
        **{name: joined(name, kept, column) for name, column in message_columns.items()},
    }


class _ToolCalls:
    """Finds tool calls by id. What was read before is searched backwards and only when something new asks for it."""

    def __init__(self, messages: Sequence[Message], kept: int, block_count: int) -> None:
        self._found: dict[str, int] = {}
        self._messages = messages
        self._unread = kept
        self._first_block = block_count

    def add(self, identifier: str, block: int) -> None:
        """Remember a call; one with the same id takes the place of an earlier one."""
        if identifier:
            self._found[identifier] = block

    def find(self, identifier: str) -> int:
        """Block index of the latest call with this id so far, or -1."""
        if not identifier:
            return -1
        while identifier not in self._found and self._unread:
            self._unread -= 1
            blocks = self._messages[self._unread].blocks
            self._first_block -= len(blocks)
            for position in range(len(blocks) - 1, -1, -1):
                block = blocks[position]
                if block.kind is BlockKind.TOOL_CALL and block.tool_call_id:
                    self._found.setdefault(block.tool_call_id, self._first_block + position)
        return self._found.get(identifier, -1)


def _batch_after(thread: int, messages: Sequence[Message], kept: int, previous: History | None) -> int:
    """The number of assistant messages of a thread among the first `kept` messages, from the columns before."""
    if previous is None:
        return 0
    last = _last_of(thread, previous.message_thread[:kept])
    return 0 if last < 0 else int(previous.message_batch[last]) + _is_answer(messages[last])


def _last_of(value: int, column: NDArray[np.int32]) -> int:
    """Where a value stands last in a column, -1 for nowhere; mostly near the end, so nothing is done with all of it."""
    for end in range(len(column), 0, -LOOKED_AT_ONCE):
        start = max(end - LOOKED_AT_ONCE, 0)
        places = np.flatnonzero(column[start:end] == value)
        if len(places):
            return start + int(places[-1])
    return -1


def _is_answer(message: Message) -> bool:
    return message.role is Role.ASSISTANT and not message.is_synthetic


SYSTEM_TEXT: Final = int(BlockKind.SYSTEM_TEXT)
USER_TEXT: Final = int(BlockKind.USER_TEXT)
ASSISTANT_TEXT: Final = int(BlockKind.ASSISTANT_TEXT)
THINKING: Final = int(BlockKind.THINKING)
TOOL_CALL: Final = int(BlockKind.TOOL_CALL)
TOOL_RESULT: Final = int(BlockKind.TOOL_RESULT)
MEDIA: Final = frozenset((int(BlockKind.IMAGE), int(BlockKind.DOCUMENT)))
NEVER_SENT: Final = frozenset((SYSTEM_TEXT, int(BlockKind.OTHER)))
"""What stands before a conversation or outside it."""
ASSISTANT: Final = frozenset((ASSISTANT_TEXT, THINKING, TOOL_CALL))
"""What a model says."""
