"""Inspect's messages as chat messages, with what was moved out of them put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage
from inspector.session.values import count, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.nodes import Node

ATTACHMENTS = ("attachment://", "tc://")
"""How references to what was moved out begin; the second in logs of 2024."""

MOST_DEPTH = 40

DATA_PARTS = ("audio", "video", "document")


class Attachments:
    """Long texts and images, which logs keep once and refer to by their hash. Those that were asked for are kept."""

    def __init__(self) -> None:
        self._nodes: Mapping[str, Node] = {}
        self._texts: dict[str, str] = {}

    def use(self, nodes: Mapping[str, Node]) -> None:
        """Take the attachments of a sample."""
        self._nodes, self._texts = nodes, {}

    def release(self) -> None:
        """Let go of what was not asked for."""
        self._nodes = {}

    def resolved(self, value: Any, depth: int = 0) -> Any:
        """A value with attachments in the place of references to them."""
        if isinstance(value, str):
            return self._text(value) if value.startswith(ATTACHMENTS) else value
        if depth > MOST_DEPTH:
            return value
        if isinstance(value, list):
            return [self.resolved(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {name: self.resolved(item, depth + 1) for name, item in value.items()}
        return value

    def _text(self, reference: str) -> str:
        name = reference.partition("://")[2]
        if name not in self._texts:
            node = self._nodes.get(name)
            text = node.value() if node is not None else None
            self._texts[name] = text if isinstance(text, str) else reference
        return self._texts[name]


def chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as OpenAI's API would take it."""
    value: dict[str, Any] = {"role": message.get("role"), "content": _content(message.get("content"))}
    if message.get("role") == "assistant":
        value["tool_calls"] = [
            {"id": call.get("id"), "function": {"name": call.get("function"), "arguments": call.get("arguments", {})}}
            for call in objects(message.get("tool_calls"))
        ]
    elif message.get("role") == "tool":
        error = mapping(message.get("error"))
        value["tool_call_id"], value["name"] = message.get("tool_call_id"), message.get("function")
        if error:
            # A model is told the error in the place of what the tool returned (`inspect_ai/model/_openai.py`).
            value["content"], value["is_error"] = string(error.get("message")), True
    return value


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": part.get("image")}})
        elif kind in DATA_PARTS:
            parts.append({"type": "file", "file_data": part.get(kind)})
        else:
            parts.append(part)
    return parts


def usage_of(reported: Any) -> Usage | None:
    """What was reported for a call. Whether its input includes what a cache was read for, its total tells."""
    tokens = mapping(reported)
    prompt, output = count(tokens.get("input_tokens")), count(tokens.get("output_tokens"))
    read, written = count(tokens.get("input_tokens_cache_read")), count(tokens.get("input_tokens_cache_write"))
    total = count(tokens.get("total_tokens"))
    is_beside = total == prompt + output + read + written or prompt < read + written
    is_inside = total == prompt + output and prompt >= read + written
    uncached = prompt if is_beside and not is_inside else max(prompt - read - written, 0)
    usage = Usage(
        uncached=uncached,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(count(tokens.get("reasoning_tokens")), output),
    )
    return usage if usage.prompt or usage.output else None
