"""Reading the events of OpenHands' current versions: from a folder, from JSON lines, or from one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.beside import Beside
from inspector.session.documents import DocumentReader
from inspector.session.errors import SessionError
from inspector.session.folders import FolderReader
from inspector.session.formats.openhands.conversation import Conversation, blocks_again
from inspector.session.formats.openhands.places import CURRENT, conversation_of, events_folder, number_in, state_of
from inspector.session.lines import LinesReader
from inspector.session.model import Origin
from inspector.session.nodes import objects_among
from inspector.session.objects import object_lines
from inspector.session.paths import is_folder
from inspector.session.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.assembly import Assembly
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


class EventInterpreter:
    """Makes a session out of events, one a line."""

    def __init__(self) -> None:
        self.blocks_of_record: BlocksOfRecord = blocks_again
        self._conversation = Conversation()
        self.assembly = self._conversation.assembly

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self.assembly):
            self._conversation.add(line.value, Origin(line.offset, len(line.data)))


def current_reader(path: Path, name: str) -> Reader:
    """A reader for a conversation.

    Raises:
        SessionError: There are no events.
    """
    place = conversation_of(path)
    if not is_folder(place):
        if Sample(path).is_lines:
            return LinesReader(path, name, EventInterpreter())
        return DocumentReader(path, name, _interpret, blocks_again)
    folder = events_folder(place, CURRENT)
    if folder is None:
        raise SessionError(f"{path}: no events in this directory. Give the folder of one conversation.")
    conversation = Conversation()
    conversation.assembly.identifier = (folder.parent if folder.name == "events" else folder).name
    beside = [Beside(state_of(folder))]
    return FolderReader(path, folder, name, lambda one: number_in(one, CURRENT), conversation, blocks_again, beside)


def _interpret(node: Node, assembly: Assembly) -> None:
    conversation = Conversation(assembly)
    for item, value in objects_among(node.items(), "an event", assembly):
        conversation.add(value, Origin(item.offset, item.length))
