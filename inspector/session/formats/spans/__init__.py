"""OpenTelemetry: spans of requests to models by the GenAI conventions or OpenInference's, from whatever program.

As exports in OTLP's JSON, in one document or one export a line, as the collector's file exporter writes them, and as
the flat lines of JavaScript's SDK that Copilot writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.formats.spans.records import is_telling

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class SpanFormat(Format):
    """Spans and log records."""

    name = "otel"
    title = "OpenTelemetry (GenAI and OpenInference spans)"
    exact = "tokens of every request that its span or log record counts"

    def recognise(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_lines:
            found = sum(is_telling(record) for record in sample.records)
            return f"{found} of its first {len(sample.records)} lines are OpenTelemetry's, on models" if found else ""
        document = sample.document
        if isinstance(document, dict) and is_telling(document):
            return "a JSON document that is an export of OpenTelemetry's"
        if isinstance(document, list) and any(isinstance(one, dict) and is_telling(one) for one in document[:50]):
            return "a JSON document with OpenTelemetry's spans on models"
        return ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.spans.reader import span_reader

        return span_reader(path, self.name)


FORMATS = (SpanFormat(),)
