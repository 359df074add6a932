"""Parse the lines of a Claude Code session file, limited to the fields in use, and convert them to blocks.

Field meanings were derived from about five hundred real sessions of versions 1.0 to 2.1; the project documents none of
them. Unused fields are not declared, so they are skipped without decoding: most of `toolUseResult`, which repeats a
result for display and is often many times larger than the text sent to the model, and the subagent messages in
`progress` records (their usage belongs to other conversations).

Attachment records are what the program adds to the conversation. Claude Code wraps each one in `<system-reminder>`; the
wording here follows recorded sessions and public transcripts. For unknown types the fields are listed, so their length
is correct to within a few words.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct, field, structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.json import StructDecoder, clean_text, compact_json, decode_json, lenient_json, seconds_of_any
from inspector.session.media import PDF, media_of_all, media_of_base64
from inspector.session.model import BlockKind, Media, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


OUTSIDE_CONVERSATION = frozenset(
    {
        "already_read_file",
        "async_hook_response_pending",
        "auto_mode",
        "command_permissions",
        "dynamic_skill",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "structured_output",
    }
)
"""Types for the program or its screen only."""

SENT = frozenset(
    {"agent_mention", "async_hook_response", "budget_usd", "companion_intro", "compaction_reminder"}
    | {"context_efficiency", "critical_system_reminder", "current_session_memory", "directory", "goal_status"}
    | {"invoked_skills", "lsp_diagnostics", "mcp_resource", "max_turns_reached", "memory", "output_style"}
    | {"output_token_usage", "pdf_reference", "plan_file_reference", "plan_mode", "plan_mode_exit", "plan_mode_reentry"}
    | {"relevant_memories", "skill_discovery", "task_status", "team_context", "teammate_mailbox", "todo"}
    | {"token_usage", "ultramemory", "ultrathink_effort", "verify_plan_reminder"}
)
"""Known types that are sent with their fields listed, in addition to those with a text below."""

NOTICES = frozenset({"hook_error_during_execution", "hook_non_blocking_error", "hook_system_message"})
"""Types never sent that are still worth showing to the user."""

BOOKKEEPING = frozenset(
    {"type", "toolUseID", "hookEvent", "timestamp", "durationMs", "exitCode", "displayPath", "origin"}
)

Attachment = dict[str, Any]


class Typed(msgspec.Struct, gc=False):
    """The type field of an attachment."""

    type: str | None = None


TYPE = msgspec.json.Decoder(Typed)


def attachment_fields(raw: bytes) -> Attachment:
    """Return the attachment object; empty if there is none."""
    value, _ = decode_json(raw)
    return value if isinstance(value, dict) else {}


def attachment_type(raw: Raw) -> str:
    """Return only the type, without decoding the rest; empty if there is none."""
    try:
        return TYPE.decode(raw).type or ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def is_sent(fields: Attachment) -> bool:
    kind = fields.get("type")
    if kind == "hook_success":
        return bool(fields.get("content")) and fields.get("hookEvent") in ("SessionStart", "UserPromptSubmit")
    return isinstance(kind, str) and kind not in OUTSIDE_CONVERSATION


def notice_text(fields: Attachment) -> str:
    """Return the displayed text of an attachment that is not sent."""
    content = fields.get("content") or fields.get("stderr") or fields.get("blockingError") or ""
    return f"{fields.get('hookName', fields.get('type', 'notice'))}: {plain(content)}"


def attachment_text(fields: Attachment) -> str:
    """Return the text sent to the model."""
    kind = fields.get("type")
    template = TEMPLATES.get(kind) if isinstance(kind, str) else None
    body = template(fields) if template is not None else _listed(fields)
    return f"<system-reminder>\n{body}\n</system-reminder>"


def plain(value: object) -> str:
    """Convert a field to text: lists one item per line, text parts by their text, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(plain(item) for item in value)
    if isinstance(value, dict):
        if isinstance(text := value.get("text"), str):
            return text
        if value.get("type") in ("image", "document"):
            return ""
    return compact_json(value)


def _listed(fields: Attachment) -> str:
    lines = [f"{name}: {plain(value)}" for name, value in fields.items() if name not in BOOKKEEPING]
    return "\n".join([str(fields.get("type", "attachment")), *lines])


def _file(fields: Attachment) -> str:
    content = fields.get("content")
    file = content.get("file") if isinstance(content, dict) else None
    path = fields.get("filename") or (file.get("filePath") if isinstance(file, dict) else "")
    text = plain(file.get("content")) if isinstance(file, dict) else plain(content)
    called = f"Called the Read tool with the following input: {compact_json({'file_path': path})}"
    return f"{called}\nResult of calling the Read tool:\n{text}"


def _nested_memory(fields: Attachment) -> str:
    content = fields.get("content")
    text = content.get("content") if isinstance(content, dict) else content
    return f"Contents of {plain(fields.get('path'))}:\n\n{plain(text)}"


