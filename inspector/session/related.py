"""Find data related to a session: its parent, its subagents, full outputs of its tools, and calls in other sessions.

Resumes and forks copy a conversation into a new file. Newer programs give the copied lines the new session's id, so a
copy can only be recognized by comparing it with the original. A call is identified by its provider id, time and usage.
If an agent stores it in two files with different times, it is identified by `Call.copied_as`; if none of this was
recorded, by the full text and times of all messages up to it. Side requests that a call's record reports are copied
with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate, compress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.files import Locator, exists
from inspector.session.format import ContainedSession, FullOutput
from inspector.session.model import BlockKind, Call, LinkKind, Message, RecordedTotals, Session, SessionLink, SideCall
from inspector.session.registry import format_named

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path


def parent_of(session: Session) -> SessionLink | None:
    """Return the session that started this one as its subagent, or None."""
    return next((link for link in session.links if link.kind is LinkKind.PARENT), None)


def subagent_of(session: Session, tool_call_id: str) -> SessionLink | None:
    """Return the subagent started by a tool call, or None if none is recorded."""
    started = (link for link in session.links if link.kind is LinkKind.SUBAGENT)
    return next((link for link in started if tool_call_id and link.tool_call_id == tool_call_id), None)


class StartedSessions(NamedTuple):
    """The sessions that a session started, without duplicates, and those named in it but not found."""

    found: tuple[ContainedSession, ...] = ()
    missing: tuple[SessionLink, ...] = ()


def subagents_of(session: Session) -> StartedSessions:
    """Find the sessions it started, by location and by its records. Raises `SessionError` if unreadable."""
    format_ = format_named(session.format)
    if format_ is None:
        return StartedSessions()
    found = {one.path: one for one in format_.subagents(session.path, session.identifier)}
    names = {one.path.name for one in found.values()}
    missing: list[SessionLink] = []
    for link in session.links:
        if link.kind is not LinkKind.SUBAGENT or link.path in found:
            continue
        path = locate(session, link)
        if path is None:
            missing += [] if _file_name(link) in names else [link]
        elif path not in found:
            found[path] = ContainedSession(path, link.identifier)
    if missing:
        # A call without a result may not have started its subagent yet.
        results = {block.tool_call_id for block in session.all_blocks if block.kind is BlockKind.TOOL_RESULT}
        missing = [link for link in missing if not link.tool_call_id or link.tool_call_id in results]
    return StartedSessions(tuple(found.values()), tuple(missing))


def _file_name(link: SessionLink) -> str:
    """Return the file name that contains a subagent's id: the file may be in another folder."""
    return link.path.name if link.path is not None and link.identifier in link.path.name else ""


def locate(session: Session, link: SessionLink) -> Path | None:
    """Return the path of a related session, or None if it is not found."""
    if link.path is not None and exists(Locator.of(link.path).file):
        return link.path
    format_ = format_named(session.format)
    return format_.locate(session.path, link.identifier) if format_ is not None and link.identifier else None


def full_output(session: Session, text: str) -> FullOutput | None:
    """Return the complete output if a tool result is a preview of it, otherwise None."""
    format_ = format_named(session.format)
    return format_.full_output(session.path, text) if format_ is not None else None


NO_CALL = b""

KEY_BYTES = 16

ORIGINS = (LinkKind.CONTINUED, LinkKind.PARENT)
"""Links to sessions that calls may be copied from."""


def without_copied_calls(session: Session) -> Session:
    """Return a session without the calls copied from another session, if the other one still exists.

    For sums over many sessions: a resume, a fork or a forked subagent begins with calls billed to the earlier session.
    """
    own = session.own_calls
    if len(own) == len(session.calls):
        return session
    origins = [link for link in session.links if link.kind in ORIGINS]
    if not any(locate(session, link) for link in origins):
        return session
    kept = [not session.messages[call.response].is_inherited for call in session.calls]
    return replace(session, calls=own, side_calls=session.own_side_calls, recorded_totals=_totals_of(session, kept))


def billed_keys(session: Session) -> list[bytes]:
    """Return the keys of all calls, followed by those of side requests."""
    return [*call_keys(session), *map(_side_key, session.side_calls)]


