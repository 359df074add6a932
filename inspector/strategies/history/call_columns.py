"""Columns of a history that follow from calls and contexts: the prompts a message is in, and from when to when.

A session that grew differs from its earlier state only at the end. If the conversation just continued, only the added
part is processed; otherwise the contexts from the first changed one on are. Values from earlier contexts stay valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.session.snapshot_list import unchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.strategies.history.growing_columns import GrowingColumns

NEVER: Final = np.iinfo(np.int32).max
"""A call that never comes."""


class CallColumns(NamedTuple):
    """The columns, named as in `History`.

    Attributes:
        message_enters: Per message, the first call that sends it.
        message_leaves: Per message, the first later call of its thread that no longer sends it.
        call_context: Per call, its context.
        call_prompt_messages: Per call, the number of context members sent.
        call_last_message: Per call, the last message of its prompt.
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


def call_columns(session: Session, before: tuple[Session, CallColumns] | None, growing: GrowingColumns) -> CallColumns:
    """Build the columns of a session, extending the columns of an earlier state if given.

    Args:
        session: The session.
        before: Its earlier state, and the columns of that state.
        growing: Buffers of the columns that can grow in place.
    """
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
    """Return the columns if the conversation merely continued; None if anything else happened.

    Only the added part is processed: otherwise every new call would cost as much as all calls before it.
    """
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
