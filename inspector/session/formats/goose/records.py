"""Telling Goose's files and tables from others."""

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
"""The tables, and columns of them, by which a database is told to be Goose's."""

OF_THEIR_OWN = frozenset({"hidden", "sub_agent"})
"""Types of sessions that no person began."""

CARRIED_RECORDS = "usage:carried forward"
"""What rows of the ledger are counted under that are no requests."""

REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})

UNSENT = frozenset(
    {"actionRequired", "contextLengthExceeded", "conversationCompacted", "summarizationRequested"}
    | {"systemNotification", "toolConfirmationRequest"}
)
"""Parts for the person's eyes alone."""

OWN_PARTS = REQUESTS | UNSENT | {"toolResponse", "redactedThinking"}
"""Types of parts that only Goose writes."""


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Whether a line says what the session is."""
    return "role" not in value and "message_count" in value and ("description" in value or "working_dir" in value)


def is_message(value: object) -> bool:
    """Whether a value is one of Goose's messages."""
    message = mapping(value)
    is_timed = isinstance(message.get("created"), int) and isinstance(message.get("content"), list)
    return is_timed and string(message.get("role")) in ("user", "assistant")


def has_own_parts(value: object) -> bool:
    """Whether a message holds what only Goose writes."""
    return any(string(part.get("type")) in OWN_PARTS for part in objects(mapping(value).get("content")))


def is_export(value: object) -> bool:
    """Whether a value is a whole session."""
    about = mapping(value)
    messages = about.get("conversation")
    return isinstance(messages, list) and "working_dir" in about and all(map(is_message, messages[:20]))
