"""Keeping as many whole lines of a text as fit a number of lines and of bytes, from one of its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inspector.strategies.core.estimators import bytes_of
from inspector.strategies.core.measures import sent_text
from inspector.strategies.core.rendition import Action, Rendition

if TYPE_CHECKING:
    from inspector.strategies.core.operations import BlockSource


class Fitting(NamedTuple):
    """The lines that fit.

    Attributes:
        characters: Their length, line ends between them included.
        lines: How many.
        bytes: Their size in UTF-8.
        hit_bytes: Whether it was the bytes that the next line does not fit.
    """

    characters: int
    lines: int
    bytes: int
    hit_bytes: bool


def fitting(lines: list[str], max_lines: int, max_bytes: int) -> Fitting:
    """How much of the first lines fits."""
    characters = size = count = 0
    for line in lines[:max_lines]:
        separator = 1 if count else 0
        length = bytes_of(line) + separator
        if size + length > max_bytes:
            return Fitting(characters, count, size, hit_bytes=True)
        size += length
        characters += len(line) + separator
        count += 1
    return Fitting(characters, count, size, hit_bytes=False)


@dataclass(frozen=True, slots=True)
class CutLines:
    """Keep whole lines from one end of a text that is over a limit, and a note on what is missing and where it is.

    Attributes:
        max_lines: Most lines of a text that stays as it is, and most that are kept.
        max_bytes: Most bytes of a text that stays as it is, and most that are kept.
        from_end: Keep the last lines instead of the first.
        hint: What the note says besides; `{id}` stands for the tool call's id.
    """

    max_lines: int
    max_bytes: int
    from_end: bool
    hint: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it has too many lines or bytes."""
        # A text without line ends has one line, and no character has more than four bytes.
        if rendition.length < self.max_lines and rendition.length * 4 <= self.max_bytes:
            return rendition
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        size = bytes_of(text)
        lines = text.split("\n")
        if len(lines) <= self.max_lines and size <= self.max_bytes:
            return rendition
        kept = fitting(lines[::-1] if self.from_end else lines, self.max_lines, self.max_bytes)
        removed = f"{size - kept.bytes} bytes" if kept.hit_bytes else f"{len(lines) - kept.lines} lines"
        note = f"...{removed} truncated...\n\n{self.hint.replace('{id}', source.block.tool_call_id)}"
        if self.from_end:
            start = len(text) - kept.characters
            pieces = (f"{note}\n\n", *rendition.between(start, len(text)))
        else:
            pieces = (*rendition.between(0, kept.characters), f"\n\n{note}")
        return Rendition(pieces, Action.CUT, rendition.kind)
