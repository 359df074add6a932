"""Reading Copilot CLI's event logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.formats.copilot.conversation import Conversation
from inspector.session.formats.copilot.parts import blocks_of_line
from inspector.session.objects import object_lines

if TYPE_CHECKING:
    from inspector.session.texts import BlocksOfRecord


class CopilotInterpreter:
    """Makes a session out of the lines of an event log."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_line
        self._conversation = Conversation(self.assembly)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self.assembly, "data"):
            self._conversation.add(line)
