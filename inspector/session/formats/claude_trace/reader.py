"""Read API traffic logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.formats.claude_trace.exchanges import (
    ExchangeLog,
    HttpExchange,
    blocks_of_record,
    is_from_cache,
)
from inspector.session.formats.claude_trace.records import is_exchange
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import mapping, string
from inspector.session.json_reader import json_file_reader
from inspector.session.reader import Record, RecordInterpreter

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.json.nodes import Fields, Node
    from inspector.session.model import Origin
    from inspector.session.reader import Reader


class TraceInterpreter(RecordInterpreter):
    """Builds a session from logged exchanges."""

    record_name = "an exchange"

    def __init__(self) -> None:
        super().__init__()
        self._log = ExchangeLog(self.builder)

    def add(self, record: Record) -> None:
        if not is_exchange(record.value):
            self.builder.record_counts["other"] += 1
            return
        outer = FileNode(record.data, record.offset).fields()
        request = outer.fields_of("request")
        time = next((request[name].value() for name in ("time", "timestamp") if name in request), None)
        self._log.add(
            HttpExchange(
                string(request.value_of("url")),
                request.get("body"),
                _answer(outer.fields_of("response")),
                mapping(request.value_of("headers")),
                time,
                is_billed=not is_from_cache(mapping(outer.fields_of("response").value_of("headers")).items()),
            )
        )

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)


def trace_reader(path: Path, name: str) -> Reader:
    """Return a reader for a log with one exchange per line or all in one list."""
    return json_file_reader(path, name, TraceInterpreter)


def _answer(response: Fields) -> Node | None:
    """Return the response body, preferring the stream text."""
    if "body_raw" in response and isinstance(response["body_raw"].value(), str):
        return response["body_raw"]
    return response.get("body")
