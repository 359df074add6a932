"""Operations on the input of a tool call, a JSON object: the call keeps its name and stays valid."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.core import javascript
from inspector.strategies.core.measures import sent_text
from inspector.strategies.core.rendition import Action, Rendition

if TYPE_CHECKING:
    from inspector.strategies.core.operations import BlockSource


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Send a call without input."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """An empty object in place of whatever is sent so far."""
        return Rendition(("{}",), Action.CUT, rendition.kind)


@dataclass(frozen=True, slots=True)
class BlankInput:
    """Put a note in the place of parts of an input.

    Attributes:
        note: What stands in their place.
        name: The one value that is replaced, whatever it is; empty for every value that is a string.
    """

    note: str
    name: str = ""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """The object with the values replaced; what is sent so far where it is none or has no such values."""
        text = sent_text(rendition, source)
        value = _object(text) if text else None
        if not value:
            return rendition
        blanked: dict[str, object] = {
            key: self.note if (key == self.name if self.name else isinstance(each, str)) else each
            for key, each in value.items()
        }
        if blanked == value:
            return rendition
        return Rendition((javascript.compact_json(blanked),), Action.CUT, rendition.kind)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
