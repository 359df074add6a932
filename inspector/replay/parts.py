"""One block as a content part of a provider's message, with its rendition in place of its text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.session.blocks import CHAT
from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from inspector.session.model import Block, Session
    from inspector.strategies.core.rendition import Rendition

Part = dict[str, Any]

_ANTHROPIC_TYPES = {
    BlockKind.SYSTEM_TEXT: "text",
    BlockKind.USER_TEXT: "text",
    BlockKind.ASSISTANT_TEXT: "text",
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool_use",
    BlockKind.TOOL_RESULT: "tool_result",
    BlockKind.IMAGE: "image",
    BlockKind.DOCUMENT: "document",
}

ROLE_OF_KIND = {
    BlockKind.SYSTEM_TEXT: "system",
    BlockKind.USER_TEXT: "user",
    BlockKind.ASSISTANT_TEXT: "assistant",
}
"""Who says a text that is sent as a block of that kind."""


def tool_input(text: str) -> Any:
    """The input of a tool call from its JSON; under one key where the text is no JSON object."""
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {"input": text}
    return value if isinstance(value, dict) else {"input": value}


def recorded_part(session: Session, block: Block) -> Part | None:
    """The block's content part as its record holds it in Anthropic's form, or None where it holds no such thing."""
    if block.origin.locator == CHAT:
        return None
    try:
        record = msgspec.json.decode(session.texts.record(block))
    except (TextUnavailableError, msgspec.DecodeError):
        return None
    content: Any = record
    if isinstance(content, dict):
        content = content.get("message", content)
    if isinstance(content, dict):
        content = content.get("content")
    if not isinstance(content, list) or not 0 <= block.origin.part < len(content):
        return None
    part = content[block.origin.part]
    return part if isinstance(part, dict) and part.get("type") == _ANTHROPIC_TYPES.get(block.kind) else None


def anthropic_part(session: Session, block: Block, rendition: Rendition) -> Part:
    """The block as a part of an Anthropic message."""
    if rendition.kind is not None:
        return {"type": "text", "text": rendition.text(session.text(block))}
    part = recorded_part(session, block)
    if part is not None:
        return (
            part
            if rendition.action is Action.WHOLE
            else with_rendition(part, rendition.text(session.text(block)), rendition)
        )
    text = rendition.text(session.text(block))
    match block.kind:
        case BlockKind.TOOL_CALL:
            return {"type": "tool_use", "id": block.tool_call_id, "name": block.tool_name, "input": tool_input(text)}
        case BlockKind.TOOL_RESULT:
            result: Part = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": text}
            return {**result, "is_error": True} if block.is_error else result
        case BlockKind.THINKING:
            return {"type": "thinking", "thinking": text, "signature": ""}
        case BlockKind.IMAGE | BlockKind.DOCUMENT:
            return {"type": "text", "text": text or media_notice(block)}
        case _:
            return {"type": "text", "text": text}


def with_rendition(part: Part, text: str, rendition: Rendition) -> Part:
    """An Anthropic content part whose text is `text`; images beside a cut text stay, those beside a replaced one go."""
    match part.get("type"):
        case "tool_result":
            beside = [] if rendition.action is Action.REPLACED else _beside_text(part.get("content"))
            return {**part, "content": [{"type": "text", "text": text}, *beside] if beside else text}
        case "tool_use":
            return {**part, "input": tool_input(text)}
        case "thinking":
            return {**part, "thinking": text}
        case "text":
            return {**part, "text": text}
        case _:
            return {"type": "text", "text": text}


def media_notice(block: Block) -> str:
    """Words for an image or document that a form cannot carry or a session does not hold."""
    media = block.media[0] if block.media else None
    named = f" {media.media_type}, {media.size_bytes:,} bytes" if media else ""
    return f"[{block.kind.label}{named}]"


def _beside_text(content: Any) -> list[Any]:
    if not isinstance(content, list):
        return []
    return [part for part in content if not (isinstance(part, dict) and part.get("type") == "text")]
