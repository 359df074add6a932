"""Sessions that Hermes keeps in files: JSON lines, and documents written anew at every turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import DocumentReader
from inspector.session.formats.hermes.entries import entry_of
from inspector.session.formats.hermes.shapes import NAME, is_document, is_meta
from inspector.session.formats.plain.entries import SYSTEM, TOOLS, blocks_beside, blocks_of_entry
from inspector.session.formats.plain.reader import blocks_of_record
from inspector.session.lines import LinesReader
from inspector.session.model import BlockKind, Compaction, Message, Role
from inspector.session.nodes import FileNode, objects_among
from inspector.session.objects import object_lines
from inspector.session.sample import Sample
from inspector.session.threads import Thread
from inspector.session.values import string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


class Conversation:
    """Takes messages in order and fills an assembly.

    A file holds the conversation as it is sent now: a compaction rewrites it, with the summary among the messages.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._thread = Thread(assembly)
        self._names: dict[str, str] = {}
        self._model = ""
        assembly.agent = "Hermes"

    def describe(self, about: Mapping[str, Any], fields: Mapping[str, Node]) -> None:
        """Take up what a file says of its session, tools and system text among it."""
        assembly = self._assembly
        assembly.identifier = string(about.get("session_id")) or assembly.identifier
        assembly.title = string(about.get("title")) or assembly.title
        assembly.working_directory = string(about.get("cwd")) or assembly.working_directory
        self._model = string(about.get("model")) or self._model
        blocks: list[TextBlock] = []
        for name, locator in (("tools", TOOLS), ("system_prompt", SYSTEM)):
            node = fields.get(name)
            if node is not None and about.get(name):
                blocks += blocks_beside(about[name], node.raw(), node.offset, node.length, locator)
        if blocks and not self._thread.members:
            self._thread.add(Message(Role.SYSTEM, tuple(made.block for made in blocks)))

    def add(self, value: Mapping[str, Any], offset: int, length: int) -> None:
        """Add a message."""
        blocks = blocks_of_entry(value, offset, length, self._names)
        for made in blocks:
            if made.block.kind is BlockKind.TOOL_CALL:
                self._names[made.block.tool_call_id] = made.block.tool_name
        entry = entry_of(value, blocks)
        if entry.is_summary:
            self._assembly.compactions.append(Compaction(len(self._assembly.messages), time=entry.time))
        if entry.role is Role.ASSISTANT and not entry.is_summary:
            self._thread.respond(entry.message(), model=string(value.get("model")) or self._model)
        else:
            self._thread.add(entry.message(), is_sent=entry.role is not Role.OTHER)


class HermesInterpreter:
    """Makes a session out of lines: what the session is, and its messages."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_record
        self._conversation = Conversation(self.assembly)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self.assembly):
            self.assembly.record_counts[string(line.value.get("role")) or "(no role)"] += 1
            if is_meta(line.value):
                self._conversation.describe(line.value, FileNode(line.data, line.offset).fields())
            else:
                self._conversation.add(line.value, line.offset, len(line.data))


def file_reader(path: Path) -> Reader:
    """A reader for a file of either kind."""
    sample = Sample(path)
    if sample.is_lines and not is_document(sample.records[0]):
        return LinesReader(path, NAME, HermesInterpreter())
    return DocumentReader(path, NAME, _interpret, blocks_of_record)


def _interpret(node: Node, assembly: Assembly) -> None:
    fields = node.fields()
    conversation = Conversation(assembly)
    about = {name: field.value() for name, field in fields.items() if name != "messages"}
    conversation.describe(about, fields)
    for item, value in objects_among(fields["messages"].items() if "messages" in fields else (), "a message", assembly):
        assembly.record_counts[string(value.get("role")) or "(no role)"] += 1
        if not is_meta(value):
            conversation.add(value, item.offset, item.length)
