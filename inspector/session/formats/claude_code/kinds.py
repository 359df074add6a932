"""What a line is to the conversation."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from inspector.session.formats.claude_code.attachments import NOTICES, attachment_fields, attachment_type, is_sent

if TYPE_CHECKING:
    from inspector.session.formats.claude_code.records import Record

SYNTHETIC_MODEL = "<synthetic>"
"""The model name of messages that the program wrote itself."""

QUIET = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
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
"""Types that are counted and not shown: the program's own bookkeeping."""

REPEATED = "(written again)"
"""What lines are counted under that a later compaction or resume wrote once more."""

QUIET_SYSTEM = frozenset({"bridge_status", "init", "stop_hook_summary", "turn_duration"})
"""Subtypes of `system` that are counted and not shown."""


class RecordKind(Enum):
    """What a line is to the conversation."""

    RESPONSE = auto()
    """A block of a model's response."""
    SYNTHETIC = auto()
    """A message in the model's place that the program wrote: shown, never sent."""
    USER = auto()
    """Something the user side adds to the context: a prompt, a tool result, injected text."""
    SUMMARY = auto()
    """The text that stands for a compacted conversation."""
    COMPACTION = auto()
    MICROCOMPACTION = auto()
    NOTICE = auto()
    """Shown beside the conversation, never sent."""
    QUIET = auto()
    """Counted only."""


def kind_of(record: Record) -> RecordKind:
    """What a line is to the conversation; of unknown types it is a notice, so that they are seen."""
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


def _attachment_kind(record: Record) -> RecordKind:
    fields = attachment_fields(bytes(record.attachment))
    if is_sent(fields):
        return RecordKind.USER
    return RecordKind.NOTICE if str(fields.get("type")) in NOTICES else RecordKind.QUIET


def _system_kind(record: Record) -> RecordKind:
    match record.subtype:
        case "compact_boundary":
            return RecordKind.COMPACTION
        case "microcompact_boundary":
            return RecordKind.MICROCOMPACTION
        case "local_command":
            # Output of a local command is passed on to the model with the next prompt.
            return RecordKind.USER
        case "stop_hook_summary" if bytes(record.hook_errors) not in (b"", b"[]", b"null"):
            return RecordKind.NOTICE
        case subtype if subtype in QUIET_SYSTEM:
            return RecordKind.QUIET
    return RecordKind.NOTICE


def count_name(record: Record) -> str:
    """The name a line is counted under: its type, with the subtype of system records and the type of attachments."""
    if record.type is None:
        return "(no type)"
    if record.type == "attachment" and (kind := attachment_type(record.attachment)):
        return f"attachment:{kind}"
    return f"{record.type}:{record.subtype}" if record.type == "system" and record.subtype else record.type
