"""Read OpenTelemetry: spans of model requests in the GenAI or OpenInference conventions, from any program.

Accepts OTLP JSON exports, as one document or one export per line (the collector's file exporter), and the flat lines of
the JavaScript SDK written by Copilot.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from inspector.session.files import Locator, is_file
from inspector.session.format import Format, editor_folders
from inspector.session.formats.spans.records import describes_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class SpanFormat(Format):
    """Spans and log records."""

    name = "otel"
    title = "OpenTelemetry (GenAI and OpenInference spans)"
    exact = "tokens of every request with counts in its span or log record"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_lines:
            found = sum(describes_request(record) for record in sample.records)
            return (
                f"{found} of the first {len(sample.records)} lines are OpenTelemetry records of model requests"
                if found
                else ""
            )
        document = sample.document
        if isinstance(document, dict) and describes_request(document):
            return "a JSON document with an OpenTelemetry export"
        if isinstance(document, list) and any(
            isinstance(one, dict) and describes_request(one) for one in document[:50]
        ):
            return "a JSON document with OpenTelemetry spans of model requests"
        return ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.spans.reader import span_reader

        return span_reader(path, self.name)


TABLES: Mapping[str, frozenset[str]] = {
    "spans": frozenset(
        {"span_id", "trace_id", "chat_session_id", "conversation_id", "operation_name", "start_time_ms"}
    ),
    "span_attributes": frozenset({"span_id", "key", "value"}),
}
"""Tables and columns of Copilot's span database."""

TRACES = "agent-traces.db"


class CopilotTraceFormat(Format):
    """Copilot's span database in VS Code."""

    name = "copilot-traces"
    title = "VS Code Copilot Chat (agent-traces.db)"
    where = f"{TRACES} in globalStorage/github.copilot-chat of VS Code and its forks"
    exact = "tokens of every request, including cache reads"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory or not sample.is_database or not sample.has_tables(TABLES):
            return ""
        return "a database with Copilot's span tables"

    def homes(self) -> tuple[Path, ...]:
        folders = [folder / "User" / "globalStorage" / "github.copilot-chat" for folder in editor_folders()]
        return (folders[0] / TRACES, *(folder / TRACES for folder in folders[1:] if is_file(folder / TRACES)))

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.spans.database import TraceRows
        from inspector.session.sqlite_reader import SqliteReader

        return SqliteReader(path, self.name, TraceRows(Locator.of(path).session))

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.spans.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find another conversation in the same database."""
        found = self.contained_sessions(Locator.of(path).file)
        return next((one.path for one in found if one.identifier == identifier), None)


FORMATS = (SpanFormat(), CopilotTraceFormat())
