"""Convert a line to blocks with their texts, on the first read and when reading it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.claude_code.attachments import attachment_fields, attachment_text, notice_text, plain
from inspector.session.formats.claude_code.records import ContentBlock, RecordKind, Source
from inspector.session.json.codec import clean_text, compact_json, decode_json, lenient_json
from inspector.session.media import PDF, media_of_all, media_of_base64
from inspector.session.model import BlockKind, Media, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.formats.claude_code.records import ClaudeCodeRecord

NO_BLOCKS = frozenset({RecordKind.QUIET, RecordKind.COMPACTION, RecordKind.MICROCOMPACTION})

NO_NAMES: dict[str, str] = {}


def blocks_of_line(
    record: ClaudeCodeRecord, kind: RecordKind, line: bytes, offset: int, tool_names: Mapping[str, str]
) -> Sequence[TextBlock]:
    """Return the blocks of a line; `tool_names` are tool names by call id, for results."""
    if record.message is None:
        if kind in NO_BLOCKS:
            return ()
        return [_record_without_message(record, kind, line, Origin(offset, len(line)))]
    content = record.message.content
    is_response = record.type == "assistant"
    plain_kind = BlockKind.ASSISTANT_TEXT if is_response else BlockKind.USER_TEXT
    if content is None:
        return ()
    if isinstance(content, str):
        return [text_block(plain_kind, content, Origin(offset, len(line)))]
    if isinstance(content, ContentBlock):
        content = [content]
    return [
        _block_of_part(part, plain_kind, line, Origin(offset, len(line), index), tool_names)
        for index, part in enumerate(content)
    ]


def _block_of_part(
    part: ContentBlock, plain_kind: BlockKind, line: bytes, origin: Origin, tool_names: Mapping[str, str]
) -> TextBlock:
    match part.type:
        case "text":
            return text_block(plain_kind, part.text or "", origin)
        case "thinking":
            signature = len(part.signature or "")
            return text_block(BlockKind.THINKING, part.thinking or "", origin, signature_characters=signature)
        case "redacted_thinking":
            return text_block(BlockKind.THINKING, "", origin, signature_characters=len(part.data or ""))
        case "image" | "document":
            return _media_block(part, origin)
        # Server-side tools have their own types with the same suffix: server_tool_use, mcp_tool_use.
        case str(name) if name.endswith("tool_use"):
            arguments = clean_text(bytes(part.input).decode(errors="replace")) or "{}"
            return text_block(
                BlockKind.TOOL_CALL, arguments, origin, tool_call_id=part.id or "", tool_name=part.name or ""
            )
        case str(name) if name.endswith("tool_result"):
            return _result_block(part, line, origin, tool_names)
    return text_block(BlockKind.OTHER, _raw_part(line, origin.part), origin)


def _result_block(part: ContentBlock, line: bytes, origin: Origin, tool_names: Mapping[str, str]) -> TextBlock:
    call = part.tool_use_id or ""
    name = tool_names.get(call, "")
    content = part.content
    if content is None or isinstance(content, str):
        return text_block(
            BlockKind.TOOL_RESULT,
            content or "",
            origin,
            tool_call_id=call,
            tool_name=name,
            is_error=bool(part.is_error),
        )
    items = content if isinstance(content, list) else [content]
    texts, media, data = [], [], []
    for index, item in enumerate(items):
        if item.type == "text":
            texts.append(item.text or "")
        elif item.type == "tool_reference":
            texts.append(item.tool_name or item.name or "")
        elif item.type in ("image", "document"):
            one, encoded, text = _media(item.source)
            media.append(one)
            data.append(encoded)
            if text:
                texts.append(text)
        else:
            texts.append(_raw_part(line, origin.part, index if isinstance(content, list) else None))
    return text_block(
        BlockKind.TOOL_RESULT,
        "\n".join(texts),
        origin,
        tool_call_id=call,
        tool_name=name,
        is_error=bool(part.is_error),
        media=tuple(media),
        media_data=data,
        plain_text=False,
    )


def _media_block(part: ContentBlock, origin: Origin) -> TextBlock:
    media, data, text = _media(part.source)
    kind = BlockKind.IMAGE if part.type == "image" else BlockKind.DOCUMENT
    if kind is BlockKind.DOCUMENT and not media.media_type:
        media = structs.replace(media, media_type=PDF)
    return text_block(kind, text, origin, media=(media,), media_data=(data,))


def _media(source: Source | None) -> tuple[Media, bytes, str]:
    """Return the media type and size, the encoded bytes, and the text of a plain text document."""
    if source is None:
        return Media("", 0), b"", ""
    data = bytes(source.data)
    media_type = source.media_type or ""
    if source.type == "text":
        text, _ = lenient_json(data)
        text = text if isinstance(text, str) else ""
        return Media(media_type or "text/plain", len(text.encode())), b"", text
    if data.startswith(b'"'):
        data = data[1:-1].replace(b"\\/", b"/")
        return media_of_base64(media_type, data), data, ""
    return Media(media_type, 0), (source.url or "").encode(errors="replace"), ""


def _record_without_message(record: ClaudeCodeRecord, kind: RecordKind, line: bytes, origin: Origin) -> TextBlock:
    if record.type == "attachment":
        fields = attachment_fields(bytes(record.attachment))
        if kind is RecordKind.USER:
            media, data = _attached_media(fields)
            text = clean_text(attachment_text(fields))
            return text_block(BlockKind.USER_TEXT, text, origin, media=media, media_data=data)
        return text_block(BlockKind.OTHER, clean_text(notice_text(fields)), origin)
    content, _ = decode_json(record.content)
    if record.type == "system":
        text = clean_text(plain(content)) or _system_text(line, record.subtype or "")
        return text_block(BlockKind.USER_TEXT if kind is RecordKind.USER else BlockKind.OTHER, text, origin)
    return text_block(BlockKind.OTHER, _cleaned(line), origin)


def _system_text(line: bytes, subtype: str) -> str:
    """Return the error details of a system record without text, or the whole record without them."""
    value, _ = lenient_json(line)
    fields = value if isinstance(value, dict) else {}
    for name in ("error", "hookErrors", "message"):
        if fields.get(name):
            return clean_text(f"{subtype}: {plain(fields[name])}")
    return _cleaned(line)


def _attached_media(fields: dict[str, Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    found = []
    content = fields.get("content")
    if isinstance(content, dict) and content.get("type") == "image" and isinstance(content.get("file"), dict):
        found.append((content["file"].get("type"), content["file"].get("base64")))
    prompt = fields.get("prompt")
    sources = [item.get("source") for item in prompt if isinstance(item, dict)] if isinstance(prompt, list) else []
    found += [(source.get("media_type"), source.get("data")) for source in sources if isinstance(source, dict)]
    return media_of_all((str(kind or ""), data) for kind, data in found if isinstance(data, str))


def _raw_part(line: bytes, index: int, item: int | None = None) -> str:
    """Return a part of unknown type as JSON."""
    value, _ = lenient_json(line)
    try:
        part: Any = value["message"]["content"]  # type: ignore[index]  # an unexpected structure is caught below
        part = part[index] if isinstance(part, list) else part
        if item is not None or part.get("type", "").endswith("tool_result"):
            part = part["content"] if item is None else part["content"][item]
        return clean_text(compact_json(part))
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def _cleaned(line: bytes) -> str:
    return line.decode(errors="replace")
