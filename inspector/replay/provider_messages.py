"""Build the messages a plan would send at one call, in Anthropic's or OpenAI's form."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from inspector.session.blocks import CHAT
from inspector.session.model import BlockKind, Role, TextUnavailableError
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Container

    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Block, Message, Session
    from inspector.strategies.core.rendition import Rendition

Form = Literal["anthropic", "openai"]

MessageDict = dict[str, Any]

ContentPart = dict[str, Any]


def messages_at(replay: Replay, call: int, form: Form, left_out: Container[int] = ()) -> list[MessageDict]:
    """Return the messages the plan sends at a call.

    Args:
        replay: The plan on the session.
        call: The call; `history.call_count` for the next one.
        form: The API.
        left_out: Blocks to leave out, by index.

    Raises:
        TextUnavailableError: The session's file no longer holds a text.
        IndexError: There is no such call.
    """
    history = replay.history
    if not 0 <= call <= history.call_count:
        raise IndexError(f"no call {call}; the last one is {history.call_count}")
    entries: list[MessageDict] = []
    for index in history.prompt_messages(call).tolist():
        message = history.session.messages[index]
        first = int(history.message_first_block[index])
        kept = [
            (block, replay.rendition(first + at, call))
            for at, block in enumerate(message.blocks)
            if block.kind is not BlockKind.OTHER and first + at not in left_out
        ]
        kept = [(block, rendition) for block, rendition in kept if rendition.action is not Action.REMOVED]
        write = _anthropic if form == "anthropic" else _openai
        for role, spoken in groupby(kept, key=lambda sent: _role(message, sent[1])):
            entries.extend(write(replay, role, list(spoken)))
    return entries


def _role(message: Message, rendition: Rendition) -> Role:
    return message.role if rendition.kind is None else Role(ROLE_OF_KIND[rendition.kind])


def _anthropic(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[MessageDict]:
    session = replay.history.session
    parts = [anthropic_part(session, block, rendition) for block, rendition in kept]
    if role is Role.SYSTEM:
        return [{"role": "system", "content": parts}]
    speaker = "assistant" if role is Role.ASSISTANT else "user"
    only_text = len(parts) == 1 and parts[0].get("type") == "text" and kept[0][0].plain_text
    return [{"role": speaker, "content": parts[0]["text"] if only_text else parts}]


_IN_PROSE = frozenset(
    {BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT}
)


def _openai(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[MessageDict]:
    session = replay.history.session
    texts = [
        (block, block.kind if rendition.kind is None else rendition.kind, rendition.text(session.text(block)))
        for block, rendition in kept
    ]
    phrase = "\n".join(text or media_notice(block) for block, kind, text in texts if kind in _IN_PROSE)
    if role is Role.ASSISTANT:
        entry: MessageDict = {"role": "assistant", "content": phrase or None}
        calls = [
            {
                "id": block.tool_call_id,
                "type": "function",
                "function": {"name": block.tool_name, "arguments": text or "{}"},
            }
            for block, kind, text in texts
            if kind is BlockKind.TOOL_CALL
        ]
        return [{**entry, "tool_calls": calls} if calls else entry]
    results: list[MessageDict] = [
        {"role": "tool", "tool_call_id": block.tool_call_id, "content": text}
        for block, kind, text in texts
        if kind is BlockKind.TOOL_RESULT
    ]
    speaker = "system" if role is Role.SYSTEM else "user"
    return [*results, {"role": speaker, "content": phrase}] if phrase else results


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
"""Message role of a text sent as a block of that kind."""


def anthropic_part(session: Session, block: Block, rendition: Rendition) -> ContentPart:
    """Build the block's part of an Anthropic message."""
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
            result: ContentPart = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": text}
            return {**result, "is_error": True} if block.is_error else result
        case BlockKind.THINKING:
            return {"type": "thinking", "thinking": text, "signature": ""}
        case BlockKind.IMAGE | BlockKind.DOCUMENT:
            return {"type": "text", "text": text or media_notice(block)}
        case _:
            return {"type": "text", "text": text}


def recorded_part(session: Session, block: Block) -> ContentPart | None:
    """Return the block's recorded content part in Anthropic's form, or None if there is none."""
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


def with_rendition(part: ContentPart, text: str, rendition: Rendition) -> ContentPart:
    """Set the text of an Anthropic content part; a cut text keeps its images, a replaced text loses them."""
    match part.get("type"):
        case "tool_result":
            others = [] if rendition.action is Action.REPLACED else _other_content(part.get("content"))
            return {**part, "content": [{"type": "text", "text": text}, *others] if others else text}
        case "tool_use":
            return {**part, "input": tool_input(text)}
        case "thinking":
            return {**part, "thinking": text}
        case "text":
            return {**part, "text": text}
        case _:
            return {"type": "text", "text": text}


def _other_content(content: Any) -> list[Any]:
    if not isinstance(content, list):
        return []
    return [part for part in content if not (isinstance(part, dict) and part.get("type") == "text")]


def tool_input(text: str) -> Any:
    """Parse the input of a tool call from JSON; wrap it under one key if it is not a JSON object."""
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {"input": text}
    return value if isinstance(value, dict) else {"input": value}


def media_notice(block: Block) -> str:
    """Return a placeholder text for media that a form cannot carry or a session does not hold."""
    media = block.media[0] if block.media else None
    named = f" {media.media_type}, {media.size_bytes:,} bytes" if media else ""
    return f"[{block.kind.label}{named}]"
