"""Sessions that Goose keeps in files: JSON lines in old versions, and exports of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import DocumentReader
from inspector.session.formats.goose.conversation import Entry, entry_of, fill
from inspector.session.formats.goose.parts import blocks_of_record
from inspector.session.formats.goose.shapes import NAME, is_export, is_metadata
from inspector.session.lines import LinesReader
from inspector.session.model import Origin
from inspector.session.nodes import objects_among
from inspector.session.objects import object_lines
from inspector.session.sample import Sample
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


class GooseInterpreter:
    """Makes a session out of lines: one that says what the session is, and its messages."""

    def __init__(self) -> None:
        self.blocks_of_record: BlocksOfRecord = blocks_of_record
        self._assembly = Assembly()
        self._entries: list[Entry] = []
        self._is_settled = True

    @property
    def assembly(self) -> Assembly:
        """What has been taken so far. What a message is shows by those behind it, so that all are put together anew."""
        if not self._is_settled:
            made = Assembly()
            fill(made, self._entries)
            self._assembly.put(made.messages, made.calls, made.contexts, made.compactions)
            self._is_settled = True
        return self._assembly

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self._assembly):
            if is_metadata(line.value):
                self._assembly.record_counts["metadata"] += 1
                describe(line.value, self._assembly)
                continue
            self._assembly.record_counts[string(line.value.get("role")) or "(no role)"] += 1
            self._entries.append(entry_of(line.value, Origin(line.offset, len(line.data))))
            self._is_settled = False


def file_reader(path: Path) -> Reader:
    """A reader for a file of either kind."""
    sample = Sample(path)
    if sample.is_lines and not is_export(sample.records[0]):
        return LinesReader(path, NAME, GooseInterpreter())
    return DocumentReader(path, NAME, _interpret, blocks_of_record)


def describe(about: Mapping[str, Any], assembly: Assembly) -> None:
    """Take up what is said of a session."""
    assembly.agent = "Goose"
    assembly.identifier = string(about.get("id")) or assembly.identifier
    assembly.title = string(about.get("name")) or string(about.get("description")) or assembly.title
    assembly.working_directory = string(about.get("working_dir")) or assembly.working_directory


def _interpret(node: Node, assembly: Assembly) -> None:
    fields = node.fields()
    describe({name: field.value() for name, field in fields.items() if name != "conversation"}, assembly)
    entries = []
    items = fields["conversation"].items() if "conversation" in fields else []
    for item, value in objects_among(items, "a message", assembly):
        assembly.record_counts[string(value.get("role")) or "(no role)"] += 1
        entries.append(entry_of(value, Origin(item.offset, item.length)))
    model = mapping(fields["model_config"].value()).get("model_name") if "model_config" in fields else ""
    fill(assembly, entries, string(model))
