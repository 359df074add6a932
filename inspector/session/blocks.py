"""Build blocks identically on the first read and when a text is read again."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.json.codec import clean_text, compact_json
from inspector.session.model import PREVIEW_CHARACTERS, Block, BlockKind, Media, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

DIGEST_BYTES = 16

CHAT = "chat"
"""Locator of blocks counted per record: their `part` is not an index into a content list."""


class TextBlock(NamedTuple):
    """A block and its full text."""

    block: Block
    text: str

    def moved(self, origin: Origin) -> TextBlock:
        return TextBlock(structs.replace(self.block, origin=origin), self.text)


def argument_text(arguments: object) -> str:
    """Return a tool call's arguments as text: a string unchanged, anything else as JSON."""
    return clean_text(arguments if isinstance(arguments, str) else compact_json(arguments))


def text_block(
    kind: BlockKind,
    text: str,
    origin: Origin,
    *,
    tool_call_id: str = "",
    tool_name: str = "",
    is_error: bool = False,
    signature_characters: int = 0,
    media: tuple[Media, ...] = (),
    media_data: Iterable[bytes] = (),
    plain_text: bool = True,
) -> TextBlock:
    """Build a block with its length, digest and preview.

    Args:
        kind: Kind of the block.
        text: Its whole text, without lone surrogates.
        origin: Place of the block in the file.
        tool_call_id: Joins a call and its result.
        tool_name: The tool, if known.
        is_error: True for a result that reports failure.
        signature_characters: Length of a signature or encrypted content.
        media: Images and documents in the block.
        media_data: The encoded bytes of `media`: two different screenshots must have different digests.
        plain_text: True if the text was one plain string in the record.
    """
    encoded = text.encode()
    digest = blake2b(encoded, digest_size=DIGEST_BYTES)
    for data in media_data:
        digest.update(b"\x00")
        digest.update(data)
    block = Block(
        kind,
        len(text),
        digest.digest(),
        text[:PREVIEW_CHARACTERS],
        origin,
        tool_call_id,
        tool_name,
        is_error,
        signature_characters,
        media,
        plain_text,
    )
    return TextBlock(block, text)
