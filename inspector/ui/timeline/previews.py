"""One-line previews of blocks: the start of a text, a summary of a call or of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN, file_size
from inspector.report.tool_words import call_summary, result_words
from inspector.safe_text import one_line
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from inspector.session.model import Block, Media

NOT_RECORDED: Final = "thinking not recorded"
"""Preview of thinking without text or signature in the file."""


def preview(block: Block, working_directory: str = "") -> str:
    """Return a one-line preview from the block's cache, safe to show; the working directory is removed from paths."""
    if block.kind is BlockKind.TOOL_CALL:
        return one_line(call_summary(block.preview, working_directory))
    text = one_line(result_words(block.preview) if block.kind is BlockKind.TOOL_RESULT else block.preview)
    if not text and block.kind is BlockKind.THINKING and not block.signature_characters:
        return NOT_RECORDED
    if text or not (block.media or block.signature_characters):
        return text
    if block.media:
        return one_line(", ".join(media_label(media) for media in block.media[:4]))
    return f"encrypted, {ON_SCREEN.plural(block.signature_characters, 'character')}"


def media_label(media: Media) -> str:
    """Describe an image or document, not yet safe to show: type, pixels or pages, detail, size."""
    parts = [media.media_type or "media"]
    if media.width and media.height:
        parts.append(f"{media.width} by {media.height}")
    if media.pages:
        parts.append(ON_SCREEN.plural(media.pages, "page"))
    if media.detail:
        parts.append(f"{media.detail} detail")
    if media.size_bytes:
        parts.append(file_size(media.size_bytes))
    return " ".join(parts)
