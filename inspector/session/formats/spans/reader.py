"""Read spans and log records and combine the requests among them into conversations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inspector.session.builder import SessionBuilder
from inspector.session.formats.chat import chat_blocks, role_of
from inspector.session.formats.plain import PlainConversation, PlainMessage, RequestLog
from inspector.session.formats.spans.messages import answered, asked
from inspector.session.formats.spans.records import (
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
    time_of,
    trace_of,
    usage_of,
)
from inspector.session.json.codec import clean_text, lenient_json
from inspector.session.json.nodes import FileNode, MemoryNode
from inspector.session.json.values import mapping, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import LinkKind, Message, Origin, Role, SessionLink, SideCall, Usage
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.call_matching import ToolNames
    from inspector.session.formats.plain import RequestThread
    from inspector.session.json.nodes import Node
    from inspector.session.reader import Reader

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


@dataclass(frozen=True)
class SpanRequest:
    """A request from a span or log record.

    Attributes:
        kind: Kind of the record.
        trace, span, parent: Ids; empty if there are none.
        session: The conversation's id; empty if there is none.
        time: Start in seconds since the epoch, or None.
        model: The model that responded.
        identifier: The response's id.
        usage: Reported usage, or None.
        asked: The prompt's messages.
        answer: The response's message, None if contents are not recorded.
        shown: Placeholder for a response that is not recorded.
        is_cut: True if the last messages of a long prompt were omitted.
        purpose: Purpose of a request outside the conversation.
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
        """Convert a node to a message."""
        if not isinstance(node, MessageNode):
            return []
        names.note(made.block for made in node.message.blocks)
        return [replace(node.message, about={**about, **node.message.about})]

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
        """Add a span or a log record."""
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
    """Complete truncated prompts with the messages of the previous request in the conversation.

    A prompt with a different beginning is left as stored.
    """
    before: dict[str, SpanRequest] = {}
    for request in requests:
        last = before.get(request.session)
        if request.is_cut and last is not None and last.answer is not None:
            calls = [made.block.tool_call_id for made in last.answer.blocks if made.block.tool_call_id]
            known = (*last.asked, last.answer, *(results[name] for name in calls if name in results))
            kept = [message.digests for message in request.asked]
            if kept == [message.digests for message in known[: len(kept)]]:
                request = replace(request, asked=known)
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
            request = replace(request, asked=lent.asked, answer=lent.answer)
        found.append(request)
    if all(request.time is not None for request in found):
        found.sort(key=lambda request: request.time or 0.0)
    return found
