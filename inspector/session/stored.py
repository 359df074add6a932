"""What a tool really returned, where the agent kept it in a file of its own and sent the model a preview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.registry import format_named

if TYPE_CHECKING:
    from inspector.session.format import StoredOutput
    from inspector.session.model import Session


def stored_output(session: Session, text: str) -> StoredOutput | None:
    """The whole output behind a tool result that is a preview of it; None for any other.

    Args:
        session: The session.
        text: The result, as the model was sent it.
    """
    known = format_named(session.format)
    return known.stored_output(session.path, text) if known is not None else None
