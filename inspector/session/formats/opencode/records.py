"""Recognize OpenCode's exports and its older storage tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.files import is_folder
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS, MESSAGES, PARTS = "session", "message", "part"
"""Folders of the storage tree."""


def is_message(value: Any) -> bool:
    """Return True for an exported message of OpenCode 1, or of OpenCode 2."""
    if not isinstance(value, dict):
        return False
    if string(value.get("id")).startswith("msg_") and isinstance(value.get("time"), dict):
        return isinstance(value.get("type"), str) and "created" in value["time"]
    return isinstance(value.get("parts"), list) and mapping(value.get("info")).get("role") in ("user", "assistant")


def is_export(value: Any) -> bool:
    """Return True for an exported session or its message list."""
    if isinstance(value, list):
        return bool(value) and sum(map(is_message, value)) * 2 > len(value)
    if not isinstance(value, dict) or not isinstance(value.get("info"), dict):
        return False
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    return string(value["info"].get("id")).startswith("ses") or (bool(messages) and is_export(messages))


def is_storage(folder: Path) -> bool:
    """Return True for the root of a storage tree."""
    return all(is_folder(folder / name) for name in (SESSIONS, MESSAGES, PARTS))


def is_session_file(path: Path, document: Any) -> bool:
    """Return True for a session's file in a storage tree."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("id"), str)
        and isinstance(document.get("time"), dict)
        and len(path.absolute().parents) > 2
        and is_folder(path.absolute().parents[2] / MESSAGES)
        and path.absolute().parents[1].name == SESSIONS
    )
