"""Renditions: how a block is sent (whole, cut, replaced or removed), as slices of its recorded text and inserted text.

A rendition holds positions in the recorded text, never the text itself. Cutting a cut text again is therefore exact and
costs nothing until the characters are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence


class Action(IntEnum):
    """Change made to a block, from least to most severe."""

    WHOLE = 0
    CUT = 1
    REPLACED = 2
    REMOVED = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Slice(NamedTuple):
    """Characters `start` to `stop` of the recorded text."""

    start: int
    stop: int


Piece = Slice | str


@dataclass(frozen=True, slots=True)
class Rendition:
    """One block as it is sent.

    Attributes:
        pieces: Sent text in order: slices of the recorded text, and text inserted in place of parts left out.
        action: Change made to the block.
        kind: Kind the text is sent as if not the block's own, e.g. user text if a summary replaces a tool result;
            otherwise None.
    """

    pieces: tuple[Piece, ...]
    action: Action
    kind: BlockKind | None = None

    @classmethod
    def whole(cls, characters: int) -> Rendition:
        """Return the rendition of an unchanged block of `characters` characters."""
        return cls((Slice(0, characters),), Action.WHOLE)

    @classmethod
    def replaced(cls, text: str, kind: BlockKind | None = None) -> Rendition:
        """Return a rendition that sends `text` instead of the block's own, as a block of `kind` if given."""
        return cls((text,), Action.REPLACED, kind)

    @property
    def length(self) -> int:
        return sum(_length(piece) for piece in self.pieces)

    def text(self, recorded: str) -> str:
        """Return the characters that are sent, given the block's recorded text."""
        return "".join(
            recorded[piece.start : piece.stop] if isinstance(piece, Slice) else piece for piece in self.pieces
        )

    def between(self, start: int, stop: int) -> tuple[Piece, ...]:
        """Return the pieces of characters `start` to `stop` of the sent text (string slicing semantics)."""
        start, stop, _ = slice(start, stop).indices(self.length)
        kept: list[Piece] = []
        position = 0
        for piece in self.pieces:
            length = _length(piece)
            first, last = max(start - position, 0), min(stop - position, length)
            if first < last:
                if isinstance(piece, Slice):
                    kept.append(Slice(piece.start + first, piece.start + last))
                else:
                    kept.append(piece[first:last])
            position += length
        return tuple(kept)

    def cut_to(self, parts: Sequence[tuple[int, int] | str]) -> Rendition:
        """Cut the sent text to parts of it, given as (start, stop), with texts in place of the rest."""
        pieces: list[Piece] = []
        for part in parts:
            pieces.extend((part,) if isinstance(part, str) else self.between(*part))
        return Rendition(tuple(pieces), Action.CUT, self.kind)


REMOVED = Rendition((), Action.REMOVED)
EMPTIED = Rendition((), Action.REMOVED, BlockKind.ASSISTANT_TEXT)
"""A removed block in an assistant message that is still sent although it has no other content."""

EMPTIED_RESULT = Rendition((), Action.REMOVED, BlockKind.TOOL_RESULT)
"""A removed result of a batch that leaves an empty message if no other result of it is sent."""


def _length(piece: Piece) -> int:
    return piece.stop - piece.start if isinstance(piece, Slice) else len(piece)
