"""Recorded outputs of real systems, and applying a plan to their inputs through the public API."""

import json
from collections.abc import Sequence
from typing import Any

from tests.strategies.conversations import content, matches

Entry = dict[str, Any]


def openai(entries: Sequence[Entry]) -> list[Entry]:
    """A conversation in the vectors' neutral form as OpenAI messages: every result is a message of its own."""
    messages: list[Entry] = []
    for entry in entries:
        message: Entry = {"role": entry["role"], "content": content(entry.get("content", ""))}
        if entry["role"] == "tool":
            message |= {"tool_call_id": entry["id"], "name": entry.get("name", "")}
        if entry.get("think"):
            message["reasoning_content"] = entry["think"]
        if entry.get("calls"):
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
                }
                for call in entry["calls"]
            ]
        messages.append(message)
    return messages


def anthropic(entries: Sequence[Entry]) -> list[Entry]:
    """The same as Anthropic messages: all results of a batch are one message."""
    messages: list[Entry] = []
    batch: list[Entry] = []
    for entry in entries:
        text = content(entry.get("content", ""))
        if entry["role"] == "tool":
            if not batch:
                messages.append({"role": "user", "content": batch})
            batch.append(
                {
                    "type": "tool_result",
                    "tool_use_id": entry["id"],
                    "content": text,
                    "is_error": bool(entry.get("error")),
                }
            )
            continue
        batch = []
        if entry["role"] != "assistant":
            messages.append({"role": entry["role"], "content": text})
            continue
        parts: list[Entry] = []
        if entry.get("think"):
            parts.append({"type": "thinking", "thinking": entry["think"], "signature": ""})
        if text:
            parts.append({"type": "text", "text": text})
        parts += [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
            for call in entry.get("calls", ())
        ]
        messages.append({"role": "assistant", "content": parts})
    return messages


def changed(before: Sequence[Entry], after: Sequence[Entry]) -> dict[str, str]:
    """Per index, the new content of every message whose content changed; the lists have one length."""
    assert len(before) == len(after)
    pairs = enumerate(zip(before, after, strict=True))
    return {str(at): new["content"] for at, (old, new) in pairs if old["content"] != new["content"]}


def assert_changed(before: Sequence[Entry], after: Sequence[Entry], expected: dict[str, Any]) -> None:
    """Exactly the expected messages changed, each to the expected content."""
    found = changed(before, after)
    assert found.keys() == expected.keys()
    for at, text in expected.items():
        assert matches(found[at], text), (at, found[at][:200], text)
