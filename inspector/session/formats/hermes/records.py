"""Recognize Hermes' files and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.formats.plain import ROLES
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "hermes"

META = "session_meta"
"""Role of an entry with session metadata."""

TABLES = {
    "sessions": frozenset({"id", "source", "parent_session_id", "started_at"}),
    "messages": frozenset({"id", "session_id", "role", "content", "tool_calls", "timestamp"}),
}
"""Tables and columns that identify a Hermes database."""


def is_document(value: object) -> bool:
    about = mapping(value)
    messages = about.get("messages")
    is_own = isinstance(about.get("session_id"), str) and any(
        name in about for name in ("system_prompt", "platform", "base_url")
    )
    if not is_own or not isinstance(messages, list):
        return False
    first = messages[:20]
    return not first or sum(map(_has_role, first)) * 2 > len(first)


def is_meta(record: Mapping[str, Any]) -> bool:
    """Return True for a line with session metadata."""
    return record.get("role") == META


def _has_role(item: object) -> bool:
    return string(mapping(item).get("role")) in ROLES | {META}
