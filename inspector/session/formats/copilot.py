"""Read GitHub Copilot CLI: a folder per session with `events.jsonl`, or one JSON document in the first versions.

Event types are defined in `session-events.ts` of github/copilot-sdk. The document of the first versions,
`history-session-state/session_*.json`, is rewritten on every change. Its `chatMessages` are the messages sent to the
model, in OpenAI's form. `timeline` holds their display form: it adds times, and replaces the messages only if a
document has none. Usage is not recorded there.

`session.shutdown` has, per model, `modelMetrics.<model>.usage`, with cached tokens inside `inputTokens`, and the number
of requests. A resumed session writes one more: totals of the resumed process, or of the whole session so far, depending
on the version. The output tokens of the recorded responses show the difference.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field, structs

from inspector.errors import SessionError
from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.files import is_file, is_folder
from inspector.session.format import Format, home_of
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice
from inspector.session.json import (
    ObjectDecoder,
    clean_string,
    compact_json,
    count,
    count_or_none,
    mapping,
    object_nodes,
    object_of,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_base64
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    ContextCause,
    Media,
    Message,
    Origin,
    RecordedTotals,
    Role,
    SideCall,
    Usage,
)
from inspector.session.reader import DocumentInterpreter, Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.usage_fields import COPILOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.json import Node
    from inspector.session.model import Block


QUIET_FAMILIES = frozenset(
    {"auto_mode_switch", "capabilities", "command", "commands", "elicitation", "exit_plan_mode", "external_tool"}
    | {"factory", "hook", "mcp", "mcp_app", "pending_messages", "permission", "sampling", "session_limits_exhausted"}
    | {"tool_search", "ui", "user_input"}
)
"""Type prefixes (before the first dot) that are counted and not shown. Hooks alone are half of all events."""

QUIET = frozenset(
    {
        "assistant.idle",
        "assistant.intent",
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning",  # repeated in its message
        "assistant.reasoning_delta",
        "assistant.streaming_delta",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.usage",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.background_tasks_changed",
        "session.binary_asset",
        "session.context_changed",
        "session.custom_agents_updated",
        "session.custom_notification",
        "session.extensions_loaded",
        "session.extensions.attachments_pushed",
        "session.idle",
        "session.managed_settings_enforced",
        "session.managed_settings_resolved",
        "session.mcp_server_status_changed",
        "session.mcp_servers_loaded",
        "session.mode_changed",
        "session.model_change",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.resume",
        "session.schedule_cancelled",
        "session.schedule_created",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.shutdown",
        "session.skills_loaded",
        "session.snapshot_rewind",
        "session.start",
        "session.task_complete",
        "session.title_changed",
        "session.todos_changed",
        "session.tools_updated",
        "session.usage_checkpoint",
        "session.usage_info",
        "session.workspace_file_changed",
        "skill.invoked",  # its text is repeated as a user message
        "subagent.completed",
        "subagent.deselected",
        "subagent.selected",
        "subagent.started",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool.execution_start",
        "tool.user_requested",
    }
)
"""Types that are counted and not shown."""


class EventKind(Enum):
    """Role of an event in the conversation, with its type as value if there is just one."""

    RESPONSE = "assistant.message"
    """A model response or a part of one."""
    RESULT = "tool.execution_complete"
    USER = "user.message"
    """A message from the user or on their behalf."""
    NOTIFICATION = "system.notification"
    """A message from the program to the model."""
    SYSTEM = "system.message"
    """The system prompt, repeated whenever it changes."""
    COMPACTION_START = "session.compaction_start"
    COMPACTION = "session.compaction_complete"
    CLEARED = "session.context_cleared"
    """The conversation restarts."""
    NOTICE = ""
    """Shown, never sent: errors and unknown event types."""
    QUIET = "-"
    """Counted only."""


NOTICES = frozenset(
    {"abort", "session.error", "session.handoff", "session.info", "session.truncation", "session.warning"}
    | {"assistant.message_end", "subagent.failed"}
)

SPOKEN = {kind.value: kind for kind in EventKind if kind not in (EventKind.NOTICE, EventKind.QUIET)}


def kind_of(event_type: str) -> EventKind:
    """Classify an event by type. Unknown types are notices, so that they are visible."""
    if event_type in SPOKEN:
        return SPOKEN[event_type]
    if event_type in QUIET or event_type.partition(".")[0] in QUIET_FAMILIES:
        return EventKind.QUIET
    return EventKind.NOTICE


MESSAGES, TIMELINE = "chatMessages", "timeline"

MESSAGE_ROLES = frozenset({"assistant", "developer", "function", "system", "tool", "user"})
"""Message roles in the documents of the first versions."""


def is_document(value: object) -> bool:
    about = mapping(value)
    if not isinstance(about.get("sessionId"), str):
        return False
    messages, timeline = about.get(MESSAGES), about.get(TIMELINE)
    if isinstance(messages, list):
        known = sum(string(item.get("role")) in MESSAGE_ROLES for item in objects(messages))
        return known * 2 > len(messages) if messages else isinstance(timeline, list) or "startTime" in about
    shown = sum(isinstance(item.get("type"), str) for item in objects(timeline))
    return isinstance(timeline, list) and "startTime" in about and shown * 2 >= len(timeline)


EVENTS = "events.jsonl"

DOCUMENT = "a JSON document with a session's messages (an early Copilot CLI version)"


def _is_event(record: dict[str, Any]) -> bool:
    has_type = "." in string(record.get("type")) or record.get("type") == "abort"
    return has_type and isinstance(record.get("data"), dict) and "parentId" in record


class CopilotFormat(Format):
    """Copilot CLI session folders and the documents of its first versions."""

    name = "copilot-cli"
    title = "GitHub Copilot CLI"
    where = "~/.copilot/session-state and history-session-state, or the same folders in $COPILOT_HOME"
    exact = "output tokens of every call; prompt tokens and cache reads in sum, since versions that record them on exit"
    file_names = r"events\.jsonl"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return self._recognize_folder(sample.path)
        events = [record for record in sample.records if _is_event(record)]
        known = [event for event in events if kind_of(event["type"]) is not EventKind.NOTICE]
        if known and len(events) * 2 > len(sample.records):
            return f"{len(events)} of the first {len(sample.records)} records are Copilot CLI events"
        return DOCUMENT if is_document(sample.only_value) else ""

    def _recognize_folder(self, folder: Path) -> str:
        try:
            reason = self.recognize(Sample(folder / EVENTS)) if is_file(folder / EVENTS) else ""
        except (SessionError, OSError):
            return ""
        return f"in its {EVENTS}, {reason}" if reason else ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("COPILOT_HOME", ".copilot")
        return (home / "session-state", home / "history-session-state")

    def reader(self, path: Path) -> Reader:
        if not is_folder(path) and is_document(Sample(path).only_value):
            return JsonReader(path, self.name, CopilotDocumentInterpreter)
        return JsonlReader(path / EVENTS if is_folder(path) else path, self.name, CopilotInterpreter(), path)

    def is_bookkeeping(self, count_name: str) -> bool:
        return kind_of(count_name) is EventKind.QUIET or count_name.startswith("timeline:")

    def knows_record(self, count_name: str) -> bool:
        is_shown = count_name in NOTICES or count_name in MESSAGE_ROLES or count_name in SPOKEN
        return is_shown or self.is_bookkeeping(count_name)


REQUESTED, COMPLETED = "tool_call_requested", "tool_call_completed"

SPEAKERS = {"copilot": "assistant", "user": "user"}
"""Roles by type of timeline entry."""


class CopilotDocumentInterpreter(DocumentInterpreter):
    """Builds a session from such a document."""

    def take_document(self, document: Node) -> None:
        """Read the messages, or the timeline if there are none."""
        fields = document.fields()
        about = {name: fields[name].value() for name in fields if name not in (MESSAGES, TIMELINE)}
        self.builder.agent = "Copilot CLI"
        self.builder.identifier = string(about.get("sessionId"))
        self.builder.title = string(about.get("title"))
        self.builder.working_directory = string(about.get("cwd")) or string(mapping(about.get("context")).get("cwd"))
        model = string(about.get("selectedModel")) or string(about.get("model"))
        timeline = fields.items_of(TIMELINE)
        shown = [mapping(entry.value()) for entry in timeline]
        messages = fields.items_of(MESSAGES)
        kinds = Counter(string(entry.get("type")) or "(no type)" for entry in shown)
        prefix = f"{TIMELINE}:" if messages else ""
        self.builder.record_counts |= {f"{prefix}{kind}": count for kind, count in kinds.items()}
        times = _times(shown)
        returned = {string(entry.get("callId")) for entry in shown if entry.get("type") == COMPLETED}
        thread = ChatThread(self.builder)
        for entry, value in object_nodes(messages or timeline, "a message", self.builder):
            if messages:
                self.builder.record_counts[string(value.get("role")) or "(no role)"] += 1
            elif value.get("type") == REQUESTED and string(value.get("callId")) in returned:
                continue  # the result's entry repeats all of it
            spoken = _chat_messages(value, times, model)
            if thread.members and spoken[0].is_call:
                before = self.builder.messages[thread.members[-1]]
                if before.role is Role.ASSISTANT:
                    spoken[0] = structs.replace(
                        spoken[0], is_call=False
                    )  # one response may be stored as several messages
            thread.add_record(spoken, Origin(entry.offset, entry.length))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        return [] if value is None else blocks_of_chat(_chat_messages(value, {}, ""), origin)


def _times(shown: list[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """Return request and completion times of calls by id."""
    found: dict[tuple[str, str], float] = {}
    for entry in shown:
        kind, time = string(entry.get("type")), seconds_of_any(entry.get("timestamp"))
        if kind in (REQUESTED, COMPLETED) and time is not None:
            found.setdefault((kind, string(entry.get("callId"))), time)
    return found


def _chat_messages(value: Mapping[str, Any], times: Mapping[tuple[str, str], float], model: str) -> list[ChatMessage]:
    if string(value.get("role")):
        is_call = value.get("role") == "assistant"
        calls = [string(call.get("id")) for call in objects(value.get("tool_calls"))]
        asked = (times.get((REQUESTED, call)) for call in calls)
        time = seconds_of_any(value.get("timestamp")) or times.get((COMPLETED, string(value.get("tool_call_id"))))
        time = time or next((each for each in asked if each is not None), None)
        return [ChatMessage(value, time, is_call=is_call, model=model if is_call else "")]
    kind, time = string(value.get("type")), seconds_of_any(value.get("timestamp"))
    identifier = string(value.get("id"))
    if kind in SPEAKERS:
        by_name = {"role": SPEAKERS[kind], "content": string(value.get("text")) or string(value.get("content"))}
        is_call = kind == "copilot"
        return [ChatMessage(by_name, time, identifier, is_call=is_call, model=model if is_call else "")]
    if kind in (REQUESTED, COMPLETED):
        return _called(value, time, model)
    text = string(value.get("text")) or string(value.get("message")) or compact_json(dict(value))
    return [ChatMessage(notice(text), time, identifier)]


def _called(value: Mapping[str, Any], time: float | None, model: str) -> list[ChatMessage]:
    """Convert a timeline call and its result, if any."""
    call, name = string(value.get("callId")), string(value.get("name")) or string(value.get("toolTitle"))
    function = {"name": name, "arguments": value.get("arguments")}
    asked = {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]}
    made = [ChatMessage(asked, time, string(value.get("id")), is_call=True, model=model)]
    if value.get("type") == COMPLETED:
        result = value.get("result")
        text = mapping(result).get("log") or result
        phrase = text if isinstance(text, str) else "" if text is None else compact_json(text)
        is_error = mapping(result).get("type") in ("failure", "rejected", "denied", "error")
        made.append(ChatMessage({"role": "tool", "tool_call_id": call, "content": phrase, "is_error": is_error}, time))
    return made


SHUTDOWN = "session.shutdown"

COMPACTION = "compaction"

NANO_PER_DOLLAR = 1e11
"""Nano AI units per dollar: one unit costs a cent."""


class ModelTotals(NamedTuple):
    """Totals of one model."""

    usage: Usage
    requests: int

    def since(self, before: ModelTotals | None) -> ModelTotals | None:
        """Return the increase since an earlier record, or None if a count has decreased."""
        if before is None:
            return self
        names = ("uncached", "cache_read", "cache_write_5m", "output", "reasoning")
        added = {name: getattr(self.usage, name) - getattr(before.usage, name) for name in names}
        requests = self.requests - before.requests
        return ModelTotals(Usage(**added), requests) if min(requests, *added.values()) >= 0 else None


def usage_of(reported: Mapping[str, Any]) -> Usage:
    """Convert usage of a total or a compaction, in the current names or the first ones."""
    prompt = count(reported.get("inputTokens")) or count(reported.get("input"))
    read = count(reported.get("cacheReadTokens")) or count(reported.get("cachedInput"))
    written, output = count(reported.get("cacheWriteTokens")), count(reported.get("outputTokens"))
    output = output or count(reported.get("output"))
    return Usage.of_prompt(prompt, read, written, output, count(reported.get("reasoningTokens")))


class ShutdownTotals:
    """Adds recorded totals to a builder, each for the calls since the previous one or since the process began."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._begun = 0
        self._closed = 0
        self._sides: list[tuple[str, Usage]] = []
        self._last: dict[str, ModelTotals] = {}
        self._last_nano = 0

    def begin(self) -> None:
        """Record the start of a process."""
        self._begun = len(self._builder.calls)

    def compact(self, event: Mapping[str, Any], data: Mapping[str, Any], model: str) -> None:
        """Add the request of a compaction, which is in its own record only."""
        reported = mapping(data.get("compactionTokensUsed"))
        usage = usage_of(reported).unless_zero()
        if usage is None:
            return
        model, identifier = clean_string(reported.get("model")) or model, string(data.get("requestId"))
        self._side(COMPACTION, model, usage, event, identifier or string(event.get("id")))

    def close(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Add the totals of a shutdown."""
        metrics = {
            clean_string(name): ModelTotals(
                usage_of(mapping(mapping(each).get("usage"))),
                count(mapping(mapping(each).get("requests")).get("count")),
            )
            for name, each in mapping(data.get("modelMetrics")).items()
        }
        nano = count(data.get("totalNanoAiu"))
        added = {name: totals.since(self._last.get(name)) for name, totals in metrics.items()}
        increases = {name: totals for name, totals in added.items() if totals is not None}
        continues = len(increases) == len(metrics) and self._continues(metrics)
        totals = increases if continues else metrics
        first = self._closed if continues else self._begun
        cost = nano - self._last_nano if continues else nano
        self._last, self._last_nano = metrics, nano
        found = {name: each for name, each in totals.items() if each.usage.unless_zero() is not None}
        if found:
            self._add(found, first, cost, event)
        self._closed = self._begun = len(self._builder.calls)
        self._sides.clear()

    def _continues(self, metrics: Mapping[str, ModelTotals]) -> bool:
        """Return True if totals are of the whole session, by the output of its recorded responses."""
        if not self._last:
            return False
        outputs = [0 if call.usage is None else call.usage.output for call in self._builder.calls]
        total = sum(each.usage.output for each in metrics.values())
        return abs(total - sum(outputs)) < abs(total - sum(outputs[self._begun :]))

    def _add(self, found: Mapping[str, ModelTotals], first: int, cost: int, event: Mapping[str, Any]) -> None:
        builder, names = self._builder, list(found)
        if len(names) == 1:
            # Some versions name the model nowhere else.
            for index in range(first, len(builder.calls)):
                if not builder.calls[index].model:
                    builder.calls[index] = structs.replace(builder.calls[index], model=names[0])
        called = {call.model for call in builder.calls[first:]}
        known = {name for name, _ in self._sides}
        for name, each in found.items():
            if name not in called and name not in known:
                identifier = f"{string(event.get('id'))} {name}"
                self._side(NO_MESSAGE, name, each.usage, event, identifier, each.requests)
        builder.recorded_totals.append(
            RecordedTotals(
                SHUTDOWN,
                tuple((name, each.usage) for name, each in found.items()),
                cost / NANO_PER_DOLLAR if cost > 0 else None,
                sum(each.requests for each in found.values()) or None,
                first,
                len(builder.calls),
                side_usages=tuple(self._sides),
            )
        )

    def _side(
        self, purpose: str, model: str, usage: Usage, event: Mapping[str, Any], identifier: str, requests: int = 1
    ) -> None:
        time = seconds_of_any(event.get("timestamp"))
        made = SideCall(purpose, model, time, usage, identifier, requests=requests)
        self._builder.side_calls[f"{purpose} {identifier}"] = made
        self._sides.append((model, usage))


TEXT, REASONING, REQUESTS, ATTACHMENTS = "content", "reasoning", "toolRequests", "attachments"
"""Locators of the parts of an event."""

NO_NAMES: dict[str, str] = {}


def blocks_of_event(
    event: Mapping[str, Any], kind: EventKind, line: bytes, offset: int, tool_names: Mapping[str, str]
) -> list[TextBlock]:
    """Return the blocks of an event; `tool_names` are tool names by call id, for results."""
    data = mapping(event.get("data"))
    origin = Origin(offset, len(line))
    match kind:
        case EventKind.RESPONSE:
            return _response(data, origin)
        case EventKind.RESULT:
            return [_result(data, origin, tool_names)]
        case EventKind.USER:
            return _message_key(data, origin)
        case EventKind.NOTIFICATION:
            return [text_block(BlockKind.USER_TEXT, clean_string(data.get("content")), origin)]
        case EventKind.SYSTEM:
            return [text_block(BlockKind.SYSTEM_TEXT, clean_string(data.get("content")), origin)]
        case EventKind.COMPACTION if data.get("success") and data.get("summaryContent"):
            return [text_block(BlockKind.USER_TEXT, clean_string(data.get("summaryContent")), origin)]
        case EventKind.COMPACTION if data.get("success"):
            return []
        case EventKind.NOTICE | EventKind.COMPACTION:
            return [text_block(BlockKind.OTHER, _notice(event, data, line), origin)]
    return []


def _response(data: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    blocks = []
    signature = len(string(data.get("reasoningOpaque"))) + len(string(data.get("encryptedContent")))
    if data.get("reasoningText") or signature:
        place = origin.at(0, REASONING)
        text = clean_string(data.get("reasoningText"))
        blocks.append(text_block(BlockKind.THINKING, text, place, signature_characters=signature))
    if data.get("content"):
        blocks.append(text_block(BlockKind.ASSISTANT_TEXT, clean_string(data.get("content")), origin.at(0, TEXT)))
    for index, request in enumerate(objects(data.get("toolRequests"))):
        blocks.append(
            text_block(
                BlockKind.TOOL_CALL,
                argument_text(request.get("arguments", {})),
                origin.at(index, REQUESTS),
                tool_call_id=clean_string(request.get("toolCallId")),
                tool_name=clean_string(request.get("name")),
            )
        )
    return blocks


def _result(data: Mapping[str, Any], origin: Origin, tool_names: Mapping[str, str]) -> TextBlock:
    """Build a tool result. `content` is sent to the model; `detailedContent` is for display and often longer."""
    result = mapping(data.get("result"))
    media, encoded = _media(result.get("binaryResultsForLlm"))
    call = clean_string(data.get("toolCallId"))
    is_error = not data.get("success", True)
    text = clean_string(result.get("content")) or clean_string(mapping(data.get("error")).get("message"))
    return text_block(
        BlockKind.TOOL_RESULT,
        text,
        origin,
        tool_call_id=call,
        tool_name=tool_names.get(call, ""),
        is_error=is_error,
        media=media,
        media_data=encoded,
        plain_text=not media,
    )


def _message_key(data: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return a user message as sent to the model, with the tags that the program adds around the typed text."""
    text = clean_string(data.get("transformedContent")) or clean_string(data.get("content"))
    blocks = [text_block(BlockKind.USER_TEXT, text, origin)]
    for index, attachment in enumerate(objects(data.get("attachments"))):
        media, encoded = _media([attachment])
        if media:
            kind = BlockKind.IMAGE if media[0].media_type.startswith("image/") else BlockKind.DOCUMENT
            place = origin.at(index, ATTACHMENTS)
            blocks.append(text_block(kind, "", place, media=media, media_data=encoded))
    return blocks


def _media(items: Any) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    """Return the images and documents sent, with their data or the id of an asset that holds it."""
    media, encoded = [], []
    for item in objects(items):
        media_type, data = string(item.get("mimeType")), string(item.get("data")).encode(errors="replace")
        if data:
            media.append(media_of_base64(media_type, data))
            encoded.append(data)
        elif item.get("assetId") and media_type:
            media.append(Media(media_type, count(item.get("byteLength"))))
            encoded.append(string(item.get("assetId")).encode(errors="replace"))
    return tuple(media), tuple(encoded)


def _notice(event: Mapping[str, Any], data: Mapping[str, Any], line: bytes) -> str:
    for name in ("message", "error", "content", "reason"):
        if text := clean_string(data.get(name)):
            return f"{clean_string(event.get('type'))}: {text}"
    return line.decode(errors="replace")


MAIN = ("", "main")
"""Names of the main agent in events."""

ROLES = {
    EventKind.USER: Role.USER,
    EventKind.NOTIFICATION: Role.USER,
    EventKind.SYSTEM: Role.SYSTEM,
    EventKind.RESULT: Role.TOOL,
    EventKind.RESPONSE: Role.ASSISTANT,
}


class CopilotResponse(Struct):
    """A response that may still receive more parts. `request`: id of its API call."""

    request: str
    message: int
    call: int


class Agent(Struct):
    """State of one conversation. `compaction`: members at its start, and its start event's data."""

    thread: Thread
    model: str = ""
    system: int | None = None
    response: CopilotResponse | None = None
    compaction: tuple[int, Mapping[str, Any]] = field(default=(0, {}))


class CopilotInterpreter(RecordInterpreter):
    """Builds a session from events in file order."""

    decoder = ObjectDecoder("data")

    def __init__(self) -> None:
        super().__init__()
        self._agents: dict[str, Agent] = {}
        self._names: dict[str, str] = {}
        self._agent_of_call: dict[str, Agent] = {}
        self._by_person: set[str] = set()
        self._threads = 0
        self._totals = ShutdownTotals(self.builder)
        self._agent("")

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        event, _ = object_of(record)
        if event is None:
            return []
        return blocks_of_event(event, kind_of(string(event.get("type"))), record, origin.offset, {})

    def add(self, line: Record) -> None:
        event = line.value
        event_type = string(event.get("type"))
        self.builder.record_counts[event_type or "(no type)"] += 1
        data = mapping(event.get("data"))
        if event_type == "subagent.started":
            self._begin_agent(event, data)
        agent = self._agent(string(event.get("agentId")) or string(data.get("parentToolCallId")))
        self._note(event, data, agent)
        kind = kind_of(event_type)
        blocks = [made.block for made in blocks_of_event(event, kind, line.data, line.offset, self._names)]
        match kind:
            case EventKind.RESPONSE:
                self._respond(event, data, blocks, agent)
            case EventKind.RESULT:
                self._result(event, data, blocks, agent)
            case EventKind.SYSTEM:
                self._instruct(event, blocks, agent)
            case EventKind.COMPACTION_START:
                agent.compaction = (len(agent.thread.members), data)
            case EventKind.COMPACTION if data.get("success"):
                self._compact(event, data, blocks, agent)
            case EventKind.CLEARED:
                agent.thread.begin(ContextCause.START, () if agent.system is None else (agent.system,))
                agent.response = None
            case EventKind.QUIET:
                pass
            case _:
                is_meta = kind is EventKind.NOTIFICATION or _is_injected(data)
                agent.thread.add(self._message(event, kind, blocks, agent, is_meta=is_meta), is_sent=kind in ROLES)
        if event_type == "session.truncation":
            reason = "the messages dropped to fit the context window are not identified"
            self.builder.diagnose(reason, line.line, line.offset, skipped=False)

    def _agent(self, name: str) -> Agent:
        name = "" if name in MAIN else name
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = Agent(Thread(self.builder, self._threads))
            self._threads += 1
        return agent

    def _begin_agent(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Register a subagent under its own id and under the id of the call that started it."""
        names = [name for name in (string(data.get("toolCallId")), string(event.get("agentId"))) if name not in MAIN]
        if not names:
            return
        known = [self._agents[name] for name in names if name in self._agents]
        begun = [agent for agent in known if agent.thread.context is not None]
        agent = next(iter([*begun, *known]), None) or self._agent(names[0])
        agent.model = string(data.get("model")) or agent.model
        for name in names:
            self._agents[name] = agent

    def _note(self, event: Mapping[str, Any], data: Mapping[str, Any], agent: Agent) -> None:
        """Record an event's data about the session, its agents and their tools."""
        builder, event_type = self.builder, string(event.get("type"))
        match event_type:
            case "session.start" | "session.resume":
                context = mapping(data.get("context"))
                builder.identifier = builder.identifier or string(data.get("sessionId"))
                builder.working_directory = builder.working_directory or string(context.get("cwd"))
                version = string(data.get("copilotVersion"))
                builder.agent = f"Copilot CLI {version}" if version else builder.agent or "Copilot CLI"
                agent.model = string(data.get("selectedModel")) or agent.model
                self._totals.begin()
            case "session.model_change":
                agent.model = string(data.get("newModel")) or agent.model
            case "session.title_changed":
                builder.title = string(data.get("title")) or builder.title
            case "tool.execution_start" | "tool.user_requested":
                call = string(data.get("toolCallId"))
                self._names.setdefault(call, string(data.get("toolName")))
                if event_type == "tool.user_requested":
                    self._by_person.add(call)
            case EventKind.COMPACTION.value:
                self._totals.compact(event, data, agent.model)
            case "session.shutdown":
                self._totals.close(event, data)
        if limit := count(data.get("tokenLimit")):
            builder.window = limit

    def _message(
        self, event: Mapping[str, Any], kind: EventKind, blocks: list[Block], agent: Agent, **flags: bool
    ) -> Message:
        data = mapping(event.get("data"))
        return Message(
            role=ROLES.get(kind, Role.OTHER),
            blocks=tuple(blocks),
            time=seconds_of_any(event.get("timestamp")),
            identifier=string(data.get("messageId")) or string(event.get("id")),
            thread=agent.thread.number,
            **flags,
        )

    def _respond(self, event: Mapping[str, Any], data: Mapping[str, Any], blocks: list[Block], agent: Agent) -> None:
        for block in blocks:
            if block.kind is BlockKind.TOOL_CALL:
                self._names[block.tool_call_id] = block.tool_name
                self._agent_of_call[block.tool_call_id] = agent
        request = string(data.get("apiCallId"))
        # Only output tokens are reported. A usage without prompt tokens marks an unknown prompt size.
        output = count(data.get("outputTokens"))
        usage = COPILOT.check(Usage(output=output) if output else None, data)
        before = agent.response
        if before is not None and request and request == before.request:
            # The parts of a response repeat its usage, or only the last one has it.
            self.builder.add_blocks(before.message, blocks)
            call = self.builder.calls[before.call]
            if usage is not None and (call.usage is None or usage.output > call.usage.output):
                self.builder.calls[before.call] = structs.replace(call, usage=usage)
            return
        message = agent.thread.respond(
            self._message(event, EventKind.RESPONSE, blocks, agent),
            model=string(data.get("model")) or agent.model,
            usage=usage,
            identifier=request or string(data.get("requestId")),
        )
        agent.response = CopilotResponse(request, message, len(self.builder.calls) - 1)

    def _result(self, event: Mapping[str, Any], data: Mapping[str, Any], blocks: list[Block], agent: Agent) -> None:
        call = string(data.get("toolCallId"))
        agent = self._agent_of_call.get(call, agent)
        is_sent = call not in self._by_person and not data.get("isUserRequested")
        agent.thread.add(self._message(event, EventKind.RESULT, blocks, agent), is_sent=is_sent)

    def _instruct(self, event: Mapping[str, Any], blocks: list[Block], agent: Agent) -> None:
        """Set the system prompt; if it changed, begin a context with the new one first."""
        before = agent.system
        if before is not None and _digests(self.builder.messages[before].blocks) == _digests(blocks):
            return
        message = self._message(event, EventKind.SYSTEM, blocks, agent)
        if not agent.thread.members:
            agent.system = agent.thread.add(message)
            return
        agent.system = self.builder.add_message(message)
        others = [member for member in agent.thread.members if member != before]
        agent.thread.begin(ContextCause.REWIND, [agent.system, *others])

    def _compact(self, event: Mapping[str, Any], data: Mapping[str, Any], blocks: list[Block], agent: Agent) -> None:
        """Begin the context left by a compaction. Messages added while it ran are not summarized and stay."""
        if not blocks and not data.get("messagesRemoved"):
            return
        start, about = agent.compaction
        agent.compaction = (0, {})
        system = [] if agent.system is None else [agent.system]
        members = agent.thread.members
        kept = [member for member in members[start:] if member != agent.system] if start else []
        parts = [count(about.get(name)) for name in ("systemTokens", "conversationTokens", "toolDefinitionsTokens")]
        before = count_or_none(data.get("preCompactionTokens")) or count_or_none(about.get("currentTokens"))
        compaction = Compaction(
            message=0,
            trigger=string(data.get("trigger")) or string(about.get("trigger")),
            tokens_before=before or sum(parts) or None,
            tokens_after=count_or_none(data.get("postCompactionTokens")),
            tokens_saved=count_or_none(data.get("tokensRemoved")),
            time=seconds_of_any(event.get("timestamp")),
        )
        message = self._message(event, EventKind.USER, blocks, agent, is_summary=True) if blocks else None
        agent.thread.compact(compaction, message, kept, system)
        agent.response = None


def _is_injected(data: Mapping[str, Any]) -> bool:
    return bool(data.get("isAutopilotContinuation")) or string(data.get("source")) not in ("", "user")


def _digests(blocks: tuple[Block, ...] | list[Block]) -> list[bytes]:
    return [block.digest for block in blocks]


FORMATS = (CopilotFormat(),)
