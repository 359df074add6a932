"""Convert an entry to blocks with their texts, on the first read and when reading it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.formats.pi.records import EntryKind
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.values import clean_string, mapping, objects, sequence, string
from inspector.session.media import media_of_all
from inspector.session.model import BlockKind, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Media


COMPACTION_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)


def compaction_text(summary: str) -> str:
    """Return the message text for a compaction summary."""
    return summary.join(COMPACTION_SUMMARY)


def branch_text(summary: str) -> str:
    """Return the message text for the summary of an abandoned branch."""
    return summary.join(BRANCH_SUMMARY)


def shell_text(message: Mapping[str, Any]) -> str:
    text = f"Ran `{string(message.get('command'))}`\n{_output(message)}"
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif _failed(message):
        text += f"\n\nCommand exited with code {message['exitCode']}"
    path = string(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def python_text(message: Mapping[str, Any]) -> str:
    text = f"Ran Python:\n```python\n{string(message.get('code'))}\n```\n"
    text += ("Output:\n" if message.get("output") else "") + _output(message)
    if message.get("cancelled"):
        text += "\n\n(execution cancelled)"
    elif _failed(message):
        text += f"\n\nExecution failed with code {message['exitCode']}"
    return text


def _output(message: Mapping[str, Any]) -> str:
    output = string(message.get("output"))
    return f"```\n{output}\n```" if output else "(no output)"


def _failed(message: Mapping[str, Any]) -> bool:
    code = message.get("exitCode")
    return isinstance(code, (int, float)) and code != 0


ERROR = "errorMessage"
"""Locator of a response's error message."""


def blocks_of_entry(entry: Mapping[str, Any], kind: EntryKind, line: bytes, offset: int) -> list[TextBlock]:
    origin = Origin(offset, len(line))
    message = mapping(entry.get("message"))
    match kind:
        case EntryKind.RESPONSE:
            return _response(message, origin)
        case EntryKind.RESULT:
            return [_result(message, origin)]
        case EntryKind.USER | EntryKind.INJECTED:
            return _spoken(entry, message, origin)
        case EntryKind.SUMMARY:
            return [text_block(BlockKind.USER_TEXT, compaction_text(clean_string(entry.get("summary"))), origin)]
        case EntryKind.SYSTEM:
            text = clean_string(entry.get("systemPrompt")) if entry.get("type") == "session_init" else _content(message)
            return [text_block(BlockKind.SYSTEM_TEXT, text, origin)]
        case EntryKind.HIDDEN:
            text = _shown(message)
            return [text_block(BlockKind.OTHER, clean_text(text), origin)]
        case EntryKind.NOTICE:
            return [text_block(BlockKind.OTHER, line.decode(errors="replace"), origin)]
    return []


def _spoken(entry: Mapping[str, Any], message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    if entry.get("type") == "branch_summary":
        return [text_block(BlockKind.USER_TEXT, branch_text(clean_string(entry.get("summary"))), origin)]
    source = entry if entry.get("type") == "custom_message" else message
    if source.get("role") in ("bashExecution", "pythonExecution", "fileMention"):
        media, data = _images(source.get("images"))
        text = clean_text(_shown(source))
        return [text_block(BlockKind.USER_TEXT, text, origin, media=media, media_data=data)]
    content = source.get("content")
    if isinstance(content, str):
        return [text_block(BlockKind.USER_TEXT, clean_text(content), origin)]
    return [_part(part, BlockKind.USER_TEXT, origin.at(index)) for index, part in enumerate(sequence(content))]


def _response(message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    content = message.get("content")
    if isinstance(content, str):
        blocks = [text_block(BlockKind.ASSISTANT_TEXT, clean_text(content), origin)]
    else:
        blocks = [
            _part(part, BlockKind.ASSISTANT_TEXT, origin.at(index)) for index, part in enumerate(sequence(content))
        ]
    if error := string(message.get("errorMessage")):
        blocks.append(text_block(BlockKind.OTHER, clean_text(error), origin.at(0, ERROR)))
    return blocks


def _part(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    fields = mapping(part)
    match fields.get("type"):
        case "text":
            return text_block(text_kind, clean_string(fields.get("text")), origin)
        case "thinking":
            signature = len(string(fields.get("thinkingSignature")))
            return text_block(
                BlockKind.THINKING, clean_string(fields.get("thinking")), origin, signature_characters=signature
            )
        case "redactedThinking":
            return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(fields.get("data"))))
        case "toolCall":
            return text_block(
                BlockKind.TOOL_CALL,
                argument_text(fields.get("arguments", {})),
                origin,
                tool_call_id=clean_string(fields.get("id")),
                tool_name=clean_string(fields.get("name")),
                signature_characters=len(string(fields.get("thoughtSignature"))),
            )
        case "image":
            media, data = _images([fields])
            return text_block(BlockKind.IMAGE, "", origin, media=media, media_data=data)
    return text_block(BlockKind.OTHER, clean_text(compact_json(part)), origin)


def _result(message: Mapping[str, Any], origin: Origin) -> TextBlock:
    """Build a tool result. Texts are sent as one string if there are no images (pi-ai's `convertContentBlocks`)."""
    media, data = _images(message.get("content"))
    return text_block(
        BlockKind.TOOL_RESULT,
        _content(message),
        origin,
        tool_call_id=clean_string(message.get("toolCallId")),
        tool_name=clean_string(message.get("toolName")),
        is_error=bool(message.get("isError")),
        media=media,
        media_data=data,
        plain_text=not media,
    )


def _content(message: Mapping[str, Any]) -> str:
    """Return the text of a message, one line per part."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return clean_text(content or "")
    texts = []
    for part in sequence(content):
        fields = mapping(part)
        if fields.get("type") != "image":
            texts.append(string(fields.get("text")) if fields.get("type") == "text" else compact_json(part))
    return clean_text("\n".join(texts))


def _shown(message: Mapping[str, Any]) -> str:
    match message.get("role"):
        case "bashExecution":
            return shell_text(message)
        case "pythonExecution":
            return python_text(message)
        case "fileMention":
            files = objects(message.get("files"))
            return "\n\n".join(f"{string(file.get('path'))}\n{string(file.get('content'))}" for file in files)
    return compact_json(message)


def _images(parts: Any) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    images = (part for part in objects(parts) if part.get("type") == "image")
    return media_of_all((string(part.get("mimeType")), string(part.get("data"))) for part in images)
