"""Calls that several sessions hold, because resumes and forks copy a conversation into a file of its own.

Newer programs give the copied lines the new session's id, so that nothing in the copy tells that it is one: only the
session it was made from does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from inspector.session.model import LinkKind
from inspector.session.related import locate

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from inspector.session.model import Call, Session

NO_CALL = b""


def counted_here(session: Session) -> Session:
    """A session without the calls that it shows because it was copied from another one, where that one is still there.

    For sums over many sessions: a resume and a fork begin with what the session before them has been billed for.
    """
    own = session.own_calls
    if len(own) == len(session.calls):
        return session
    origins = [link for link in session.links if link.kind is LinkKind.CONTINUED]
    return replace(session, calls=own) if any(locate(session, link) for link in origins) else session


def call_keys(session: Session) -> list[bytes]:
    """What every call has in common with its copies; `NO_CALL` for one that cannot be told from others."""
    return [_key(call) for call in session.calls]


def without_calls(session: Session, keys: Collection[bytes]) -> Session:
    """A session without the calls of these keys."""
    own = tuple(call for call in session.calls if _key(call) not in keys)
    return session if len(own) == len(session.calls) else replace(session, calls=own)


def counted_elsewhere(keys_of_sessions: Sequence[tuple[float, Sequence[bytes]]]) -> list[frozenset[bytes]]:
    """Of each session, the calls that another one is counted with: the one that ended first.

    Args:
        keys_of_sessions: When each made its last call, and the keys of its calls.
    """
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
    if not call.identifier or call.time is None or call.usage is None:
        return NO_CALL
    return blake2b(repr((call.identifier, call.time, call.model, call.usage)).encode(), digest_size=16).digest()
