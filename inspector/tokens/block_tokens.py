"""What a block's tokens are, beyond those of its text.

A block's tokens are the tokens of its text plus what these rules add. Cutting a block's text leaves the second part as
it is. Rules of providers are named; none of them is exact, which is one reason why counts are calibrated against what
the provider reported.

| block | tokens |
|---|---|
| system, user and assistant text | its text |
| tool call | its name, and its input as JSON |
| tool result | its text, and every image and document it carries |
| thinking | its text; where only a signature or encrypted content was recorded, a quarter of its characters |
| image | by its size in pixels, see `inspector.tokens.media_tokens`; its text, if any, is not sent |
| document | its text; where there is none, by its size in bytes, see there |
| other | none: it is never sent |

What images and documents take is known in the provider's tokens, unlike all else. It is brought to counted ones by what
is typical of the model that answers most of the session's calls, so that all of a block is on one scale.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.session.snapshot_list import unchanged
from inspector.tokens.media_tokens import block_media_tokens, image_rule
from inspector.tokens.prefix_counts import EMPTY_ROW, digest_of
from inspector.tokens.typical_ratios import typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Block, Message, Session
    from inspector.tokens.media_tokens import ImageRule
    from inspector.tokens.prefix_counts import CountedTexts, TextColumns


SIGNATURE_CHARACTERS_PER_TOKEN = 4
"""Fitted to recorded usage of Claude Opus 4.5 to 4.8, Sonnet 5 and Fable 5: 0.8 to 1.1 tokens every four characters."""

_NO_TEXT = frozenset({BlockKind.IMAGE, BlockKind.OTHER})


def sends_text(block: Block) -> bool:
    """Whether the block's text is sent: not for images, nor for what is never sent at all."""
    return block.characters > 0 and block.kind not in _NO_TEXT


@dataclass(frozen=True, slots=True)
class MediaMeasure:
    """How images and documents are counted.

    Attributes:
        rule: What an image takes of the provider's tokens.
        ratio: The provider's tokens for one counted token, as is typical of the model.
    """

    rule: ImageRule
    ratio: float

    @classmethod
    def of(cls, model: str) -> MediaMeasure:
        """How they are counted for a model, named as it is recorded."""
        return cls(image_rule(model), typical_coefficients(model).ratio)

    def counted(self, block: Block) -> int:
        """Tokens of the block's images and documents, on the scale of counted ones."""
        return round(block_media_tokens(block, self.rule) / self.ratio)


def main_model(session: Session) -> str:
    """The model that answers most of a session's calls; empty where there are none."""
    names = Counter(call.model for call in session.calls)
    return max(names, key=names.__getitem__) if names else ""


def thinking_tokens(block: Block) -> int:
    """Tokens of a block of thinking besides its text: of a signature that stands for it."""
    return 0 if block.characters else -(-block.signature_characters // SIGNATURE_CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """One row a block.

    Attributes:
        measure: How images and documents were counted; None where there are none.
        messages: The messages the columns were made from.
        characters: Characters of the text that is sent, int32.
        name_characters: Characters of the tool's name that is sent with a tool call, int32.
        fixed: Tokens besides those of text and name, int32.
        media: The part of them that is of images and documents, int32.
        row: Row of the text among the counted ones, `NOT_COUNTED` where it is not among them, int32.
        name_row: The same for the tool's name, int32.
    """

    measure: MediaMeasure | None
    messages: Sequence[Message]
    characters: NDArray[np.int32]
    name_characters: NDArray[np.int32]
    fixed: NDArray[np.int32]
    media: NDArray[np.int32]
    row: NDArray[np.int32]
    name_row: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BlockColumns:
        """The columns of no messages."""
        none = np.zeros(0, np.int32)
        return cls(None, (), none, none, none, none, none, none)

    @classmethod
    def of(cls, session: Session, texts: CountedTexts, earlier: BlockColumns) -> BlockColumns:
        """The columns of a session; rows of messages that stood in the same place `earlier` are taken over."""
        messages = session.messages
        measure = earlier.measure
        if measure is not None and measure != MediaMeasure.of(main_model(session)):
            earlier = cls.empty()  # most calls are another model's by now, which measures images otherwise
            measure = None
        kept = unchanged(messages, earlier.messages)
        kept_blocks = len(earlier.row) - sum(len(message.blocks) for message in earlier.messages[kept:])
        names: dict[str, bytes] = {}
        new: list[tuple[int, int, int, int, int, int]] = []
        for message in messages[kept:]:
            for block in message.blocks:
                characters = block.characters if sends_text(block) else 0
                row = texts.row(block.digest) if characters else EMPTY_ROW
                name_characters, name_row = 0, EMPTY_ROW
                if block.kind is BlockKind.TOOL_CALL and (name := block.tool_name):
                    digest = names.get(name) or names.setdefault(name, digest_of(name))
                    name_characters, name_row = len(name), texts.row(digest)
                fixed = media = 0
                if block.kind is BlockKind.THINKING:
                    fixed = thinking_tokens(block)
                elif block.media or block.kind is BlockKind.IMAGE:
                    measure = measure or MediaMeasure.of(main_model(session))
                    fixed = media = measure.counted(block)
                new.append((characters, name_characters, fixed, media, row, name_row))
        added = np.array(new, np.int32).reshape(-1, 6).T
        before = (
            earlier.characters,
            earlier.name_characters,
            earlier.fixed,
            earlier.media,
            earlier.row,
            earlier.name_row,
        )
        joined = [np.concatenate((old[:kept_blocks], fresh)) for old, fresh in zip(before, added, strict=True)]
        return cls(measure, messages, *joined)

    def counted(self) -> NDArray[np.bool_]:
        """Per block, whether everything of it that is text was counted."""
        return (self.row >= 0) & (self.name_row >= 0)

    def text_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Tokens of each block's text."""
        return tokens_or_estimate(columns, self.row, self.characters)

    def other_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Tokens of each block besides its text."""
        return self.fixed + tokens_or_estimate(columns, self.name_row, self.name_characters)


def tokens_or_estimate(
    columns: TextColumns, rows: NDArray[np.int32], characters: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Tokens of whole texts; where one was not counted, an estimate from its characters."""
    return np.where(rows >= 0, columns.tokens(rows), estimated(characters)).astype(np.int32)


def estimated(characters: NDArray[np.int32]) -> NDArray[np.int64]:
    """`counter.estimated_tokens` of many lengths."""
    return (2 * characters.astype(np.int64) + 6) // 7
