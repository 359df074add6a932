"""Read Copilot CLI event logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import Thread
from inspector.session.formats.copilot.records import EventKind, kind_of
from inspector.session.formats.copilot.totals import ShutdownTotals
from inspector.session.json.lines import ObjectDecoder, object_of
from inspector.session.json.values import clean_string, count, count_or_none, mapping, objects, seconds_of_any, string
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, Compaction, ContextCause, Media, Message, Origin, Role, Usage
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.usage_fields import COPILOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block


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


@dataclass(slots=True)
class CopilotResponse:
    """A response that may still receive more parts.

    Attributes:
        request: Id of its API call.
        message: Index of its message.
        call: Index of its call.
    """

    request: str
    message: int
    call: int


@dataclass(slots=True)
class Agent:
    """State of the main conversation or of one subagent's.

    Attributes:
        thread: Its messages and contexts.
        model: Default model for its events.
        system: Index of the system prompt's message, None before the first.
        response: Its last response.
        compaction: Member count at the start of the current compaction, and its start event's data.
    """

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
        """Begin the context left by a compaction.

        Compactions run in the background: messages added after the start of one are not in its summary and stay.
        """
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
