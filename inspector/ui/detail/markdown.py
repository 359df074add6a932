"""Markdown view of a text. Links are not clickable, because a session's text is untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.markdown import Markdown

from inspector.safe_text import safe_text
from inspector.ui.detail.page import PageRow, places_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.style import Style

LONGEST: Final = 100_000
"""Maximum number of characters rendered: parsing takes a thousand times as long as wrapping."""


@dataclass(frozen=True, eq=False)
class Rendered:
    """Rendered lines.

    Attributes:
        lines: Safe texts with their styles; None for the page's style.
        note: Note above the lines; empty for none.
    """

    lines: tuple[tuple[tuple[str, Style | None], ...], ...]
    note: str = ""

    @classmethod
    def of(cls, text: str, width: int) -> Rendered:
        note = "" if len(text) <= LONGEST else f"⋯ the first {LONGEST:,} characters of {len(text):,} ⋯"
        console = Console(width=max(width, 1), force_terminal=True, color_system="truecolor", legacy_windows=False)
        drawn = console.render_lines(Markdown(safe_text(text[:LONGEST]), hyperlinks=False), pad=False)
        # Markdown entities can reintroduce unsafe characters.
        lines = tuple(
            tuple((safe_text(segment.text.replace("\n", "")), segment.style) for segment in line if not segment.control)
            for line in drawn
        )
        return cls(lines, note)

    def __len__(self) -> int:
        return len(self.lines) + bool(self.note)

    def shown(self, index: int) -> PageRow:
        if self.note and not index:
            return PageRow(((" " + self.note, "detail--note"),))
        line = self.lines[index - bool(self.note)]
        return PageRow(((" ", "detail--recorded"), *((text, style or "detail--recorded") for text, style in line)))

    def note_rows(self) -> tuple[int, ...]:
        return (0,) if self.note else ()

    def find(self, words: str) -> NDArray[np.int64]:
        rows = [
            index + bool(self.note)
            for index, line in enumerate(self.lines)
            for _ in places_of(words, "".join(text for text, _ in line))
        ]
        return np.array(rows if words else [], dtype=np.int64)

    def whole(self) -> str:
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines) + "\n"
