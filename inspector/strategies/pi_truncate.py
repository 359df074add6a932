"""Truncate tool output when it is inserted, as pi does it: the beginning of files, the end of what commands print.

Source: `core/tools/truncate.js` and the tools around it of @mariozechner/pi-coding-agent 0.73.1. Limits are lines and
bytes, and lines are kept whole; only a last line of a command that is too long by itself loses its beginning. Reads and
commands end with a note on what is shown and how to see the rest; searches and listings have no limit of lines and say
that one was reached. Tools pi does not have are left alone. The file with the whole output has a name of its own there;
here it is named after the tool call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.strategies.arguments import path_of
from inspector.strategies.base import Decision
from inspector.strategies.cut_lines import fitting
from inspector.strategies.estimators import bytes_of
from inspector.strategies.file_uses import lines_of
from inspector.strategies.history import NEVER
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import switch, whole, written
from inspector.strategies.tools import Meaning, meaning_mask
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

_NO_LIMIT = 2**53 - 1


@dataclass(frozen=True, slots=True)
class KeepHead:
    """Keep the first lines of a text that is over a limit.

    Attributes:
        max_lines: Most lines.
        max_bytes: Most bytes.
        notes: Say what is shown.
        first_line: Number of the text's first line in its file; 0 for a text that is no file's.
        path: The file.
    """

    max_lines: int
    max_bytes: int
    notes: bool
    first_line: int = 0
    path: str = ""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far."""
        text = _over(rendition, source, self.max_lines, self.max_bytes)
        if text is None:
            return rendition
        lines = text.split("\n")
        kept = fitting(lines, self.max_lines, self.max_bytes)
        note = ""
        if self.notes:
            note = (
                self._read_note(lines, kept.lines, hit_bytes=kept.hit_bytes) if self.first_line else self._limit_note()
            )
        return Rendition((*rendition.between(0, kept.characters), *_piece(note)), Action.CUT, rendition.kind)

    def _read_note(self, lines: list[str], shown: int, *, hit_bytes: bool) -> str:
        first, limit = self.first_line, size(self.max_bytes)
        if bytes_of(lines[0]) > self.max_bytes:
            return (
                f"[Line {first} is {size(bytes_of(lines[0]))}, exceeds {limit} limit. Use bash: "
                f"sed -n '{first}p' {self.path} | head -c {self.max_bytes}]"
            )
        last, total = first + shown - 1, first + len(lines) - 1
        by_bytes = f" ({limit} limit)" if hit_bytes else ""
        return f"\n\n[Showing lines {first}-{last} of {total}{by_bytes}. Use offset={last + 1} to continue.]"

    def _limit_note(self) -> str:
        return f"\n\n[{size(self.max_bytes)} limit reached]"


