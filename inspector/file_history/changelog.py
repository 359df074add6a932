"""Changelog of a session: an entry with a purpose for every change to a file.

The purpose comes from an argument of the call if its tool has one; otherwise from the last sentence the agent wrote
before it; otherwise the difference is described.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from inspector.file_history.content import FileContent, LineRun
from inspector.file_history.history import FileEvent, FileEventKind, FileHistory
from inspector.file_history.operations import FileOperation, Patching, Replacement, Writing
from inspector.session.model import BlockKind, Role, Session, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


LONGEST = 200
"""Maximum length of a sentence in characters; a longer one is cut at a word."""
MOST_NAMES = 4
FEWEST_IN_SENTENCE = 8

_SENTENCE_END = re.compile(r"(?<=[.!?:。])\s+|\n+")
_DEFINITION = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|static\s+|async\s+|pub\s+)*"
    r"(?:def|class|function|func|fn|interface|type|struct|enum|trait|const|let|var)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*)"
)


class ChangeSource(StrEnum):
    """Source of an entry's text."""

    INTENT = "intent"
    """An argument of the call."""
    PRECEDING_TEXT = "said"
    """The agent's text before the call."""
    DIFFERENCE = "difference"
    """A description of the difference."""


@dataclass(frozen=True)
class ChangelogEntry:
    """A change in one sentence of recorded text, not made safe, with added and removed lines or None."""

    event: FileEvent
    what: str
    source: ChangeSource
    added: int | None
    removed: int | None


def generate_changelog(history: FileHistory, path: str | None = None) -> tuple[ChangelogEntry, ...]:
    """Return the changes to one file or all, in order. Raises `UnknownFileError` unless one file matches."""
    files = [history.find(path)] if path is not None else list(history.events)
    events = [event for file in files for event in history.events[file] if event.kind.changes and event.is_certain]
    events.sort(key=lambda event: (event.call_block, event.path))
    reported = PrecedingText(history.session, (event.call_turn for event in events))
    return tuple(_change(history, event, reported) for event in events)


def _change(history: FileHistory, event: FileEvent, preceding: PrecedingText) -> ChangelogEntry:
    difference = _Difference(event, *history.before_and_after(event))
    what, source = shortened(event.intent), ChangeSource.INTENT
    if not what:
        what, source = preceding.before(event.call_block, event.call_turn), ChangeSource.PRECEDING_TEXT
    if not what:
        what, source = difference.in_words(), ChangeSource.DIFFERENCE
    return ChangelogEntry(event, what, source, difference.added, difference.removed)


def describe_difference(event: FileEvent) -> str:
    """Describe a change from the recorded call only, without the file's content."""
    return _Difference(event, FileContent(), FileContent()).in_words()


class PrecedingText:
    """Finds the agent's text before a change."""

    def __init__(self, session: Session, turns: Iterable[int]) -> None:
        """Start with an empty cache. `turns`: the messages with calls that change files, counted from 1."""
        self._session = session
        self._asking = sorted(set(turns))
        self._found: dict[int, str] = {}

    def before(self, call_block: int, call_turn: int) -> str:
        """Return the last sentence between the previous change and a call's block; may be empty."""
        self._found[call_block] = reported = self._sentence_before(call_block, call_turn)
        return reported

    def _sentence_before(self, call_block: int, call_turn: int) -> str:
        blocks, starts = self._session.all_blocks, self._session.first_blocks
        place = bisect_left(self._asking, call_turn)
        earlier = self._asking[place - 1] if place else 0
        for index in range(call_block - 1, starts[earlier] - 1, -1):
            if index in self._found:
                return self._found[index]
            block = blocks[index]
            if block.kind is BlockKind.USER_TEXT and self._is_user_message(index):
                return ""
            if block.kind is BlockKind.ASSISTANT_TEXT:
                try:
                    sentence = _last_sentence(self._session.text(block))
                except TextUnavailableError:
                    return ""
                if sentence:
                    return shortened(sentence)
        return ""

    def _is_user_message(self, index: int) -> bool:
        message = self._session.messages[bisect_right(self._session.first_blocks, index) - 1]
        return message.role is Role.USER and not message.is_meta


