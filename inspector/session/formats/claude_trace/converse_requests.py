"""Parse logged requests to the Amazon Bedrock Converse API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from inspector.session.formats.bedrock_converse import message_of_response, system_node
from inspector.session.formats.claude_trace.conversations import OFF
from inspector.session.formats.plain.records import ASKED, PlainConversation
from inspector.session.formats.streamed_responses import REPLY, answer_of, stream_node
from inspector.session.json.values import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.json.nodes import Node

STREAM = "/converse-stream"

ENDINGS = ("/converse", STREAM)
"""URL suffixes of model requests."""

MODEL = re.compile(r"/model/([^/]+)/converse")
"""Matches the model or inference profile in a URL."""


def converse_request(
    body: Node, response: Node | None, path: str, about: Mapping[str, Any]
) -> PlainConversation | None:
    """Build a conversation from a request and its response; None if the request has no messages.

    The response is JSON, a JSON string, or stream text. `about` is request data outside the body.
    """
    fields = body.fields()
    if "messages" not in fields:
        return None
    named = MODEL.search(path)
    model = unquote(named[1]).rpartition("/")[2] if named else ""
    more = fields.fields_of("additionalModelRequestFields").values_of(*ASKED)
    limit = mapping(fields.value_of("inferenceConfig")).get("maxTokens")
    asked = {"model": model, "max_tokens": limit, "thinking": {"type": OFF}, **more, **about}
    system = fields.get("system")
    answer, reply = _answer(response) if response is not None else (None, {})
    return PlainConversation(
        fields.items_of("messages"),
        system_node(system) if system is not None else None,
        fields.fields_of("toolConfig").get("tools"),
        answer,
        reply,
        asked,
        is_as_sent=True,
    )


def _answer(response: Node) -> tuple[Node | None, dict[str, Any]]:
    """Return the response's message and its other fields."""
    value = response.value()
    if isinstance(value, str):
        answer = answer_of(value)
        return (stream_node(response), {key: answer[key] for key in REPLY if key in answer}) if answer else (None, {})
    answer = message_of_response(mapping(value))
    if not answer:
        return None, {}
    message = response.fields().fields_of("output")["message"]
    return message, {key: answer[key] for key in REPLY if key in answer}
