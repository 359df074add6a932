"""From one event to its blocks, with their texts: the same for an event read first and for one read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.copilot.records import EventKind, kind_of
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import count, mapping, objects, string
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, Media, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT, REASONING, REQUESTS, ATTACHMENTS = "content", "reasoning", "toolRequests", "attachments"
"""Locators of what an event may hold several of."""

NO_NAMES: dict[str, str] = {}


def blocks_of_line(line: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of an event that is read again."""
    event, _ = object_of(line)
    if event is None:
        return []
    return blocks_of_event(event, kind_of(string(event.get("type"))), line, origin.offset, NO_NAMES)


def blocks_of_event(
    event: Mapping[str, Any], kind: EventKind, line: bytes, offset: int, tool_names: Mapping[str, str]
) -> list[TextBlock]:
    """The blocks of an event.

    Args:
        event: The event.
        kind: What it is to the conversation.
        line: Its bytes.
        offset: Where they stand in the file.
        tool_names: Names of the tools of known call ids, for results.
    """
    data = mapping(event.get("data"))
    origin = Origin(offset, len(line))
    match kind:
        case EventKind.RESPONSE:
            return _response(data, origin)
        case EventKind.RESULT:
            return [_result(data, origin, tool_names)]
        case EventKind.USER:
            return _said(data, origin)
        case EventKind.NOTIFICATION:
            return [text_block(BlockKind.USER_TEXT, _text(data, "content"), origin)]
        case EventKind.SYSTEM:
            return [text_block(BlockKind.SYSTEM_TEXT, _text(data, "content"), origin)]
        case EventKind.COMPACTION if data.get("success") and data.get("summaryContent"):
            return [text_block(BlockKind.USER_TEXT, _text(data, "summaryContent"), origin)]
        case EventKind.COMPACTION if data.get("success"):
            return []
        case EventKind.NOTICE | EventKind.COMPACTION:
            return [text_block(BlockKind.OTHER, _notice(event, data, line), origin)]
    return []


def _response(data: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    blocks = []
    signature = len(string(data.get("reasoningOpaque"))) + len(string(data.get("encryptedContent")))
    if data.get("reasoningText") or signature:
        place = _at(origin, 0, REASONING)
        text = _text(data, "reasoningText")
        blocks.append(text_block(BlockKind.THINKING, text, place, signature_characters=signature))
    if data.get("content"):
        blocks.append(text_block(BlockKind.ASSISTANT_TEXT, _text(data, "content"), _at(origin, 0, TEXT)))
    for index, request in enumerate(objects(data.get("toolRequests"))):
        arguments = request.get("arguments", {})
        blocks.append(
            text_block(
                BlockKind.TOOL_CALL,
                clean_text(arguments if isinstance(arguments, str) else compact_json(arguments)),
                _at(origin, index, REQUESTS),
                tool_call_id=_text(request, "toolCallId"),
                tool_name=_text(request, "name"),
            )
        )
    return blocks


def _result(data: Mapping[str, Any], origin: Origin, tool_names: Mapping[str, str]) -> TextBlock:
    """A tool result. `content` is what the model is sent; `detailedContent` is for the screen and often longer."""
    result = mapping(data.get("result"))
    media, encoded = _media(result.get("binaryResultsForLlm"))
    call = _text(data, "toolCallId")
    is_error = not data.get("success", True)
    text = _text(result, "content") or _text(mapping(data.get("error")), "message")
    return text_block(
        BlockKind.TOOL_RESULT,
        text,
        origin,
        tool_call_id=call,
        tool_name=tool_names.get(call, ""),
        is_error=is_error,
        media=media,
        media_data=encoded,
        plain_text=not media,
    )


def _said(data: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """A user message as the model sees it: with the tags that the program wraps around what was typed."""
    text = _text(data, "transformedContent") or _text(data, "content")
    blocks = [text_block(BlockKind.USER_TEXT, text, origin)]
    for index, attachment in enumerate(objects(data.get("attachments"))):
        media, encoded = _media([attachment])
        if media:
            kind = BlockKind.IMAGE if media[0].media_type.startswith("image/") else BlockKind.DOCUMENT
            place = _at(origin, index, ATTACHMENTS)
            blocks.append(text_block(kind, "", place, media=media, media_data=encoded))
    return blocks


def _media(items: Any) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    """Images and documents that were sent: with their data, or with the name of an asset that holds it."""
    media, encoded = [], []
    for item in objects(items):
        media_type, data = string(item.get("mimeType")), string(item.get("data")).encode(errors="replace")
        if data:
            media.append(media_of_base64(media_type, data))
            encoded.append(data)
        elif item.get("assetId") and media_type:
            media.append(Media(media_type, count(item.get("byteLength"))))
            encoded.append(string(item.get("assetId")).encode(errors="replace"))
    return tuple(media), tuple(encoded)


def _notice(event: Mapping[str, Any], data: Mapping[str, Any], line: bytes) -> str:
    for name in ("message", "error", "content", "reason"):
        if text := _text(data, name):
            return f"{_text(event, 'type')}: {text}"
    return line.decode(errors="replace")


def _at(origin: Origin, part: int, locator: str) -> Origin:
    return Origin(origin.offset, origin.length, part, 0, locator)


def _text(fields: Mapping[str, Any], name: str) -> str:
    return clean_text(string(fields.get(name)))
