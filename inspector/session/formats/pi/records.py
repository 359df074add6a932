"""Classify entries by their role in the conversation."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from inspector.session.json.values import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

QUIET = frozenset(
    {
        "credential_pin",
        "custom",
        "label",
        "mode_change",
        "model_change",
        "service_tier_change",
        "session",
        "session_info",
        "thinking_level_change",
        "title",
        "title_change",
        "ttsr_injection",
    }
)
"""Types that are counted and not shown: settings, names, and data of extensions."""

INJECTED_ROLES = frozenset({"bashExecution", "custom", "fileMention", "hookMessage", "pythonExecution"})
"""Roles of user-side messages that were not typed."""

FAILED = frozenset({"error", "aborted"})
"""Stop reasons of responses that pi does not send again."""


class EntryKind(Enum):
    """Role of an entry in the conversation."""

    RESPONSE = auto()
    """A model response."""
    RESULT = auto()
    USER = auto()
    """A user message."""
    INJECTED = auto()
    """A message added by the program in the user's place."""
    SYSTEM = auto()
    """Instructions."""
    SUMMARY = auto()
    """A compaction with its summary."""
    RESET = auto()
    """The conversation restarts."""
    HIDDEN = auto()
    """Shown, never sent: a command with output that the user kept private."""
    NOTICE = auto()
    """An unknown type: shown, never sent."""
    QUIET = auto()
    """Counted only."""


def kind_of(entry: Mapping[str, Any]) -> EntryKind:
    """Classify an entry. Unknown types are notices, so that they are visible."""
    match entry.get("type"):
        case "message":
            return _message_kind(mapping(entry.get("message")))
        case "compaction":
            return EntryKind.SUMMARY
        case "branch_summary":
            return EntryKind.INJECTED if entry.get("summary") else EntryKind.QUIET
        case "custom_message":
            return EntryKind.INJECTED
        case "reset_boundary":
            return EntryKind.RESET
        case "session_init":
            return EntryKind.SYSTEM if entry.get("systemPrompt") else EntryKind.QUIET
        case str(kind) if kind in QUIET:
            return EntryKind.QUIET
    return EntryKind.NOTICE


def _message_kind(message: Mapping[str, Any]) -> EntryKind:
    role = message.get("role")
    match role:
        case "assistant":
            return EntryKind.RESPONSE
        case "toolResult":
            return EntryKind.RESULT
        case "user":
            return EntryKind.USER
        case "developer" | "system":
            return EntryKind.SYSTEM
        case str(name) if name in INJECTED_ROLES:
            return EntryKind.HIDDEN if message.get("excludeFromContext") else EntryKind.INJECTED
    return EntryKind.NOTICE


def count_name(entry: Mapping[str, Any]) -> str:
    """Return the name for counting an entry: its type, plus the role of messages."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        return "(no type)"
    role = mapping(entry.get("message")).get("role")
    return f"{kind}:{role}" if kind == "message" and isinstance(role, str) else kind
