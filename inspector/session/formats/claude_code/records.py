"""Schema of the lines in a Claude Code session file, limited to the fields in use.

Field meanings were derived from about five hundred real sessions of versions 1.0 to 2.1; the project documents none of
them. Unused fields are not declared, so they are skipped without decoding: most of `toolUseResult`, which repeats a
result for display and is often many times larger than the text sent to the model, and the subagent messages in
`progress` records (their usage belongs to other conversations).
"""

from __future__ import annotations

from enum import Enum, auto

from msgspec import Raw, Struct, field

from inspector.session.formats.claude_code.attachments import NOTICES, attachment_fields, attachment_type, is_sent
from inspector.session.json.lines import StructDecoder
from inspector.session.json.values import seconds_of_any

EMPTY = Raw(b"")


class Source(Struct, gc=False):
    """Data source of an image or document."""

    type: str | None = None
    media_type: str | None = None
    data: Raw = EMPTY
    url: str | None = None


class ContentBlock(Struct, gc=False):
    """A content block of a message or a part of a tool result, with the fields of all types."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = EMPTY
    tool_use_id: str | None = None
    tool_name: str | None = None
    content: str | list[ContentBlock] | ContentBlock | None = None
    is_error: bool | None = None
    source: Source | None = None


class CacheCreation(Struct, gc=False):
    """Cache writes by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUse(Struct, gc=False):
    """Use counts of server-side tools."""

    web_search_requests: int | None = None
    code_execution_requests: int | None = None


class ReportedUsage(Struct, gc=False):
    """`message.usage` as reported by the API."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    speed: str | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    server_tool_use: ServerToolUse | None = None
    ignored: tuple[str, ...] = field(name="(not in the file)", default=())
    iterations: list[ReportedIteration] | None = None


class ReportedIteration(ReportedUsage, gc=False):
    """A request within a response, in `usage.iterations`."""

    type: str | None = None
    model: str | None = None


class MissReason(Struct, gc=False):
    """Cause of a prompt cache miss, reported to clients that opt in (`cache-diagnosis-2026-04-07`)."""

    type: str | None = None
    missed: int | None = field(name="cache_missed_input_tokens", default=None)


class ApiDiagnostics(Struct, gc=False):
    """API diagnostics of a request; no reason yet means that the comparison is not finished."""

    miss: MissReason | None = field(name="cache_miss_reason", default=None)


class ApiMessage(Struct, gc=False):
    """`message`: an API request or response."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[ContentBlock] | ContentBlock | None = None
    usage: ReportedUsage | None = None
    diagnostics: ApiDiagnostics | None = None


class PreservedSegment(Struct, gc=False):
    """Messages kept by a compaction, as the first and last of a chain."""

    head: str | None = field(name="headUuid", default=None)
    anchor: str | None = field(name="anchorUuid", default=None)
    tail: str | None = field(name="tailUuid", default=None)


class PreservedMessages(Struct, gc=False):
    """Messages kept by a compaction, as a list."""

    anchor: str | None = field(name="anchorUuid", default=None)
    uuids: list[str] | None = None
    all_uuids: list[str] | None = field(name="allUuids", default=None)


class CompactMetadata(Struct, gc=False):
    """Metadata of a full or partial compaction."""

    trigger: str | None = None
    tokens_before: int | None = field(name="preTokens", default=None)
    tokens_after: int | None = field(name="postTokens", default=None)
    tokens_saved: int | None = field(name="tokensSaved", default=None)
    cleared: list[str] | None = field(name="compactedToolIds", default=None)
    cleared_attachments: list[str] | None = field(name="clearedAttachmentUUIDs", default=None)
    preserved_segment: PreservedSegment | None = field(name="preservedSegment", default=None)
    preserved_messages: PreservedMessages | None = field(name="preservedMessages", default=None)


class StartedSubagent(Struct, gc=False):
    """Subagent data in `toolUseResult` and in `data` of `progress` records."""

    agent: str | None = field(name="agentId", default=None)
    agent_type: Raw = field(name="agentType", default=EMPTY)
    description: Raw = EMPTY


