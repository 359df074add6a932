"""Tables of the files screen: the files, and the history of one file."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.file_history.changelog import ChangelogEntry, ChangeSource
from inspector.file_history.content import FileContent, Gap, LineRun
from inspector.file_history.history import FileEvent, FileEventKind, FileHistory, KnownFile
from inspector.file_history.operations import Read
from inspector.replay.analysis.context_breakdown import EventInContext, FileInContext, FilesInContext, ReadState
from inspector.replay.figure import Figure, HowKnown
from inspector.report.listings import (
    LOOSE_LINE,
    change_size,
    event_counts,
    gap_line,
    known_in_words,
    short_path,
    state_doubts,
)
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line, safe_text
from inspector.strategies.history.history import NEVER
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, number_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.replay.engine.replay import Replay
    from inspector.ui.outcome import Outcome


NO_FILE: Final = "no tool accessed a file"

FILE_COLUMNS: Final = (
    Column("name", "file", 19, 90, is_text=True, falls=False, keeps_end=True),
    Column("reads", "reads", 6, rank=1),
    Column("edits", "edits", 6, rank=1),
    Column("writes", "writes", 7, rank=4),
    Column("tokens", "in prompt", 10),
    Column("read", "last read", 13, is_text=True, falls=False),
    Column("known", "known", 16, 28, is_text=True, falls=False, rank=3),
    Column("last", "last turn", 9, rank=5),
)

EVENT_COLUMNS: Final = (
    Column("turn", "turn", 6, falls=False),
    Column("call", "call", 6, falls=False, rank=4),
    Column("done", "done", 7, 12, is_text=True, falls=False),
    Column("tokens", "in prompt", 11),
    Column("read", "read", 12, is_text=True, falls=False, rank=1),
    Column("known", "known", 16, 28, is_text=True, falls=False, rank=5),
    Column("what", "purpose", 16, 200, is_text=True, falls=False),
)

ChangeKey = tuple[str, int, FileEventKind]
"""Key of a change: file, tool call block, and kind."""


class FilesFound(NamedTuple):
    """Data of the files screen.

    Attributes:
        outcome: The replay at the selected call.
        history: Operations on the files.
        changes: Purpose of each change.
        context: Parts of the files in the prompt.
    """

    outcome: Outcome
    history: FileHistory
    changes: Mapping[ChangeKey, ChangelogEntry]
    context: FilesInContext


def change_key(event: FileEvent) -> ChangeKey:
    return event.path, event.call_block, event.kind


def place_of_block(history: FileHistory, block: int) -> tuple[str, int] | None:
    """Return the file and event index of a tool call or result block.

    Another block of a message with such calls refers to the first of them; None for messages without file operations.
    """
    firsts = history.session.first_blocks
    found: tuple[int, str, int] | None = None
    for path, events in history.events.items():
        for place, event in enumerate(events):
            if block in (event.call_block, event.result_block):
                return path, place
            for turn, own in ((event.call_turn, event.call_block), (event.turn, event.result_block)):
                is_of_message = firsts[turn - 1] <= block < firsts[turn]
                if is_of_message and block < own and (found is None or own < found[0]):
                    found = own, path, place
    return None if found is None else found[1:]


def file_table(found: FilesFound) -> Table:
    rows = (_file(found.history, each, found.context.known) for each in found.context.files)
    return Table(FILE_COLUMNS, tuple(rows))


def _file(history: FileHistory, file: FileInContext, known: HowKnown) -> FigureRow:
    events = history.events[file.path]
    counts = event_counts(events)
    name = one_line(short_path(history, file.path))
    state = known_in_words(history.contents[file.path][file.count])
    cells = {
        "name": Cell(name, order=name),
        **{kind: _count(counts[kind]) for kind in ("reads", "edits", "writes")},
        "tokens": _tokens(file.tokens if any(each.tokens is not None for each in file.events) else None, known),
        "read": _read(file.read),
        "known": Cell(state, order=state, style="table--faint"),
        "last": Cell(ON_SCREEN.whole(events[-1].turn), order=float(events[-1].turn)),
    }
    return FigureRow(file.path, cells, style="" if file.count else "table--faint")


def event_table(found: FilesFound, path: str) -> Table:
    file = next((each for each in found.context.files if each.path == path), None)
    if file is None:
        return Table()
    events = zip(found.history.events[path], found.history.contents[path][1:], file.events, strict=True)
    return Table(
        EVENT_COLUMNS,
        tuple(
            _event(place, event, event_state, known_in_words(content), found)
            for place, (event, content, event_state) in enumerate(events)
        ),
    )


def _event(place: int, event: FileEvent, event_state: EventInContext, known: str, found: FilesFound) -> FigureRow:
    done = str(event.kind) if event.is_certain else f"perhaps {FileEventKind.EDIT}"
    call, what = _first_sent(found.outcome.replay, event.result_block), purpose_of(event, found.changes)
    cells = {
        "turn": Cell(ON_SCREEN.whole(event.turn), order=float(event.turn)),
        "call": Cell("·", style="table--faint")
        if call is None
        else Cell(ON_SCREEN.whole(call + 1), order=float(call), style="table--faint"),
        "done": Cell(done, order=done, style="" if event.kind is FileEventKind.READ else "table--name"),
        "tokens": _tokens(event_state.tokens, found.context.known),
        "read": _read(event_state.read),
        "known": Cell(known, order=known, style="table--faint"),
        "what": Cell(what, order=what),
    }
    return FigureRow(place, cells, style="table--faint" if event_state.is_later else "")


def purpose_of(event: FileEvent, changes: Mapping[ChangeKey, ChangelogEntry]) -> str:
    """Return the purpose of an event in one safe line: recorded or stated, otherwise a description."""
    parts: list[str] = []
    change = changes.get(change_key(event))
    if change is not None:
        by = " [difference]" if change.source is ChangeSource.DIFFERENCE else ""
        parts.append(f"{one_line(change.what)}{change_size(change)}{by}")
    else:
        parts += [one_line(event.intent), *(read_in_words(each) for each in event.operations if isinstance(each, Read))]
    if event.problem and event.problem not in parts:
        parts.append(one_line(event.problem))
    return "; ".join(filter(None, parts))


def read_in_words(read: Read) -> str:
    """Describe the lines shown by a read: `all 120 lines`, `lines 1 to 40 of 120`."""
    shown = read.shown
    count = len(shown.lines)
    if shown.total is not None and count >= shown.total:
        return f"all {ON_SCREEN.plural(count, 'line')}" if count else "empty file"
    if not count:
        return "no lines"
    of = "" if shown.total is None else f" of {ON_SCREEN.whole(shown.total)}"
    if count == 1:
        return f"line {ON_SCREEN.whole(shown.first)}{of}"
    return f"lines {ON_SCREEN.whole(shown.first)} to {ON_SCREEN.whole(shown.first + count - 1)}{of}"


def _first_sent(replay: Replay, block: int) -> int | None:
    call = int(replay.history.enters[block])
    return None if call == NEVER else call


def _count(count: int) -> Cell:
    if not count:
        return Cell("·", style="table--faint", order=0.0)
    return Cell(ON_SCREEN.whole(count), order=float(count))


def _tokens(tokens: float | None, known: HowKnown) -> Cell:
    if tokens is None:
        return Cell("·", style="table--faint", order=-1.0)
    return number_cell(ON_SCREEN.whole(tokens), ON_SCREEN.short(tokens), Figure(tokens, known))


def _read(read: ReadState | None) -> Cell:
    if read is None:
        return Cell("·", style="table--faint")
    return Cell(read.value, style="" if read is ReadState.CURRENT else "table--lost", order=read.value)


NOTHING_KNOWN = "⋯ content unknown ⋯"
DELETED = "⋯ deleted ⋯"


class KnownLine(NamedTuple):
    """A line to show.

    Attributes:
        number: Line number, empty if unknown and for notes.
        text: Safe text, clipped to the requested width.
        is_note: A note about the file, not a line of it.
    """

    number: str
    text: str
    is_note: bool


@dataclass(frozen=True, eq=False)
class KnownLines:
    """Known lines of a file; compared by identity.

    Attributes:
        parts: Runs of lines, with notes about unknown lines between them.
        ends: Total number of lines up to the end of each part.
        begin: First line shown or changed by the last event.
        number_width: Width of the longest number in cells.
    """

    parts: tuple[LineRun | str, ...]
    ends: tuple[int, ...]
    begin: int
    number_width: int

    @classmethod
    def of(cls, state: KnownFile, before: FileContent) -> KnownLines:
        """Build the known lines of a file at a turn; `before` is the known content before its last event."""
        parts: list[LineRun | str] = [f"⋯ {one_line(note)} ⋯" for note in state_doubts(state)]
        notes = len(parts)
        for piece in state.content.pieces():
            if isinstance(piece, Gap):
                parts.append(gap_line(piece))
            else:
                parts += [LOOSE_LINE, piece] if piece.first is None else [piece]
        if state.content.is_unknown:
            parts = [*parts[:notes], NOTHING_KNOWN]
        elif state.content.is_deleted:
            parts.append(DELETED)
        ends = tuple(accumulate(len(part.lines) if isinstance(part, LineRun) else 1 for part in parts))
        widest = max((run.end - 1 for run in state.content.placed), default=0)
        begin = _beginning(parts, ends, _first_shown(state.event, before, state.content), before)
        return cls(tuple(parts), ends, begin, len(str(widest)) if widest else 0)

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def line(self, index: int, width: int) -> KnownLine:
        """Return one line with its text clipped to `width` cells."""
        place = bisect_right(self.ends, index)
        part = self.parts[place]
        if isinstance(part, str):
            return KnownLine("", clip_cells(part, width), is_note=True)
        at = index - self.ends[place] + len(part.lines)
        number = "" if part.first is None else str(part.first + at)
        # A line can be a whole large file; combining marks take no cells, so also limit the number of characters.
        text = clip_cells(safe_text(part.lines[at][: 16 * width + 64]), width)
        return KnownLine(number, text, is_note=False)


def _beginning(parts: Sequence[LineRun | str], ends: Sequence[int], first: int | None, before: FileContent) -> int:
    """Return the row of a line number, or of new text without a line number; 0 for none."""
    known = {run.lines for run in before.loose}
    for part, end in zip(parts, ends, strict=True):
        if isinstance(part, str):
            continue
        if part.first is None:
            if first is None and part.lines not in known:
                return end - len(part.lines) - 1
        elif first is not None and first < part.end:
            return end - len(part.lines) + max(first - part.first, 0)
    return 0


def _first_shown(event: FileEvent | None, before: FileContent, after: FileContent) -> int | None:
    """Return the number of the first line shown or changed by an event; None if there is none."""
    if event is not None and event.kind is FileEventKind.READ:
        return next((each.shown.first for each in event.operations if isinstance(each, Read)), None)
    for run in after.placed:
        first = run.first or 1
        around = next((each for each in before.placed if (each.first or 1) <= first < each.end), None)
        old = () if around is None else around.lines[first - (around.first or 1) :]
        if old != run.lines:
            pairs = enumerate(zip(old, run.lines, strict=False))
            alike = next((at for at, (one, other) in pairs if one != other), min(len(old), len(run.lines) - 1))
            return first + alike
    return None
