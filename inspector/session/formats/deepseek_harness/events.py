"""Events of DeepSeek Harness: which are messages, which are bookkeeping, and what they say as chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.codec import compact_json
from inspector.session.json.values import clean_string, count, mapping, objects, string
from inspector.session.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    Chat = dict[str, Any]

USER, ASSISTANT, RESULT, HEADER = "user/message", "assistant/message", "tool/result", "request/header"

SURFACE = frozenset({USER, ASSISTANT, RESULT})
"""Events that prompts are made of."""

CHUNK, ATTEMPT, RETRY, STEP_END = "assistant/chunk", "assistant/attempt", "llm/retry-started", "step/end"

SUMMARY = "compaction/summary"

REQUESTS = "-llm-request"
"""How kinds of events end that are a request of their own: for a title, for a search."""

QUIET = frozenset(
    {"agent", "agent-preset", "approval", "assistant", "command", "compaction", "feedback", "goal", "hook", "llm"}
    | {"permission", "plan", "request", "sandbox", "schedule", "session", "step", "subagent", "todo", "tool"}
    | {"tool-workflow", "turn", "web"}
)
"""Beginnings of kinds that are counted and not shown, where they are no messages."""


def is_quiet(kind: str) -> bool:
    """Whether events of a kind are the harness's own bookkeeping."""
    if kind in SURFACE:
        return False
    return kind == "session" or kind.endswith("-chunks") or kind.partition("/")[0] in QUIET


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message in an event that prompts are made of."""
    data = mapping(event.get("data"))
    return data if event.get("type") == USER else mapping(data.get("message"))


def chat_of(event: Mapping[str, Any]) -> Chat:
    """What a message says."""
    content: list[Any] = []
    calls: list[Chat] = []
    for block in objects(message_of(event).get("content")):
        kind = block.get("type")
        if kind == "tool-result":
            return _result(block)
        if kind == "tool-call":
            function = {"name": string(block.get("name")), "arguments": block.get("arguments", "{}")}
            calls.append({"id": string(block.get("id")), "type": "function", "function": function})
        else:
            content.append(_part(block))
    made: Chat = {"role": "assistant" if event.get("type") == ASSISTANT else "user", "content": content}
    return {**made, "tool_calls": calls} if calls else made


def _result(block: Mapping[str, Any]) -> Chat:
    parts = [_part(part) for part in objects(block.get("content"))]
    is_text = all(part.get("type") == "text" for part in parts)
    content = "\n".join(string(part.get("text")) for part in parts) if is_text else parts
    about = {"tool_call_id": string(block.get("toolCallId")), "is_error": block.get("isError") is True}
    return {"role": "tool", "content": content, **about}


def _part(block: Mapping[str, Any]) -> Chat:
    if block.get("type") == "reasoning":
        return {"type": "thinking", "thinking": string(block.get("text"))}
    if block.get("type") == "image":
        return {"type": "image", "source": {"type": "url"}, "url": compact_json(block.get("attachment"))}
    return dict(block)


def usage_of(reported: Any) -> Usage | None:
    """Reported usage as ours; None where there is none.

    Input, cache reads and cache writes are apart; reasoning is part of the output.
    """
    fields = mapping(reported)
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    uncached, read, written, output = (count(fields.get(name)) for name in names)
    reasoning = min(count(fields.get("reasoningTokens")), output)
    return Usage(uncached, read, written, output=output, reasoning=reasoning).unless_zero()


def streamed_usage(data: Mapping[str, Any]) -> Usage | None:
    """The last usage in the stream that an event of a newer version keeps with it."""
    for record in reversed(objects(data.get("stream"))):
        chunk = mapping(record.get("chunk"))
        if chunk.get("type") == "usage":
            return usage_of(chunk.get("usage"))
    return None


def model_of(source: Any) -> str:
    """The model that answered: what the provider says it was, where that is another than asked for."""
    fields = mapping(source)
    response = mapping(mapping(fields.get("replayState")).get("response"))
    return clean_string(response.get("responseModel")) or clean_string(fields.get("model"))
