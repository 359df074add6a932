"""The messages a plan would send at one call, in Anthropic's or OpenAI's form."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from inspector.replay.parts import ROLE_OF_KIND, anthropic_part, media_notice
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from inspector.replay.replay import Replay
    from inspector.session.model import Block, Message
    from inspector.strategies.core.rendition import Rendition

Form = Literal["anthropic", "openai"]
Entry = dict[str, Any]


def messages_at(replay: Replay, call: int, form: Form) -> list[Entry]:
    """What the plan sends at a call; `history.call_count` asks for the next one.

    Raises:
        TextUnavailableError: The session's file no longer holds a text.
        IndexError: There is no such call.
    """
    history = replay.history
    if not 0 <= call <= history.call_count:
        raise IndexError(f"call {call} of {history.call_count}")
    entries: list[Entry] = []
    for index in history.prompt_messages(call).tolist():
        message = history.session.messages[index]
        first = int(history.message_first_block[index])
        kept = [
            (block, replay.rendition(first + at, call))
            for at, block in enumerate(message.blocks)
            if block.kind is not BlockKind.OTHER
        ]
        kept = [(block, rendition) for block, rendition in kept if rendition.action is not Action.REMOVED]
        write = _anthropic if form == "anthropic" else _openai
        for role, spoken in groupby(kept, key=lambda sent: _role(message, sent[1])):
            entries.extend(write(replay, role, list(spoken)))
    return entries


def _role(message: Message, rendition: Rendition) -> Role:
    return message.role if rendition.kind is None else Role(ROLE_OF_KIND[rendition.kind])


def _anthropic(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[Entry]:
    session = replay.history.session
    parts = [anthropic_part(session, block, rendition) for block, rendition in kept]
    if role is Role.SYSTEM:
        return [{"role": "system", "content": parts}]
    speaker = "assistant" if role is Role.ASSISTANT else "user"
    only_text = len(parts) == 1 and parts[0].get("type") == "text" and kept[0][0].plain_text
    return [{"role": speaker, "content": parts[0]["text"] if only_text else parts}]


def _openai(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[Entry]:
    session = replay.history.session
    texts = [
        (block, block.kind if rendition.kind is None else rendition.kind, rendition.text(session.text(block)))
        for block, rendition in kept
    ]
    said = "\n".join(text or media_notice(block) for block, kind, text in texts if kind in _SAID)
    if role is Role.ASSISTANT:
        entry: Entry = {"role": "assistant", "content": said or None}
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
    results: list[Entry] = [
        {"role": "tool", "tool_call_id": block.tool_call_id, "content": text}
        for block, kind, text in texts
        if kind is BlockKind.TOOL_RESULT
    ]
    speaker = "system" if role is Role.SYSTEM else "user"
    return [*results, {"role": speaker, "content": said}] if said else results


_SAID = frozenset(
    {BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT}
)
