"""A session as a request to OpenAI's Chat Completions API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.provider_messages import recorded_part
from inspector.report.conversion.parts import TEXTS, definitions, media_text, note_unnamed_results
from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from inspector.report.conversion.loss import Losses
    from inspector.report.conversion.selection import Selection
    from inspector.session.model import Block, Message, Session

Entry = dict[str, Any]


def openai_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """The request: model, tools and messages, each where there is any."""
    tools: list[Any] = []
    messages: list[Entry] = []
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
    losses.note("calls' usage and times left out", sum(index in selection.calls for index in selection.main))
    head = {"model": session.models[-1]} if session.models else {}
    return {**head, **({"tools": tools} if tools else {}), "messages": messages}


def _answer(session: Session, blocks: list[Block], losses: Losses) -> Entry:
    said = [block for block in blocks if block.kind not in (BlockKind.TOOL_CALL, BlockKind.THINKING)]
    entry: Entry = {"role": "assistant", "content": _content(session, said, losses)}
    thoughts = [block for block in blocks if block.kind is BlockKind.THINKING]
    texts = [text for block in thoughts if (text := session.text(block))]
    if texts:
        entry["reasoning_content"] = "\n\n".join(texts)
    losses.note("pieces of reasoning left out, whose text is not recorded", len(thoughts) - len(texts))
    losses.note("signatures of reasoning left out", sum(bool(block.signature_characters) for block in thoughts))
    losses.note("pieces of reasoning joined to the one before", max(len(texts) - 1, 0))
    calls = [_call(session, block) for block in blocks if block.kind is BlockKind.TOOL_CALL]
    return {**entry, "tool_calls": calls} if calls else entry


def _call(session: Session, block: Block) -> Entry:
    function = {"name": block.tool_name, "arguments": session.text(block)}
    return {"id": block.tool_call_id, "type": "function", "function": function}


def _entries(session: Session, message: Message, blocks: list[Block], losses: Losses) -> list[Entry]:
    """Results first, each a message of its own, as the API wants them right behind the calls."""
    results = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT]
    entries: list[Entry] = []
    for block in results:
        losses.note("images in tool results left out", len(block.media))
        losses.note("marks of failed tool results left out", block.is_error)
        entries.append({"role": "tool", "tool_call_id": block.tool_call_id, "content": session.text(block)})
    rest = [block for block in blocks if block.kind is not BlockKind.TOOL_RESULT]
    if rest:
        content = _content(session, rest, losses)
        if content is not None:
            entries.append({"role": "system" if message.role is Role.SYSTEM else "user", "content": content})
    return entries


def _content(session: Session, blocks: list[Block], losses: Losses) -> Any:
    parts: list[Entry] = []
    for block in blocks:
        if block.kind in TEXTS:
            parts.append({"type": "text", "text": session.text(block)})
        elif block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
            parts.append(_media(session, block, losses))
        else:
            losses.note("parts of unknown kinds left out")
    if len(parts) == 1 and parts[0]["type"] == "text" and blocks[0].plain_text:
        return parts[0]["text"]
    return parts or None


def _media(session: Session, block: Block, losses: Losses) -> Entry:
    source = (recorded_part(session, block) or {}).get("source")
    if block.kind is BlockKind.IMAGE and isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": media_text(block, session.text(block), losses)}
