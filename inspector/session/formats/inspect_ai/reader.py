"""Read logs: JSON documents, archives (one file of them), and running samples.

The messages of a request (`call.request` of an event) have the form of the provider's API: results are in user
messages, which are merged, and the system prompt may be separate (`inspect_ai/model/_providers/anthropic.py`). They are
aligned with the prompt's blocks by kind, from the end, where breakpoints usually are, or otherwise from the start.
Newer logs store them once and reference them by index (`inspect_ai/event/_pool.py`).

Totals by model serve logs whose events were not kept. Answers from Inspect's cache are not part of them
(`inspect_ai/model/_model.py`: `record_and_check_model_usage`).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.billing_terms import SERVICE_TIER, first_tier, requested_tier
from inspector.session.blocks import CachedTexts, TextBlock
from inspector.session.builder import SessionBuilder, ToolNames
from inspector.session.files import SETTLE_SECONDS, FileState, Locator
from inspector.session.formats.chat import (
    CACHE_CONTROL,
    DOCUMENT_PARTS,
    IMAGE_PARTS,
    SYSTEM,
    TEXT_KIND,
    TEXT_PARTS,
    TOOLS,
    blocks_of_definition,
    chat_blocks,
    lifetime_of,
    role_of,
)
from inspector.session.formats.inspect_ai import (
    Archive,
    buffer_of,
    chosen,
    name_of_sample,
    nodes_of_samples,
    read_header,
    running_in,
    title_of,
)
from inspector.session.formats.plain import PlainConversation, PlainMessage, RequestLog, RequestThread
from inspector.session.json import (
    FileNode,
    clean_string,
    count,
    count_or_none,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.model import (
    NO_MESSAGE,
    Block,
    BlockKind,
    Compaction,
    ContextCause,
    Origin,
    RecordedBreakpoint,
    RecordedTotals,
    Role,
    SideCall,
    TextUnavailableError,
    Usage,
)
from inspector.session.reader import DocumentInterpreter, FileChange, Reader, ReadingProgress
from inspector.session.sniff import Sample
from inspector.session.sqlite import DatabaseState, unread_table_diagnostics
from inspector.session.usage_fields import INSPECT, excludes_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.json import Fields, Node
    from inspector.session.model import Session


NO_CONTENT = "(no content)"
"""Placeholder for an empty response in requests (`inspect_ai/_util/constants.py`)."""

MESSAGES = ("messages", "contents", "input", "inputs")
"""Request fields with the messages, by provider (`_CALL_MESSAGE_KEYS`)."""

NOT_HELD = (BlockKind.THINKING, BlockKind.OTHER)
"""Ignored block kinds: not every provider receives reasoning again."""


class _Part(NamedTuple):
    """A part of a request, with the lifetime of its cache breakpoint; None without one."""

    kind: BlockKind
    lifetime: str | None


class CallPool:
    """The messages of all requests of a sample, each parsed once."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Initialize with the shared messages, empty in logs that store them with every request."""
        self._nodes = nodes
        self._parts: dict[int, list[_Part]] = {}

    def parts(self, references: Any) -> list[_Part] | None:
        """Return the parts of the messages in the index ranges; None if some are missing."""
        found: list[_Part] = []
        for ends in sequence(references):
            is_pair = isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) for end in ends)
            if not is_pair or not 0 <= ends[0] <= ends[1] <= len(self._nodes):
                return None
            for place in range(*ends):
                if place not in self._parts:
                    self._parts[place] = list(_parts_of_message(mapping(self._nodes[place].value())))
                found += self._parts[place]
        return found


def breakpoints_of_request(
    call: Fields, pool: CallPool, prompt: Sequence[Block]
) -> tuple[RecordedBreakpoint, ...] | None:
    """Return a request's cache breakpoints in order; None if it was not recorded or does not match the prompt."""
    references = call.value_of("call_refs")
    referred = pool.parts(references)
    if "request" not in call or referred is None:
        return None
    if not references and CACHE_CONTROL.encode() not in call["request"].raw():
        return ()
    request = mapping(call["request"].value())
    # Requests to Google and to the Responses API have no breakpoints.
    messages = next((request[name] for name in MESSAGES if isinstance(request.get(name), list)), ())
    parts = list(_parts_of_system(request.get(SYSTEM)))
    parts += (part for message in objects(messages) for part in _parts_of_message(message))
    parts += referred
    tools = [lifetime for tool in sequence(request.get(TOOLS)) if (lifetime := lifetime_of(tool)) is not None]
    whole = lifetime_of(request)
    if not tools and whole is None and all(part.lifetime is None for part in parts):
        return ()
    return _placed(parts, tools, whole, prompt)


