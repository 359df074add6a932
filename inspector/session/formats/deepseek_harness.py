"""Read DeepSeek Harness: one event log per session, compressed frame by frame by default.

Checked against the packages `@deepseek-ai/dsh-session` (events, the surface that forms prompts, chunk rows), `dsh-llm`
(messages, usage), `dsh-compaction` and `dsh-session-persistence-jsonl`, and the readers of junhoyeo/tokscale
(`sessions/dsh.rs`) and kenn-io/agentsview (`deepseek_harness*.go`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.files import glob_sorted, is_file
from inspector.session.format import ContainedSession, Format, can_name_file, home_of, sessions_at
from inspector.session.formats.chat import (
    SYSTEM,
    TOOLS,
    ChatMessage,
    ChatThread,
    blocks_of_chat,
    blocks_of_definition,
    notice,
)
from inspector.session.json import (
    FileNode,
    clean_string,
    clean_text,
    compact_json,
    count,
    mapping,
    object_of,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.jsonl_reader import JsonlReader
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
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample, beginning_size
from inspector.session.usage_fields import HARNESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock

    Chat = dict[str, Any]


GENERATION = re.compile(r"session(?:\.v(?P<version>\d+))?\.jsonl(?:\.zstd)?")
"""Log file names: a newer version of the harness continues a session in its own file next to the old one."""


def _is_header(record: dict[str, Any]) -> bool:
    has_version = isinstance(record.get("version"), int) and isinstance(record.get("createdAt"), (int, float))
    return record.get("type") == "session" and has_version and isinstance(record.get("id"), str)


def _is_event(record: dict[str, Any]) -> bool:
    if "seq0" in record and "data" in record:
        return string(record.get("type")).endswith("-chunks")
    is_placed = isinstance(record.get("seq"), int) and isinstance(record.get("data"), dict)
    return is_placed and "/" in string(record.get("type"))


MOST_SIBLINGS = 500
"""Limit on the logs searched for subagents."""


@lru_cache(maxsize=4 * MOST_SIBLINGS)
def _parent_in(file: Path, size: int) -> str:  # noqa: ARG001  a key of the cache
    header = next(iter(Sample(file).records), {})
    return string(header.get("parentSession")) if header.get("origin") == "subagent" else ""


def _version_of(path: Path) -> int:
    found = GENERATION.fullmatch(path.name)
    return int(found["version"] or 0) if found is not None else -1


class DeepSeekHarnessFormat(Format):
    """DeepSeek Harness logs."""

    name = "deepseek-harness"
    title = "DeepSeek Harness"
    where = "~/.dsh/sessions, or sessions in $DSH_HOME"
    exact = "prompt and output tokens of every call"
    grows_compressed = True

    def recognize(self, sample: Sample) -> str:
        found = sum(map(_is_event, sample.records))
        has_header = any(map(_is_header, sample.records[:1]))
        if not (has_header or found) or (found + has_header) * 2 <= len(sample.records):
            return ""
        if not has_header and not any("surfaceOp" in record for record in sample.records):
            return ""
        return f"{found + has_header} of the first {len(sample.records)} lines are DeepSeek Harness events"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("DSH_HOME", ".dsh") / "sessions",)

    def reader(self, path: Path) -> Reader:
        return JsonlReader(path, self.name, HarnessInterpreter())

    def is_copy(self, path: Path) -> bool:
        """Return True if a newer version of the harness rewrote the session next to this file."""
        version = _version_of(path)
        if version < 0:
            return False
        try:
            return any(_version_of(sibling) > version for sibling in path.parent.iterdir())
        except OSError:
            return False

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the logs in sibling folders whose header names a session as their parent."""
        if _version_of(path) < 0 or not identifier:
            return ()
        files = glob_sorted(path.parent.parent, "*/session*.jsonl*")[:MOST_SIBLINGS]
        logs = [file for file in files if _version_of(file) >= 0 and file.parent != path.parent]
        found = []
        for file in logs:
            with suppress(SessionError, OSError):
                is_child = _parent_in(file, beginning_size(file)) == identifier and not self.is_copy(file)
                found += [file] if is_child else []
        return sessions_at(found)

    def locate(self, path: Path, identifier: str) -> Path | None:
        if not can_name_file(identifier):
            return None
        folder = path.parent.with_name(identifier)
        try:
            logs = [log for log in folder.iterdir() if _version_of(log) >= 0 and is_file(log)]
        except OSError:
            return None
        return max(logs, key=_version_of, default=None)

    def is_bookkeeping(self, count_name: str) -> bool:
        return is_quiet(count_name)

    def knows_record(self, count_name: str) -> bool:
        return count_name in SURFACE or self.is_bookkeeping(count_name)