class ClaudeCodeRecord(Struct, gc=False):
    """One line."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent: str | None = field(name="parentUuid", default=None)
    logical_parent: str | None = field(name="logicalParentUuid", default=None)
    leaf: str | None = field(name="leafUuid", default=None)
    session: str | None = field(name="sessionId", default=None)
    printed_session: str | None = field(name="session_id", default=None)
    agent: str | None = field(name="agentId", default=None)
    is_sidechain: bool | None = field(name="isSidechain", default=None)
    is_meta: bool | None = field(name="isMeta", default=None)
    is_compact_summary: bool | None = field(name="isCompactSummary", default=None)
    is_api_error: bool | None = field(name="isApiErrorMessage", default=None)
    forked_from: Raw = field(name="forkedFrom", default=EMPTY)
    parent_tool: str | None = field(name="parent_tool_use_id", default=None)
    request: str | None = field(name="requestId", default=None)
    timestamp: str | float | None = None
    version: str | None = None
    cwd: str | None = None
    effort: str | None = None
    message: ApiMessage | None = None
    tool_use_result: StartedSubagent | str | int | float | bool | list[Raw] | None = field(
        name="toolUseResult", default=None
    )
    data: StartedSubagent | str | int | float | bool | list[Raw] | None = None
    parent_tool_use: str | None = field(name="parentToolUseID", default=None)
    attachment: Raw = EMPTY
    content: Raw = EMPTY
    hook_errors: Raw = field(name="hookErrors", default=EMPTY)
    compact_metadata: CompactMetadata | None = field(name="compactMetadata", default=None)
    microcompact_metadata: CompactMetadata | None = field(name="microcompactMetadata", default=None)
    summary: str | None = None
    custom_title: str | None = field(name="customTitle", default=None)
    ai_title: str | None = field(name="aiTitle", default=None)
    run_cost: float | None = field(name="total_cost_usd", default=None)
    session_cost: float | None = field(name="totalCostUSD", default=None)
    model_usage: Raw = field(name="modelUsage", default=EMPTY)
    usage: Raw = EMPTY
    start_time: Raw = field(name="startTime", default=EMPTY)
    fork_point: str | None = field(name="parentLastUuid", default=None)
    event: Raw = EMPTY

    @property
    def time(self) -> float | None:
        """Seconds since the epoch, None if the line has no time."""
        return seconds_of_any(self.timestamp)

    @property
    def is_printed(self) -> bool:
        """True if the line is stream output of a run without a screen."""
        return self.session is None and self.printed_session is not None


DECODER = StructDecoder(ClaudeCodeRecord)


SYNTHETIC_MODEL = "<synthetic>"
"""Model name of messages written by the program."""

QUIET = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "cost-state",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "rate_limit_event",
        "stream_event",
        "summary",
        "tag",
        "worktree-state",
    }
)
"""Bookkeeping types, counted but not shown."""

REPEATED = "(repeated)"
"""Count name of lines repeated by a later compaction or resume."""

QUIET_SYSTEM = frozenset({"bridge_status", "init", "stop_hook_summary", "turn_duration"})
"""Subtypes of `system` that are counted but not shown."""

INTERPRETED = frozenset({"assistant", "attachment", "cost-state", "fork-context-ref", "result", "user"})
"""Types that are not bookkeeping."""

INTERPRETED_SYSTEM = frozenset(
    {
        "agents_killed",
        "api_error",
        "api_metrics",
        "away_summary",
        "compact_boundary",
        "files_persisted",
        "hook_progress",
    }
    | {"hook_response", "hook_started", "informational", "local_command", "memory_saved", "microcompact_boundary"}
    | {"model_refusal_fallback", "permission_retry", "scheduled_task_fire", "status", "task_notification"}
    | {"task_progress", "task_started", "task_updated"}
)
"""Subtypes of `system` that are not bookkeeping: compactions, commands and notices."""


class RecordKind(Enum):
    """Role of a line in the conversation."""

    RESPONSE = auto()
    """A block of a model response."""
    SYNTHETIC = auto()
    """A message written by the program in place of the model: shown, never sent."""
    USER = auto()
    """User-side content added to the context: a prompt, a tool result, injected text."""
    SUMMARY = auto()
    """The summary that replaces a compacted conversation."""
    COMPACTION = auto()
    MICROCOMPACTION = auto()
    NOTICE = auto()
    """Shown, never sent."""
    QUIET = auto()
    """Counted only."""


def kind_of(record: ClaudeCodeRecord) -> RecordKind:
    """Classify a line. Unknown types are notices, so that they are visible."""
    match record.type:
        case "assistant" if record.message is not None:
            synthetic = record.is_api_error or record.message.model == SYNTHETIC_MODEL
            return RecordKind.SYNTHETIC if synthetic else RecordKind.RESPONSE
        case "user" if record.message is not None:
            return RecordKind.SUMMARY if record.is_compact_summary else RecordKind.USER
        case "attachment":
            return _attachment_kind(record)
        case "system":
            return _system_kind(record)
        case kind if kind in QUIET:
            return RecordKind.QUIET
    return RecordKind.NOTICE


def _attachment_kind(record: ClaudeCodeRecord) -> RecordKind:
    fields = attachment_fields(bytes(record.attachment))
    if is_sent(fields):
        return RecordKind.USER
    return RecordKind.NOTICE if str(fields.get("type")) in NOTICES else RecordKind.QUIET


def _system_kind(record: ClaudeCodeRecord) -> RecordKind:
    match record.subtype:
        case "compact_boundary":
            return RecordKind.COMPACTION
        case "microcompact_boundary":
            return RecordKind.MICROCOMPACTION
        case "local_command":
            # The model receives the output of a local command with the next prompt.
            return RecordKind.USER
        case "stop_hook_summary" if bytes(record.hook_errors) not in (b"", b"[]", b"null"):
            return RecordKind.NOTICE
        case subtype if subtype in QUIET_SYSTEM:
            return RecordKind.QUIET
    return RecordKind.NOTICE


def count_name(record: ClaudeCodeRecord) -> str:
    """Return a line's count name: its type plus the subtype of system records and the type of attachments."""
    if record.type is None:
        return "(no type)"
    if record.type == "attachment" and (kind := attachment_type(record.attachment)):
        return f"attachment:{kind}"
    return f"{record.type}:{record.subtype}" if record.type == "system" and record.subtype else record.type
