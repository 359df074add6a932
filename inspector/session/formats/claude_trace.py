"""Read API traffic logs with one exchange per line, written by claude-trace and proxies.

Every request repeats the whole conversation (`apps/claude-trace/src/types.ts` in badlogic/lemmy). The URL identifies
the API. Responses are JSON or raw stream text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from msgspec import Struct, field

from inspector.session.billing_terms import SERVICE_TIER, parse_billing_terms
from inspector.session.builder import SessionBuilder, ToolNames
from inspector.session.format import Format
from inspector.session.formats.bedrock_converse import (
    converse_node,
    is_converse,
    is_converse_system,
    message_of_response,
    system_node,
    system_of,
)
from inspector.session.formats.bedrock_converse import message_of as converse_message_of
from inspector.session.formats.chat import SYSTEM, blocks_of_definition, usage_of
from inspector.session.formats.chat import blocks_of_message as blocks_of_chat_message
from inspector.session.formats.google_content import answer_in, content_node, is_content, message_of, reply_of
from inspector.session.formats.plain import (
    ASKED,
    Digests,
    PlainConversation,
    PlainMessage,
    RequestLog,
    RequestThread,
    is_message,
)
from inspector.session.formats.plain import blocks_of_record as blocks_of_message
from inspector.session.formats.responses import exchange_of, is_item
from inspector.session.formats.responses.reader import ResponsesInterpreter, blocks_of_packed
from inspector.session.formats.streamed_responses import REPLY, answer_of, decoded, stream_node
from inspector.session.json import (
    ComputedNode,
    FileNode,
    clean_string,
    json_in,
    lenient_json,
    mapping,
    parse_inner_json,
    sequence,
    string,
    unescaped,
)
from inspector.session.json_reader import json_file_reader
from inspector.session.model import BlockKind, Message, Origin, Role, SideCall
from inspector.session.reader import Reader, Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.json import Fields, Node
    from inspector.session.sniff import Sample


ADDRESSES = ("/v1/messages", "/chat/completions", "api.anthropic.com", "bedrock-runtime", "aiplatform.googleapis.com")


def is_exchange(record: Any) -> bool:
    """Return True for an HTTP request with or without a response."""
    request = mapping(mapping(record).get("request"))
    address = string(request.get("url"))
    is_http = bool(address) and ("headers" in request or "method" in request or "body" in request)
    return is_http and ("response" in record or any(known in address for known in ADDRESSES))


def request_body(record: Any) -> Any:
    """Return the request body, decoded if it is a JSON string; empty if it is not JSON."""
    body = mapping(mapping(record).get("request")).get("body")
    return mapping(json_in(body) if isinstance(body, str) else body)


class ClaudeTraceFormat(Format):
    """API traffic logs, as lines or one list."""

    name = "claude-trace"
    title = "Request logs (claude-trace and proxies)"
    where = ".claude-trace in the folder where the agent was started"
    exact = "tokens of every answered call"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        records = sample.records if sample.is_lines else sequence(sample.document)[:50]
        found = [record for record in records if is_exchange(record)]
        spoken = [record for record in found if isinstance(request_body(record).get("messages"), list)]
        if not spoken or len(found) * 2 <= len(records):
            return ""
        what = "lines" if sample.is_lines else "entries"
        return f"{len(found)} of the first {len(records)} {what} are model API requests with their responses"

    def homes(self) -> tuple[Path, ...]:
        return (Path.cwd() / ".claude-trace",)

    def reader(self, path: Path) -> Reader:
        return trace_reader(path, self.name)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


CONTINUED = "This session is being continued from a previous conversation"
"""First words of the message with Claude Code's compaction summary."""

TITLE_CHARACTERS = 120

PURPOSES = (
    ("command prefix", "command prefix"),
    ("command_prefix", "command prefix"),
    ("title", "title"),
    ("summarize this coding conversation", "summary"),
)
"""Phrases in the instructions of small requests, with the purpose of the request."""

OFF = "off"
"""Thinking setting of a request without one."""