def _task_reminder(fields: Attachment) -> str:
    tasks = fields.get("content")
    reminder = (
        "The task tools haven't been used recently. If you're working on tasks that would benefit from tracking "
        "progress, consider using TaskCreate to add new tasks and TaskUpdate to update task status (set to in_progress "
        "when starting, completed when done). Also consider cleaning up the task list if it has become stale. Only use "
        "these if relevant to the current work. This is just a gentle reminder - ignore if not applicable. Make sure "
        "that you NEVER mention this reminder to the user"
    )
    if not isinstance(tasks, list) or not tasks:
        return reminder
    lines = [
        f"#{task.get('id', '')}. [{task.get('status', '')}] {plain(task.get('subject') or task.get('content'))}"
        if isinstance(task, dict)
        else plain(task)
        for task in tasks
    ]
    return f"{reminder}\n\nHere are the existing tasks:\n\n" + "\n".join(lines)


def _with(template: str, *names: str) -> Callable[[Attachment], str]:
    return lambda fields: template.format(*(plain(fields.get(name)) for name in names))


TEMPLATES: dict[str, Callable[[Attachment], str]] = {
    "agent_listing_delta": _with("Available agent types for the Agent tool:\n{}", "addedLines"),
    "compact_file_reference": _with(
        "Note: {} was read before the last conversation was summarized, but the contents are too large to include. "
        "Use Read tool if you need to access it.",
        "filename",
    ),
    "date_change": _with("The date has changed. Today's date is now {}.", "newDate"),
    "deferred_tools_delta": _with("The following deferred tools are now available via ToolSearch:\n{}", "addedNames"),
    "diagnostics": _with(
        "<new-diagnostics>The following new diagnostic issues were detected:\n\n{}</new-diagnostics>", "files"
    ),
    "edited_text_file": _with(
        "Note: {} was modified, either by the user or by a linter. This change was intentional, so make sure to take "
        "it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, "
        "since they are already aware. Here are the relevant changes (shown with line numbers):\n{}",
        "filename",
        "snippet",
    ),
    "file": _file,
    "hook_additional_context": _with("{} hook additional context: {}", "hookName", "content"),
    "hook_blocking_error": _with("{} hook blocking error: {}", "hookName", "blockingError"),
    "hook_stopped_continuation": _with("{} hook stopped continuation: {}", "hookName", "message"),
    "hook_success": _with("{} hook success: {}", "hookName", "content"),
    "mcp_instructions_delta": _with(
        "# MCP Server Instructions\n\nThe following MCP servers have provided instructions for how to use their tools "
        "and resources:\n\n{}",
        "addedBlocks",
    ),
    "nested_memory": _nested_memory,
    "opened_file_in_ide": _with(
        "The user opened the file {} in the IDE. This may or may not be related to the current task.", "filename"
    ),
    "queued_command": _with(
        "The user sent the following message:\n{}\n\nPlease address this message and continue with your tasks.",
        "prompt",
    ),
    "selected_lines_in_ide": _with(
        "The user selected the lines {} to {} from {}:\n{}\n\nThis may or may not be related to the current task.",
        "lineStart",
        "lineEnd",
        "filename",
        "content",
    ),
    "skill_listing": _with("The following skills are available for use with the Skill tool:\n\n{}", "content"),
    "task_reminder": _task_reminder,
    "todo_reminder": _task_reminder,
}


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


NO_BLOCKS = frozenset({RecordKind.QUIET, RecordKind.COMPACTION, RecordKind.MICROCOMPACTION})

NO_NAMES: dict[str, str] = {}


def blocks_of_line(
    record: ClaudeCodeRecord, kind: RecordKind, line: bytes, offset: int, tool_names: Mapping[str, str]
) -> Sequence[TextBlock]:
    """Return the blocks of a line; `tool_names` are tool names by call id, for results."""
    if record.message is None:
        if kind in NO_BLOCKS:
            return ()
        return [_record_without_message(record, kind, line, Origin(offset, len(line)))]
    content = record.message.content
    is_response = record.type == "assistant"
    plain_kind = BlockKind.ASSISTANT_TEXT if is_response else BlockKind.USER_TEXT
    if content is None:
        return ()
    if isinstance(content, str):
        return [text_block(plain_kind, content, Origin(offset, len(line)))]
    if isinstance(content, ContentBlock):
        content = [content]
    return [
        _block_of_part(part, plain_kind, line, Origin(offset, len(line), index), tool_names)
        for index, part in enumerate(content)
    ]


def _block_of_part(
    part: ContentBlock, plain_kind: BlockKind, line: bytes, origin: Origin, tool_names: Mapping[str, str]
) -> TextBlock:
    match part.type:
        case "text":
            return text_block(plain_kind, part.text or "", origin)
        case "thinking":
            signature = len(part.signature or "")
            return text_block(BlockKind.THINKING, part.thinking or "", origin, signature_characters=signature)
        case "redacted_thinking":
            return text_block(BlockKind.THINKING, "", origin, signature_characters=len(part.data or ""))
        case "image" | "document":
            return _media_block(part, origin)
        # Server-side tools have their own types with the same suffix: server_tool_use, mcp_tool_use.
        case str(name) if name.endswith("tool_use"):
            arguments = clean_text(bytes(part.input).decode(errors="replace")) or "{}"
            return text_block(
                BlockKind.TOOL_CALL, arguments, origin, tool_call_id=part.id or "", tool_name=part.name or ""
            )
        case str(name) if name.endswith("tool_result"):
            return _result_block(part, line, origin, tool_names)
    return text_block(BlockKind.OTHER, _raw_part(line, origin.part), origin)


