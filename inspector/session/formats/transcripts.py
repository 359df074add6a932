"""Read conversations stored as one text each, like tau-bench's examples: `user: …`, `assistant: …`, `tool: …`.

A file has one conversation per line, named `file.jsonl#line-3`. Tool calls are not recorded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.errors import SessionError
from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator, open_for_reading
from inspector.session.format import ContainedSession, Format, named_sessions
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat
from inspector.session.json import ObjectDecoder, mapping, object_of, string
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import Reader, Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin
    from inspector.session.sniff import Sample


FIELD = "messages_display"


def is_transcript(value: Any) -> bool:
    return string(mapping(value).get(FIELD)).startswith(("user: ", "assistant: ", "system: "))


class TranscriptsFormat(Format):
    """Transcripts, one per line."""

    name = "transcripts"
    title = "Chat transcripts (tau-bench)"
    exact = "nothing: tool calls and tokens are not recorded"

    def recognize(self, sample: Sample) -> str:
        records = sample.records if sample.is_lines else ()
        found = sum(is_transcript(record) for record in records)
        return (
            f"{found} of the first {len(records)} lines are transcripts" if found and found * 2 >= len(records) else ""
        )

    def reader(self, path: Path) -> Reader:
        return transcript_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        return named_sessions(path, titles_in(path).items())


SPEAKER = re.compile(r"^(user|assistant|tool|system): ", re.MULTILINE)

NOTHING = "None"
"""Text of a response that only calls tools."""

TITLE_CHARACTERS = 120


def chat_messages(record: Any) -> list[ChatMessage]:
    """Convert a transcript to chat messages. Calls are not recorded, so results have no matching call."""
    pieces = SPEAKER.split(string(mapping(record).get(FIELD)))
    parts = []
    for role, text in zip(pieces[1::2], pieces[2::2], strict=True):
        words = text.removesuffix("\n")
        content = "" if role == "assistant" and words == NOTHING else words
        parts.append(ChatMessage({"role": role, "content": content}, is_call=role == "assistant"))
    return parts


class TranscriptInterpreter(RecordInterpreter):
    """Builds a session from one line and counts the others."""

    def __init__(self, session: str) -> None:
        """Initialize for a transcript's name, empty for the last one."""
        super().__init__()
        self._session = session
        self._chosen: Record | None = None
        self._is_settled = True

    def add(self, record: Record) -> None:
        is_known = is_transcript(record.value)
        self.builder.record_counts["transcript" if is_known else "other"] += 1
        if is_known and self._session in ("", name_of(record.line)):
            self._chosen, self._is_settled = record, False

    def settle(self) -> None:
        if not self._is_settled and self._chosen is not None:
            fresh = SessionBuilder()
            chosen = self._chosen
            ChatThread(fresh).add_record(chat_messages(chosen.value), chosen.origin)
            self.builder.replace_all(fresh.messages, fresh.calls, fresh.contexts, ())
            self.builder.identifier, self.builder.title = name_of(chosen.line), title_of(chosen.value)
            self._is_settled = True

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_chat(chat_messages(object_of(record)[0]), origin)


def name_of(line: int) -> str:
    return f"line-{line}"


def title_of(transcript: Mapping[str, Any]) -> str:
    return string(transcript.get(FIELD)).partition("\n")[0].partition(": ")[2][:TITLE_CHARACTERS]


def titles_in(path: Path) -> dict[str, str]:
    """Return name and title of every transcript, in order. Raises `SessionError` if the file is unreadable."""
    with open_for_reading(path) as file:
        data = file.read()
    lines = ObjectDecoder().lines(data)
    return {
        name_of(line.number + 1): title_of(line.value) for line in lines if line.value and is_transcript(line.value)
    }


def transcript_reader(path: Path, name: str) -> Reader:
    """Return a reader for a transcript. Raises `SessionError` if there is no such transcript."""
    locator = Locator.of(path)
    if locator.session and locator.session not in titles_in(locator.file):
        raise SessionError(f"{path}: no transcript {locator.session}. Give only the path to open the last one.")
    return JsonlReader(path, name, TranscriptInterpreter(locator.session))


FORMATS = (TranscriptsFormat(),)
