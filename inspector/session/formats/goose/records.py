"""Recognize Goose's files and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "goose"

TABLES = {
    "sessions": frozenset({"id", "working_dir"}),
    "messages": frozenset({"id", "session_id", "role", "content_json"}),
}
"""Tables and columns that identify a Goose database."""

INTERNAL_TYPES = frozenset({"hidden", "sub_agent"})
"""Types of sessions not started by the user."""

FORWARDED_RECORDS = "usage:carried forward"
"""Name for counting ledger rows that are not requests."""

REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})

UNSENT = frozenset(
    {"actionRequired", "contextLengthExceeded", "conversationCompacted", "summarizationRequested"}
    | {"systemNotification", "toolConfirmationRequest"}
)
"""Part types for display only."""

OWN_PARTS = REQUESTS | UNSENT | {"toolResponse", "redactedThinking"}
"""Part types specific to Goose."""


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Return True for a line with session metadata."""
    return "role" not in value and "message_count" in value and ("description" in value or "working_dir" in value)


def is_message(value: object) -> bool:
    message = mapping(value)
    is_timed = isinstance(message.get("created"), int) and isinstance(message.get("content"), list)
    return is_timed and string(message.get("role")) in ("user", "assistant")


def has_own_parts(value: object) -> bool:
    """Return True if a message has parts specific to Goose."""
    return any(string(part.get("type")) in OWN_PARTS for part in objects(mapping(value).get("content")))


def is_export(value: object) -> bool:
    about = mapping(value)
    messages = about.get("conversation")
    return isinstance(messages, list) and "working_dir" in about and all(map(is_message, messages[:20]))
