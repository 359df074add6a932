"""Saying something in the place of a message: a summary, a note that messages are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.rendition import Rendition

if TYPE_CHECKING:
    from inspector.session.model import BlockKind
    from inspector.strategies.operations import BlockSource


@dataclass(frozen=True, slots=True)
class SayInstead:
    """Send a text in the place of a block, whatever that is, as the words of the user or the model.

    Attributes:
        text: What is said.
        kind: Whose words it is sent as.
    """

    text: str
    kind: BlockKind

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """Replace whatever is sent so far."""
        return Rendition.replaced(self.text, self.kind)
