"""Read logs: JSON documents, archives (one file of them), and running samples."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.billing_terms import SERVICE_TIER, first_tier, requested_tier
from inspector.session.builder import SessionBuilder
from inspector.session.errors import SessionError
from inspector.session.files import SETTLE_SECONDS, FileState, Locator
from inspector.session.formats.chat import TOOLS, blocks_of_definition, chat_blocks, role_of
from inspector.session.formats.inspect_ai.running import buffer_of, running_in
from inspector.session.formats.inspect_ai.samples import (
    Archive,
    chosen,
    name_of_sample,
    nodes_of_samples,
    read_header,
    title_of,
)
from inspector.session.formats.inspect_ai.sent_requests import CallPool, breakpoints_of_request
from inspector.session.formats.inspect_ai.totals import MODEL_USAGE, add_model_usage
from inspector.session.formats.plain import PlainConversation, PlainMessage, RequestLog, RequestThread
from inspector.session.json.codec import lenient_json
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import count, count_or_none, mapping, objects, seconds_of_any, sequence, string
from inspector.session.json_reader import JsonReader
from inspector.session.model import (
    Block,
    Compaction,
    ContextCause,
    Origin,
    RecordedBreakpoint,
    Role,
    TextUnavailableError,
    Usage,
)
from inspector.session.reader import DocumentInterpreter, FileChange, ReadingProgress
from inspector.session.sniff import Sample
from inspector.session.sqlite import unread_table_diagnostics
from inspector.session.texts import CachedTexts
from inspector.session.usage_fields import INSPECT, excludes_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.call_matching import ToolNames
    from inspector.session.json.nodes import Fields, Node
    from inspector.session.model import Session
    from inspector.session.reader import Reader
    from inspector.session.sqlite import DatabaseState


ATTACHMENTS = ("attachment://", "tc://")
"""Prefixes of references to attachments; the second is from logs of 2024."""

MOST_DEPTH = 40

DATA_PARTS = ("audio", "video", "document")

FROM_CACHE = "event:model, answered from Inspect's cache"
"""Count name of events without a request."""


class Attachments:
    """Long texts and images, stored once per log and referenced by hash. Resolved ones are cached."""

    def __init__(self) -> None:
        self._nodes: Mapping[str, Node] = {}
        self._texts: dict[str, str] = {}

    def use(self, nodes: Mapping[str, Node]) -> None:
        self._nodes, self._texts = nodes, {}

    def release(self) -> None:
        """Release the attachments that were never resolved."""
        self._nodes = {}

    def resolved(self, value: Any, depth: int = 0) -> Any:
        """Replace references in a value by the attachments."""
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
    """Convert a message to OpenAI form."""
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
            # The model receives the error in place of the tool's output (`inspect_ai/model/_openai.py`).
            value["content"], value["is_error"] = string(error.get("message")), True
    return value


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": part.get("image"), "detail": part.get("detail")}})
        elif kind in DATA_PARTS:
            parts.append({"type": "file", "file_data": part.get(kind)})
        else:
            parts.append(part)
    return parts


def usage_of(reported: Any) -> Usage | None:
    """Convert a call's usage. The total shows what it includes: cache reads and writes in the input, reasoning."""
    tokens = mapping(reported)
    prompt, output = count(tokens.get("input_tokens")), count(tokens.get("output_tokens"))
    read, written = count(tokens.get("input_tokens_cache_read")), count(tokens.get("input_tokens_cache_write"))
    total, reasoning = count(tokens.get("total_tokens")), count(tokens.get("reasoning_tokens"))
    if excludes_reasoning(total, [prompt, prompt + read + written], output, reasoning):
        output += reasoning
    excludes_cache = total == prompt + output + read + written or prompt < read + written
    includes_cache = total == prompt + output and prompt >= read + written
    uncached = prompt if excludes_cache and not includes_cache else max(prompt - read - written, 0)
    usage = Usage(
        uncached=uncached,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(reasoning, output),
    )
    return INSPECT.check(usage.unless_zero(), tokens)


