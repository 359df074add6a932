"""Conversion to a request of Anthropic's Messages API or OpenAI's Chat Completions API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.message_lists import recorded_part
from inspector.report.conversion.selection import TEXTS, call_input, definitions, media_text, note_unnamed_results
from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from inspector.report.conversion.selection import Losses, Selection
    from inspector.session.model import Block, Message, Session

AnthropicBlock = dict[str, Any]

OpenAiMessage = dict[str, Any]


def anthropic_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """Build the request from model, tools, system text and messages, if present."""
    request: dict[str, Any] = {}
    if session.main_model:
        request["model"] = session.main_model
    tools: list[Any] = []
    system: list[Any] = []
    messages: list[dict[str, Any]] = []
    for index in selection.main:
        message = session.messages[index]
        parts = []
        for block in message.blocks:
            if (defined := definitions(session, block)) is not None and not messages:
                tools += defined
            elif (part := anthropic_block(session, block, losses)) is not None:
                parts.append(part)
        if message.role is Role.SYSTEM and not messages:
            system += parts
        elif parts:
            messages.append({"role": _speaker(message), "content": _anthropic_content(message, parts)})
            losses.note("system texts in mid-conversation, which only newer models accept", message.role is Role.SYSTEM)
        else:
            losses.note("messages without content left out")
    note_unnamed_results(session, selection, losses)
    losses.note("usage and times of calls left out", sum(index in selection.calls for index in selection.main))
    others = {"tools": tools, "system": system}
    return {**request, **{name: value for name, value in others.items() if value}, "messages": messages}


def _speaker(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return "system"
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _anthropic_content(message: Message, parts: list[dict[str, Any]]) -> Any:
    """Return a single plain text as a string: strategies may treat a list differently."""
    is_plain = len(parts) == 1 and parts[0].keys() == {"type", "text"} and message.blocks[0].plain_text
    return parts[0]["text"] if is_plain else parts


def anthropic_block(session: Session, block: Block, losses: Losses) -> AnthropicBlock | None:
    """Convert a block to a part of an Anthropic message; None if it has no content."""
    recorded = recorded_part(session, block)
    if recorded is not None:
        return recorded
    text = session.text(block)
    if block.kind in TEXTS:
        return {"type": "text", "text": text}
    if block.kind is BlockKind.THINKING:
        if not text:
            losses.note("reasoning blocks without recorded text left out")
            return None
        if block.signature_characters:
            losses.note("reasoning signatures left out")
        return {"type": "thinking", "thinking": text, "signature": ""}
    if block.kind is BlockKind.TOOL_CALL:
        name = {"id": block.tool_call_id, "name": block.tool_name}
        return {"type": "tool_use", **name, "input": call_input(text, losses)}
    if block.kind is BlockKind.TOOL_RESULT:
        losses.note("images in tool results left out", len(block.media))
        result = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": text}
        return {**result, "is_error": True} if block.is_error else result
    if block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
        return {"type": "text", "text": media_text(block, text, losses)}
    losses.note("blocks of unknown kinds left out")
    return None


def openai_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """Build the request from model, tools and messages, if present."""
    tools: list[Any] = []
    messages: list[OpenAiMessage] = []
    for index in selection.main:
        message = session.messages[index]
        blocks = []
        for block in message.blocks:
            if (defined := definitions(session, block)) is not None and not messages:
                tools += defined
            else:
                blocks.append(block)
        if message.role is Role.ASSISTANT:
            messages.append(_answer(session, blocks, losses))
        elif blocks:
            messages.extend(_entries(session, message, blocks, losses))
    note_unnamed_results(session, selection, losses)
    losses.note("usage and times of calls left out", sum(index in selection.calls for index in selection.main))
    head = {"model": session.main_model} if session.main_model else {}
    return {**head, **({"tools": tools} if tools else {}), "messages": messages}


def _answer(session: Session, blocks: list[Block], losses: Losses) -> OpenAiMessage:
    parts = [block for block in blocks if block.kind not in (BlockKind.TOOL_CALL, BlockKind.THINKING)]
    entry: OpenAiMessage = {"role": "assistant", "content": _openai_content(session, parts, losses)}
    thoughts = [block for block in blocks if block.kind is BlockKind.THINKING]
    texts = [text for block in thoughts if (text := session.text(block))]
    if texts:
        entry["reasoning_content"] = "\n\n".join(texts)
    losses.note("reasoning blocks without recorded text left out", len(thoughts) - len(texts))
    losses.note("reasoning signatures left out", sum(bool(block.signature_characters) for block in thoughts))
    losses.note("reasoning blocks merged with the previous one", max(len(texts) - 1, 0))
    calls = [_call(session, block) for block in blocks if block.kind is BlockKind.TOOL_CALL]
    return {**entry, "tool_calls": calls} if calls else entry


def _call(session: Session, block: Block) -> OpenAiMessage:
    function = {"name": block.tool_name, "arguments": session.text(block)}
    return {"id": block.tool_call_id, "type": "function", "function": function}


def _entries(session: Session, message: Message, blocks: list[Block], losses: Losses) -> list[OpenAiMessage]:
    """Build one message per result, then the rest: the API requires results directly after their calls."""
    results = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT]
    entries: list[OpenAiMessage] = []
    for block in results:
        losses.note("images in tool results left out", len(block.media))
        losses.note("failure flags of tool results left out", block.is_error)
        entries.append({"role": "tool", "tool_call_id": block.tool_call_id, "content": session.text(block)})
    rest = [block for block in blocks if block.kind is not BlockKind.TOOL_RESULT]
    if rest:
        content = _openai_content(session, rest, losses)
        if content is not None:
            entries.append({"role": "system" if message.role is Role.SYSTEM else "user", "content": content})
    return entries


def _openai_content(session: Session, blocks: list[Block], losses: Losses) -> Any:
    parts: list[OpenAiMessage] = []
    for block in blocks:
        if block.kind in TEXTS:
            parts.append({"type": "text", "text": session.text(block)})
        elif block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
            parts.append(_media(session, block, losses))
        else:
            losses.note("blocks of unknown kinds left out")
    if len(parts) == 1 and parts[0]["type"] == "text" and blocks[0].plain_text:
        return parts[0]["text"]
    return parts or None


def _media(session: Session, block: Block, losses: Losses) -> OpenAiMessage:
    source = (recorded_part(session, block) or {}).get("source")
    if block.kind is BlockKind.IMAGE and isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": media_text(block, session.text(block), losses)}
