"""How a block is sent: whole, cut, replaced or removed, as pieces of its recorded text and of text put in their place.

A rendition never holds the recorded text, only positions in it, so that cutting a cut text again is exact and costs
nothing until somebody asks for the characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence


class Action(IntEnum):
    """What was done to a block, from nothing to everything."""

    WHOLE = 0
    CUT = 1
    REPLACED = 2
    REMOVED = 3

    @property
    def label(self) -> str:
        """The word screens and reports use."""
        return self.name.lower()


class Slice(NamedTuple):
    """Characters `start` to `stop` of the recorded text."""

    start: int
    stop: int


Piece = Slice | str


@dataclass(frozen=True, slots=True)
class Rendition:
    """How one block is sent.

    Attributes:
        pieces: What is sent, in order: parts of the recorded text, and text put in place of what was left out.
        action: What was done to the block.
        kind: What the text is sent as where that is not the block's own kind: a user's text, where a summary takes the
            place of a tool result. None for the block's own.
    """

    pieces: tuple[Piece, ...]
    action: Action
    kind: BlockKind | None = None

    @classmethod
    def whole(cls, characters: int) -> Rendition:
        """The block as recorded, `characters` long."""
        return cls((Slice(0, characters),), Action.WHOLE)

    @classmethod
    def replaced(cls, text: str, kind: BlockKind | None = None) -> Rendition:
        """`text` in place of the block's own, as a block of `kind` where that is given."""
        return cls((text,), Action.REPLACED, kind)

    @property
    def length(self) -> int:
        """Characters sent."""
        return sum(_length(piece) for piece in self.pieces)

    def text(self, recorded: str) -> str:
        """The characters that are sent, given the block's recorded text."""
        return "".join(
            recorded[piece.start : piece.stop] if isinstance(piece, Slice) else piece for piece in self.pieces
        )

    def between(self, start: int, stop: int) -> tuple[Piece, ...]:
        """The pieces of characters `start` to `stop` of what is sent, as slicing a string would give them."""
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
        """What is sent cut to parts of it, from and up to a position, and to texts in the place of the rest."""
        pieces: list[Piece] = []
        for part in parts:
            pieces.extend((part,) if isinstance(part, str) else self.between(*part))
        return Rendition(tuple(pieces), Action.CUT, self.kind)


REMOVED = Rendition((), Action.REMOVED)
EMPTIED = Rendition((), Action.REMOVED, BlockKind.ASSISTANT_TEXT)
"""Removed, and a message of the model that holds nothing else is still sent."""


def _length(piece: Piece) -> int:
    return piece.stop - piece.start if isinstance(piece, Slice) else len(piece)
