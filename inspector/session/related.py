"""Find data related to a session: its parent, its subagents, full outputs of its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.session.files import Locator, exists
from inspector.session.format import ContainedSession
from inspector.session.model import BlockKind, LinkKind
from inspector.session.registry import format_named

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.format import FullOutput
    from inspector.session.model import Session, SessionLink


def parent_of(session: Session) -> SessionLink | None:
    """Return the session that started this one as its subagent, or None."""
    return next((link for link in session.links if link.kind is LinkKind.PARENT), None)


def subagent_of(session: Session, tool_call_id: str) -> SessionLink | None:
    """Return the subagent started by a tool call, or None if none is recorded."""
    started = (link for link in session.links if link.kind is LinkKind.SUBAGENT)
    return next((link for link in started if tool_call_id and link.tool_call_id == tool_call_id), None)


class StartedSessions(NamedTuple):
    """The sessions that a session started.

    Attributes:
        found: Those found, without duplicates.
        missing: Those named in the session but not found.
    """

    found: tuple[ContainedSession, ...] = ()
    missing: tuple[SessionLink, ...] = ()


def subagents_of(session: Session) -> StartedSessions:
    """Find the sessions started by one: those in its location, and those that only its records name.

    Raises:
        SessionError: Their file cannot be read.
    """
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
