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
| image | by its size in pixels; its text, if any, is not sent |
| document | its text; where there is none, by its size in bytes |
| other | none: it is never sent |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.session.snapshot_list import unchanged
from inspector.tokens.prefix_counts import EMPTY_ROW, digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Block, Media, Message
    from inspector.tokens.prefix_counts import CountedTexts, TextColumns


PIXELS_PER_TOKEN = 750
"""Anthropic's documentation, "Vision": an image is width times height divided by 750 tokens."""

LARGEST_IMAGE_TOKENS = 4784
"""The same: larger images are scaled down before they are read. Models before Claude Opus 4.7 stop at 1,600."""

IMAGE_TOKENS = 1600
"""An image of unknown size: the largest one that every model reads as it is."""

BYTES_PER_DOCUMENT_TOKEN = 4
"""Anthropic's documentation, "Web fetch tool": a PDF of 500 kB is about 125,000 tokens, a page of 10 kB about 2,500."""

LARGEST_DOCUMENT_TOKENS = 300_000
"""The same, "PDF support": at most 100 pages in a window of 200,000 tokens, at most 3,000 tokens of text each."""

SIGNATURE_CHARACTERS_PER_TOKEN = 4
"""Fitted to recorded usage of Claude Opus 4.5 to 4.8, Sonnet 5 and Fable 5: 0.8 to 1.1 tokens every four characters."""

_NO_TEXT = frozenset({BlockKind.IMAGE, BlockKind.OTHER})


def sends_text(block: Block) -> bool:
    """Whether the block's text is sent: not for images, nor for what is never sent at all."""
    return block.characters > 0 and block.kind not in _NO_TEXT


def fixed_tokens(block: Block) -> int:
    """Tokens of the block besides its text and, for a tool call, its tool's name."""
    if block.kind is BlockKind.OTHER:
        return 0
    if block.kind is BlockKind.THINKING:
        return 0 if block.characters else -(-block.signature_characters // SIGNATURE_CHARACTERS_PER_TOKEN)
    if block.kind is BlockKind.DOCUMENT and block.characters:
        return 0
    if block.media:
        return sum(map(media_tokens, block.media))
    return IMAGE_TOKENS if block.kind is BlockKind.IMAGE else 0


def media_tokens(media: Media) -> int:
    """Tokens of one image or document."""
    if media.width and media.height:
        return min(-(-media.width * media.height // PIXELS_PER_TOKEN), LARGEST_IMAGE_TOKENS)
    if media.media_type.startswith("image/") or not media.size_bytes:
        return IMAGE_TOKENS
    return min(-(-media.size_bytes // BYTES_PER_DOCUMENT_TOKEN), LARGEST_DOCUMENT_TOKENS)


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """One row a block.

    Attributes:
        messages: The messages the columns were made from.
        characters: Characters of the text that is sent, int32.
        name_characters: Characters of the tool's name that is sent with a tool call, int32.
        fixed: Tokens besides those of text and name, int32.
        row: Row of the text among the counted ones, `NOT_COUNTED` where it is not among them, int32.
        name_row: The same for the tool's name, int32.
    """

    messages: Sequence[Message]
    characters: NDArray[np.int32]
    name_characters: NDArray[np.int32]
    fixed: NDArray[np.int32]
    row: NDArray[np.int32]
    name_row: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BlockColumns:
        """The columns of no messages."""
        none = np.zeros(0, np.int32)
        return cls((), none, none, none, none, none)

    @classmethod
    def of(cls, messages: Sequence[Message], texts: CountedTexts, earlier: BlockColumns) -> BlockColumns:
        """The columns of `messages`; rows of messages that stood in the same place `earlier` are taken over."""
        kept = unchanged(messages, earlier.messages)
        kept_blocks = len(earlier.row) - sum(len(message.blocks) for message in earlier.messages[kept:])
        names: dict[str, bytes] = {}
        new: list[tuple[int, int, int, int, int]] = []
        for message in messages[kept:]:
            for block in message.blocks:
                characters = block.characters if sends_text(block) else 0
                row = texts.row(block.digest) if characters else EMPTY_ROW
                name_characters, name_row = 0, EMPTY_ROW
                if block.kind is BlockKind.TOOL_CALL and (name := block.tool_name):
                    digest = names.get(name) or names.setdefault(name, digest_of(name))
                    name_characters, name_row = len(name), texts.row(digest)
                new.append((characters, name_characters, fixed_tokens(block), row, name_row))
        added = np.array(new, np.int32).reshape(-1, 5).T
        before = (earlier.characters, earlier.name_characters, earlier.fixed, earlier.row, earlier.name_row)
        joined = [np.concatenate((old[:kept_blocks], fresh)) for old, fresh in zip(before, added, strict=True)]
        return cls(messages, *joined)

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
