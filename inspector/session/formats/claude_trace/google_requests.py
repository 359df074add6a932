"""Parse logged requests to the Gemini API and to Code Assist, which wraps them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.formats.claude_trace.conversations import IS_SIDE_REQUEST
from inspector.session.formats.google_content import answer_in, content_node, reply_of
from inspector.session.formats.plain.records import PlainConversation
from inspector.session.formats.streamed_responses import REPLY, answer_of, stream_node
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from inspector.session.json.nodes import Node

ENDINGS = (":generateContent", ":streamGenerateContent")
"""URL suffixes of model requests."""

MODEL = re.compile(r"/models/([^/:?]+)")
"""Matches the model in a URL."""

JSON_ANSWERS = "application/json"
"""MIME type requested for responses meant for the program (gemini-cli's `core/baseLlmClient.ts`)."""


def is_generate_request(body: object) -> bool:
    """Return True if a body is a content generation request."""
    fields = mapping(body)
    return any("contents" in one for one in (fields, mapping(fields.get("request"))))


def google_request(body: Node, response: Node | None, path: str, time: Any) -> PlainConversation | None:
    """Build a conversation from a request and its response; None if it is not a content generation request.

    The response is JSON, a JSON string, or stream text.
    """
    outer = body.fields()
    inner = outer.fields_of("request")
    asked = inner if "contents" in inner else outer
    if "contents" not in asked:
        return None
    contents = asked["contents"]
    nodes = contents.items() if contents.raw().startswith(b"[") else [contents]
    system = asked.get("systemInstruction") or asked.get("system_instruction")
    if system is not None and "parts" in (around := system.fields()):
        system = around["parts"]
    config = mapping(asked.value_of("generationConfig"))
    named = MODEL.search(path)
    model = string(outer.value_of("model")).removeprefix("models/") or (named[1] if named else "")
    about: dict[str, Any] = {"model": model} if model else {}
    if time is not None:
        about["timestamp"] = time
    about[IS_SIDE_REQUEST] = config.get("responseMimeType") == JSON_ANSWERS
    answer, reply = _answer(response) if response is not None else (None, {})
    return PlainConversation([content_node(node) for node in nodes], system, asked.get("tools"), answer, reply, about)


def _answer(response: Node) -> tuple[Node | None, dict[str, Any]]:
    """Return the response's message and its other fields."""
    value = response.value()
    if isinstance(value, str):
        answer = answer_of(value)
        return (stream_node(response), {key: answer[key] for key in REPLY if key in answer}) if answer else (None, {})
    fields = response.fields()
    if "candidates" not in fields:
        fields = fields.fields_of("response")
    candidate = next(iter(fields.items_of("candidates")), None)
    reply = reply_of(answer_in(value))
    if candidate is None:
        return None, reply
    # A response stopped before any output is still billed.
    return content_node(candidate.fields().get("content") or candidate), reply
