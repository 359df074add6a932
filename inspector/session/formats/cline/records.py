"""Which files belong to one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import is_file, is_folder

if TYPE_CHECKING:
    from pathlib import Path

HISTORY, SHOWN = "api_conversation_history.json", "ui_messages.json"

EDITS = "context_history.json"
"""What Cline changed of single messages before it sent them again."""

METADATA = "task_metadata.json"
"""Which files and models a task used."""

INDEX = "taskHistory.json"
"""What is known of all tasks, in `state` beside the folder of tasks (`src/core/storage/disk.ts` in cline/cline)."""

SDK_SUFFIX = ".messages.json"


def history_of(path: Path) -> Path:
    """The document with a task's messages, given any of its files or its folder."""
    if is_folder(path):
        return path / HISTORY
    if path.name in (SHOWN, EDITS, METADATA):
        return path.with_name(HISTORY)
    if not path.name.endswith(SDK_SUFFIX):
        messages = path.with_name(path.name.removesuffix(".json") + SDK_SUFFIX)
        return messages if is_file(messages) else path
    return path


def beside(path: Path) -> tuple[Path, ...]:
    """The documents that tell more of the messages in `path`."""
    if path.name.endswith(SDK_SUFFIX):
        return (path.with_name(path.name.removesuffix(SDK_SUFFIX) + ".json"),)
    return (path.with_name(SHOWN),)


def index_of(path: Path) -> Path:
    """The index of the tasks that the one with its messages in `path` is among."""
    return path.resolve().parent.parent.parent / "state" / INDEX
