"""Token counts of blocks, including tokens beyond the text.

A block's tokens are the tokens of its text plus the additions below. Cutting a block's text does not change the
additions. The rules approximate the providers' rules, and none is exact, which is one reason for calibrating counts
against reported usage.

| block | tokens |
|---|---|
| system, user and assistant text | its text |
| tool call | its name, and its input as JSON |
| tool result | its text, and every image and document in it |
| thinking | its text; if only a signature or encrypted content was recorded, a quarter of its characters |
| image | by its size in pixels, see `inspector.tokens.media_tokens`; its text, if any, is not sent |
| document | its text; without one, by its size in bytes, see there |
| other | none: it is never sent |

Only for images and documents are the provider's own tokens available. They are converted to counted tokens with the
typical ratio of the model that answers most of the session's calls, so that all tokens of a block have one scale.
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
    """Return True if the block's text is sent; False for images and unsent blocks."""
    return block.characters > 0 and block.kind not in _NO_TEXT


@dataclass(frozen=True, slots=True)
class MediaMeasure:
    """Token counting of images and documents.

    Attributes:
        rule: Rule for the provider's tokens of an image.
        ratio: Provider tokens per counted token, typical of the model.
    """

    rule: ImageRule
    ratio: float

    @classmethod
    def of(cls, model: str) -> MediaMeasure:
        return cls(image_rule(model), typical_coefficients(model).ratio)

    def counted(self, block: Block) -> int:
        """Return the tokens of the block's images and documents, converted to counted tokens."""
        return round(block_media_tokens(block, self.rule) / self.ratio)


def main_model(session: Session) -> str:
    """Return the model that answers most of a session's calls; empty if there are none."""
    names = Counter(call.model for call in session.calls)
    return max(names, key=names.__getitem__) if names else ""


def thinking_tokens(block: Block) -> int:
    """Return the tokens of a thinking block beyond its text, for a signature without text."""
    return 0 if block.characters else -(-block.signature_characters // SIGNATURE_CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """Columns with one row per block.

    Attributes:
        measure: Token counting of images and documents; None if there are none.
        messages: The messages the columns were built from.
        characters: Characters of the sent text, int32.
        name_characters: Characters of the tool's name sent with a tool call, int32.
        fixed: Tokens beyond text and name, int32.
        media: Tokens in `fixed` for images and documents, int32.
        row: Row of the text in the counted texts, or `NOT_COUNTED`, int32.
        name_row: Row of the tool's name in the counted texts, or `NOT_COUNTED`, int32.
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
        none = np.zeros(0, np.int32)
        return cls(None, (), none, none, none, none, none, none)

    @classmethod
    def of(cls, session: Session, texts: CountedTexts, earlier: BlockColumns) -> BlockColumns:
        """Build the columns of a session, reusing rows of messages unchanged since `earlier`."""
        messages = session.messages
        measure = earlier.measure
        if measure is not None and measure != MediaMeasure.of(main_model(session)):
            earlier = cls.empty()  # another model now has most calls and measures images differently
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
        """Return, per block, whether all its text was counted."""
        return (self.row >= 0) & (self.name_row >= 0)

    def text_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        return tokens_or_estimate(columns, self.row, self.characters)

    def other_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Return the tokens of each block beyond its text."""
        return self.fixed + tokens_or_estimate(columns, self.name_row, self.name_characters)


def tokens_or_estimate(
    columns: TextColumns, rows: NDArray[np.int32], characters: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the tokens of whole texts, estimated from their characters if not counted."""
    return np.where(rows >= 0, columns.tokens(rows), estimated(characters)).astype(np.int32)


def estimated(characters: NDArray[np.int32]) -> NDArray[np.int64]:
    """Vectorized `counter.estimated_tokens`."""
    return (2 * characters.astype(np.int64) + 6) // 7
