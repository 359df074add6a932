"""Blocks as parts of messages, with their own text, and what of them a form cannot carry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inspector.replay.provider_messages import media_notice, recorded_part, tool_input
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from inspector.report.conversion.loss import Losses
    from inspector.report.conversion.selection import Selection
    from inspector.session.model import Block, Session

Part = dict[str, Any]

TEXTS = frozenset({BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT})

TOOLS = "tools"
"""The locator of tool definitions."""


def definitions(session: Session, block: Block) -> list[Any] | None:
    """The tools that a block defines; None for any other block."""
    if block.kind is not BlockKind.SYSTEM_TEXT or block.origin.locator != TOOLS:
        return None
    try:
        value = json.loads(session.text(block))
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def call_input(text: str, losses: Losses) -> dict[str, Any]:
    """The input of a call as an object, which two of the forms ask for."""
    value = tool_input(text)
    if list(value) == ["input"] and not _is_object(text):
        losses.note("calls with plain text for input, written as {input: …}")
    return dict(value)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict) if text else True
    except ValueError:
        return False


def anthropic_block(session: Session, block: Block, losses: Losses) -> Part | None:
    """A block as a part of an Anthropic message; None where there is nothing to send."""
    recorded = recorded_part(session, block)
    if recorded is not None:
        return recorded
    text = session.text(block)
    if block.kind in TEXTS:
        return {"type": "text", "text": text}
    if block.kind is BlockKind.THINKING:
        if not text:
            losses.note("pieces of reasoning left out, whose text is not recorded")
            return None
        if block.signature_characters:
            losses.note("signatures of reasoning left out")
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
    losses.note("parts of unknown kinds left out")
    return None


def note_unnamed_results(session: Session, selection: Selection, losses: Losses) -> None:
    """Note results that only their call would name the tool of, where that call is not written."""
    blocks = [block for index in selection.main for block in session.messages[index].blocks]
    called = {block.tool_call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
    unnamed = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT and block.tool_call_id not in called]
    losses.note("names of tools left out, of results without a call", sum(bool(block.tool_name) for block in unnamed))


def media_text(block: Block, text: str, losses: Losses) -> str:
    """What is written for an image or document that the form cannot carry, or the session does not hold."""
    losses.note(f"{block.kind.label}s written as a text")
    return text or media_notice(block)
