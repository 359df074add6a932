"""Read spans and log records and combine the requests among them into conversations.

VS Code's span database has one row per span and one per attribute. It is written by microsoft/vscode-copilot-chat
(`src/platform/otel/node/sqlite/otelSqliteStore.ts`), which keeps spans of one week and of a hundred sessions and
deletes older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from inspector.session.builder import SessionBuilder, ToolNames
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.chat import chat_blocks, role_of
from inspector.session.formats.plain import PlainConversation, PlainMessage, RequestLog, RequestThread
from inspector.session.formats.spans import (
    CUT,
    LABEL,
    MODELS,
    NAME,
    PARENT_SESSION,
    RESPONSES,
    SESSION_IDS,
    SIDE_LABELS,
    TOOL_RESULT,
    SpanRecordKind,
    attributes_of,
    first_of,
    is_tool,
    leaves,
    parent_of,
    record_kind_of,
    span_of,
    structured,
    time_of,
    trace_of,
    usage_of,
)
from inspector.session.json import (
    FileNode,
    MemoryNode,
    clean_text,
    compact_json,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import LinkKind, Message, Origin, Role, SessionLink, SideCall, Usage
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.sqlite import RowInterpreter, RowsGoneError, Selector

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.json import Node

    Chat = dict[str, Any]


MOST_INDEX = 100_000
"""Limit of indices in a flattened list; larger ones are invalid."""


def asked(attributes: Mapping[str, Any]) -> list[Chat]:
    """Return a request's prompt: tools, system prompt, messages; empty if contents are not recorded."""
    made: list[Chat] = []
    tools = structured(attributes.get("gen_ai.tool.definitions"))
    schemas = [structured(one.get("tool.json_schema")) for one in _indexed(attributes, "llm.tools.")]
    if tools or schemas:
        made.append({"role": "system", "content": compact_json(tools or schemas)})
    system = structured(attributes.get("gen_ai.system_instructions"))
    if system:
        made += _message({"role": "system", "parts": system if isinstance(system, list) else [system]})
    for name in ("gen_ai.input.messages", "llm.input_messages"):
        for message in objects(structured(attributes.get(name))):
            made += _message(message)
    for prefix in ("llm.input_messages.", "gen_ai.prompt."):
        for fields in _indexed(attributes, prefix):
            made += _flat(fields)
    return made


def answered(attributes: Mapping[str, Any]) -> Chat | None:
    """Return the first response of a request; None if contents are not recorded."""
    for name in ("gen_ai.output.messages", "llm.output_messages"):
        for message in objects(structured(attributes.get(name))):
            return next(iter(_message({"role": "assistant", **message})), None)
    for prefix in ("llm.output_messages.", "gen_ai.completion."):
        for fields in _indexed(attributes, prefix):
            return next(iter(_flat({"role": "assistant", **fields})), None)
    return None


def _message(message: Mapping[str, Any]) -> list[Chat]:
    """Convert a GenAI message with parts; every tool response becomes a separate message."""
    role = string(message.get("role"))
    role = "assistant" if role == "model" else role
    if "parts" not in message:
        return [{**message, "role": role}]
    content: list[Any] = []
    calls: list[Chat] = []
    results: list[Chat] = []
    for part in sequence(message.get("parts")):
        fields = mapping(part)
        kind = string(fields.get("type"))
        if kind == "tool_call":
            function = {"name": string(fields.get("name")), "arguments": fields.get("arguments", {})}
            calls.append({"id": string(fields.get("id")), "type": "function", "function": function})
        elif kind == "tool_call_response":
            result = fields.get("response", fields.get("result", fields.get("content")))
            text = result if isinstance(result, (str, list)) else compact_json(result)
            results.append({"role": "tool", "tool_call_id": string(fields.get("id")), "content": text})
        elif kind == "reasoning":
            content.append({"type": "thinking", "thinking": string(fields.get("content"))})
        elif kind in ("blob", "uri", "file"):
            content.append(_media(fields, kind))
        elif isinstance(fields.get("content"), str):
            content.append({"type": "text", "text": fields["content"]})
        else:
            content.append(part)
    by_name: Chat = {"role": role, "content": content}
    if calls:
        by_name["tool_calls"] = calls
    return [by_name, *results] if content or calls else results or [{"role": role, "content": ""}]


