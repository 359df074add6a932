"""Read DeepSeek Harness events: the surface that forms prompts, and the billing data of each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.formats.chat import (
    SYSTEM,
    TOOLS,
    ChatMessage,
    ChatThread,
    blocks_of_chat,
    blocks_of_definition,
    notice,
)
from inspector.session.formats.deepseek_harness.events import (
    ASSISTANT,
    ATTEMPT,
    CHUNK,
    HEADER,
    REQUESTS,
    RESULT,
    RETRY,
    STEP_END,
    SUMMARY,
    SURFACE,
    USER,
    chat_of,
    is_quiet,
    message_of,
    model_of,
    streamed_usage,
    usage_of,
)
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import clean_string, count, mapping, seconds_of_any, string
from inspector.session.model import (
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    Role,
    SessionLink,
    SideCall,
    Usage,
)
from inspector.session.reader import Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.blocks import TextBlock

NONE = -1


class SurfaceNode(NamedTuple):
    """An event on the surface.

    Attributes:
        sequence: The event's sequence number.
        message: Index of its message, -1 if it sends nothing.
    """

    sequence: int
    message: int


class HarnessInterpreter(RecordInterpreter):
    """Builds a session from events."""

    record_name = "an event"

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "DeepSeek Harness"
        self._thread = ChatThread(self.builder)
        self._surface: list[SurfaceNode] = []
        self._definitions = NONE
        self._model = ""
        self._seeds = 0
        self._asked: tuple[object, object] | None = None
        self._usage: Usage | None = None
        self._summary: Mapping[str, Any] = {}

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        if value is None:
            return []
        if value.get("type") == HEADER:
            return _definitions(record, origin.offset)
        return blocks_of_chat([_chat_messages(value)], Origin(origin.offset, origin.length))

    def add(self, record: Record) -> None:
        event = record.value
        kind, data = string(event.get("type")), mapping(event.get("data"))
        self.builder.record_counts[clean_text(kind) or "(no type)"] += 1
        sequence = event.get("seq")
        is_seed = isinstance(sequence, int) and sequence < self._seeds
        if kind == "session":
            self._begin(event)
        elif kind in SURFACE:
            self._take_message(record, is_seed=is_seed)
        elif kind == HEADER:
            self._take_header(record, mapping(data.get("header")))
        elif kind == "request/context":
            self.builder.window = count(data.get("contextWindow")) or self.builder.window
        elif kind == "session/title":
            self.builder.title = clean_string(data.get("title")) or self.builder.title
        elif not is_quiet(kind):
            self._thread.add_record([ChatMessage(notice(compact_json(dict(event))))], record.origin)
        elif not is_seed:
            self._take_billing(kind, event, data)

    def _begin(self, header: Mapping[str, Any]) -> None:
        builder = self.builder
        builder.identifier = clean_string(header.get("id"))
        builder.working_directory = clean_string(header.get("cwd"))
        self._seeds = count(header.get("seedLength"))
        if parent := clean_string(header.get("parentSession")):
            kind = LinkKind.PARENT if header.get("origin") == "subagent" else LinkKind.CONTINUED
            builder.link(SessionLink(kind, parent))

    def _take_billing(self, kind: str, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Record the usage of a request with no response in the conversation."""
        time = seconds_of_any(event.get("time"))
        if kind == CHUNK:
            chunk = mapping(data.get("chunk"))
            if chunk.get("type") == "usage":
                self._asked, self._usage = (data.get("turn"), data.get("step")), usage_of(chunk.get("usage"))
        elif kind in (RETRY, STEP_END):
            self._bill("failed attempt", event, self._usage, self._model, time)
            self._usage = None
        elif kind == ATTEMPT:
            source = mapping(data.get("message")).get("source")
            self._bill("failed attempt", event, streamed_usage(data), model_of(source) or self._model, time)
        elif kind == SUMMARY:
            self._summary = data
            self._bill("compaction", event, usage_of(data.get("usage")), clean_string(data.get("model")), time)
        elif kind.endswith(REQUESTS):
            purpose = "title" if "title" in kind else "web search"
            self._bill(purpose, event, usage_of(data.get("usage")), clean_string(data.get("model")), time)

    def _bill(
        self, purpose: str, event: Mapping[str, Any], usage: Usage | None, model: str, time: float | None
    ) -> None:
        if usage is not None:
            key = f"{purpose} {event.get('seq')}"
            self.builder.side_calls[key] = SideCall(purpose, model, time, usage)

    def _take_message(self, record: Record, *, is_seed: bool) -> None:
        event, kind = record.value, record.value.get("type")
        chat = _chat_messages(event)
        (message,) = self._thread.messages([chat], record.origin)
        is_answer = kind == ASSISTANT
        if not message.blocks and not is_answer:
            return
        replaced = mapping(event.get("surfaceOp")) if isinstance(event.get("surfaceOp"), dict) else {}
        is_summary = kind == USER and bool(replaced)
        message = structs.replace(message, is_summary=is_summary, is_inherited=is_seed)
        if is_answer and not is_seed and not replaced:
            index = self._answer(chat, event, message)
        else:
            index = self._thread.add(message, is_sent=False)
        sequence = event.get("seq")
        node = SurfaceNode(sequence if isinstance(sequence, int) else NONE, index if message.blocks else NONE)
        if replaced:
            self._replace(node, replaced, kind=string(kind), time=chat.time)
            return
        self._surface.append(node)
        if node.message != NONE:
            self._thread.open_context().members.append(index)

    def _answer(self, chat: ChatMessage, event: Mapping[str, Any], message: Message) -> int:
        """Add a response. Usage from its step's chunks takes precedence, as in the harness."""
        data = mapping(event.get("data"))
        slot = (data.get("turn"), data.get("step"))
        streamed = self._usage if slot == self._asked else None
        self._usage = None
        usage = streamed or usage_of(data.get("usage")) or streamed_usage(data)
        model = model_of(message_of(event).get("source")) or self._model
        return self._thread.respond(message, model=model, usage=usage, identifier=chat.identifier, is_sent=False)

    def _replace(self, node: SurfaceNode, operation: Mapping[str, Any], *, kind: str, time: float | None) -> None:
        """Replace surface messages by a new one."""
        places = {known.sequence: place for place, known in enumerate(self._surface)}
        first, last = (places.get(count(operation.get(name)), NONE) for name in ("start", "end"))
        if first == NONE or last < first:
            self.builder.diagnose("the replaced messages are not in this file", 0, 0, skipped=False)
            first, last = len(self._surface), len(self._surface) - 1
        self._surface[first : last + 1] = [node]
        if kind == USER:
            data, self._summary = self._summary, {}
            trigger = "manual" if data.get("sourceCommandId") else "auto"
            self.builder.compactions.append(Compaction(node.message, trigger, time=time))
        self._begin_context(ContextCause.REWIND if kind == RESULT else ContextCause.COMPACTION)

    def _take_header(self, record: Record, header: Mapping[str, Any]) -> None:
        """Record the system prompt and tools for the following requests."""
        self._model = clean_string(mapping(header.get("config")).get("model")) or self._model
        made = [made.block for made in _definitions(record.data, record.offset)]
        known = self.builder.complete_messages()[self._definitions].blocks if self._definitions != NONE else ()
        if [block.digest for block in made] == [block.digest for block in known]:
            return
        time = seconds_of_any(record.value.get("time"))
        message = Message(Role.SYSTEM, tuple(made), time)
        self._definitions = self._thread.add(message, is_sent=False) if made else NONE
        self._begin_context(ContextCause.REWIND)

    def _begin_context(self, cause: ContextCause) -> None:
        """Begin a context from the current surface, or update one without requests."""
        members = [node.message for node in self._surface if node.message != NONE]
        if self._definitions != NONE:
            members.insert(0, self._definitions)
        context, calls = self._thread.open_context(), self.builder.calls
        if calls and calls[-1].context == context.index:
            before = context.members
            common = next(
                (place for place, pair in enumerate(zip(before, members, strict=False)) if pair[0] != pair[1]),
                min(len(before), len(members)),
            )
            self._thread.begin(cause, members, common)
            return
        context.members[:] = members
        context.retained = min(context.retained, len(members))


def _chat_messages(event: Mapping[str, Any]) -> ChatMessage:
    kind = string(event.get("type"))
    if kind not in SURFACE:
        return ChatMessage(notice(compact_json(dict(event))))
    message = message_of(event)
    source = string(mapping(message.get("source")).get("kind"))
    is_meta = kind == USER and source not in ("", "user")
    identifier = clean_string(message.get("id"))
    return ChatMessage(chat_of(event), seconds_of_any(event.get("time")), identifier, is_meta=is_meta)


def _definitions(record: bytes, offset: int) -> list[TextBlock]:
    fields = FileNode(record, offset).fields().fields_of("data").fields_of("header")
    made: list[TextBlock] = []
    for name, locator in (("tools", TOOLS), ("system", SYSTEM)):
        node = fields.get(name)
        value = node.value() if node is not None else None
        if node is not None and value:
            made += blocks_of_definition(value, node.raw(), offset, len(record), locator)
    return made
