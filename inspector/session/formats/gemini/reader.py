"""Reading Gemini CLI's sessions: logs of JSON lines, and the documents that older versions wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import DocumentReader
from inspector.session.formats.gemini.conversation import Settlement
from inspector.session.formats.gemini.family import note_parent, note_subagents
from inspector.session.formats.gemini.kinds import MESSAGES, NAME
from inspector.session.formats.gemini.log import Log, Record
from inspector.session.formats.gemini.parts import blocks_again
from inspector.session.lines import LinesReader
from inspector.session.nodes import FileNode
from inspector.session.objects import object_lines
from inspector.session.sample import Sample
from inspector.session.values import mapping, sequence, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from inspector.session.nodes import Node
    from inspector.session.objects import ObjectLine
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


class GeminiInterpreter:
    """Makes a session out of the lines of a log."""

    def __init__(self, path: Path) -> None:
        """Begin; `path` is the file."""
        self.blocks_of_record: BlocksOfRecord = blocks_again
        self._assembly = Assembly()
        note_parent(path, self._assembly)
        self._log = Log()
        self._settlement = Settlement()
        self._is_settled = True

    @property
    def assembly(self) -> Assembly:
        """What has been taken so far. Records replace one another, so that it is put together when it is asked for."""
        if not self._is_settled:
            self._settlement.settle(self._log, self._assembly)
            self._is_settled = True
        return self._assembly

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self._assembly):
            self._assembly.record_counts[count_name(line.value)] += 1
            self._add(line)
            self._is_settled = False

    def _add(self, line: ObjectLine) -> None:
        value = line.value
        if isinstance(value.get("$rewindTo"), str):
            self._log.rewind(value["$rewindTo"])
        elif isinstance(value.get("id"), str):
            self._log.put(Record(value, line.data, line.offset))
            note_subagents(value, self._assembly)
        elif isinstance(value.get("$set"), dict):
            _note(value["$set"], self._assembly)
            if isinstance(value["$set"].get(MESSAGES), list):
                records = list(_records(FileNode(line.data, line.offset), self._assembly, line.line, "$set", MESSAGES))
                for record in records:
                    note_subagents(record.value, self._assembly)
                self._log.restart(records, string(value["$set"].get("lastUpdated")))
        elif isinstance(value.get("sessionId"), str):
            _note(value, self._assembly)
            node = FileNode(line.data, line.offset) if MESSAGES in value else None
            for record in _records(node, self._assembly, line.line, MESSAGES):
                self._log.put(record)
                note_subagents(record.value, self._assembly)
        else:
            self._log.put(Record({**value, "id": f"line {line.line}"}, line.data, line.offset))


def gemini_reader(path: Path) -> Reader:
    """A reader for a session."""
    if Sample(path).is_lines:
        return LinesReader(path, NAME, GeminiInterpreter(path))
    return DocumentReader(path, NAME, _interpret, blocks_again)


def count_name(value: Mapping[str, Any]) -> str:
    """The name a line is counted under."""
    for name in ("$rewindTo", "$set"):
        if name in value:
            return name
    if "id" in value:
        return string(value.get("type")) or "(no type)"
    return "metadata" if "sessionId" in value else "(no type)"


def _interpret(node: Node, assembly: Assembly) -> None:
    value = node.value()
    _note(mapping(value), assembly)
    log = Log()
    for place, record in enumerate(_records(node, assembly, 0, MESSAGES)):
        assembly.record_counts[count_name(record.value)] += 1
        note_subagents(record.value, assembly)
        known = record if isinstance(record.value.get("id"), str) else _named(record, place)
        log.put(known)
    Settlement().settle(log, assembly)


def _records(node: Node | None, assembly: Assembly, line: int, *names: str) -> Iterator[Record]:
    """The objects in an array inside a value, with where they stand; whatever else it holds becomes a diagnostic."""
    for name in names:
        node = node.fields().get(name) if node is not None else None
    for item in node.items() if node is not None else ():
        value = item.value()
        if isinstance(value, dict):
            yield Record(value, item.raw(), item.offset)
        else:
            assembly.diagnose("not a message", line, item.offset, skipped=True)


def _named(record: Record, place: int) -> Record:
    return record._replace(value={**record.value, "id": f"message {place}"})


def _note(value: Mapping[str, Any], assembly: Assembly) -> None:
    """Take up what metadata says of the session. Later metadata takes the place of earlier."""
    assembly.agent = "Gemini CLI"
    assembly.identifier = string(value.get("sessionId")) or assembly.identifier
    assembly.title = string(value.get("summary")) or assembly.title
    folders = [folder for folder in sequence(value.get("directories")) if isinstance(folder, str)]
    assembly.working_directory = folders[0] if folders else assembly.working_directory
