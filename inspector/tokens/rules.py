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

from typing import TYPE_CHECKING

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from inspector.session.model import Block, Media

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
