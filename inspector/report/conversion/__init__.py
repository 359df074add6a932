"""Conversion of a session to formats of other programs, with a list of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.conversion.atif import trajectory
from inspector.report.conversion.requests import anthropic_request, openai_request
from inspector.report.conversion.selection import Losses, Selection, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Session

__all__ = ["FORMS", "PARTS", "Losses", "convert"]

FORMS: dict[str, Callable[[Session, Selection, Losses], dict[str, Any]]] = {
    "anthropic": anthropic_request,
    "openai": openai_request,
    "atif": trajectory,
}
"""Converters by format name."""

PARTS = ("context", "conversation")
"""Parts to write: the next prompt, or the whole conversation."""


def convert(session: Session, form: str, part: str = "context") -> tuple[dict[str, Any], Losses]:
    """Convert a session to another format.

    Args:
        session: The session.
        form: One of `FORMS`.
        part: One of `PARTS`.

    Returns:
        The document, and the content it lacks.

    Raises:
        TextUnavailableError: The session's file no longer holds a text.
        KeyError: The format is unknown.
    """
    losses = Losses()
    selection = select(session, losses, whole=part == "conversation", with_subagents=form == "atif")
    return FORMS[form](session, selection, losses), losses
