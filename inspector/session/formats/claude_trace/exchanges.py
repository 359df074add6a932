"""Exchanges with models' APIs, however a log holds them: each to the reader of its API, all in one session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inspector.session.formats.claude_trace.conversations import TraceLog, conversation_of
from inspector.session.formats.plain.reader import blocks_of_record as blocks_of_message
from inspector.session.formats.responses.reader import ResponsesInterpreter, blocks_of_packed
from inspector.session.formats.responses.records import exchange_of, is_item
from inspector.session.formats.streamed_answers import answer_of, decoded
from inspector.session.json.codec import lenient_json
from inspector.session.json.nodes import inside_string, unescaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Node
    from inspector.session.model import Origin

REQUEST, UNANSWERED, OTHER = "request", "request without an answer", "other request"
"""Names under which exchanges are counted."""


@dataclass(frozen=True)
class HttpExchange:
    """A request over HTTP and what was answered.

    Attributes:
        address: Where it went, whole or without the host.
        request: Its body, as JSON or a string of it; None where it has none.
        response: The body of what was answered: JSON, a string of it, or the text of a stream.
        headers: Of the request, by name; none but those that say what was asked for.
        time: When it was, in any form.
        events: What came instead of a body, through a web socket.
    """

    address: str
    request: Node | None
    response: Node | None = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    time: Any = None
    events: Sequence[Node] = ()


class ExchangeLog:
    """Takes exchanges in order and fills a builder. Requests that repeat their conversation are one."""

    def __init__(self, builder: SessionBuilder) -> None:
        """Begin."""
        self._builder = builder
        self._messages = TraceLog(builder)
        self._items: ResponsesInterpreter | None = None

    def add(self, exchange: HttpExchange) -> None:
        """Take an exchange; one that asks for no answer of a model is counted."""
        counts = self._builder.record_counts
        body = exchange.request and (inside_string(exchange.request) or exchange.request)
        path = exchange.address.partition("?")[0].rstrip("/")
        if body is None:
            counts[OTHER] += 1
        elif path.endswith("/responses"):
            said = exchange_of(body, exchange.response, exchange.events)
            said.about.setdefault("timestamp", exchange.time)
            counts[REQUEST if said.is_answered else UNANSWERED] += 1
            self._items = self._items or ResponsesInterpreter(self._builder, self._messages.numbers)
            self._items.add_exchange(said)
        elif "messages" in (fields := body.fields()) and "count_tokens" not in path:
            about = {"headers": exchange.headers} if exchange.headers else {}
            if exchange.time is not None:
                about["timestamp"] = exchange.time
            request = conversation_of(fields, exchange.response, about)
            counts[REQUEST if request.response is not None else UNANSWERED] += 1
            self._messages.add_request(request)
        else:
            counts[OTHER] += 1


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a message, an item or an answer that is read again."""
    record = unescaped(record)
    value = lenient_json(record)[0]
    if isinstance(value, str) and (text := decoded(value)) != value and (items := blocks_of_packed(text, origin)):
        return items
    if is_item(value) or (isinstance(value, str) and not answer_of(value)):
        return list(ResponsesInterpreter.blocks_of_record(record, origin))
    return blocks_of_message(record, origin)
