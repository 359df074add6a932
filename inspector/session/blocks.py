"""Making blocks: the same way when a file is read first and when a text is read again."""

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
"""The locator of blocks that were counted through their record, whose `part` is no index into a list of content."""


class TextBlock(NamedTuple):
    """A block and the text it stands for."""

    block: Block
    text: str

    def moved(self, origin: Origin) -> TextBlock:
        """The same, standing elsewhere."""
        return TextBlock(structs.replace(self.block, origin=origin), self.text)


def argument_text(arguments: object) -> str:
    """What a tool was called with, as text: a string as it is, anything else as JSON."""
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
    """A block with its length, digest and preview worked out.

    Args:
        kind: What it is.
        text: Its whole text, without lone surrogates.
        origin: Where it stands.
        tool_call_id: Joins a call and its result.
        tool_name: The tool, where known.
        is_error: A result that reports failure.
        signature_characters: Length of a signature or encrypted content.
        media: Images and documents it carries.
        media_data: The encoded bytes of `media`: two different screenshots must have different digests.
        plain_text: The text was one plain string in the record.
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
