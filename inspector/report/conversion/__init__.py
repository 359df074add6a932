"""A session in a plain form that other programs take, and what that form cannot say of it."""

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
"""The forms by name."""

PARTS = ("context", "conversation")
"""What can be written: what the model would see next, or all that was said."""


def convert(session: Session, form: str, part: str = "context") -> tuple[dict[str, Any], Losses]:
    """A session in another form.

    Args:
        session: The session.
        form: One of `FORMS`.
        part: One of `PARTS`.

    Returns:
        The document, and what it does not say.

    Raises:
        TextUnavailableError: The session's file no longer holds a text.
        KeyError: There is no such form.
    """
    losses = Losses()
    selection = select(session, losses, whole=part == "conversation", with_subagents=form == "atif")
    return FORMS[form](session, selection, losses), losses
