"""Read side runs: requests outside a session's conversation that ask one question over a copy of it.

Claude Code runs summaries, side questions and prompt suggestions separately. Their files are in the subagent folder and
begin with a copy of the conversation. The part after the copy is billed but not recorded in the session's own file.
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
    """The side runs in a session's subagent folder; each file is read again only if it changed."""

    def __init__(self, path: Path, read: Callable[[Path], Session]) -> None:
        """Initialize; `read` reads a run's file and marks copied messages as inherited."""
        self._folder = path.with_suffix("") / SUBAGENTS if parent_file(path) is None else None
        self._read = read
        self._known: dict[str, FileState] = {}

    def note(self, builder: SessionBuilder) -> None:
        if self._folder is None:
            return
        builder.side_files[self._folder] = None
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(COPIES))
        except OSError:
            return
        for name in names:
            state = FileState.at(self._folder / name)
            if state is not None and state != self._known.get(name) and name.endswith(".jsonl"):
                self._known[name] = state.settled()
                builder.side_files[self._folder / name] = None
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
