"""Plain conversations: message lists as the Anthropic Messages and OpenAI Chat Completions APIs take them.

As one JSON document (a list of messages, a request with its response, several runs in a list) or as JSON lines (one
message, one request or one whole conversation a line).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.formats.plain.records import Form, form_of, is_message, is_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


def _recognise_as(form: Form) -> Callable[[Sample], str]:
    def recognise(sample: Sample) -> str:
        found, reason = _conversation_in(sample)
        return reason if found and form_of(found) is form else ""

    return recognise


def _conversation_in(sample: Sample) -> tuple[list[Any], str]:
    """The sampled values that are messages or requests, and the reason in words."""
    if sample.is_directory:
        return [], ""
    if sample.is_lines:
        found = [record for record in sample.records if is_message(record) or is_request(record)]
        if len(found) * 2 >= len(sample.records):
            return found, f"{len(found)} of its first {len(sample.records)} lines are chat messages or requests"
        return [], ""
    document = sample.document
    if is_request(document):
        return [document], "a JSON document with a list of chat messages"
    if is_message(document):
        return [document], "a JSON document that is one chat message"
    return [], ""


def _reader(path: Path, name: str) -> Reader:
    from inspector.session.formats.plain.reader import plain_reader

    return plain_reader(path, name)


def _format(form: Form, name: str, title: str, exact: str) -> Format:
    return Format(
        name=name,
        title=title,
        where="",
        is_live=True,
        exact=exact,
        recognise=_recognise_as(form),
        reader=lambda path: _reader(path, name),
    )


ANTHROPIC = _format(
    Form.ANTHROPIC,
    "anthropic-messages",
    "Anthropic Messages (JSON or JSON lines)",
    "tokens of the calls whose responses are recorded with their usage",
)
OPENAI = _format(
    Form.OPENAI,
    "openai-chat",
    "OpenAI Chat Completions (JSON or JSON lines)",
    "tokens of the calls whose responses are recorded with their usage",
)