@dataclass(frozen=True, slots=True)
class KeepTail:
    """Keep the last lines of a text that is over a limit; of a last line over it, the end.

    Attributes:
        max_lines: Most lines.
        max_bytes: Most bytes.
        file: Where the note says the whole output is, `{id}` standing for the tool call's id; empty for no note.
    """

    max_lines: int
    max_bytes: int
    file: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far."""
        text = _over(rendition, source, self.max_lines, self.max_bytes)
        if text is None:
            return rendition
        lines = text.split("\n")
        kept = fitting(lines[::-1], self.max_lines, self.max_bytes)
        characters, shown, partial = kept.characters, kept.lines, kept.hit_bytes and not kept.lines
        if partial:
            characters, shown = len(_end(lines[-1], self.max_bytes)), 1
        start = len(text) - characters
        note = ""
        if self.file:
            total, where = len(lines), f"Full output: {self.file.replace('{id}', source.block.tool_call_id)}]"
            if partial:
                end, whole_line = size(bytes_of(text[start:])), size(bytes_of(lines[-1]))
                what = f"[Showing last {end} of line {total} (line is {whole_line}). "
            else:
                by_bytes = f" ({size(self.max_bytes)} limit)" if kept.hit_bytes else ""
                what = f"[Showing lines {total - shown + 1}-{total} of {total}{by_bytes}. "
            note = f"{'' if characters else '(no output)'}\n\n{what}{where}"
        return Rendition((*rendition.between(start, len(text)), *_piece(note)), Action.CUT, rendition.kind)


def _over(rendition: Rendition, source: BlockSource, max_lines: int, max_bytes: int) -> str | None:
    """The text, if it has too many lines or bytes."""
    # A text without line ends has one line, and no character has more than four bytes.
    if rendition.length < max_lines and rendition.length * 4 <= max_bytes:
        return None
    text = sent_text(rendition, source)
    if text is None or (text.count("\n") < max_lines and bytes_of(text) <= max_bytes):
        return None
    return text


def _piece(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _end(line: str, max_bytes: int) -> str:
    """The last whole characters of a line that fit a number of bytes."""
    encoded = line.encode("utf-8", "surrogatepass")
    start = len(encoded) - max_bytes
    while start < len(encoded) and encoded[start] & 0xC0 == 0x80:
        start += 1
    return encoded[start:].decode("utf-8", "surrogatepass")


def size(count: int) -> str:
    """A number of bytes for people, halves of the last digit rounded up."""
    for unit, step in (("B", 1), ("KB", 1024), ("MB", 1024 * 1024)):
        if count < step * 1024 or unit == "MB":
            break
    if unit == "B":
        return f"{count}B"
    tenths = (20 * count + step) // (2 * step)
    return f"{tenths // 10}.{tenths % 10}{unit}"


@dataclass(frozen=True)
class PiTruncate(Tunable):
    """Keep the beginning of files and the end of commands' output, once, when they are inserted."""

    name: ClassVar[str] = "pi-truncate"
    title: ClassVar[str] = "Truncate at insertion (pi)"
    summary: ClassVar[str] = "Insert only as many lines as fit: the first of files and searches, the last of commands."
    source: ClassVar[str] = "@mariozechner/pi-coding-agent 0.73.1 core/tools/truncate.js"

    max_lines: int = whole("max-lines", 2_000, "Most lines that are inserted.", "lines", maximum=1_000_000)
    max_bytes: int = whole("max-bytes", 51_200, "Most bytes that are inserted.", "bytes", maximum=100_000_000)
    notes: bool = switch("notes", True, "Say what is shown and how to see the rest.")
    file: str = written("file", "/tmp/pi-bash-{id}.log", "Where the agent saves the whole output of a command.")  # noqa: S108  what the described system writes into its note; nothing is saved here

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        results = history.results[history.enters[history.results] != NEVER]
        # What is shorter than either limit cannot be over it.
        shortest = min(self.max_lines, (self.max_bytes + 3) // 4)
        results = results[history.characters[results] >= shortest]

        def of(*meanings: Meaning) -> NDArray[np.int32]:
            chosen: NDArray[np.int32] = results[meaning_mask(history.tool_names, meanings)[history.tool[results]]]
            return chosen

        reason = "too many lines or bytes at insertion"
        for chosen, operation, group in (
            (of(Meaning.SHELL), KeepTail(self.max_lines, self.max_bytes, self.file if self.notes else ""), "shell"),
            (of(Meaning.SEARCH, Meaning.LIGHT), KeepHead(_NO_LIMIT, self.max_bytes, self.notes), "search"),
        ):
            builder.add(chosen, history.enters[chosen], Decision(operation, reason, group))
        for block in of(Meaning.READ).tolist():
            at = np.array([block], dtype=np.int32)
            builder.add(at, history.enters[at], Decision(self._read(history, block), reason, "read"))
        return builder.schedule()

    def _read(self, history: History, block: int) -> KeepHead:
        session, call = history.session, int(history.call_block[block])
        if call < 0:
            return KeepHead(self.max_lines, self.max_bytes, self.notes, 1, "")
        asked = session.blocks[call]
        first = max(int(lines_of(session, asked).offset or 1), 1)
        return KeepHead(self.max_lines, self.max_bytes, self.notes, first, path_of(session, asked))
