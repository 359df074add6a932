"""Classify DeepSeek Harness events and convert them to chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.codec import compact_json
from inspector.session.json.values import clean_string, count, mapping, objects, string
from inspector.session.model import Usage
from inspector.session.usage_fields import HARNESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    Chat = dict[str, Any]

USER, ASSISTANT, RESULT, HEADER = "user/message", "assistant/message", "tool/result", "request/header"

SURFACE = frozenset({USER, ASSISTANT, RESULT})
"""Events that form prompts."""

CHUNK, ATTEMPT, RETRY, STEP_END = "assistant/chunk", "assistant/attempt", "llm/retry-started", "step/end"

SUMMARY = "compaction/summary"

REQUESTS = "-llm-request"
"""Suffix of event kinds for separate requests, such as titles and searches."""

QUIET = frozenset(
    {"agent", "agent-preset", "approval", "assistant", "command", "compaction", "feedback", "goal", "hook", "llm"}
    | {"permission", "plan", "request", "sandbox", "schedule", "session", "step", "subagent", "todo", "tool"}
    | {"tool-workflow", "turn", "web"}
)
"""Prefixes of non-message kinds that are counted and not shown."""


def is_quiet(kind: str) -> bool:
    """Return True for kinds used only by the harness itself."""
    if kind in SURFACE:
        return False
    return kind == "session" or kind.endswith("-chunks") or kind.partition("/")[0] in QUIET


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    data = mapping(event.get("data"))
    return data if event.get("type") == USER else mapping(data.get("message"))


def chat_of(event: Mapping[str, Any]) -> Chat:
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
    """Convert reported usage; None if there is none.

    Input, cache reads and cache writes are separate; output includes reasoning.
    """
    fields = mapping(reported)
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    uncached, read, written, output = (count(fields.get(name)) for name in names)
    reasoning = min(count(fields.get("reasoningTokens")), output)
    return HARNESS.check(Usage(uncached, read, written, output=output, reasoning=reasoning).unless_zero(), reported)


def streamed_usage(data: Mapping[str, Any]) -> Usage | None:
    """Return the last usage in the stream that newer versions store with an event."""
    for record in reversed(objects(data.get("stream"))):
        chunk = mapping(record.get("chunk"))
        if chunk.get("type") == "usage":
            return usage_of(chunk.get("usage"))
    return None


def model_of(source: Any) -> str:
    """Return the model that responded: the one reported by the provider if it differs from the requested one."""
    fields = mapping(source)
    response = mapping(mapping(fields.get("replayState")).get("response"))
    return clean_string(response.get("responseModel")) or clean_string(fields.get("model"))
