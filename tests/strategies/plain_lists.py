"""Message lists in the APIs' forms, built from the vectors' entries, and the reverse lookup."""

import json
from collections.abc import Sequence
from typing import Any

from tests.strategies.conversations import content

Entry = dict[str, Any]


def openai_list(entries: Sequence[Entry]) -> list[Entry]:
    """The entries as OpenAI messages: one message an entry, in the same order."""
    messages: list[Entry] = []
    for entry in entries:
        text = content(entry.get("content", ""))
        if entry["role"] == "tool":
            message = {"role": "tool", "tool_call_id": entry["id"], "name": entry.get("name", ""), "content": text}
            messages.append({**message, "is_error": True} if entry.get("error") else message)
            continue
        message = {"role": entry["role"], "content": text}
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


def anthropic_list(entries: Sequence[Entry]) -> list[Entry]:
    """The entries as Anthropic messages: the results that answer one message are one message of the user."""
    messages: list[Entry] = []
    for entry in entries:
        text = content(entry.get("content", ""))
        if entry["role"] == "tool":
            part = {"type": "tool_result", "tool_use_id": entry["id"], "content": text}
            if entry.get("error"):
                part["is_error"] = True
            last = messages[-1] if messages else {"content": ""}
            if isinstance(last["content"], list) and last["content"][0].get("type") == "tool_result":
                last["content"].append(part)
            else:
                messages.append({"role": "user", "content": [part]})
        elif entry.get("calls"):
            parts: list[Entry] = []
            if entry.get("think"):
                parts.append({"type": "thinking", "thinking": entry["think"], "signature": ""})
            parts += [{"type": "text", "text": text}] if text else []
            parts += [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
                for call in entry["calls"]
            ]
            messages.append({"role": "assistant", "content": parts})
        elif entry.get("more"):
            texts = (text, *entry["more"])
            messages.append({"role": entry["role"], "content": [{"type": "text", "text": each} for each in texts]})
        else:
            messages.append({"role": entry["role"], "content": text})
    return messages


def results_in(messages: Sequence[Entry]) -> list[str]:
    """The texts of all tool results in a list of either form, in order."""
    found = []
    for message in messages:
        if message["role"] == "tool":
            found.append(message["content"])
        elif isinstance(message["content"], list):
            found += [part["content"] for part in message["content"] if part.get("type") == "tool_result"]
    return found


def inputs_in(messages: Sequence[Entry]) -> list[Any]:
    """The inputs of all tool calls in a list of either form, in order."""
    found = []
    for message in messages:
        found += [json.loads(call["function"]["arguments"]) for call in message.get("tool_calls", ())]
        if isinstance(message["content"], list):
            found += [part["input"] for part in message["content"] if part.get("type") == "tool_use"]
    return found


def single_result(text: str, *, tool: str = "execute", identifier: str = "call_1") -> list[Entry]:
    """A question, one tool call and its result, as entries."""
    return [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "", "calls": [{"id": identifier, "name": tool, "args": {}}]},
        {"role": "tool", "id": identifier, "name": tool, "content": text},
    ]