class SampleLog(RequestLog):
    """Adds the requests of a sample to a session in order."""

    counts_messages = False

    def __init__(self, builder: SessionBuilder, attachments: Attachments) -> None:
        super().__init__(builder)
        self._attachments = attachments
        self._call: Fields | None = None
        self._calls = CallPool(())

    def use_calls(self, calls: CallPool) -> None:
        self._calls = calls

    def add_event(self, request: PlainConversation, call: Fields) -> None:
        """Add a request; `call` is the request as sent, empty if it was not recorded."""
        self._call = call
        self.add_request(request)
        self._call = None

    def _breakpoints_of(
        self,
        thread: RequestThread,
        messages: Sequence[PlainMessage],  # noqa: ARG002  # breakpoints are in the request as sent
        request: PlainConversation,  # noqa: ARG002
    ) -> tuple[RecordedBreakpoint, ...] | None:
        if self._call is None:
            return None
        members = (self._builder.messages[index].blocks for index in thread.members)
        return breakpoints_of_request(self._call, self._calls, [block for blocks in members for block in blocks])

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:  # noqa: ARG002  # results name their tool
        """Convert a message; empty if it is not one."""
        value = node.value()
        if not isinstance(value, dict):
            self._builder.diagnose("not a message", 0, max(node.offset, 0), skipped=True)
            return []
        message = chat_message(mapping(self._attachments.resolved(value)))
        (blocks,) = chat_blocks([message], Origin(node.offset, node.length))
        return [PlainMessage(node, role_of(message), blocks, {**about, "id": string(value.get("id"))})]

    def add_rest(self, messages: Sequence[Node]) -> None:
        """Add the messages after the last response: results not sent in any request yet."""
        last = next((each for each in reversed(self._builder.messages) if each.role is Role.ASSISTANT), None)
        if last is None:
            return
        answer = last.identifier
        ids = [string(node.fields()["id"].value()) if "id" in node.fields() else "" for node in messages]
        if not answer or answer not in ids:
            return
        thread = next(one for one in self.threads if one.number == last.thread)
        for node in messages[ids.index(answer) + 1 :]:
            for sent in self.read(node, {}, thread.tool_names):
                if sent.role is not Role.ASSISTANT:
                    self.append(thread, sent, is_call=False)


def blocks_again(record: bytes, origin: Origin, attachments: Attachments) -> list[TextBlock]:
    value = lenient_json(record)[0]
    if origin.locator == TOOLS:
        return blocks_of_definition(value, record, origin.offset, origin.length, TOOLS)
    (blocks,) = chat_blocks([chat_message(mapping(attachments.resolved(mapping(value))))], origin)
    return blocks


def interpret_sample(
    sample: Node, header: Mapping[str, Any], builder: SessionBuilder, attachments: Attachments
) -> None:
    """Fill a builder from a sample; `attachments` receives the sample's attachments."""
    fields = sample.fields()
    about = mapping(header.get("eval"))
    value = fields.values_of("id", "epoch")
    version = string(mapping(about.get("packages")).get("inspect_ai"))
    builder.agent = " ".join(filter(None, ("Inspect", version)))
    builder.title = title_of(string(about.get("task_display_name")) or string(about.get("task")), value)
    builder.identifier = name_of_sample(value)
    # Logs of 2024 store the events and attachments in a transcript.
    transcript = fields.fields_of("transcript")
    moved = fields.get("attachments") or transcript.get("content")
    attachments.use(moved.fields() if moved is not None else {})
    conversation = SampleLog(builder, attachments)
    pool = _pool(fields)
    conversation.use_calls(CallPool(fields.items_of("call_pool") or fields.fields_of("events_data").items_of("calls")))
    compacted: Mapping[str, Any] | None = None
    events = fields.get("events") or transcript.get("events")
    for item in events.items() if events is not None else ():
        event = item.fields()
        kind = string(event.value_of("event"))
        builder.record_counts[f"event:{kind or '(no kind)'}"] += 1
        if kind == "compaction":
            compacted = mapping(item.value())
        if kind == "model":
            contexts, first = len(builder.contexts), len(builder.messages)
            request = _request(event, pool, about)
            if not request.is_billed:
                builder.record_counts[FROM_CACHE] += 1
            conversation.add_event(request, event.fields_of("call"))
            if compacted is not None and len(builder.contexts) > contexts:
                _note_compaction(builder, compacted, first)
                compacted = None
    messages = fields.items_of("messages")
    if messages:
        builder.record_counts["message"] += len(messages)
    conversation.add_rest(messages)
    if not builder.calls and not builder.record_counts[FROM_CACHE] and messages:
        builder.replace_all((), (), (), ())
        SampleLog(builder, attachments).add_request(PlainConversation(messages, about={"model": about.get("model")}))
        add_model_usage(builder, fields.value_of(MODEL_USAGE), usage_of)
    attachments.release()


