"""Read inspector's own format: JSON lines that any program can write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class NativeFormat(Format):
    """Sessions in inspector's own format."""

    name = "inspector-lines"
    title = "Inspector's own format, for any program to write"
    exact = "tokens of every response with usage"

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.native.records import KINDS

        return count_name in KINDS

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        # `Sample` treats a single line as a document, but it may be a session that just began.
        if any(record.get("type") == "session" and record.get("inspector") == 1 for record in sample.records):
            return "one of the first lines declares inspector's own format"
        return ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.native.reader import NativeInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        return JsonlReader(path, self.name, NativeInterpreter())


FORMATS = (NativeFormat(),)
