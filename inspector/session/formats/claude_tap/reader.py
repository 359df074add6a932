"""Read claude-tap recordings: JSON lines, and bundles with deduplicated parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.formats.claude_tap.database import TapRows
from inspector.session.formats.claude_tap.records import LinkedNode, exchanges_in, is_bundle, is_record
from inspector.session.formats.claude_trace.exchanges import ExchangeLog, blocks_of_record
from inspector.session.json.nodes import FileNode, object_nodes
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import DocumentInterpreter, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.sqlite_reader import SqliteReader

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.json.nodes import Fields, Node
    from inspector.session.model import Origin
    from inspector.session.reader import Reader


class TapInterpreter(RecordInterpreter):
    """Builds a session from records on lines."""

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "claude-tap"
        self._log = ExchangeLog(self.builder)

    def add(self, record: Record) -> None:
        if not is_record(record.value):
            self.builder.record_counts["other"] += 1
            return
        for exchange in exchanges_in(FileNode(record.data, record.offset)):
            self._log.add(exchange)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)


class BundleInterpreter(DocumentInterpreter):
    """Builds a session from a bundle."""

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "claude-tap"

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        blobs = fields.fields_of("blobs")
        log = ExchangeLog(self.builder)
        for item, value in object_nodes(fields.items_of("records"), "a record", self.builder):
            try:
                self._take(log, item, value, blobs)
            except RecursionError:
                self.builder.diagnose("JSON nested too deeply", 0, item.offset, skipped=True)

    def _take(self, log: ExchangeLog, item: Node, value: object, blobs: Fields) -> None:
        if not is_record(value):
            self.builder.record_counts["other"] += 1
            return

        def linked(name: str) -> Node | None:
            found = blobs.fields_of(name).get("payload")
            if found is None:
                self.builder.diagnose("part of the record is missing", 0, item.offset, skipped=False)
            return found

        for exchange in exchanges_in(LinkedNode(item, linked)):
            log.add(exchange)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)


def tap_reader(path: Path, name: str) -> Reader:
    sample = Sample(Locator.of(path).file)
    if sample.is_database:
        return SqliteReader(path, name, TapRows(Locator.of(path).session))
    if is_bundle(sample.only_value):
        return JsonReader(path, name, BundleInterpreter)
    return JsonlReader(path, name, TapInterpreter())
