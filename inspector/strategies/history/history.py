"""A session as numeric columns, the input of strategies and of the replay.

There is one row per block, per message and per call. A history grows with its session: `History.of` with the previous
history processes only new or changed messages.
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

SEARCH_CHUNK = 1024
"""Entries of a column searched at once."""


@dataclass(frozen=True, eq=False)
class History:
    """The columns. Call index `call_count` is the next call, not yet made; every call column has an entry for it.

    Attributes:
        session: The session that the columns describe.
        kind: Per block, `BlockKind`, uint8.
        characters: Per block, length of its text, int32.
        signature: Per block, characters of its signature or encrypted content, int32.
        message: Per block, its message's index, int32.
        tool: Per block, index into `tool_names`, -1 for blocks without a tool, int32.
        tool_names: The tools in order of first use.
        plain_text: Per block, True if its text was one plain string in the record.
        is_error: Per block, True for a tool result that reports failure.
        call_block: Per block, int32: for a tool result the block index of its tool call, otherwise or if that is
            missing -1. If an id was used twice, the latest call before the result.
        message_first_block: Per message, index of its first block, then the number of blocks, int32.
        message_thread: Per message, its thread, int32.
        message_batch: Per message, the number of assistant messages of its thread before it, int32. Messages with tool
            results and equal thread and batch answer the same assistant message.
        message_has_results: Per message, True if it holds tool results.
        message_enters: Per message, the first call that sends it, `NEVER` if none does, int32.
        message_leaves: Per message, the first later call of its thread that no longer sends it, or `NEVER`.
        call_context: Per call, its context, int32.
        call_prompt_messages: Per call, the number of context members sent, int32.
        call_last_message: Per call, the last message of its prompt, -1 for none, int32.
        call_time: Per call, seconds since the epoch, NaN if unknown, float64.
        context_members: Per context, its message indices in the order they are sent, int32.
        window: The model's context window in tokens if a source other than the file gives it; otherwise None.
        growing: Buffers of the columns, shared with the session's other states.
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
        """Build the columns of `session`, extending the columns of an earlier state if given."""
        kept = unchanged(session.messages, previous.session.messages) if previous is not None else 0
        growing = GrowingColumns() if previous is None else previous.growing
        columns = _message_columns(session.messages, kept, previous, growing)
        before = (previous.session, previous.call_columns) if previous is not None else None
        return cls(session=session, **columns, **call_columns(session, before, growing)._asdict(), growing=growing)

    @property
    def call_columns(self) -> CallColumns:
        return CallColumns(*(getattr(self, name) for name in CallColumns._fields))

    @property
    def call_count(self) -> int:
        """Number of recorded calls; also the index of the next one."""
        return len(self.session.calls)

    @cached_property
    def findings(self) -> dict[object, object]:
        """Cache of results computed from these columns; see `cached_per_history`."""
        return {}

    @cached_property
    def call_thread(self) -> NDArray[np.int32]:
        """Per call, its thread, -1 if unknown, int32."""
        threads = np.array([*(context.thread for context in self.session.contexts), -1], dtype=np.int32)
        return threads[self.call_context]

    @cached_property
    def kind_bytes(self) -> bytes:
        """`kind` as bytes, which are much faster than a column for access to single blocks."""
        return self.kind.tobytes()

    @cached_property
    def enters(self) -> NDArray[np.int32]:
        """Per block, the first call that sends it, `NEVER` if none does."""
        return self.message_enters[self.message]

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        """Per block, the first later call of its thread that no longer sends it, or `NEVER`."""
        return self.message_leaves[self.message]

    @cached_property
    def results(self) -> NDArray[np.int32]:
        return np.flatnonzero(self.kind == BlockKind.TOOL_RESULT).astype(np.int32)

    def results_of(self, tools: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the results of some tools, selected by a mask per tool with a last entry for no tool."""
        return self.results[tools[self.tool[self.results]]]

    def prompt_messages(self, call: int) -> NDArray[np.int32]:
        if not self.session.contexts:
            return np.zeros(0, dtype=np.int32)
        members: NDArray[np.int32] = self.context_members[self.call_context[call]]
        return members[: int(self.call_prompt_messages[call])]

    def prompt(self, call: int) -> NDArray[np.int32]:
        """Return the block indices of a call's prompt as recorded, in the order they are sent."""
        return self.blocks_of(self.prompt_messages(call))

    def still_sends(self, call: int, block: int) -> bool:
        """Return True if a call's prompt holds a block first sent by this call or an earlier one of its thread."""
        return bool(call < self.leaves[block]) or bool((self.prompt_messages(call) == self.message[block]).any())

    def blocks_of(self, messages: NDArray[np.int32]) -> NDArray[np.int32]:
        first = self.message_first_block[messages]
        counts = self.message_first_block[messages + 1] - first
        starts = np.cumsum(counts) - counts
        blocks: NDArray[np.int32] = np.repeat(first - starts, counts) + np.arange(int(counts.sum()), dtype=np.int32)
        return blocks.astype(np.int32)

    def calls_of_contexts(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Yield, per context, its messages in the order sent, and its calls, ascending, including the next one."""
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
    """Finds tool calls by id. Earlier messages are searched backwards, and only if a new message refers to them."""

    def __init__(self, messages: Sequence[Message], kept: int, block_count: int) -> None:
        self._found: dict[str, int] = {}
        self._messages = messages
        self._unread = kept
        self._first_block = block_count

    def add(self, identifier: str, block: int) -> None:
        """Record a call; it replaces an earlier one with the same id."""
        if identifier:
            self._found[identifier] = block

    def find(self, identifier: str) -> int:
        """Return the block index of the latest call with this id so far, or -1."""
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
    """Count a thread's assistant messages among the first `kept` messages, from the previous columns."""
    if previous is None:
        return 0
    last = _last_of(thread, previous.message_thread[:kept])
    return 0 if last < 0 else int(previous.message_batch[last]) + _is_answer(messages[last])


def _last_of(value: int, column: NDArray[np.int32]) -> int:
    """Return the last index of a value, -1 if absent. Searches from the end, since it is usually found there."""
    for end in range(len(column), 0, -SEARCH_CHUNK):
        start = max(end - SEARCH_CHUNK, 0)
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
OUTSIDE_CONVERSATION: Final = frozenset((SYSTEM_TEXT, int(BlockKind.OTHER)))
"""Kinds of blocks before or outside the conversation."""
ASSISTANT: Final = frozenset((ASSISTANT_TEXT, THINKING, TOOL_CALL))
"""Kinds of blocks that a model produces."""
