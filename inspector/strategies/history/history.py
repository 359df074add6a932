"""A session as numeric columns, the input of strategies and of the replay.

There is one row per block, per message and per call. A history grows with its session: `History.of` with the previous
history processes only new or changed messages.

If the conversation just continued, only the added part is processed; otherwise the contexts from the first changed one
on are. Values from earlier contexts stay valid. Columns grow in place instead of being copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from inspector.session.model import BlockKind, Message, Role, Session
from inspector.session.snapshot_list import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray


NEVER: Final = np.iinfo(np.int32).max
"""A call that never comes."""


class CallColumns(NamedTuple):
    """The columns, named as in `History`."""

    message_enters: NDArray[np.int32]
    message_leaves: NDArray[np.int32]
    call_context: NDArray[np.int32]
    call_prompt_messages: NDArray[np.int32]
    call_last_message: NDArray[np.int32]
    call_time: NDArray[np.float64]
    context_members: tuple[NDArray[np.int32], ...]


def call_columns(session: Session, before: tuple[Session, CallColumns] | None, growing: GrowingColumns) -> CallColumns:
    """Build the columns of a session, extending the columns of an earlier state if given."""
    if before is None:
        return _continued(session, 0, 0, _nothing())
    earlier, known = before
    kept = unchanged(session.calls, earlier.calls)
    grown = _grown(session, earlier, known, kept, growing)
    return grown or _continued(session, kept, _first_changed(session, earlier, known, kept), known)


def _nothing() -> CallColumns:
    none = np.zeros(0, dtype=np.int32)
    return CallColumns(none, none, np.array([-1], dtype=np.int32), none, none, np.zeros(0), ())


def _first_changed(session: Session, before: Session, known: CallColumns, kept: int) -> int:
    """Return the first context that was replaced or has new calls; the next call, not yet made, counts as new."""
    pairs = enumerate(zip(session.contexts, before.contexts, strict=False))
    same = next((index for index, (now, then) in pairs if now is not then), len(before.contexts))
    called: list[int] = known.call_context[kept:].tolist()
    called += [call.context for call in session.calls[kept:]]
    return max(min(same, len(session.contexts), _current(session), *called), 0)


def _current(session: Session) -> int:
    """Return the current context of the main conversation, -1 for none."""
    return max((index for index, context in enumerate(session.contexts) if context.thread == 0), default=-1)


def _grown(
    session: Session, before: Session, known: CallColumns, kept: int, growing: GrowingColumns
) -> CallColumns | None:
    """Return the columns if the conversation merely continued, at the cost of the added part; None otherwise."""
    index, calls = _current(session), session.calls[kept:]
    if index < 0 or len(session.messages) < len(before.messages) or not _goes_on(session, before, index):
        return None
    if any(call.context != index for call in calls) or (known.call_context[kept:] != index).any():
        return None
    is_own = known.call_context[:kept] == index
    members, count_before = session.contexts[index].members, len(before.contexts[index].members)
    added = members[count_before:]
    if not is_own.any() or min(added, default=len(before.messages)) < len(before.messages):
        return None
    sent = np.array([*(call.prompt_messages for call in calls), len(members)], dtype=np.int32)
    sent_before = int(np.max(known.call_prompt_messages[:kept], where=is_own, initial=0))
    entering = members[sent_before:]
    lowest = min((*entering, len(before.messages)))
    enters = np.full(len(session.messages) - lowest, NEVER, dtype=np.int32)
    enters[: len(before.messages) - lowest] = known.message_enters[lowest:]
    places = np.array(entering, dtype=np.int32) - lowest
    largest_sent = np.maximum(np.maximum.accumulate(sent), sent_before)
    first = np.searchsorted(largest_sent, np.arange(sent_before, sent_before + len(places)), side="right")
    first_call = np.append(np.arange(kept, kept + len(sent)), NEVER)[first].astype(np.int32)
    enters[places] = np.minimum(np.where(enters[places] < kept, enters[places], NEVER), first_call)
    last = [members[count - 1] if count > 0 else -1 for count in sent.tolist()]
    times = [*(np.nan if call.time is None else call.time for call in calls), np.nan]
    all_members = list(known.context_members)
    all_members[index] = growing.grown(
        f"members {index}", all_members[index], count_before, np.array(added, dtype=np.int32)
    )
    return CallColumns(
        message_enters=growing.grown("message_enters", known.message_enters, lowest, enters),
        message_leaves=growing.grown(
            "message_leaves",
            known.message_leaves,
            len(before.messages),
            np.full(len(session.messages) - len(before.messages), NEVER, dtype=np.int32),
        ),
        call_context=growing.grown("call_context", known.call_context, kept, np.full(len(sent), index, dtype=np.int32)),
        call_prompt_messages=growing.grown("call_prompt_messages", known.call_prompt_messages, kept, sent),
        call_last_message=growing.grown(
            "call_last_message", known.call_last_message, kept, np.array(last, dtype=np.int32)
        ),
        call_time=growing.grown("call_time", known.call_time, kept, np.array(times, dtype=np.float64)),
        context_members=tuple(all_members),
    )


def _goes_on(session: Session, before: Session, index: int) -> bool:
    """Return True if the contexts are unchanged except for members added to one of them."""
    if len(session.contexts) != len(before.contexts):
        return False
    now, then = session.contexts[index], before.contexts[index]
    others = zip(
        session.contexts[:index] + session.contexts[index + 1 :],
        before.contexts[:index] + before.contexts[index + 1 :],
        strict=True,
    )
    return (
        unchanged(now.members, then.members) == len(then.members)
        and (now.retained, now.cause, now.thread) == (then.retained, then.cause, then.thread)
        and all(one is other for one, other in others)
    )


def _continued(session: Session, kept: int, first: int, known: CallColumns) -> CallColumns:
    """Build the columns, given that the first `kept` calls and the contexts before `first` are unchanged."""
    calls, contexts, current = session.calls[kept:], session.contexts, _current(session)
    pending = len(contexts[current].members) if current >= 0 else 0
    new_contexts = np.array([*(call.context for call in calls), current], dtype=np.int32)
    new_sent = np.array([*(call.prompt_messages for call in calls), pending], dtype=np.int32)
    new_times = [*(np.nan if call.time is None else call.time for call in calls), np.nan]
    call_context = np.concatenate((known.call_context[:kept], new_contexts))
    prompt_messages = np.concatenate((known.call_prompt_messages[:kept], new_sent))
    last_message = np.full(len(call_context), -1, dtype=np.int32)
    last_message[:kept] = known.call_last_message[:kept]
    enters = _of_contexts_before(first, known.message_enters, known, len(session.messages))
    leaves = _of_contexts_before(first, known.message_leaves, known, len(session.messages))
    all_members = list(known.context_members[:first])
    latest = {contexts[index].thread: index for index in range(first)}
    order = np.argsort(call_context, kind="stable")
    bounds = np.searchsorted(call_context[order], np.arange(first, len(contexts) + 1))
    # Set and reset for each context: `numpy.setdiff1d` sorts, and imports masked arrays before the first row.
    is_member = np.zeros(len(session.messages), dtype=np.bool_)
    for place, index in enumerate(range(first, len(contexts))):
        context = contexts[index]
        members = np.fromiter(context.members, dtype=np.int32, count=len(context.members))
        all_members.append(members)
        own_calls = order[bounds[place] : bounds[place + 1]].astype(np.int32)
        sent = prompt_messages[own_calls]
        if len(members):
            last_message[own_calls] = np.where(sent > 0, members[np.maximum(sent - 1, 0)], -1)
            entering = np.searchsorted(np.maximum.accumulate(sent), np.arange(len(members)), side="right")
            first_call = np.append(own_calls, NEVER)[entering].astype(np.int32)
            enters[members] = np.minimum(enters[members], first_call)
        earlier = latest.get(context.thread)
        if earlier is not None and len(own_calls):
            is_member[members] = True
            before = all_members[earlier]
            gone = before[~is_member[before] & (enters[before] != NEVER)]
            is_member[members] = False
            leaves[gone] = np.minimum(leaves[gone], own_calls[0])
        latest[context.thread] = index
    return CallColumns(
        message_enters=enters,
        message_leaves=leaves,
        call_context=call_context,
        call_prompt_messages=prompt_messages,
        call_last_message=last_message,
        call_time=np.concatenate((known.call_time[:kept], np.array(new_times, dtype=np.float64))),
        context_members=tuple(all_members),
    )


def _of_contexts_before(
    first: int, calls: NDArray[np.int32], known: CallColumns, message_count: int
) -> NDArray[np.int32]:
    """Return, per message, its known call if that belongs to one of the first contexts, otherwise `NEVER`."""
    found = np.full(message_count, NEVER, dtype=np.int32)
    count = min(message_count, len(calls))
    # `NEVER` selects the last entry, which belongs to no context before the first changed one.
    context = known.call_context[np.minimum(calls[:count], len(known.call_context) - 1)]
    found[:count] = np.where(context < first, calls[:count], NEVER)
    return found


Entry = TypeVar("Entry")
Scalar = TypeVar("Scalar", bound=np.generic)

SPARE_FRACTION: Final = 8
MIN_SPARE_ENTRIES: Final = 256


class GrowingColumns:
    """Buffers of columns, shared by the states of one session.

    An earlier state never sees entries added later, because its column ends before them. A later state that disagrees
    with an existing entry gets a copy.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.generic]] = {}
        self._filled: dict[str, int] = {}
        self._entry_columns: dict[str, tuple[Sequence[object], NDArray[Any]]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def grown(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return the first `kept` entries of a column followed by `new` ones, read-only."""
        count = kept + len(new)
        with self._lock:
            if not self._fits(name, before, kept, new):
                room = count + max(count // SPARE_FRACTION, MIN_SPARE_ENTRIES)
                buffer = np.empty((room, *new.shape[1:]), dtype=new.dtype)
                buffer[:kept] = before[:kept]
                buffer[kept:count] = new
                self._buffers[name] = buffer
            else:
                self._buffers[name][len(before) : count] = new[len(before) - kept :]
            self._filled[name] = count
            column: NDArray[Scalar] = self._buffers[name][:count]  # type: ignore[assignment]  # of the type of `new`
        column.flags.writeable = False
        return column

    def over(
        self, name: str, entries: Sequence[Entry], column_of: Callable[[Sequence[Entry]], NDArray[Scalar]]
    ) -> NDArray[Scalar]:
        """Compute a column with one value per entry, reusing the values of entries unchanged since the last call."""
        seen, before = self._entry_columns.get(name, ((), None))
        kept = unchanged(entries, seen)
        new = column_of(entries[kept:])
        column = self.grown(name, new if before is None else before, kept, new)
        self._entry_columns[name] = (entries, column)
        return column

    def numbers(self, name: str) -> dict[str, int]:
        """Return the numbers assigned to strings of one kind, in all states; callers add to it."""
        return self._numbers.setdefault(name, {})

    def _fits(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> bool:
        """Return True if the column is the newest in its buffer, ends as `new` begins, and has room for the rest."""
        buffer = self._buffers.get(name)
        again = len(before) - kept
        if buffer is None:
            return False
        return (
            buffer.dtype == new.dtype
            and kept + len(new) <= len(buffer)
            and before.base is buffer
            and self._filled[name] == len(before)
            and again <= len(new)
            and bool(np.array_equal(before[kept:], new[:again]))
        )


SEARCH_CHUNK = 1024
"""Entries of a column searched at once."""


@dataclass(frozen=True, eq=False)
class History:
    """The columns. Call index `call_count` is the next call, not yet made; every call column has an entry for it.

    Attributes:
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
