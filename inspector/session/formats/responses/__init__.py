"""Read OpenAI's Responses API: item lists, requests and responses, and logs of them.

They are stored as one JSON document or as JSONL with an item or exchange per line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.format import Format
from inspector.session.formats.responses.records import is_event, is_exchange, is_item, is_list_of_items

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


def _reason(document: Any) -> str:
    if is_list_of_items(document):
        return "a JSON list of Responses API items"
    if is_exchange(document):
        return "a JSON document with a Responses API request or response"
    if isinstance(document, list) and document and sum(map(is_exchange, document)) * 2 > len(document):
        return "a JSON list of Responses API requests and responses"
    return ""


class ResponsesFormat(Format):
    """Items and exchanges of the Responses API."""

    name = "openai-responses"
    title = "OpenAI Responses"
    exact = "tokens of calls recorded with their usage"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_lines:
            records = sample.records
            found = [record for record in records if is_event(record) or is_item(record) or is_exchange(record)]
            is_recognized = is_list_of_items(found) or any(is_event(record) or is_exchange(record) for record in found)
            if len(found) * 2 < len(records) or not is_recognized:
                return ""
            return f"{len(found)} of the first {len(records)} lines are Responses API items or exchanges"
        return _reason(sample.document)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.responses.reader import responses_reader

        return responses_reader(path, self.name)


FORMATS = (ResponsesFormat(),)
