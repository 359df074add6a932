"""A conversation as OpenAI Chat messages: one JSON document, or one message a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .conversation import AssistantTurn, CompactionTurn, Conversation
from .measure import counter

if TYPE_CHECKING:
    from datetime import datetime

STEP = 128
"""The provider's cache works in steps of so many tokens."""

MINIMUM = 1_024
"""Shorter prompts are not cached."""


def messages(conversation: Conversation, system: str) -> list[dict[str, Any]]:
    """All messages in the order they are sent, the system's first."""
    return [message for message, _ in with_times(conversation, system)]


def with_times(conversation: Conversation, system: str) -> list[tuple[dict[str, Any], datetime]]:
    """Return the messages, each with its time."""
    listed: list[tuple[dict[str, Any], datetime]] = [
        ({"role": "system", "content": system}, conversation.turns[0].time),
    ]
    for turn in conversation.turns:
        if isinstance(turn, CompactionTurn):
            raise TypeError("plain messages have no place for a compaction")
        if not isinstance(turn, AssistantTurn):
            listed.append(({"role": "user", "content": turn.text}, turn.time))
            continue
        answer: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.uses:
            answer["tool_calls"] = [
                {
                    "id": use.identifier,
                    "type": "function",
                    "function": {"name": use.name, "arguments": json.dumps(use.input, ensure_ascii=False)},
                }
                for use in turn.uses
            ]
        listed.append((answer, turn.time))
        for use in turn.uses:
            answered = {"role": "tool", "tool_call_id": use.identifier, "name": use.name, "content": use.result.text}
            listed.append((answered, turn.results_time))
    return listed


def document(conversation: Conversation, model: str, system: str, tools: list[dict[str, Any]]) -> str:
    """Return the body of the next request, as one JSON document."""
    body = {"model": model, "messages": messages(conversation, system), "tools": tools}
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def log(conversation: Conversation, system: str, model: str, overhead: int) -> str:
    """Return one message a line with its time, the assistant's with model and usage.

    The provider caches automatically: it reads a known prompt prefix from its cache and writes the rest, in steps of 128
    tokens and from 1,024 on.

    Args:
        conversation: The conversation.
        system: The system prompt.
        model: The model's name.
        overhead: Tokens of the tools' definitions, which are in no line.
    """
    lines = []
    prompt, cached = overhead, 0
    for message, time in with_times(conversation, system):
        tokens = content_tokens(message)
        record = {**message, "timestamp": time.timestamp()}
        if message["role"] == "assistant":
            cacheable = prompt // STEP * STEP if prompt >= MINIMUM else 0
            record["model"] = model
            record["usage"] = {
                "prompt_tokens": prompt,
                "completion_tokens": tokens,
                "total_tokens": prompt + tokens,
                "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": cacheable - cached},
            }
            cached = cacheable
        prompt += tokens + 4
        lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
    return "".join(lines)


def content_tokens(message: dict[str, Any]) -> int:
    """Tokens of one message by its own vocabulary."""
    total = counter().count(message["content"] or "")
    for call in message.get("tool_calls", []):
        total += counter().count(call["function"]["name"]) + counter().count(call["function"]["arguments"]) + 8
    return total
