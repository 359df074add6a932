"""The columns of a history that follow from calls and contexts: who is in which prompt, from when, until when.

A session that grew differs from its earlier state at the end, so that only contexts from the first changed one on are
looked at again. What earlier contexts say of a message stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Session

NEVER: Final = np.iinfo(np.int32).max
"""Stands for a call that never comes."""

_LOOKED_AT_AGAIN: Final = 64


class CallColumns(NamedTuple):
    """The columns, named as in `History`.

    Attributes:
        message_enters: Per message, the first call whose prompt holds it.
        message_leaves: Per message, the first later call of its thread whose prompt no longer holds it.
        call_context: Per call, its context.
        call_prompt_messages: Per call, how many members of the context are sent.
        call_last_message: Per call, the message its prompt ends with.
        call_time: Per call, seconds since the epoch.
        context_members: Per context, its message indices in the order they are sent.
    """

    message_enters: NDArray[np.int32]
    message_leaves: NDArray[np.int32]
    call_context: NDArray[np.int32]
    call_prompt_messages: NDArray[np.int32]
    call_last_message: NDArray[np.int32]
    call_time: NDArray[np.float64]
    context_members: tuple[NDArray[np.int32], ...]


def call_columns(session: Session, before: tuple[Session, CallColumns] | None) -> CallColumns:
    """The columns of a session, from those of an earlier state of it where one is given."""
    if before is None:
        return _continued(session, 0, 0, _nothing())
    earlier, known = before
    kept = unchanged(session.calls, earlier.calls)
    return _continued(session, kept, _first_changed(session, earlier, known, kept), known)


def unchanged(after: Sequence[object], before: Sequence[object]) -> int:
    """How many entries at the beginning are the same objects as before; changes are looked for from the end.

    Readers change an entry by replacing it, and only near the end of what they have read; a replaced entry with an
    untouched one after it would go unnoticed, so a few more are looked at.
    """
    common = min(len(after), len(before))
    while common and after[common - 1] is not before[common - 1]:
        common -= 1
    for index in range(common - 1, max(common - _LOOKED_AT_AGAIN, -1), -1):
        if after[index] is not before[index]:
            common = index
    return common


def _nothing() -> CallColumns:
    none = np.zeros(0, dtype=np.int32)
    return CallColumns(none, none, np.array([-1], dtype=np.int32), none, none, np.zeros(0), ())


def _first_changed(session: Session, before: Session, known: CallColumns, kept: int) -> int:
    """The first context that is another one than before, or has calls that are: the next one, not yet made, is."""
    pairs = enumerate(zip(session.contexts, before.contexts, strict=False))
    same = next((index for index, (now, then) in pairs if now is not then), len(before.contexts))
    called: list[int] = known.call_context[kept:].tolist()
    called += [call.context for call in session.calls[kept:]]
    return max(min(same, len(session.contexts), _current(session), *called), 0)


def _current(session: Session) -> int:
    """The context the main conversation goes on in, -1 for none."""
    return max((index for index, context in enumerate(session.contexts) if context.thread == 0), default=-1)


def _continued(session: Session, kept: int, first: int, known: CallColumns) -> CallColumns:
    """The columns, where the first `kept` calls and the contexts before `first` are as they were."""
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
    for place, index in enumerate(range(first, len(contexts))):
        context = contexts[index]
        members = np.array(context.members, dtype=np.int32)
        all_members.append(members)
        own_calls = order[bounds[place] : bounds[place + 1]].astype(np.int32)
        sent = prompt_messages[own_calls]
        if len(members):
            last_message[own_calls] = np.where(sent > 0, members[np.maximum(sent - 1, 0)], -1)
            entering = np.searchsorted(sent, np.arange(len(members)), side="right")
            first_call = np.append(own_calls, NEVER)[entering].astype(np.int32)
            enters[members] = np.minimum(enters[members], first_call)
        earlier = latest.get(context.thread)
        if earlier is not None and len(own_calls):
            gone = np.setdiff1d(all_members[earlier], members)
            gone = gone[enters[gone] != NEVER]
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
    """Per message, the call that was known of it where that is a call of one of the first contexts, else `NEVER`."""
    found = np.full(message_count, NEVER, dtype=np.int32)
    count = min(message_count, len(calls))
    # `NEVER` looks at the last entry, which belongs to no context before the first changed one.
    context = known.call_context[np.minimum(calls[:count], len(known.call_context) - 1)]
    found[:count] = np.where(context < first, calls[:count], NEVER)
    return found