def _result_block(part: ContentBlock, line: bytes, origin: Origin, tool_names: Mapping[str, str]) -> TextBlock:
    call = part.tool_use_id or ""
    name = tool_names.get(call, "")
    content = part.content
    if content is None or isinstance(content, str):
        return text_block(
            BlockKind.TOOL_RESULT,
            content or "",
            origin,
            tool_call_id=call,
            tool_name=name,
            is_error=bool(part.is_error),
        )
    items = content if isinstance(content, list) else [content]
    texts, media, data = [], [], []
    for index, item in enumerate(items):
        if item.type == "text":
            texts.append(item.text or "")
        elif item.type == "tool_reference":
            texts.append(item.tool_name or item.name or "")
        elif item.type in ("image", "document"):
            one, encoded, text = _media(item.source)
            media.append(one)
            data.append(encoded)
            if text:
                texts.append(text)
        else:
            texts.append(_raw_part(line, origin.part, index if isinstance(content, list) else None))
    return text_block(
        BlockKind.TOOL_RESULT,
        "\n".join(texts),
        origin,
        tool_call_id=call,
        tool_name=name,
        is_error=bool(part.is_error),
        media=tuple(media),
        media_data=data,
        plain_text=False,
    )


def _media_block(part: ContentBlock, origin: Origin) -> TextBlock:
    media, data, text = _media(part.source)
    kind = BlockKind.IMAGE if part.type == "image" else BlockKind.DOCUMENT
    if kind is BlockKind.DOCUMENT and not media.media_type:
        media = structs.replace(media, media_type=PDF)
    return text_block(kind, text, origin, media=(media,), media_data=(data,))


def _media(source: Source | None) -> tuple[Media, bytes, str]:
    """Return the media type and size, the encoded bytes, and the text of a plain text document."""
    if source is None:
        return Media("", 0), b"", ""
    data = bytes(source.data)
    media_type = source.media_type or ""
    if source.type == "text":
        text, _ = lenient_json(data)
        text = text if isinstance(text, str) else ""
        return Media(media_type or "text/plain", len(text.encode())), b"", text
    if data.startswith(b'"'):
        data = data[1:-1].replace(b"\\/", b"/")
        return media_of_base64(media_type, data), data, ""
    return Media(media_type, 0), (source.url or "").encode(errors="replace"), ""


def _record_without_message(record: ClaudeCodeRecord, kind: RecordKind, line: bytes, origin: Origin) -> TextBlock:
    if record.type == "attachment":
        fields = attachment_fields(bytes(record.attachment))
        if kind is RecordKind.USER:
            media, data = _attached_media(fields)
            text = clean_text(attachment_text(fields))
            return text_block(BlockKind.USER_TEXT, text, origin, media=media, media_data=data)
        return text_block(BlockKind.OTHER, clean_text(notice_text(fields)), origin)
    content, _ = decode_json(record.content)
    if record.type == "system":
        text = clean_text(plain(content)) or _system_text(line, record.subtype or "")
        return text_block(BlockKind.USER_TEXT if kind is RecordKind.USER else BlockKind.OTHER, text, origin)
    return text_block(BlockKind.OTHER, _cleaned(line), origin)


def _system_text(line: bytes, subtype: str) -> str:
    """Return the error details of a system record without text, or the whole record without them."""
    value, _ = lenient_json(line)
    fields = value if isinstance(value, dict) else {}
    for name in ("error", "hookErrors", "message"):
        if fields.get(name):
            return clean_text(f"{subtype}: {plain(fields[name])}")
    return _cleaned(line)


def _attached_media(fields: dict[str, Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    found = []
    content = fields.get("content")
    if isinstance(content, dict) and content.get("type") == "image" and isinstance(content.get("file"), dict):
        found.append((content["file"].get("type"), content["file"].get("base64")))
    prompt = fields.get("prompt")
    sources = [item.get("source") for item in prompt if isinstance(item, dict)] if isinstance(prompt, list) else []
    found += [(source.get("media_type"), source.get("data")) for source in sources if isinstance(source, dict)]
    return media_of_all((str(kind or ""), data) for kind, data in found if isinstance(data, str))


def _raw_part(line: bytes, index: int, item: int | None = None) -> str:
    value, _ = lenient_json(line)
    try:
        part: Any = value["message"]["content"]  # type: ignore[index]  # an unexpected structure is caught below
        part = part[index] if isinstance(part, list) else part
        if item is not None or part.get("type", "").endswith("tool_result"):
            part = part["content"] if item is None else part["content"][item]
        return clean_text(compact_json(part))
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def _cleaned(line: bytes) -> str:
    return line.decode(errors="replace")
