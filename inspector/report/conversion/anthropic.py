"""A session as a request to Anthropic's Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.conversion.parts import anthropic_block, definitions, note_unnamed_results
from inspector.session.model import Role

if TYPE_CHECKING:
    from inspector.report.conversion.loss import Losses
    from inspector.report.conversion.selection import Selection
    from inspector.session.model import Message, Session


def anthropic_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """The request: model, tools, system text and messages, each where there is any."""
    request: dict[str, Any] = {}
    if session.models:
        request["model"] = session.models[-1]
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
            messages.append({"role": _speaker(message), "content": _content(message, parts)})
            losses.note("system texts in the middle, which only newer models take", message.role is Role.SYSTEM)
        else:
            losses.note("messages without content left out")
    note_unnamed_results(session, selection, losses)
    losses.note("calls' usage and times left out", sum(index in selection.calls for index in selection.main))
    beside = {"tools": tools, "system": system}
    return {**request, **{name: value for name, value in beside.items() if value}, "messages": messages}


def _speaker(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return "system"
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _content(message: Message, parts: list[dict[str, Any]]) -> Any:
    """One plain text stays one: strategies may treat it otherwise than a list."""
    is_plain = len(parts) == 1 and parts[0].keys() == {"type", "text"} and message.blocks[0].plain_text
    return parts[0]["text"] if is_plain else parts
