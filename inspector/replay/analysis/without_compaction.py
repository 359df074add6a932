"""Rebuild a session without one of its recorded compactions, and those after it.

The conversation continues in the context that the compaction ended. Summaries and resent text are removed, and new text
follows the earlier text. Results cleared at the same moment remain. Later calls were made with other prompts, so their
reported usage is dropped. Other threads are separate conversations and stay unchanged, and so does everything after a
rewind or a compaction requested by the user.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.model import ContextCause

if TYPE_CHECKING:
    from inspector.session.model import Call, Session


MANUAL = "manual"
"""The trigger of compactions requested by the user, which no plan prevents."""


class WithoutCompaction(NamedTuple):
    """A session without some compactions.

    Attributes:
        session: The session without them. Calls and messages keep their indices.
        calls: Calls with changed prompts, in order.
        ends_with: For each of these, the number of omitted compactions before it.
        until: The first call after these in the same conversation, None if there is none.
    """

    session: Session
    calls: tuple[int, ...]
    ends_with: tuple[int, ...]
    until: int | None


def without_compaction(session: Session, compaction: int) -> WithoutCompaction | None:
    """Remove a compaction and the following ones, up to a rewind or one requested by the user.

    Args:
        session: The session.
        compaction: Index of a full compaction.

    Returns:
        None if no call was made after it, or it began the session.
    """
    chain = _chain(session, compaction)
    if len(chain) < 2:
        return None
    contexts = session.contexts
    members = list(contexts[chain[0]].members)
    seen = set(members)
    # End of each prompt in the joined context, for every context after the first.
    ends: dict[int, list[int]] = {}
    known = {_texts(session, message) for message in members}
    for index in chain[1:]:
        ends[index] = [len(members)]
        answers = (call.response for call in session.calls if call.context == index)
        first_response = min(answers, default=len(session.messages))
        for message in contexts[index].members:
            # Text that an agent repeats after a compaction is already present without it.
            repeated = message < first_response and _texts(session, message) in known
            if message not in seen and not repeated and not session.messages[message].is_summary:
                seen.add(message)
                known.add(_texts(session, message))
                members.append(message)
            ends[index].append(len(members))
    renumbered = {old: new for new, old in enumerate(at for at in range(len(contexts)) if at not in ends)}
    calls = tuple(_moved(call, renumbered, chain[0], ends) for call in session.calls)
    changed = [at for at, call in enumerate(session.calls) if call.context in ends]
    joined = tuple(
        structs.replace(context, members=tuple(members)) if index == chain[0] else context
        for index, context in enumerate(contexts)
        if index not in ends
    )
    place = {index: at for at, index in enumerate(chain)}
    begun = {session.compactions[at].message for at in _full_of(session, set(chain[1:]))}
    kept = tuple(each for each in session.compactions if each.message not in begun)
    return WithoutCompaction(
        replace(session, calls=calls, contexts=joined, compactions=kept, recorded_totals=()),
        tuple(changed),
        tuple(place[session.calls[at].context] for at in changed),
        _next_call(session, changed[-1]),
    )


def first_call_after(session: Session, compaction: int) -> int | None:
    """Return the first call of the compacted conversation after a compaction, or None."""
    message = session.compactions[compaction].message
    thread = session.messages[message].thread if message < len(session.messages) else 0
    first = bisect_left([call.response for call in session.calls], message)
    for at in range(first, len(session.calls)):
        if session.contexts[session.calls[at].context].thread == thread:
            return at
    return None


def _texts(session: Session, message: int) -> tuple[bytes, ...]:
    return tuple(block.digest for block in session.messages[message].blocks)


def _full_of(session: Session, contexts: set[int]) -> list[int]:
    """Return the full compactions that began any of these contexts."""
    found = []
    for at, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, at)
        if call is not None and session.calls[call].context in contexts:
            found.append(at)
    return found


def _chain(session: Session, compaction: int) -> list[int]:
    """Return the context a compaction ended, the one it began, and the contexts of later omitted compactions."""
    call = first_call_after(session, compaction)
    if call is None:
        return []
    after = session.calls[call].context
    thread = session.contexts[after].thread
    of_thread = [at for at, context in enumerate(session.contexts) if context.thread == thread]
    place = of_thread.index(after)
    if not place or session.contexts[after].cause is not ContextCause.COMPACTION:
        return []
    by_hand = _begun_by_hand(session)
    chain = of_thread[place - 1 : place + 1]
    for index in of_thread[place + 1 :]:
        if session.contexts[index].cause is not ContextCause.COMPACTION or index in by_hand:
            break
        chain.append(index)
    return chain


def _begun_by_hand(session: Session) -> set[int]:
    """Return the contexts that began with a compaction requested by the user."""
    asked = (at for at, compaction in enumerate(session.compactions) if compaction.trigger == MANUAL)
    calls = (first_call_after(session, at) for at in asked)
    return {session.calls[call].context for call in calls if call is not None}


def _next_call(session: Session, call: int) -> int | None:
    thread = session.contexts[session.calls[call].context].thread
    later = range(call + 1, len(session.calls))
    return next((at for at in later if session.contexts[session.calls[at].context].thread == thread), None)


def _moved(call: Call, renumbered: dict[int, int], joined: int, ends: dict[int, list[int]]) -> Call:
    if call.context not in ends:
        return structs.replace(call, context=renumbered[call.context])
    return structs.replace(
        call, context=renumbered[joined], prompt_messages=ends[call.context][call.prompt_messages], usage=None
    )
