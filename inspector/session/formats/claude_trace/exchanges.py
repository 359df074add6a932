"""Dispatch logged exchanges to the readers of their APIs, building one session."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inspector.session.formats.bedrock_converse import is_converse, is_converse_system, system_of
from inspector.session.formats.bedrock_converse import message_of as converse_message_of
from inspector.session.formats.chat import SYSTEM, blocks_of_definition
from inspector.session.formats.chat import blocks_of_message as blocks_of_chat_message
from inspector.session.formats.claude_trace import converse_requests
from inspector.session.formats.claude_trace.conversations import TraceLog, conversation_of
from inspector.session.formats.claude_trace.converse_requests import converse_request
from inspector.session.formats.claude_trace.google_requests import ENDINGS, google_request
from inspector.session.formats.google_content import is_content, message_of
from inspector.session.formats.plain.reader import blocks_of_record as blocks_of_message
from inspector.session.formats.plain.records import PlainConversation, is_message
from inspector.session.formats.responses.reader import ResponsesInterpreter, blocks_of_packed
from inspector.session.formats.responses.records import exchange_of, is_item
from inspector.session.formats.streamed_responses import answer_of, decoded
from inspector.session.json.codec import lenient_json
from inspector.session.json.nodes import parse_inner_json, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Fields, Node
    from inspector.session.model import Origin

STEP = re.compile(r"/cursor/transcript/(.+)/turn/(\d+)/step/\d+$")
"""Path that claude-tap gives to a step of a Cursor conversation, with conversation and turn."""

REQUEST, UNANSWERED, OTHER = "request", "request without a response", "other request"
LOGGED_STEP = "step of a transcript"
FROM_CACHE = "request answered from a gateway's cache"
"""Count names of exchanges."""


@dataclass(frozen=True)
class HttpExchange:
    """An HTTP request and its response.

    Attributes:
        address: Its URL, with or without the host.
        request: Its body, as JSON or a JSON string; None if it has none.
        response: The response body: JSON, a JSON string, or stream text.
        headers: Request headers by name, only the ones with request options.
        time: Time of the request in any form.
        events: WebSocket events in place of a response body.
        is_billed: False if a gateway answered from its own cache.
    """

    address: str
    request: Node | None
    response: Node | None = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    time: Any = None
    events: Sequence[Node] = ()
    is_billed: bool = True


CACHE_HEADERS = {
    "cf-aig-cache-status": ("hit",),  # Cloudflare AI Gateway
    "helicone-cache": ("hit",),
    "x-portkey-cache-status": ("hit", "semantic hit", "simple hit"),
}
"""Response headers of gateways, with the values of an answer from their own cache."""


def is_from_cache(headers: Iterable[tuple[str, object]]) -> bool:
    """Return True if a gateway answered from its own cache, by its response headers."""
    return any(str(value).strip().lower() in CACHE_HEADERS.get(name.strip().lower(), ()) for name, value in headers)


class ExchangeLog:
    """Adds exchanges to a session in order, merging requests that repeat their conversation."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._messages = TraceLog(builder)
        self._items: ResponsesInterpreter | None = None
        self._reported: dict[str, list[Node]] = {}
        self._turns: dict[str, str] = {}

    def add(self, exchange: HttpExchange) -> None:
        """Add an exchange; exchanges that are not model requests are only counted."""
        counts = self._builder.record_counts
        body = exchange.request and (parse_inner_json(exchange.request) or exchange.request)
        path = exchange.address.partition("?")[0].rstrip("/")
        if body is None:
            counts[OTHER] += 1
        elif path.endswith(converse_requests.ENDINGS) and (
            converse := converse_request(body, exchange.response, path, _about(exchange))
        ):
            self._add_request(converse, exchange)
        elif path.endswith("/responses"):
            reported = exchange_of(body, exchange.response, exchange.events)
            reported.about.setdefault("timestamp", exchange.time)
            reported.is_billed = exchange.is_billed
            self._count(exchange, is_answered=reported.is_answered)
            self._items = self._items or ResponsesInterpreter(self._builder, self._messages.numbers)
            self._items.add_exchange(reported)
        elif (step := STEP.match(path)) is not None:
            counts[LOGGED_STEP] += 1
            self._add_step(exchange, body.fields(), step[1], step[2])
        elif path.endswith(ENDINGS) and (google := google_request(body, exchange.response, path, exchange.time)):
            self._add_request(google, exchange)
        elif "messages" in (fields := body.fields()) and "count_tokens" not in path:
            self._add_request(conversation_of(fields, exchange.response, _about(exchange)), exchange)
        else:
            counts[OTHER] += 1

    def _add_request(self, request: PlainConversation, exchange: HttpExchange) -> None:
        self._count(exchange, is_answered=request.response is not None)
        request.is_billed = exchange.is_billed
        self._messages.add_request(request)

    def _count(self, exchange: HttpExchange, *, is_answered: bool) -> None:
        name = REQUEST if exchange.is_billed else FROM_CACHE
        self._builder.record_counts[name if is_answered else UNANSWERED] += 1

    def _add_step(self, exchange: HttpExchange, fields: Fields, conversation: str, turn: str) -> None:
        """Add a step logged after the fact, with a record that contains only the messages of its turn.

        Its time (time of logging) and its tools (guessed from calls) are ignored.
        """
        reported = self._reported.setdefault(conversation, [])
        if self._turns.get(conversation) != turn:
            self._turns[conversation] = turn
            reported += fields.items_of("messages")
        answer = exchange.response if exchange.response is not None and is_message(exchange.response.value()) else None
        about = fields.values_of("model")
        self._messages.add_request(PlainConversation(list(reported), fields.get("system"), None, answer, {}, about))
        if answer is not None:
            reported.append(answer)


def _about(exchange: HttpExchange) -> dict[str, Any]:
    """Return the request data outside the body."""
    about: dict[str, Any] = {"headers": exchange.headers} if exchange.headers else {}
    if exchange.time is not None:
        about["timestamp"] = exchange.time
    return about


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """Return the blocks of a message, item or response that is read again."""
    record = unescaped(record)
    value = lenient_json(record)[0]
    if is_content(value):
        return blocks_of_chat_message(message_of(value), origin.offset, origin.length, {})
    if isinstance(value, str) and (text := decoded(value)) != value and (items := blocks_of_packed(text, origin)):
        return items
    if is_converse(value):
        return blocks_of_chat_message(converse_message_of(value), origin.offset, origin.length, {})
    if origin.locator == SYSTEM and is_converse_system(value):
        return blocks_of_definition(system_of(value), record, origin.offset, origin.length, SYSTEM)
    if is_item(value) or (isinstance(value, str) and not answer_of(value)):
        return list(ResponsesInterpreter.blocks_of_record(record, origin))
    return blocks_of_message(record, origin)
