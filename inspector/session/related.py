"""Find data related to a session: its parent, its subagents, full outputs of its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import Locator, exists
from inspector.session.model import LinkKind
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
