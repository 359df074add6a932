"""Reading Claude Code session files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.formats.claude_code.conversation import Conversation
from inspector.session.formats.claude_code.parts import blocks_of_line
from inspector.session.formats.claude_code.records import DECODER

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.texts import BlocksOfRecord


class ClaudeCodeInterpreter:
    """Makes a session out of the lines of a Claude Code session file."""

    def __init__(self, path: Path) -> None:
        """Begin; `path` is the file."""
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_line
        self._conversation = Conversation(self.assembly, path)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for record, start, end, number, problem in DECODER.lines(data):
            if problem:
                self.assembly.diagnose(problem, first_line + number, offset + start, skipped=record is None)
            if record is not None:
                self._conversation.add(record, data[start:end], offset + start, first_line + number)
