"""Subagents that are still running: no result names them yet, but their first prompt is what they were started with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.decoding import lenient_json
from inspector.session.errors import SessionError
from inspector.session.formats.claude_code.family import RUNNING, running_identifier
from inspector.session.formats.claude_code.places import SUBAGENTS, is_copy, parent_file
from inspector.session.opening import open_for_reading
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 1 << 20
"""A first prompt stands within so much of a file."""

MOST_FILES = 200
"""Of the files of subagents, the newest are looked into."""


def locate(path: Path, identifier: str) -> Path | None:
    """The newest file of a subagent that began with a prompt.

    Args:
        path: The session that started it.
        identifier: What `running_identifier` says of the prompt.
    """
    if not identifier.startswith(RUNNING):
        return None
    folder = (parent_file(path) or path).with_suffix("") / SUBAGENTS
    try:
        files = [(file.stat().st_mtime, file) for file in folder.glob("agent-*.jsonl") if not is_copy(file)]
    except OSError:
        return None
    newest = (file for _, file in sorted(files, reverse=True)[:MOST_FILES])
    return next((file for file in newest if file != path and running_identifier(_prompt_of(file)) == identifier), None)


def _prompt_of(file: Path) -> str:
    """What a subagent was asked first; empty where that cannot be read."""
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES)
    except (SessionError, OSError):
        return ""
    for line in data.splitlines():
        record = mapping(lenient_json(line)[0])
        if record.get("type") == "user":
            content = mapping(record.get("message")).get("content")
            return string(content) or "\n".join(string(part.get("text")) for part in objects(content))
    return ""
