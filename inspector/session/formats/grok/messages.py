"""Convert rows of a Grok Build history, in the current or the older form, to chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.formats.chat import ChatMessage, notice
from inspector.session.json.codec import compact_json
from inspector.session.json.values import clean_string, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPED = frozenset({"agent_message", "interjection"})
"""Reasons of synthetic user rows written by the user or another agent."""

REASONING, BACKEND, RESULT, ASSISTANT = "reasoning", "backend_tool_call", "tool_result", "assistant"

KINDS = {"tool": RESULT}
"""Row kinds by role in the older form."""


def kind_of(row: Mapping[str, Any]) -> str:
    role = string(row.get("role"))
    return string(row.get("type")) or KINDS.get(role, role)


def to_chat_message(row: Mapping[str, Any]) -> ChatMessage:
    kind = kind_of(row)
    if kind == "system":
        return ChatMessage({"role": "system", "content": _content(row.get("content"))})
    if kind == "user":
        reason = string(row.get("synthetic_reason"))
        return ChatMessage(
            {"role": "user", "content": _content(row.get("content"))}, is_meta=bool(reason) and reason not in TYPED
        )
    if kind == REASONING:
        parts = [*objects(row.get("summary")), *objects(row.get("content"))]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        thinking = {"type": "thinking", "thinking": "\n\n".join(texts), "signature": row.get("encrypted_content")}
        return ChatMessage({"role": "assistant", "content": [thinking]})
    if kind == BACKEND:
        return ChatMessage(
            {"role": "assistant", "content": "", "tool_calls": [_backend_call(mapping(row.get("kind")))]}
        )
    if kind == RESULT:
        images = [_part(part) for part in objects(row.get("images"))]
        content = row.get("content")
        text = content if isinstance(content, str) else compact_json(content)
        full = [{"type": "text", "text": text}, *images] if images else text
        return ChatMessage({"role": "tool", "tool_call_id": string(row.get("tool_call_id")), "content": full})
    if kind == ASSISTANT:
        return ChatMessage(_answer(row), is_call=True, model=clean_string(row.get("model_id")))
    return ChatMessage(notice(compact_json(dict(row))))


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": string(call.get("id")), "function": mapping(call.get("function")) or call}
        for call in objects(row.get("tool_calls"))
    ]
    content = row.get("content")
    made: dict[str, Any] = {"role": "assistant", "content": content if isinstance(content, str) else ""}
    if string(row.get("reasoning_content")):
        made["reasoning_content"] = row["reasoning_content"]
    return {**made, "tool_calls": calls} if calls else made


def _backend_call(kind: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a server-side call, which has no recorded result."""
    asked: Any = next((kind[name] for name in ("action", "input", "code") if name in kind), {})
    function = {"name": string(kind.get("tool_type")), "arguments": asked}
    return {"id": string(kind.get("id")), "function": function}


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in objects(content)]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": string(part.get("url"))}}
    return dict(part)
