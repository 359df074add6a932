"""Read plain conversations: message lists of the Anthropic Messages and OpenAI Chat Completions APIs.

They are stored as a JSON document (a list of messages, a request with its response, a list of runs) or as JSONL (one
message, request or whole conversation per line).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.formats.plain.records import MessageForm, form_of, is_message, is_request

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


def _conversation_in(sample: Sample) -> tuple[list[Any], str]:
    """Return the sampled messages or requests, and the reason in words."""
    if sample.is_directory:
        return [], ""
    if sample.is_lines:
        found = [record for record in sample.records if is_message(record) or is_request(record)]
        if len(found) * 2 >= len(sample.records):
            return found, f"{len(found)} of the first {len(sample.records)} lines are chat messages or requests"
        return [], ""
    document = sample.document
    if is_request(document):
        return [document], "a JSON document with a list of chat messages"
    if is_message(document):
        return [document], "a JSON document with one chat message"
    return [], ""


class PlainFormat(Format):
    """Message lists of one API."""

    exact = "tokens of calls recorded with their usage"

    def __init__(self, form: MessageForm, name: str, title: str) -> None:
        self._form = form
        self.name = name
        self.title = title

    def recognize(self, sample: Sample) -> str:
        found, reason = _conversation_in(sample)
        return reason if found and form_of(found) is self._form else ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.plain.reader import plain_reader

        return plain_reader(path, self.name)


FORMATS = (
    PlainFormat(MessageForm.ANTHROPIC, "anthropic-messages", "Anthropic Messages (JSON or JSON lines)"),
    PlainFormat(MessageForm.OPENAI, "openai-chat", "OpenAI Chat Completions (JSON or JSON lines)"),
)