def _placed(
    parts: Sequence[_Part], tools: Sequence[str], whole: str | None, prompt: Sequence[Block]
) -> tuple[RecordedBreakpoint, ...] | None:
    has_tools = bool(prompt) and prompt[0].origin.locator == TOOLS
    places = [at for at, block in enumerate(prompt) if block.kind not in NOT_HELD and (at or not has_tools)]
    theirs = [part.kind for part in parts]
    ours = [prompt[at].kind for at in places]
    found: dict[int, str] = {}
    if tools and has_tools:
        found[1] = tools[-1]
    for at, part in enumerate(parts):
        if part.lifetime is None:
            continue
        behind = len(theirs) - at - 1
        if behind < len(ours) and theirs[at:] == ours[len(ours) - behind - 1 :]:
            found[places[len(ours) - behind - 1] + 1] = part.lifetime
        elif theirs[: at + 1] == ours[: at + 1]:
            found[places[at] + 1] = part.lifetime
        else:
            return None
    if whole is not None and prompt:
        found.setdefault(len(prompt), whole)
    return tuple(RecordedBreakpoint(blocks, lifetime) for blocks, lifetime in sorted(found.items()))


def _parts_of_system(system: Any) -> Iterator[_Part]:
    if isinstance(system, str) and system:
        yield _Part(BlockKind.SYSTEM_TEXT, None)
    for part in objects(system):
        yield _Part(BlockKind.SYSTEM_TEXT, lifetime_of(part))


def _parts_of_message(message: Mapping[str, Any]) -> Iterator[_Part]:
    """Yield a message's relevant parts. A breakpoint on the message belongs to its last part."""
    parts = [part for part in _parts_inside(message) if part.kind not in NOT_HELD]
    lifetime = lifetime_of(message)
    if parts and lifetime is not None:
        parts[-1] = parts[-1]._replace(lifetime=lifetime)
    yield from parts


def _parts_inside(message: Mapping[str, Any]) -> Iterator[_Part]:
    role, content = role_of(message), message.get("content")
    if role is Role.TOOL:
        yield _Part(BlockKind.TOOL_RESULT, _last_lifetime(objects(content)))
        return
    if isinstance(content, str) and content and content != NO_CONTENT:
        yield _Part(TEXT_KIND[role], None)
    for part in objects(content):
        if part.get("type") in TEXT_PARTS and part.get("text") == NO_CONTENT:
            continue
        yield _Part(_kind_of(part, role), _last_lifetime([*objects(part.get("content")), part]))
    for _ in objects(message.get("tool_calls")):
        yield _Part(BlockKind.TOOL_CALL, None)


def _kind_of(part: Mapping[str, Any], role: Role) -> BlockKind:
    kind = string(part.get("type"))
    if kind in TEXT_PARTS:
        return TEXT_KIND[role]
    if kind.endswith("thinking"):
        return BlockKind.THINKING
    if kind.endswith("tool_use"):
        return BlockKind.TOOL_CALL
    if kind.endswith("tool_result"):
        return BlockKind.TOOL_RESULT
    if kind in IMAGE_PARTS:
        return BlockKind.IMAGE
    return BlockKind.DOCUMENT if kind in DOCUMENT_PARTS else BlockKind.OTHER


def _last_lifetime(parts: Iterable[Mapping[str, Any]]) -> str | None:
    lifetimes = [lifetime for part in parts if (lifetime := lifetime_of(part)) is not None]
    return lifetimes[-1] if lifetimes else None


MODEL_USAGE = "model_usage"


def add_model_usage(builder: SessionBuilder, recorded: Any, usage_of: Callable[[Any], Usage | None]) -> None:
    """Add a sample's totals if its calls report no usage; models without messages become side requests."""
    found = {
        clean_string(name): (usage, mapping(value).get("total_cost"))
        for name, value in mapping(recorded).items()
        if (usage := usage_of(value)) is not None
    }
    if not found or not builder.calls:
        return
    costs = [cost for _, cost in found.values() if isinstance(cost, int | float) and not isinstance(cost, bool)]
    called, sides = {call.model for call in builder.calls}, []
    for name, (usage, _) in found.items():
        if name not in called:
            identifier = f"{MODEL_USAGE} {name}"
            made = SideCall(NO_MESSAGE, name, builder.calls[-1].time, usage, identifier, requests=0)
            builder.side_calls[identifier] = made
            sides.append((name, usage))
    builder.recorded_totals.append(
        RecordedTotals(
            MODEL_USAGE,
            tuple((name, usage) for name, (usage, _) in found.items()),
            cost_usd=sum(costs) if len(costs) == len(found) and sum(costs) > 0 else None,
            end_call=len(builder.calls),
            side_usages=tuple(sides),
        )
    )


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
    """Return a reader for a log's named sample, or the last one. Raises `SessionError` if there is none."""
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
        except OSError as error:
            return FileChange.of_error(error)
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