def _media(fields: Mapping[str, Any], kind: str) -> Chat:
    image = string(fields.get("modality")) == "image" or string(fields.get("mime_type")).startswith("image/")
    if kind == "blob":
        source = {"type": "base64", "media_type": fields.get("mime_type"), "data": string(fields.get("content"))}
        return {"type": "image" if image else "document", "source": source}
    address = string(fields.get("uri")) or string(fields.get("file_id"))
    return {"type": "image" if image else "document", "source": {"type": "url", "url": address}}


def _flat(fields: Mapping[str, Any]) -> list[Chat]:
    """Convert a message flattened into attributes; OpenInference prefixes them with `message.`."""
    own = {name.removeprefix("message."): value for name, value in fields.items()}
    by_name: Chat = {"role": string(own.get("role")), "content": structured_text(own.get("content"))}
    parts = [part for one in _indexed(own, "contents.") if (part := _part(one)) is not None]
    if parts:
        by_name["content"] = parts
    calls = []
    for one in _indexed(own, "tool_calls."):
        call = {name.removeprefix("tool_call."): value for name, value in one.items()}
        function = {
            "name": string(call.get("function.name")) or string(call.get("name")),
            "arguments": call.get("function.arguments", call.get("arguments", "{}")),
        }
        calls.append({"id": string(call.get("id")), "type": "function", "function": function})
    if calls:
        by_name["tool_calls"] = calls
    if "tool_call_id" in own:
        by_name["tool_call_id"] = string(own["tool_call_id"])
    if string(own.get("name")):
        by_name["name"] = own["name"]
    return [by_name]


def structured_text(value: Any) -> Any:
    """Return content as text or a list of parts; other values as JSON."""
    return value if isinstance(value, (str, list)) else "" if value is None else compact_json(value)


def _part(fields: Mapping[str, Any]) -> Chat | None:
    own = {name.removeprefix("message_content."): value for name, value in fields.items()}
    kind = string(own.get("type"))
    if address := string(own.get("image.image.url")):
        return {"type": "image_url", "image_url": {"url": address}}
    if kind == "reasoning":
        signature = string(own.get("signature")) or string(own.get("encrypted_content"))
        return {"type": "thinking", "thinking": string(own.get("text")), "signature": signature}
    return {"type": "text", "text": string(own["text"])} if "text" in own else None


def _indexed(attributes: Mapping[str, Any], prefix: str) -> Iterable[dict[str, Any]]:
    """Return the objects of a list flattened into attributes `<prefix><number>.<field>`, in order."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, _, field = key[len(prefix) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 7 and int(number) < MOST_INDEX and field:
            found.setdefault(int(number), {})[field] = value
    return [found[number] for number in sorted(found)]


NOT_RECORDED = "contents not recorded"
"""Displayed text of a request exported without its contents."""


class MessageNode(MemoryNode):
    """A message built from a span's attributes, in place of a node in the file."""

    def __init__(self, message: PlainMessage) -> None:
        super().__init__({"role": message.role.value})
        self.message = message

    def raw(self) -> bytes:
        """Return bytes that identify the message."""
        return self.message.role.value.encode() + b"".join(self.message.digests)


class SpanRequest(Struct, frozen=True):
    """A request from a span or log record.

    Attributes:
        session: The conversation's id; empty if there is none.
        answer: The response's message, None if contents are not recorded.
        shown: Placeholder for a response that is not recorded.
        is_cut: True if the last messages of a long prompt were omitted.
    """

    kind: SpanRecordKind
    trace: str
    span: str
    parent: str
    session: str
    time: float | None
    model: str
    identifier: str
    usage: Usage | None
    asked: tuple[PlainMessage, ...]
    answer: PlainMessage | None
    shown: PlainMessage
    is_cut: bool = False
    purpose: str = ""

    @property
    def context(self) -> str:
        """Id shared by the records that may describe the same request."""
        return self.trace or self.session


