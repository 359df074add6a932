"""Locate the files of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import is_file, is_folder

if TYPE_CHECKING:
    from pathlib import Path

HISTORY, SHOWN = "api_conversation_history.json", "ui_messages.json"

EDITS = "context_history.json"
"""Changes that Cline made to messages before sending them again."""

METADATA = "task_metadata.json"
"""Files and models used by a task."""

INDEX = "taskHistory.json"
"""Index of all tasks, in `state` next to the tasks folder (`src/core/storage/disk.ts` in cline/cline)."""

SDK_SUFFIX = ".messages.json"


def history_of(path: Path) -> Path:
    """Return the document with a task's messages, given its folder or any of its files."""
    if is_folder(path):
        return path / HISTORY
    if path.name in (SHOWN, EDITS, METADATA):
        return path.with_name(HISTORY)
    if not path.name.endswith(SDK_SUFFIX):
        messages = path.with_name(path.name.removesuffix(".json") + SDK_SUFFIX)
        return messages if is_file(messages) else path
    return path


def sidecars_of(path: Path) -> tuple[Path, ...]:
    """Return the documents that describe the messages in `path`."""
    if path.name.endswith(SDK_SUFFIX):
        return (path.with_name(path.name.removesuffix(SDK_SUFFIX) + ".json"),)
    return (path.with_name(SHOWN),)


def index_of(path: Path) -> Path:
    """Return the task index for the task with its messages in `path`."""
    return path.resolve().parent.parent.parent / "state" / INDEX
