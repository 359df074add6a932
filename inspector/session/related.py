"""What belongs to a session and stands elsewhere: what started it, what it started, full outputs of its tools."""

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
    """The session that started this one as its subagent; None for one a person began."""
    return next((link for link in session.links if link.kind is LinkKind.PARENT), None)


def subagent_of(session: Session, tool_call_id: str) -> SessionLink | None:
    """The subagent that a tool call started, as far as the session says so; None for any other call."""
    started = (link for link in session.links if link.kind is LinkKind.SUBAGENT)
    return next((link for link in started if tool_call_id and link.tool_call_id == tool_call_id), None)


def locate(session: Session, link: SessionLink) -> Path | None:
    """What opens a session that belongs to another one; None where it is not to be found.

    Args:
        session: The one whose link it is.
        link: Leads to the other one.
    """
    if link.path is not None and exists(Locator.of(link.path).file):
        return link.path
    format_ = format_named(session.format)
    return format_.locate(session.path, link.identifier) if format_ is not None and link.identifier else None


def full_output(session: Session, text: str) -> FullOutput | None:
    """The whole output behind a tool result that is a preview of it; None for any other.

    Args:
        session: The session.
        text: The result, as the model was sent it.
    """
    format_ = format_named(session.format)
    return format_.full_output(session.path, text) if format_ is not None else None
