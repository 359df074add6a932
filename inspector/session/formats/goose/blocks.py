"""From one message's content to its blocks, with their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.goose.records import REQUESTS
from inspector.session.json.codec import clean_text, compact_json, lenient_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import mapping, objects, sequence, string
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, Media, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a line or row that is read again."""
    value, _ = object_of(record)
    return [] if value is None else blocks_of_message(value, origin)


def blocks_of_message(message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """The blocks of a message: of a line, or of a row, which has its content as text.

    Args:
        message: The message.
        origin: Where it stands.
    """
    content = message.get("content")
    if isinstance(message.get("content_json"), str):
        content = lenient_json(message["content_json"].encode(errors="replace"))[0]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    text_kind = BlockKind.ASSISTANT_TEXT if message.get("role") == "assistant" else BlockKind.USER_TEXT
    return [_block(part, text_kind, _at(origin, index)) for index, part in enumerate(sequence(content))]


def _block(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    fields = mapping(part)
    kind = string(fields.get("type"))
    if kind == "text":
        return text_block(text_kind, _text(fields, "text"), origin)
    if kind in ("thinking", "reasoning"):
        text = _text(fields, "thinking") or _text(fields, "text")
        signature = len(string(fields.get("signature")))
        return text_block(BlockKind.THINKING, text, origin, signature_characters=signature)
    if kind == "redactedThinking":
        return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(fields.get("data"))))
    if kind in REQUESTS:
        return _request(fields, origin)
    if kind == "toolResponse":
        return _response(fields, origin)
    if kind == "image":
        media, data = _images([fields])
        return text_block(BlockKind.IMAGE, "", origin, media=media, media_data=data)
    text = _text(fields, "msg") if kind == "systemNotification" else ""
    return text_block(BlockKind.OTHER, text or clean_text(compact_json(part)), origin)


def _request(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    call = mapping(fields.get("toolCall"))
    asked = mapping(call.get("value"))
    # A call that could not be read has an error in the place of its name and arguments.
    text = compact_json(asked.get("arguments") or {}) if asked else string(call.get("error"))
    return text_block(
        BlockKind.TOOL_CALL,
        clean_text(text),
        origin,
        tool_call_id=_text(fields, "id"),
        tool_name=_text(asked, "name"),
        signature_characters=len(string(fields.get("thoughtSignature"))),
    )


def _response(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    result = mapping(fields.get("toolResult"))
    value = result.get("value")
    items = sequence(value) or sequence(mapping(value).get("content"))
    sent = [item for item in objects(items) if _is_for_model(item)]
    texts = [_item_text(item) for item in sent if item.get("type") != "image"]
    if "error" in result:
        texts.append(string(result.get("error")))
    media, data = _images(sent)
    return text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(texts)),
        origin,
        tool_call_id=_text(fields, "id"),
        is_error=result.get("status") == "error" or bool(mapping(value).get("isError")),
        media=media,
        media_data=data,
        plain_text=not media and len(texts) < 2,
    )


def _is_for_model(item: Mapping[str, Any]) -> bool:
    """Whether an item of a result is sent. Tools often answer twice: once for the person, once for the model."""
    audience = mapping(item.get("annotations")).get("audience")
    return not isinstance(audience, list) or not audience or "assistant" in audience


def _item_text(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("text"), str):
        return string(item["text"])
    resource = mapping(item.get("resource"))
    return string(resource["text"]) if isinstance(resource.get("text"), str) else compact_json(item)


def _images(items: list[Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    found = [item for item in objects(items) if item.get("type") == "image"]
    data = tuple(string(item.get("data")).encode(errors="replace") for item in found)
    kinds = [clean_text(string(item.get("mimeType"))) for item in found]
    return tuple(media_of_base64(kind, encoded) for kind, encoded in zip(kinds, data, strict=True)), data


def _at(origin: Origin, part: int) -> Origin:
    return Origin(origin.offset, origin.length, part, origin.file, origin.locator)


def _text(fields: Mapping[str, Any], name: str) -> str:
    return clean_text(string(fields.get(name)))