IS_SIDE_REQUEST = "is_aside"
"""Marks a request, of any size, with a response meant for the program."""

SUMMARY_MATCH_CHARACTERS = 200
"""Length of response text that identifies a summary in another conversation's first message."""


class TraceLog(RequestLog):
    """Adds the requests of a log in order. `numbers`: for conversations with calls, the main one's first."""

    counts_messages = False

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self.numbers = self._numbered()
        self._has_main = False
        self._others = 0
        self._last_responses: dict[int, str] = {}
        self._asides: dict[Digests, list[RequestThread]] = {}

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:
        """Return the messages of a value from any API; assembled streams are in Anthropic form."""
        return super().read(node if isinstance(node, ComputedNode) else converse_node(node), about, names)

    def add_request(self, request: PlainConversation) -> None:
        """Add a request to a conversation, or as a side request if the program made it for its own purpose."""
        purpose = _purpose_of(request) if request.response is not None else ""
        if request.about.get(IS_SIDE_REQUEST):
            self._add_side_request(request)
            return
        if request.response is None or not purpose:
            super().add_request(request)
            return
        about = {**request.about, **request.reply}
        for answer in self.read(request.response, about, ToolNames()):
            blocks = tuple(made.block for made in answer.blocks)
            self._builder.add_message(Message(Role.OTHER, blocks, answer.time, string(answer.about.get("id"))))
            usage = answer.about.get("usage")
            # Gateways repeat ids: a response is logged twice only if its content and usage are equal.
            content = " ".join(block.digest.hex() for block in blocks)
            key = string(request.reply.get("id")) or f"{purpose} {len(self._builder.side_calls)}"
            self._builder.side_calls[f"{key} {content} {usage_of(usage)}"] = SideCall(
                purpose,
                clean_string(answer.about.get("model")),
                answer.time,
                usage_of(usage),
                clean_string(request.reply.get("id")),
                parse_billing_terms(usage, answer.about.get(SERVICE_TIER)).code,
            )

    def _add_side_request(self, request: PlainConversation) -> None:
        """Add a request with a response meant for the program; it continues no other conversation."""
        threads, self._threads_of_opening = self._threads_of_opening, self._asides
        try:
            super().add_request(request)
        finally:
            self._threads_of_opening = threads

    def number_of(self, request: PlainConversation | None) -> int:
        """Return a conversation's number: 0 for the first one that is not a small side request."""
        is_main = not self._has_main and request is not None and not _is_small(request)
        return next(self.numbers) if is_main else self._next_other()

    def _numbered(self) -> Iterator[int]:
        if not self._has_main:
            self._has_main = True
            yield 0
        while True:
            yield self._next_other()

    def _next_other(self) -> int:
        self._others += 1
        return self._others

    def compacted(self, messages: list[PlainMessage]) -> RequestThread | None:
        """Return the conversation summarized in the first message: by its last response, or the main one by wording."""
        first = next((message for message in messages if message.role is Role.USER), None)
        if first is None:
            return None
        texts = [made.text for made in first.blocks if made.block.kind is BlockKind.USER_TEXT]
        for thread in reversed(self.threads):
            reported = self._last_responses.get(thread.number, "")
            middle = reported[len(reported) // 4 :][:SUMMARY_MATCH_CHARACTERS]
            if len(middle) == SUMMARY_MATCH_CHARACTERS and any(middle in text for text in texts):
                return thread
        if any(text.lstrip().startswith(CONTINUED) for text in texts):
            return next((thread for thread in self.threads if thread.number == 0 and thread.digests), None)
        return None

    def append(self, thread: RequestThread, sent: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        """Add a message, and record the last response, the title, and a compaction's summary."""
        if sent.role is Role.ASSISTANT:
            self._last_responses[thread.number] = "\n".join(
                made.text for made in sent.blocks if made.block.kind is BlockKind.ASSISTANT_TEXT
            )
        if thread.number == 0 and sent.role is Role.USER and not self._builder.title:
            self._builder.title = _asked(sent)
        index = len(self._builder.messages)
        super().append(thread, sent, is_call=is_call, is_repeated=is_repeated)
        compactions = self._builder.compactions
        if (
            sent.role is Role.USER
            and compactions
            and not any(message.is_summary for message in self._builder.messages[compactions[-1].message :])
        ):
            self._builder.replace_message(index, is_summary=True)


def _asked(sent: PlainMessage) -> str:
    """Return the beginning of the user's text, skipping texts in tags inserted by programs."""
    texts = (made.text for made in sent.blocks if made.block.kind is BlockKind.USER_TEXT)
    return next((text[:TITLE_CHARACTERS] for text in texts if not text.lstrip().startswith("<")), "")


def _purpose_of(request: PlainConversation) -> str:
    """Return the purpose of a small request with one message, by Claude Code's wording; empty if unknown."""
    if not _is_small(request) or len(request.messages) != 1:
        return ""
    if request.about.get("max_tokens") == 1:
        return "quota"
    asked = request.system if request.system is not None else request.messages[0]
    text = str(asked.value()).lower()
    return next((purpose for words, purpose in PURPOSES if words in text), "")


def _is_small(request: PlainConversation) -> bool:
    """Return True for a side request of a program, such as a title or quota request."""
    tools = request.tools.value() if request.tools is not None else None
    is_cheap = "haiku" in string(request.about.get("model")) or request.about.get("max_tokens") == 1
    return not tools and (is_cheap or bool(request.about.get(IS_SIDE_REQUEST)))


def conversation_of(body: Fields, response: Node | None, about: Mapping[str, Any]) -> PlainConversation:
    """Build a conversation from a request body and its response; `about` is request data outside the body."""
    asked = {"thinking": {"type": OFF}, **body.values_of("model", "max_tokens", *ASKED), **about}
    answer, reply = _answer(response) if response is not None else (None, {})
    system, tools = body.get("system"), body.get("tools")
    return PlainConversation(body["messages"].items(), system, tools, answer, reply, asked, is_as_sent=True)


def _answer(body: Node) -> tuple[Node | None, dict[str, Any]]:
    """Return the response's message and its other fields."""
    value = body.value()
    if isinstance(value, str):
        answer = mapping(answer_of(value))
        return (stream_node(body), {key: answer[key] for key in REPLY if key in answer}) if answer else (None, {})
    fields = body.fields()
    reply = fields.values_of(*REPLY)
    for choice in fields.items_of("choices"):
        if "message" in (inside := choice.fields()):
            return inside["message"], reply
    return (body, reply) if is_message(value) else (None, {})


CONVERSE_STREAM = "/converse-stream"

CONVERSE_ENDINGS = ("/converse", CONVERSE_STREAM)

CONVERSE_MODEL = re.compile(r"/model/([^/]+)/converse")
"""Matches the model or inference profile in a URL."""


def converse_request(
    body: Node, response: Node | None, path: str, about: Mapping[str, Any]
) -> PlainConversation | None:
    """Build a conversation from a request and its response (JSON, text or a stream); None without messages."""
    fields = body.fields()
    if "messages" not in fields:
        return None
    named = CONVERSE_MODEL.search(path)
    model = unquote(named[1]).rpartition("/")[2] if named else ""
    more = fields.fields_of("additionalModelRequestFields").values_of(*ASKED)
    limit = mapping(fields.value_of("inferenceConfig")).get("maxTokens")
    asked = {"model": model, "max_tokens": limit, "thinking": {"type": OFF}, **more, **about}
    system = fields.get("system")
    answer, reply = _converse_answer(response) if response is not None else (None, {})
    return PlainConversation(
        fields.items_of("messages"),
        system_node(system) if system is not None else None,
        fields.fields_of("toolConfig").get("tools"),
        answer,
        reply,
        asked,
        is_as_sent=True,
    )


def _converse_answer(response: Node) -> tuple[Node | None, dict[str, Any]]:
    value = response.value()
    if isinstance(value, str):
        answer = answer_of(value)
        return (stream_node(response), {key: answer[key] for key in REPLY if key in answer}) if answer else (None, {})
    answer = message_of_response(mapping(value))
    if not answer:
        return None, {}
    message = response.fields().fields_of("output")["message"]
    return message, {key: answer[key] for key in REPLY if key in answer}


GOOGLE_ENDINGS = (":generateContent", ":streamGenerateContent")

GOOGLE_MODEL = re.compile(r"/models/([^/:?]+)")

JSON_ANSWERS = "application/json"
"""MIME type requested for responses meant for the program (gemini-cli's `core/baseLlmClient.ts`)."""


def is_generate_request(body: object) -> bool:
    fields = mapping(body)
    return any("contents" in one for one in (fields, mapping(fields.get("request"))))


def google_request(body: Node, response: Node | None, path: str, time: Any) -> PlainConversation | None:
    """Build a conversation from a request and its response (JSON, text or a stream); None for other kinds."""
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
    named = GOOGLE_MODEL.search(path)
    model = string(outer.value_of("model")).removeprefix("models/") or (named[1] if named else "")
    about: dict[str, Any] = {"model": model} if model else {}
    if time is not None:
        about["timestamp"] = time
    about[IS_SIDE_REQUEST] = config.get("responseMimeType") == JSON_ANSWERS
    answer, reply = _google_answer(response) if response is not None else (None, {})
    return PlainConversation([content_node(node) for node in nodes], system, asked.get("tools"), answer, reply, about)


def _google_answer(response: Node) -> tuple[Node | None, dict[str, Any]]:
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


STEP = re.compile(r"/cursor/transcript/(.+)/turn/(\d+)/step/\d+$")
"""Path that claude-tap gives to a step of a Cursor conversation, with conversation and turn."""

REQUEST, UNANSWERED, OTHER = "request", "request without a response", "other request"
LOGGED_STEP = "step of a transcript"
FROM_CACHE = "request answered from a gateway's cache"
"""Count names of exchanges."""


class HttpExchange(Struct, frozen=True):
    """An HTTP request and its response.

    Attributes:
        address: Its URL, with or without the host.
        request: Its body, as JSON or a JSON string; None if it has none.
        response: The response body: JSON, a JSON string, or stream text.
        headers: Request headers by name, only the ones with request options.
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
        elif path.endswith(CONVERSE_ENDINGS) and (
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
        elif path.endswith(GOOGLE_ENDINGS) and (google := google_request(body, exchange.response, path, exchange.time)):
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
        """Add a step logged afterwards: its turn's messages, with neither its time nor its guessed tools."""
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


class TraceInterpreter(RecordInterpreter):
    """Builds a session from logged exchanges."""

    record_name = "an exchange"

    def __init__(self) -> None:
        super().__init__()
        self._log = ExchangeLog(self.builder)

    def add(self, record: Record) -> None:
        if not is_exchange(record.value):
            self.builder.record_counts["other"] += 1
            return
        outer = FileNode(record.data, record.offset).fields()
        request = outer.fields_of("request")
        time = next((request[name].value() for name in ("time", "timestamp") if name in request), None)
        self._log.add(
            HttpExchange(
                string(request.value_of("url")),
                request.get("body"),
                _recorded_answer(outer.fields_of("response")),
                mapping(request.value_of("headers")),
                time,
                is_billed=not is_from_cache(mapping(outer.fields_of("response").value_of("headers")).items()),
            )
        )

    blocks_of_record = staticmethod(blocks_of_record)


def trace_reader(path: Path, name: str) -> Reader:
    """Return a reader for a log with one exchange per line or all in one list."""
    return json_file_reader(path, name, TraceInterpreter)


def _recorded_answer(response: Fields) -> Node | None:
    """Return the response body, preferring the stream text."""
    if "body_raw" in response and isinstance(response["body_raw"].value(), str):
        return response["body_raw"]
    return response.get("body")


FORMATS = (ClaudeTraceFormat(),)