def call_keys(session: Session) -> list[bytes]:
    """Return a key for every call, equal to the key of its copies; `NO_CALL` if it cannot be identified."""
    keys = [_key(call) for call in session.calls]
    places = [place for place, call in enumerate(session.calls) if not keys[place] and call.time is not None]
    for place, key in zip(places, _content_keys(session, places), strict=True):
        keys[place] = key
    return keys


def without_calls(session: Session, keys: Collection[bytes]) -> Session:
    if not keys:
        return session
    kept = [key not in keys for key in call_keys(session)]
    own = tuple(compress(session.calls, kept))
    side_calls = tuple(each for each in session.side_calls if _side_key(each) not in keys)
    if len(own) == len(session.calls) and len(side_calls) == len(session.side_calls):
        return session
    return replace(session, calls=own, side_calls=side_calls, recorded_totals=_totals_of(session, kept))


def _totals_of(session: Session, kept: Sequence[bool]) -> tuple[RecordedTotals, ...]:
    """Return the recorded totals of ranges whose calls are all kept, with their places among the kept calls."""
    before = [0, *accumulate(kept)]
    return tuple(
        structs.replace(totals, first_call=before[totals.first_call], end_call=before[min(totals.end_call, len(kept))])
        for totals in session.recorded_totals
        if all(kept[totals.first_call : totals.end_call])
    )


def calls_counted_elsewhere(keys_of_sessions: Sequence[tuple[float, Sequence[bytes]]]) -> list[frozenset[bytes]]:
    """Return each session's calls counted in the one that ended first, by last time and `billed_keys`."""
    holders = Counter(key for _, keys in keys_of_sessions for key in set(keys) if key != NO_CALL)
    shared = {key for key, count in holders.items() if count > 1}
    elsewhere: list[frozenset[bytes]] = [frozenset()] * len(keys_of_sessions)
    counted: set[bytes] = set()
    for index in sorted(range(len(keys_of_sessions)), key=lambda at: keys_of_sessions[at][0]):
        mine = shared.intersection(keys_of_sessions[index][1])
        elsewhere[index] = frozenset(mine & counted)
        counted |= mine
    return elsewhere


def _key(call: Call) -> bytes:
    """Return the key of a call by its id and usage, or `NO_CALL` if it has none."""
    if call.copied_as:
        return _digest(call.copied_as, call.usage)
    if not call.identifier or call.time is None or call.usage is None:
        return NO_CALL
    return _digest(call.identifier, call.time, call.model, call.usage)


def _side_key(call: SideCall) -> bytes:
    """Return the key of a side request, or `NO_CALL` if it has no id or time."""
    if not call.identifier or call.time is None or call.usage is None:
        return NO_CALL
    return _digest(call.purpose, call.identifier, call.time, call.model, call.usage)


def _content_keys(session: Session, places: Sequence[int]) -> list[bytes]:
    """Return keys of calls by their prompts and responses.

    Everything else in a call's record is the same in its copies. In databases a copy is another row with a new name,
    and the answering model is recorded only for the session's current state.
    """
    states: dict[int, tuple[int, blake2b]] = {}
    found = []
    for place in places:
        call = session.calls[place]
        sent, prompt = states.get(call.context, (0, blake2b(digest_size=KEY_BYTES)))
        for index in session.contexts[call.context].members[sent : call.prompt_messages]:
            prompt.update(_message_digest(session.messages[index]))
        states[call.context] = max(sent, call.prompt_messages), prompt
        whole = prompt.copy()
        response = session.messages[call.response]
        is_row = bool(response.blocks) and not response.blocks[0].origin.length
        whole.update(_message_digest(response) + (b"" if is_row else _digest(call.identifier, call.model)))
        found.append(whole.digest())
    return found


def _message_digest(message: Message) -> bytes:
    parts = ((block.kind, block.digest, block.tool_call_id, block.tool_name) for block in message.blocks)
    return _digest(message.role, message.time, *parts)


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(errors="replace"), digest_size=KEY_BYTES).digest()
