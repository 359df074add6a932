"""Lines of a file as known to the agent, numbered where the line number is known."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from inspector.file_history.content import Gap, LineRun
from inspector.file_history.history import FileEventKind
from inspector.file_history.operations import Read
from inspector.report.file_listings import LOOSE_LINE, gap_line, state_doubts
from inspector.safe_text import clip_cells, one_line, safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.file_history.content import FileContent
    from inspector.file_history.history import FileEvent, KnownFile

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
