"""One safe line that says what a block holds: the beginning of a text, the argument of a tool call that matters."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN, file_size
from inspector.safe_text import one_line
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from inspector.session.model import Block, Media

_TELLING_KEYS = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "filename",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "code",
    "content",
    "text",
    "message",
)
"""Arguments of tools, those first that say best what a call does."""

_STRING_MEMBER = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\[?\s*"((?:[^"\\]|\\.)*)')
_LISTED_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*\[(\s*"(?:[^"\\]|\\.)*"(?:\s*,\s*"(?:[^"\\]|\\.)*")*)')


NOT_RECORDED: Final = "thinking not recorded"
"""What is said of a thinking of which the file holds neither a text nor what stands for it."""


def preview(block: Block, working_directory: str = "") -> str:
    """The line, safe to show; empty where the block has nothing to say.

    Args:
        block: What to preview; only what the session keeps of it is looked at.
        working_directory: Left out at the beginning of paths.
    """
    if block.kind is BlockKind.TOOL_CALL:
        return one_line(call_summary(block.preview, working_directory))
    text = one_line(block.preview)
    if not text and block.kind is BlockKind.THINKING and not block.signature_characters:
        return NOT_RECORDED
    if text or not (block.media or block.signature_characters):
        return text
    if block.media:
        return one_line(", ".join(media_label(media) for media in block.media[:4]))
    return f"encrypted, {ON_SCREEN.plural(block.signature_characters, 'character')}"


def call_summary(arguments: str, working_directory: str = "") -> str:
    """The argument of a tool call that says best what it does.

    Args:
        arguments: The beginning of the call's input as JSON; where it is something else it is its own summary.
        working_directory: Left out at the beginning of a path.

    Returns:
        A text that is not yet safe to show.
    """
    if not arguments.lstrip().startswith("{"):
        return arguments
    members: dict[str, str] = {}
    for match in _STRING_MEMBER.finditer(arguments):
        members.setdefault(match[1], _unescaped(match[2]))
    if not members:
        return "" if arguments.strip() == "{}" else arguments
    name = next((key for key in _TELLING_KEYS if members.get(key)), None)
    value = members[name] if name else next(iter(members.values()))
    if name in ("command", "cmd") and (listed := _LISTED_STRINGS.match(arguments, arguments.find(f'"{name}"'))):
        value = _joined_command(listed[1])
    separator = "\\" if "\\" in working_directory and "/" not in working_directory else "/"
    prefix = working_directory.rstrip(separator) + separator
    return value.removeprefix(prefix) if len(prefix) > 1 else value


def _joined_command(listed: str) -> str:
    try:
        return " ".join(json.loads(f"[{listed}]"))
    except ValueError:
        return listed


def _unescaped(text: str) -> str:
    """The value of a JSON string's inside, which may be cut off in the middle of an escape."""
    for end in (len(text), text.rfind("\\")):
        try:
            return str(json.loads(f'"{text[: max(end, 0)]}"', strict=False))
        except ValueError:
            continue
    return text


def media_label(media: Media) -> str:
    """An image or document in a few words, not yet safe: its type, its pixels, its size."""
    parts = [media.media_type or "media"]
    if media.width and media.height:
        parts.append(f"{media.width} by {media.height}")
    if media.size_bytes:
        parts.append(file_size(media.size_bytes))
    return " ".join(parts)
