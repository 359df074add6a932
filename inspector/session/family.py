"""From one session to those that belong to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.session.links import LinkKind
from inspector.session.locator import Locator
from inspector.session.paths import exists
from inspector.session.registry import format_named

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.links import SessionLink
    from inspector.session.model import Session


def parent_of(session: Session) -> SessionLink | None:
    """The session that started this one as its subagent; None for one a person began."""
    return next((link for link in session.links if link.kind is LinkKind.PARENT), None)


def subagent_of(session: Session, tool_call_id: str) -> SessionLink | None:
    """The subagent that a tool call started, as far as the session says so; None for any other call."""
    started = (link for link in session.links if link.kind is LinkKind.SUBAGENT)
    return next((link for link in started if tool_call_id and link.tool_call_id == tool_call_id), None)


def counted_here(session: Session) -> Session:
    """A session without the calls that it shows because it was copied from another one, where that one is still there.

    For sums over many sessions: a resume and a fork begin with what the session before them has been billed for.
    """
    own = tuple(call for call in session.calls if not session.messages[call.response].is_inherited)
    if len(own) == len(session.calls):
        return session
    origins = [link for link in session.links if link.kind is LinkKind.CONTINUED]
    return replace(session, calls=own) if any(locate(session, link) for link in origins) else session


def locate(session: Session, link: SessionLink) -> Path | None:
    """What opens a session that belongs to another one; None where it is not to be found.

    Args:
        session: The one whose link it is.
        link: Leads to the other one.
    """
    if link.path is not None and exists(Locator.of(link.path).file):
        return link.path
    known = format_named(session.format)
    return known.locate(session.path, link.identifier) if known is not None and link.identifier else None
