"""A conversation as OpenAI Chat messages: one JSON document, or one message a line."""

from __future__ import annotations

import json
from typing import Any

from .conversation import AssistantTurn, CompactionTurn, Conversation


def messages(conversation: Conversation, system: str) -> list[dict[str, Any]]:
    """All messages in the order they are sent, the system's first."""
    listed: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for turn in conversation.turns:
        if isinstance(turn, CompactionTurn):
            raise TypeError("plain messages have no place for a compaction")
        if not isinstance(turn, AssistantTurn):
            listed.append({"role": "user", "content": turn.text})
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
        listed.append(answer)
        listed += [
            {"role": "tool", "tool_call_id": use.identifier, "name": use.name, "content": use.result.text}
            for use in turn.uses
        ]
    return listed


def document(conversation: Conversation, model: str, system: str, tools: list[dict[str, Any]]) -> str:
    """The body of the request that comes next, as one JSON document."""
    functions = [
        {"type": "function", "function": {**tool, "parameters": tool["input_schema"]}}
        if "input_schema" in tool
        else tool
        for tool in tools
    ]
    for entry in functions:
        entry["function"].pop("input_schema", None)
    body = {"model": model, "messages": messages(conversation, system), "tools": functions}
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def log(conversation: Conversation, system: str) -> str:
    """One message a line."""
    lines = messages(conversation, system)
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
