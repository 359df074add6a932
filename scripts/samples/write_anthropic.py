"""A conversation as Anthropic messages: one JSON document, or one message a line."""

from __future__ import annotations

import json
from typing import Any

from .conversation import AssistantTurn, CompactionTurn, Conversation
from .measure import reported


def messages(conversation: Conversation) -> list[dict[str, Any]]:
    """User and assistant messages in the order they are sent."""
    return [message for message, _ in with_turns(conversation)]


def with_turns(conversation: Conversation) -> list[tuple[dict[str, Any], AssistantTurn | None]]:
    """Return the messages, the assistant's together with the turn they were made from."""
    listed: list[tuple[dict[str, Any], AssistantTurn | None]] = []
    for turn in conversation.turns:
        if isinstance(turn, CompactionTurn):
            raise TypeError("plain messages have no place for a compaction")
        if not isinstance(turn, AssistantTurn):
            listed.append(({"role": "user", "content": turn.text}, None))
            continue
        blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
        blocks += [
            {"type": "tool_use", "id": use.identifier, "name": use.name, "input": use.input} for use in turn.uses
        ]
        listed.append(({"role": "assistant", "content": blocks}, turn))
        results = []
        for use in turn.uses:
            result = {"type": "tool_result", "tool_use_id": use.identifier, "content": use.result.text}
            results.append({**result, "is_error": True} if use.result.is_error else result)
        if results:
            listed.append(({"role": "user", "content": results}, None))
    return listed


def document(conversation: Conversation, model: str, system: str, tools: list[dict[str, Any]]) -> str:
    """Return the body of the next request, as one JSON document."""
    body = {"model": model, "max_tokens": 8192, "system": system, "tools": tools, "messages": messages(conversation)}
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def log(conversation: Conversation, model: str, overhead: int) -> str:
    """Return one message a line, the assistant's as the provider returned them.

    The usage has no cache figures: this agent sets no cache breakpoints, so every prompt token is paid in full.

    Args:
        conversation: The conversation.
        model: The model's name.
        overhead: Tokens of the system prompt and the tools, which are in no line.
    """
    lines = []
    prompt = overhead
    for message, turn in with_turns(conversation):
        record = message
        tokens = content_tokens(message["content"])
        if turn is not None:
            record = {
                "id": conversation.identifier("msg_01"),
                "type": "message",
                **message,
                "model": model,
                "stop_reason": "tool_use" if turn.uses else "end_turn",
                "stop_sequence": None,
                "usage": {
                    "input_tokens": prompt,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0,
                    "output_tokens": tokens,
                    "service_tier": "standard",
                },
            }
        prompt += tokens + 4
        lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
    return "".join(lines)


def content_tokens(content: str | list[dict[str, Any]]) -> int:
    """Return the token count that the provider would report for one message."""
    if isinstance(content, str):
        return reported(content)
    total = 0
    for block in content:
        if block["type"] == "text":
            total += reported(block["text"])
        elif block["type"] == "tool_use":
            total += reported(block["name"] + json.dumps(block["input"], ensure_ascii=False)) + 12
        else:
            total += reported(block["content"]) + 9
    return total
