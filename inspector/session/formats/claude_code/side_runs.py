"""Requests beside a session's conversation: runs that answer one question over a copy of it.

Claude Code summarises, asks side questions and suggests prompts in runs of their own, whose files among the subagents'
begin with a copy of the conversation. What stands behind the copy is billed, and no part of the session's own file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import FileState
from inspector.session.formats.claude_code.related import COPIES, SUBAGENTS, parent_file
from inspector.session.model import SideCall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.session.builder import SessionBuilder
    from inspector.session.model import Session

PURPOSES = dict(zip(COPIES, ("compaction", "side question", "prompt suggestion"), strict=True))


class SideRuns:
    """The runs in the folder of a session's subagents; each is read once, and again when its file has changed."""

    def __init__(self, path: Path, read: Callable[[Path], Session]) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The session.
            read: Reads a run's file, marking what it copied as inherited.
        """
        self._folder = path.with_suffix("") / SUBAGENTS if parent_file(path) is None else None
        self._read = read
        self._known: dict[str, FileState] = {}

    def note(self, builder: SessionBuilder) -> None:
        """Bring the session's side calls up to date with the runs there are."""
        if self._folder is None:
            return
        builder.beside[self._folder] = None
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(COPIES))
        except OSError:
            return
        for name in names:
            state = FileState.at(self._folder / name)
            if state is not None and state != self._known.get(name) and name.endswith(".jsonl"):
                self._known[name] = state.settled()
                builder.beside[self._folder / name] = None
                self._take(name, builder)

    def _take(self, name: str, builder: SessionBuilder) -> None:
        if self._folder is None:
            return
        try:
            run = self._read(self._folder / name)
        except SessionError:
            return
        purpose = next(purpose for start, purpose in PURPOSES.items() if name.startswith(start))
        for call in run.calls:
            if not run.messages[call.response].is_inherited:
                made = SideCall(purpose, call.model, call.time, call.usage, call.identifier, call.terms)
                builder.side_calls[f"{name} {call.identifier or call.response}"] = made