USER, ASSISTANT, RESULT, HEADER = "user/message", "assistant/message", "tool/result", "request/header"

SURFACE = frozenset({USER, ASSISTANT, RESULT})
"""Events that form prompts."""

CHUNK, ATTEMPT, RETRY, STEP_END = "assistant/chunk", "assistant/attempt", "llm/retry-started", "step/end"

SUMMARY = "compaction/summary"

REQUESTS = "-llm-request"
"""Suffix of event kinds for separate requests, such as titles and searches."""

QUIET = frozenset(
    {"agent", "agent-preset", "approval", "assistant", "command", "compaction", "feedback", "goal", "hook", "llm"}
    | {"permission", "plan", "request", "sandbox", "schedule", "session", "step", "subagent", "todo", "tool"}
    | {"tool-workflow", "turn", "web"}
)
"""Prefixes of non-message kinds that are counted and not shown."""


def is_quiet(kind: str) -> bool:
    if kind in SURFACE:
        return False
    return kind == "session" or kind.endswith("-chunks") or kind.partition("/")[0] in QUIET


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    data = mapping(event.get("data"))
    return data if event.get("type") == USER else mapping(data.get("message"))


def chat_of(event: Mapping[str, Any]) -> Chat:
    content: list[Any] = []
    calls: list[Chat] = []
    for block in objects(message_of(event).get("content")):
        kind = block.get("type")
        if kind == "tool-result":
            return _result(block)
        if kind == "tool-call":
            function = {"name": string(block.get("name")), "arguments": block.get("arguments", "{}")}
            calls.append({"id": string(block.get("id")), "type": "function", "function": function})
        else:
            content.append(_part(block))
    made: Chat = {"role": "assistant" if event.get("type") == ASSISTANT else "user", "content": content}
    return {**made, "tool_calls": calls} if calls else made


def _result(block: Mapping[str, Any]) -> Chat:
    parts = [_part(part) for part in objects(block.get("content"))]
    is_text = all(part.get("type") == "text" for part in parts)
    content = "\n".join(string(part.get("text")) for part in parts) if is_text else parts
    about = {"tool_call_id": string(block.get("toolCallId")), "is_error": block.get("isError") is True}
    return {"role": "tool", "content": content, **about}


def _part(block: Mapping[str, Any]) -> Chat:
    if block.get("type") == "reasoning":
        return {"type": "thinking", "thinking": string(block.get("text"))}
    if block.get("type") == "image":
        return {"type": "image", "source": {"type": "url"}, "url": compact_json(block.get("attachment"))}
    return dict(block)


def usage_of(reported: Any) -> Usage | None:
    """Convert reported usage, None if absent. Input excludes cached tokens, output includes reasoning."""
    fields = mapping(reported)
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    uncached, read, written, output = (count(fields.get(name)) for name in names)
    reasoning = min(count(fields.get("reasoningTokens")), output)
    return HARNESS.check(Usage(uncached, read, written, output=output, reasoning=reasoning).unless_zero(), reported)


def streamed_usage(data: Mapping[str, Any]) -> Usage | None:
    """Return the last usage in the stream that newer versions store with an event."""
    for record in reversed(objects(data.get("stream"))):
        chunk = mapping(record.get("chunk"))
        if chunk.get("type") == "usage":
            return usage_of(chunk.get("usage"))
    return None


def model_of(source: Any) -> str:
    """Return the model that responded: the one reported by the provider if it differs from the requested one."""
    fields = mapping(source)
    response = mapping(mapping(fields.get("replayState")).get("response"))
    return clean_string(response.get("responseModel")) or clean_string(fields.get("model"))


NONE = -1


class SurfaceNode(NamedTuple):
    """An event on the surface. `message`: index of its message, -1 if it sends nothing."""

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


FORMATS = (DeepSeekHarnessFormat(),)