def _pool(fields: Fields) -> list[Node]:
    """Return the messages that events reference by index."""
    if "message_pool" in fields:
        return fields["message_pool"].items()
    return fields.fields_of("events_data").items_of("messages")


def _tier(event: Fields, about: Mapping[str, Any]) -> str:
    """Return the service tier of a request: as served, as requested, or as configured for the evaluation's model."""
    call, config = event.fields_of("call"), mapping(event.value_of("config"))
    configured = about.get("model_args") if event.value_of("model") == about.get("model") else None
    return first_tier(
        call.fields_of("response").value_of(SERVICE_TIER),
        call.fields_of("request").value_of(SERVICE_TIER),
        requested_tier(config),
        "batch" if config.get("batch") else None,
        requested_tier(configured),
    )


def _request(event: Fields, pool: list[Node], about: Mapping[str, Any]) -> PlainConversation:
    messages = event.items_of("input")
    for ends in sequence(event.value_of("input_refs")):
        if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) and end >= 0 for end in ends):
            messages = [*messages, *pool[ends[0] : ends[1]]]
    output = event.fields_of("output")
    choices = output.items_of("choices")
    response = choices[0].fields().get("message") if choices else None
    model = string(output.value_of("model"))
    reply = {
        "model": model or string(event.value_of("model")),
        "timestamp": event.value_of("timestamp"),
        "usage": _plain_usage(output.value_of("usage")),
        SERVICE_TIER: _tier(event, about),
    }
    # Inspect keeps answers on disk and uses them again; the event repeats the usage of the original request.
    is_billed = event.value_of("cache") != "read"
    return PlainConversation(messages, None, event.get("tools"), response, reply, {}, is_billed=is_billed)


def _plain_usage(reported: Any) -> dict[str, Any] | None:
    usage = usage_of(reported)
    if usage is None:
        return None
    return {
        "input_tokens": usage.uncached,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m,
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        # Numbers that this conversion leaves out, to be named.
        **dict.fromkeys(usage.ignored, 1),
    }


def _note_compaction(builder: SessionBuilder, event: Mapping[str, Any], first: int) -> None:
    """Record the compaction before the context that a request just began."""
    context = builder.contexts[-1]
    context.cause = ContextCause.COMPACTION
    time = seconds_of_any(event.get("timestamp"))
    before, after = count_or_none(event.get("tokens_before")), count_or_none(event.get("tokens_after"))
    builder.compactions.append(Compaction(first, string(event.get("type")) or "auto", before, after, time=time))
    if first < len(builder.messages) and len(context.members) > context.retained:
        index = context.members[context.retained]
        if string(event.get("type")) == "summary" and index >= first:
            builder.messages[index] = structs.replace(builder.messages[index], is_summary=True)


def log_reader(path: Path, name: str) -> Reader:
    """Return a reader for a log's named sample, or the last one.

    Raises:
        SessionError: The log has no such sample.
    """
    locator = Locator.of(path)
    sample = Sample(locator.file)
    if sample.is_archive or sample.is_database or _is_running(locator, sample):
        return LogReader(path, name)
    return JsonReader(path, name, lambda: LogInterpreter(path))


