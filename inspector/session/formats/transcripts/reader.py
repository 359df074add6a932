"""Reading one of the transcripts in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.builder import SessionBuilder
from inspector.session.errors import SessionError
from inspector.session.files import Locator, open_for_reading
from inspector.session.formats.chat import ChatMessage, ChatThread, all_blocks
from inspector.session.formats.transcripts.records import FIELD, is_transcript
from inspector.session.json.lines import object_lines, object_of
from inspector.session.json.values import mapping, string
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Origin

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.json.lines import ObjectLine
    from inspector.session.reader import Reader
    from inspector.session.texts import BlocksOfRecord

SPEAKER = re.compile(r"^(user|assistant|tool|system): ", re.MULTILINE)

NOTHING = "None"
"""What an answer that only calls tools is written down as."""

TITLE_CHARACTERS = 120


def spoken_in(record: Any) -> list[ChatMessage]:
    """What a transcript's speakers say. Calls are not written down, so that results answer none that is known."""
    pieces = SPEAKER.split(string(mapping(record).get(FIELD)))
    said = []
    for role, text in zip(pieces[1::2], pieces[2::2], strict=True):
        words = text.removesuffix("\n")
        content = "" if role == "assistant" and words == NOTHING else words
        said.append(ChatMessage({"role": role, "content": content}, is_call=role == "assistant"))
    return said


def blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a transcript that is read again."""
    return all_blocks(spoken_in(object_of(record)[0]), origin)


class TranscriptInterpreter:
    """Makes a session out of one line, and counts the others."""

    def __init__(self, session: str) -> None:
        """Begin.

        Args:
            session: The transcript to read; the last one where none is named.
        """
        self.blocks_of_record: BlocksOfRecord = blocks_again
        self._session = session
        self._builder = SessionBuilder()
        self._chosen: ObjectLine | None = None
        self._is_settled = True

    @property
    def builder(self) -> SessionBuilder:
        """What has been taken so far: the transcript that is read now."""
        if not self._is_settled and self._chosen is not None:
            fresh = SessionBuilder()
            line = self._chosen
            ChatThread(fresh).say(spoken_in(line.value), Origin(line.offset, len(line.data)))
            self._builder.put(fresh.messages, fresh.calls, fresh.contexts, ())
            self._builder.identifier, self._builder.title = name_of(line), title_of(line)
            self._is_settled = True
        return self._builder

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self._builder):
            is_known = is_transcript(line.value)
            self._builder.record_counts["transcript" if is_known else "other"] += 1
            if is_known and self._session in ("", name_of(line)):
                self._chosen, self._is_settled = line, False


def name_of(line: ObjectLine) -> str:
    """What a transcript is called."""
    return f"line-{line.line}"


def title_of(line: ObjectLine) -> str:
    """The beginning of what was said first."""
    return string(line.value.get(FIELD)).partition("\n")[0].partition(": ")[2][:TITLE_CHARACTERS]


def titles_in(path: Path) -> dict[str, str]:
    """Name and title of every transcript in a file, in order.

    Raises:
        SessionError: It cannot be read.
    """
    with open_for_reading(path) as file:
        data = file.read()
    lines = object_lines(data, 0, 1, SessionBuilder())
    return {name_of(line): title_of(line) for line in lines if is_transcript(line.value)}


def transcript_reader(path: Path, name: str) -> Reader:
    """A reader for a transcript.

    Raises:
        SessionError: There is no such transcript.
    """
    locator = Locator.of(path)
    if locator.session and locator.session not in titles_in(locator.file):
        raise SessionError(f"{path}: no transcript {locator.session}. Give the path alone to open the last one.")
    return JsonlReader(path, name, TranscriptInterpreter(locator.session))