class SpanLog(RequestLog):
    """Combines requests into conversations; requests without contents form one per session id."""

    counts_messages = False

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self._silent: dict[str, RequestThread] = {}

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:
        if not isinstance(node, MessageNode):
            return []
        names.note(made.block for made in node.message.blocks)
        return [structs.replace(node.message, about={**about, **node.message.about})]

    def add(self, request: SpanRequest) -> None:
        before = len(self._builder.calls)
        if request.answer is None:
            self._add_silent(request)
        else:
            about = {"model": request.model, "timestamp": request.time, "id": request.identifier}
            spoken: list[Node] = [MessageNode(message) for message in request.asked]
            self.add_request(PlainConversation(spoken, response=MessageNode(request.answer), about=about))
        for index in range(before, len(self._builder.calls)):
            call = self._builder.calls[index]
            is_answer = index == len(self._builder.calls) - 1
            usage = request.usage if is_answer else None
            self._builder.calls[index] = type(call)(
                call.response,
                call.context,
                call.prompt_messages,
                request.model if is_answer else call.model,
                request.time if is_answer else call.time,
                usage,
                request.identifier if is_answer else call.identifier,
            )

    def _add_silent(self, request: SpanRequest) -> None:
        thread = self._silent.get(request.session)
        if thread is None:
            thread = self._silent[request.session] = self._begin_thread()
        blocks = tuple(made.block for made in request.shown.blocks)
        thread.respond(Message(Role.ASSISTANT, blocks, request.time, thread=thread.number), is_sent=False)


class SpanInterpreter(RecordInterpreter):
    """Builds a session from exports, spans and log records. Duplicates are resolved once all are read."""

    record_name = "a span"

    def __init__(self) -> None:
        super().__init__()
        self._requests: dict[str, SpanRequest] = {}
        self._results: dict[str, PlainMessage] = {}
        self._is_settled = True

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        value = mapping(lenient_json(record)[0])
        return [made for own in _blocks(_chats(value, attributes_of(value)), origin) for made in own]

    def add(self, record: Record) -> None:
        """Add a line or list entry: a span, a log record, or an export of many."""
        for node in leaves(FileNode(record.data, record.offset)):
            value = node.value()
            if not isinstance(value, dict):
                self.builder.diagnose("not a span or log record", record.line, node.offset, skipped=True)
                continue
            self.take_span(value, Origin(node.offset, node.length))

    def take_document(self, document: Node) -> None:
        for item in document.items() or [document]:
            self.take(Record(item.value(), item.raw(), item.offset))

    def settle(self, *, has_new_builder: bool = False) -> None:
        """Rebuild the session from the selected requests; `has_new_builder` means that the builder was replaced."""
        if self._is_settled and not has_new_builder:
            return
        self._is_settled = True
        made = SessionBuilder()
        log = SpanLog(made)
        found = _counted(list(self._requests.values()))
        self.builder.side_calls = {
            f"{one.trace} {one.span}": SideCall(one.purpose, one.model, one.time, one.usage, one.identifier)
            for one in found
            if one.purpose
        }
        for request in _continued([one for one in found if not one.purpose], self._results):
            log.add(request)
        self.builder.replace_all(made.complete_messages(), made.calls, made.contexts, made.compactions)

    def take_span(self, value: Mapping[str, Any], origin: Origin) -> None:
        attributes = attributes_of(value)
        telling = record_kind_of(value, attributes)
        kind = telling.name.lower() if telling is not None else string(attributes.get(NAME)) or "other"
        self.builder.record_counts[clean_text(kind)] += 1
        session = first_of(attributes, SESSION_IDS)
        self.builder.identifier = self.builder.identifier or clean_text(session)
        agent = string(attributes.get("gen_ai.agent.name"))
        self.builder.agent = self.builder.agent or clean_text(agent)
        parent = clean_text(string(attributes.get(PARENT_SESSION)))
        if parent and not _purpose(attributes):
            self.builder.link(SessionLink(LinkKind.PARENT, parent))
        if is_tool(attributes):
            (result,) = _messages(value, origin)
            self._results[string(attributes.get("gen_ai.tool.call.id"))] = result
            self._is_settled = False
        if telling is None:
            return
        request = _request(telling, value, attributes, origin, clean_text(session))
        key = f"{telling} {request.trace} {request.span}" if request.span else f"record {len(self._requests)}"
        if telling is SpanRecordKind.TURN:
            key = f"{telling} {request.context} {attributes.get('turn.index', len(self._requests))}"
        self._requests[key] = request
        self._is_settled = False


def span_reader(path: Path, name: str) -> Reader:
    if Sample(path).is_lines:
        return JsonlReader(path, name, SpanInterpreter())
    return JsonReader(path, name, SpanInterpreter)


