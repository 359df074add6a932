r"""Close the windows of an editor that shows files: of every file only its newest window stays.

Source: `ClosedWindowHistoryProcessor` of SWE-agent (SWE-agent/SWE-agent@3ea751c0
`sweagent/agent/history_processors.py`). Its file viewer shows numbered lines below a header `[File: a.py (9 lines
total)]`. Where a later text shows the same file, the numbered lines of an earlier one become a note of how many they
were. Only what the user side says is looked at, not tool results, and a text with numbered lines but no header is
dropped altogether: the program does both, the latter hardly on purpose. With `results` tool results are looked at too;
they are never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.measures import sent_text
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.remembered import Remembered
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import switch

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

_NUMBERED = re.compile(r"^\d+:.*\n?", re.MULTILINE)
_HEADER_END = re.compile(r"\s\(\d+\s+lines total\)\]")
_HEADER = "[File:"


class Window(NamedTuple):
    """What a text shows of a file.

    Attributes:
        lines: How many numbered lines it has; 0 for a text that is no window.
        start: Where the first of them begins.
        end: Where the last of them ends, its line end included.
        file: The file the header names; None without a header.
    """

    lines: int
    start: int
    end: int
    file: str | None


_NO_WINDOW = Window(0, 0, 0, None)


def window_in(text: str) -> Window:
    """The window a text shows."""
    lines = 0
    start = end = 0
    for found in _NUMBERED.finditer(text):
        start = found.start() if not lines else start
        end = found.end()
        lines += 1
    return Window(lines, start, end, _file_of(text)) if lines else _NO_WINDOW


def _file_of(text: str) -> str | None:
    """The file named by the first header; a header stands on one line."""
    for found in _HEADER_END.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        opening = text.find(_HEADER, line, found.start())
        if opening < 0:
            continue
        rest = text[opening + len(_HEADER) : found.start()]
        if not rest[:1].isspace():
            continue
        line_end = text.find("\n", found.start() + 1)
        last = found
        for later in _HEADER_END.finditer(text, found.end(), line_end if line_end >= 0 else len(text)):
            last = later
        return text[opening + len(_HEADER) : last.start()].lstrip()
    return None


@dataclass(frozen=True, slots=True)
class CloseWindow:
    """Put a note in place of the numbered lines of a text."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Close the window in whatever is sent so far."""
        text = sent_text(rendition, source)
        window = _NO_WINDOW if text is None else window_in(text)
        if not window.lines:
            return rendition
        note = f"Outdated window with {window.lines} lines omitted...\n"
        pieces = (*rendition.between(0, window.start), note, *rendition.between(window.end, rendition.length))
        return Rendition(pieces, Action.CUT, rendition.kind)


_window_of = Remembered(window_in, _NO_WINDOW)


@dataclass(frozen=True)
class ClosedWindows(Batching):
    """Leave out the lines of all but the newest window of every file."""

    name: ClassVar[str] = "closed-windows"
    title: ClassVar[str] = "Closed windows"
    summary: ClassVar[str] = (
        "When a file is shown again, leave out the numbered lines of the text that showed it before."
    )
    source: ClassVar[str] = "ClosedWindowHistoryProcessor, SWE-agent sweagent/agent/history_processors.py"

    results: bool = switch("results", False, "Look at tool results too, not only at what the user said.")

    def schedule(self, history: History) -> Schedule:
        """A window closes at the call that brings the next one of its file."""
        builder = ScheduleBuilder()
        looked_at = history.kind == BlockKind.USER_TEXT
        if self.results:
            looked_at |= history.kind == BlockKind.TOOL_RESULT
        closed = Decision(CloseWindow(), "shown again later")
        dropped = Decision(RemoveBlock(), "numbered lines of no file", "headless")
        blocks = history.session.blocks
        for context in arrivals(history, looked_at):
            again: list[tuple[int, int]] = []
            headless: list[tuple[int, int]] = []
            newest: dict[str, int] = {}
            for block, call in zip(context.blocks.tolist(), context.calls.tolist(), strict=True):
                window = _window_of(history.session, blocks[block])
                if window.file is not None:
                    if window.file in newest:
                        again.append((newest[window.file], call))
                    newest[window.file] = block
                elif window.lines and history.kind[block] == BlockKind.USER_TEXT:
                    headless.append((block, call))
            builder.add(
                context.blocks[: context.carried], context.calls[: context.carried], Decision(None, "counted anew")
            )
            for pairs, decision in ((again, closed), (headless, dropped)):
                columns = np.array(pairs, dtype=np.int32).reshape(-1, 2)
                builder.add(columns[:, 0], columns[:, 1], decision)
        return builder.schedule()
