"""What a tool really returned, where the agent kept it in a file of its own and sent the model a preview."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session


class StoredOutput(NamedTuple):
    """A whole output.

    Attributes:
        file: Where it stands.
        text: All of it; None where the file is gone.
    """

    file: Path
    text: str | None


def stored_output(session: Session, text: str) -> StoredOutput | None:
    """The whole output behind a tool result that is a preview of it; None for any other.

    Args:
        session: The session.
        text: The result, as the model was sent it.
    """
    from inspector.session.formats import FORMATS  # which this module is imported by

    known = next((known for known in FORMATS if known.name == session.format), None)
    return known.stored_output(session.path, text) if known is not None else None