def _chats(value: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a request's messages, the response or its placeholder last; for a tool, its result."""
    if is_tool(attributes):
        identifier = string(attributes.get("gen_ai.tool.call.id"))
        return [{"role": "tool", "tool_call_id": identifier, "content": attributes[TOOL_RESULT]}]
    answer = answered(attributes)
    if answer is not None:
        return [*asked(attributes), answer]
    name = string(value.get("name")) or string(attributes.get("event.name")) or "request"
    return [*asked(attributes), {"role": "notice", "content": f"{name}: {NOT_RECORDED}"}]


def _blocks(chats: Iterable[Mapping[str, Any]], origin: Origin) -> list[list[TextBlock]]:
    return chat_blocks(chats, origin)


def _request(
    telling: SpanRecordKind, value: Mapping[str, Any], attributes: Mapping[str, Any], origin: Origin, session: str
) -> SpanRequest:
    messages = _messages(value, origin)
    has_answer = messages[-1].role is not Role.OTHER
    return SpanRequest(
        kind=telling,
        trace=trace_of(value),
        span=span_of(value),
        parent=parent_of(value),
        session=session,
        time=time_of(value),
        model=clean_text(first_of(attributes, MODELS)),
        identifier=clean_text(first_of(attributes, RESPONSES)),
        usage=usage_of(attributes),
        asked=tuple(messages[:-1]),
        answer=messages[-1] if has_answer else None,
        shown=messages[-1],
        is_cut=bool(CUT.search(string(attributes.get("gen_ai.input.messages"))[-60:])),
        purpose=_purpose(attributes),
    )


def _messages(value: Mapping[str, Any], origin: Origin) -> list[PlainMessage]:
    chats = _chats(value, attributes_of(value))
    nowhere = MemoryNode(None)
    return [
        PlainMessage(nowhere, role_of(chat), blocks, {})
        for chat, blocks in zip(chats, _blocks(chats, origin), strict=True)
    ]


def _purpose(attributes: Mapping[str, Any]) -> str:
    label = string(attributes.get(LABEL))
    return label if label in SIDE_LABELS else ""


def _continued(requests: Sequence[SpanRequest], results: Mapping[str, PlainMessage]) -> Iterator[SpanRequest]:
    """Complete truncated prompts from the previous request, unless their beginning differs."""
    before: dict[str, SpanRequest] = {}
    for request in requests:
        last = before.get(request.session)
        if request.is_cut and last is not None and last.answer is not None:
            calls = [made.block.tool_call_id for made in last.answer.blocks if made.block.tool_call_id]
            known = (*last.asked, last.answer, *(results[name] for name in calls if name in results))
            kept = [message.digests for message in request.asked]
            if kept == [message.digests for message in known[: len(kept)]]:
                request = structs.replace(request, asked=known)
        before[request.session] = request
        yield request


def _counted(requests: Sequence[SpanRequest]) -> list[SpanRequest]:
    """Select every request once, in order of start.

    Per trace, only the most reliable kind of record counts. A log record of the same span provides missing messages. A
    span inside another one with the same usage is the same request, reported by two instrumentations.
    """
    surest: dict[str, SpanRecordKind] = {}
    for request in requests:
        if request.usage is not None or request.answer is not None:
            known = surest.get(request.context, request.kind)
            surest[request.context] = min(known, request.kind)
    details = {
        (one.trace, one.span): one for one in requests if one.kind is SpanRecordKind.DETAILS and one.answer is not None
    }
    around = {(one.trace, one.span): one for one in requests if one.kind is SpanRecordKind.SPAN and one.span}
    found: list[SpanRequest] = []
    for request in requests:
        if request.kind is not surest.get(request.context):
            continue
        outer = around.get((request.trace, request.parent)) if request.parent else None
        if outer is not None and outer is not request and outer.usage == request.usage is not None:
            continue
        lent = details.get((request.trace, request.span)) if request.answer is None else None
        if lent is not None:
            request = structs.replace(request, asked=lent.asked, answer=lent.answer)
        found.append(request)
    if all(request.time is not None for request in found):
        found.sort(key=lambda request: request.time or 0.0)
    return found


SPAN = "span:"

COLUMNS = ("span_id", "trace_id", "parent_span_id", "name", "start_time_ms")

PLACES = """
SELECT s.span_id, s.trace_id, s.operation_name, s.start_time_ms,
    COALESCE(s.chat_session_id, (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id
        AND a.key = 'copilot_chat.session_id'), s.conversation_id),
    (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id AND a.key = ?),
    (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id AND a.key = ?)
FROM spans s ORDER BY s.start_time_ms, s.rowid
"""


class SpanPlace(NamedTuple):
    """A span's conversation, the one that started it, and its operation such as `execute_tool`."""

    span: str
    trace: str
    operation: str
    time: float
    session: str
    parent: str


class TraceRows(RowInterpreter):
    """Interpreter for the spans of one conversation."""

    known_tables = frozenset(("span_attributes", "spans"))

    def __init__(self, session: str) -> None:
        """Initialize for a conversation's id, empty for the one with the newest spans."""
        super().__init__()
        self._session = session
        self._spans = SpanInterpreter()
        self._taken: list[str] = []
        self._broken: list[int] = []
        self._children: list[str] = []

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the new spans; all if some were deleted. Raises `RowsGoneError` if there are none."""
        places = places_in(connection)
        self._session = self._session or next(iter(_newest(places)), "")
        traces = {place.trace for place in places if place.session == self._session}
        wanted = [place.span for place in places if _is_of(place, self._session, traces)]
        children = [place.session for place in places if place.session and place.parent == self._session]
        self._children = list(dict.fromkeys(children))
        if not traces:
            raise RowsGoneError(f"no session {self._session}".strip())
        if wanted[: len(self._taken)] != self._taken:
            self._spans, self._taken, self._broken = SpanInterpreter(), [], []
        for name in wanted[len(self._taken) :]:
            value = _span(connection, name)
            origin = Origin(0, len(_record(value)), locator=f"{SPAN}{name}")
            try:
                self._spans.take_span(value, origin)
            except RecursionError:
                self._broken.append(wanted.index(name))
        self._taken = wanted

    def settle(self) -> None:
        spans, before = self._spans, self._spans.builder
        spans.builder = SessionBuilder()
        spans.builder.record_counts.update(before.record_counts)
        spans.builder.links.update(before.links)
        for line in self._broken:
            spans.builder.diagnose("JSON nested too deeply", 0, line, skipped=True)
        for child in self._children:
            spans.builder.link(SessionLink(LinkKind.SUBAGENT, clean_text(child)))
        spans.builder.agent = before.agent or "VS Code Copilot Chat"
        spans.builder.identifier = clean_text(self._session)
        spans.settle(has_new_builder=True)
        self.builder = spans.builder

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return SpanInterpreter.blocks_of_record(record, Origin(0, origin.length, locator=origin.locator))

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        value = _span(connection, name.removeprefix(SPAN))
        return _record(value) if value else None


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    places = places_in(connection)
    parents = {place.session: place.parent for place in places if place.parent}
    return [
        ContainedSession(
            Locator(path, name).path, clean_text(name), parent=clean_text(parents.get(name, "")), modified=at
        )
        for name, at in _newest(places).items()
    ]


def places_in(connection: sqlite3.Connection) -> list[SpanPlace]:
    """Return all spans' conversations in order of start. Title requests belong to the conversation they describe."""
    found = []
    for span, trace, operation, time, session, parent, label in connection.execute(PLACES, (PARENT_SESSION, LABEL)):
        names = [string(one) for one in (span, trace, operation, session, parent)]
        if label in SIDE_LABELS and names[4]:
            names[3:] = [names[4], ""]
        found.append(SpanPlace(names[0], names[1], names[2], seconds_of_any(time) or 0.0, names[3], names[4]))
    return found


def _record(value: Mapping[str, Any]) -> bytes:
    return compact_json(value).encode(errors="replace")


def _is_of(place: SpanPlace, session: str, traces: set[str]) -> bool:
    if place.operation == "execute_tool":
        return place.trace in traces and place.session in ("", session)
    return place.session == session


def _newest(places: Sequence[SpanPlace]) -> Mapping[str, float]:
    """Return the start of the last request per conversation, newest first."""
    times = {place.session: place.time for place in places if place.session and place.operation == "chat"}
    return dict(sorted(times.items(), key=lambda item: item[1], reverse=True))


def _span(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    selector = Selector(connection)
    rows = selector.rows("spans", COLUMNS, "WHERE span_id = ?", name)
    if not rows:
        return {}
    attributes = selector.rows("span_attributes", ("key", "value"), "WHERE span_id = ? ORDER BY key", name)
    row = rows[0]
    return {
        "type": "span",
        "name": row.get("name"),
        "traceId": row.get("trace_id"),
        "spanId": name,
        "parentSpanId": row.get("parent_span_id"),
        "startTime": row.get("start_time_ms"),
        "attributes": {string(one.get("key")): one.get("value") for one in attributes},
    }