class LogInterpreter(DocumentInterpreter):
    """Builds a session from a sample of a JSON log."""

    def __init__(self, path: Path) -> None:
        """Initialize with the path of a log, optionally followed by a sample's name."""
        super().__init__()
        self._path = path
        self._attachments = Attachments()

    def take_document(self, document: Node) -> None:
        samples = nodes_of_samples(document)
        fields = document.fields()
        header = fields.values_of("eval", "status")
        if samples:
            sample = samples[chosen(samples, Locator.of(self._path).session, self._path)]
            interpret_sample(sample, header, self.builder, self._attachments)
        self.builder.record_counts["sample"] = len(samples)

    def blocks_of_record(self, record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_again(record, origin, self._attachments)


def _is_running(locator: Locator, log: Sample) -> bool:
    """Return True if the selected sample of a JSON log is only in its database."""
    finished = sequence(mapping(log.only_value).get("samples"))
    if locator.session:
        return not any(name_of_sample(mapping(sample)) == locator.session for sample in finished) and (
            locator.session in running_in(locator.file)
        )
    return not finished and bool(running_in(locator.file))


class MemberTexts(CachedTexts):
    """Texts of messages in an archive member, which is held in memory."""

    def __init__(self, name: str, data: bytes, attachments: Attachments) -> None:
        super().__init__(lambda record, origin: blocks_again(record, origin, attachments))
        self._file = name
        self._data = data

    def record(self, block: Block) -> bytes:
        start, length = block.origin.offset, block.origin.length
        if not 0 <= start <= start + length <= len(self._data):
            raise TextUnavailableError(f"{self._file} is shorter than when it was read")
        return self._data[start : start + length]

    def _key(self, origin: Origin) -> tuple[int, int | str]:
        return origin.file, origin.offset

    def _name(self, origin: Origin) -> str:  # noqa: ARG002  # all are in one file
        return self._file


class LogReader:
    """Reads a sample of an archive or a running evaluation, and again after each rewrite."""

    def __init__(self, path: Path, format_name: str) -> None:
        """Initialize with a log, or the database of a running one, optionally followed by a sample's name."""
        self._path = path
        self._locator = Locator.of(path)
        self._format = format_name
        self._state: tuple[FileState, DatabaseState | None] | None = None
        self._builder = SessionBuilder()
        self._texts = MemberTexts("", b"", Attachments())
        self._file = self._locator.file
        self._running = ""
        self._session: Session | None = None

    def load(self) -> Iterator[ReadingProgress]:
        """Read the sample.

        Raises:
            SessionError: The sample does not exist or cannot be read.
        """
        size = self._locator.file.stat().st_size
        yield ReadingProgress(0, size)
        self._read()
        yield ReadingProgress(size, size)

    def snapshot(self) -> Session:
        if self._session is None:
            self._session = self._builder.snapshot(self._format, self._path, self._texts, (self._file,))
        return self._session

    def refresh(self) -> FileChange:
        """Read the log again. An unreadable log counts as being written unless it stays unreadable."""
        try:
            place = FileState.of(self._locator.file.stat())
        except FileNotFoundError:
            return FileChange.VANISHED
        except OSError:
            return FileChange.UNREADABLE
        buffer = buffer_of(self._locator.file)
        if (place, buffer.state() if buffer is not None else None) == self._state:
            return FileChange.NONE
        before = self.snapshot()
        try:
            self._read()
        except SessionError:
            is_fresh = time.time() - place.modified / 1e9 < SETTLE_SECONDS
            return FileChange.UNREADABLE if is_fresh else FileChange.REPLACED
        self._builder.reuse(before)
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        return self._locator.file.parent

    def _read(self) -> None:
        log = self._locator.file
        place, buffer = FileState.of(os.stat(log)), buffer_of(log)  # noqa: PTH116  # consistent with the other readers
        state = buffer.state() if buffer is not None else None
        archive = Archive.at(log)
        running = buffer.samples() if buffer is not None else {}
        running = {name: sample for name, sample in running.items() if name not in archive.samples}
        if not archive.is_log and not running:
            raise SessionError(
                f"{self._path}: not an Inspect log, or an incomplete archive. Wait until the evaluation has finished."
            )
        # Keep following the same sample while it runs, even if others run too.
        wanted = self._locator.session or self._running
        name = chosen([*archive.samples, *running], wanted, self._path)
        if name in running and buffer is not None:
            self._running, self._file, file = name, buffer.path, name
            data = buffer.document(running[name])
            unread = buffer.unread_tables()
        else:
            self._file, file = log, archive.samples[name]
            data, unread = archive.read(file), []
        attachments, builder = Attachments(), SessionBuilder()
        interpret_sample(FileNode(data, 0), read_header(archive), builder, attachments)
        builder.record_counts["sample"] = len(archive.samples)
        if running:
            builder.record_counts["running sample"] = len(running)
        builder.current_diagnostics += unread_table_diagnostics(unread)
        self._builder, self._texts = builder, MemberTexts(file, data, attachments)
        self._state, self._session = (place, state), None