def _last_sentence(text: str) -> str:
    without_code = re.sub(r"```.*?(?:```|$)", "\n", text, flags=re.DOTALL)
    sentences = [sentence.strip(" \t#*->•") for sentence in _SENTENCE_END.split(without_code)]
    telling = [sentence for sentence in sentences if len(sentence) >= FEWEST_IN_SENTENCE]
    return telling[-1].rstrip(":") if telling else ""


def shortened(text: str) -> str:
    """Return a text on one line, cut at a word if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rsplit(' ', 1)[0]}…"


class _Difference:
    """The known difference between a file before and after a change."""

    def __init__(self, event: FileEvent, before: FileContent, after: FileContent) -> None:
        self._event = event
        self._gone: list[str] = []
        self._come: list[str] = []
        self.added: int | None = None
        self.removed: int | None = None
        if (before.is_whole or before.is_deleted or before.is_unknown) and (after.is_whole or after.is_deleted):
            self._compare(_lines(before), _lines(after))
            if before.is_unknown:
                self.removed = None if event.kind is not FileEventKind.WRITE else self.removed
        else:
            pairs = [pair for operation in event.operations for pair in _texts(operation)]
            for old, new in pairs:
                self._compare(old.split("\n"), new.split("\n"))

    def _compare(self, old: list[str], new: list[str]) -> None:
        for line in difflib.ndiff(old, new) if len(old) + len(new) < 400 else _coarse(old, new):
            if line.startswith("- "):
                self._gone.append(line[2:])
            elif line.startswith("+ "):
                self._come.append(line[2:])
        self.added, self.removed = len(self._come), len(self._gone)

    def in_words(self) -> str:
        """Describe the difference: names added, removed or changed; otherwise the beginning of the first new line."""
        if self._event.kind is FileEventKind.DELETE:
            return "removes the file"
        if self._event.kind is FileEventKind.UNCLEAR:
            return self._event.problem
        if self._event.kind is FileEventKind.WRITE and not self._gone:
            return f"writes {_count(len(self._come))}{_of_names(_names(self._come))}"
        come, gone = _names(self._come), _names(self._gone)
        parts = [
            f"{verb} {', '.join(names[:MOST_NAMES])}{' and more' if len(names) > MOST_NAMES else ''}"
            for verb, names in (
                ("adds", [name for name in come if name not in gone]),
                ("changes", [name for name in come if name in gone]),
                ("removes", [name for name in gone if name not in come]),
            )
            if names
        ]
        if parts:
            return "; ".join(parts)
        new = next((line.strip() for line in self._come if line.strip()), "")
        old = next((line.strip() for line in self._gone if line.strip()), "")
        if new and old:
            return shortened(f"{old[: LONGEST // 2]} → {new[: LONGEST // 2]}")
        if new or old:
            return shortened(f"{'adds' if new else 'removes'} {new or old}")
        return "changes white space" if self._come or self._gone else "makes no known change"


def _coarse(old: list[str], new: list[str]) -> Iterator[str]:
    for line in difflib.unified_diff(old, new, n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield f"{line[0]} {line[1:]}"


def _lines(content: FileContent) -> list[str]:
    return [line for piece in content.pieces() if isinstance(piece, LineRun) for line in piece.lines]


def _texts(operation: FileOperation) -> list[tuple[str, str]]:
    """Return the old and new texts of a change from its call."""
    if isinstance(operation, Replacement):
        return [(old, new) for old, new, _ in operation.edits]
    if isinstance(operation, Patching):
        return [("\n".join(hunk.old), "\n".join(hunk.new)) for hunk in operation.hunks]
    if isinstance(operation, Writing):
        return [("", operation.text.removesuffix("\n"))]
    return []


def _names(lines: Sequence[str]) -> list[str]:
    found = (_DEFINITION.match(line) for line in lines)
    return list(dict.fromkeys(match[1] for match in found if match))


def _of_names(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MOST_NAMES])
    return f": {listed}{' and more' if len(names) > MOST_NAMES else ''}" if names else ""


def _count(lines: int) -> str:
    return f"{lines:,} line{'' if lines == 1 else 's'}"
