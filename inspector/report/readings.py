r"""Ways to read a text in which something is looked for, every place known in the text itself.

What is looked for may stand there in many dresses: within JSON within JSON (`\\\"`), in an address (`%3D`), in a page
(`&quot;`), coloured in the middle, with characters that cannot be seen in it, broken over two lines of a shell command.
Rules that know one form find all of them where they are tried on every reading of a text: as it is, without what cannot
be seen, and then with one layer of escapes less at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_LAYERS = 4
"""Layers of escapes that are taken off: JSON in JSON in JSON in a quoted argument."""

MOST_READINGS = 2 + 2 * MOST_LAYERS
"""Readings of a text: as it is, and before and after each layer without what cannot be seen."""

AROUND = 600
"""Characters on both sides of what was changed in a reading that are looked at in it: as long as what is looked for."""

_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_TERMINAL = (
    r"[\x1b\u241b](?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\u241b\n]{0,500}(?:\x07|\x1b\\|\u241b\\)"
    r"|[()][0-9A-B]|[=>78]?)"
)
_CONTINUATION = r"\\\r?\n[ \t]*+|(?<=[ \t])[`^]\r?\n[ \t]*+"
_NOISE = re.compile(f"[{_INVISIBLE}]++|{_TERMINAL}|{_CONTINUATION}")
"""What a reader does not see, or does not take for a part of what it breaks."""

_ESCAPE = re.compile(
    r"\\(?:u(?P<four>[0-9A-Fa-f]{4})|x(?P<two>[0-9A-Fa-f]{2})|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}"
    r"|U(?P<eight>[0-9A-Fa-f]{8})|(?P<octal>[0-3][0-7]{2})|(?P<one>[^\w\s]|[nrtbfe]))"
    r"|%(?P<percent>0[9ADad]|[2-7][0-9A-Fa-f])"
    r"|&(?:\#x(?P<hexadecimal>[0-9A-Fa-f]{1,6})|\#(?P<decimal>[0-9]{1,7})|(?P<name>quot|amp|apos|lt|gt|nbsp));"
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "e": "\x1b"}
_NAMES = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "nbsp": " "}
_BASES = {"four": 16, "two": 16, "braced": 16, "eight": 16, "octal": 8, "percent": 16, "hexadecimal": 16, "decimal": 10}
_LAST_CODE = 0x10FFFF


@dataclass(frozen=True, slots=True)
class TextReading:
    """One way to read a text.

    Attributes:
        text: What it reads as.
        source: What it was made from; None for the text itself.
    """

    text: str
    source: TextReading | None = None
    _at: list[int] = field(default_factory=list)
    """Where in `text` a changed piece of the source stands, ascending."""
    _widths: list[int] = field(default_factory=list)
    """Characters it is here: one, or none where it was left out."""
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    """Where it stands in the source's text, and where it ends there."""

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The parts of this reading that say something else than the source, with what stands around them."""
        if self.source is None:
            yield 0, len(self.text)
            return
        start = stop = -1
        for place in self._at:
            if place - AROUND > stop:
                if stop >= 0:
                    yield start, stop
                start = max(0, place - AROUND)
            stop = min(len(self.text), place + AROUND)
        yield start, stop

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Where a part of this reading stands in the text itself: from its first character to behind its last.

        Args:
            start: Of the part, in characters of this reading.
            stop: Behind it; more than `start`.
        """
        reading = self
        while reading.source is not None:
            start, stop = reading._in_source(start)[0], reading._in_source(stop - 1)[1]
            reading = reading.source
        return start, stop

    def _in_source(self, place: int) -> tuple[int, int]:
        """Where one character's piece begins and ends in the source."""
        change = bisect_right(self._at, place) - 1
        if change < 0:
            return place, place + 1
        behind = self._at[change] + self._widths[change]
        if place < behind:
            return self._starts[change], self._stops[change]
        start = self._stops[change] + place - behind
        return start, start + 1


def readings(text: str) -> Iterator[TextReading]:
    """A text as it is, without what cannot be seen, and with one layer of escapes less at a time.

    Args:
        text: Any string, lone surrogates included.

    Yields:
        At most `MOST_READINGS`, each another than the one before.
    """
    reading = TextReading(text)
    yield reading
    for step in range(1, MOST_READINGS):
        if step % 2:
            changed = _changed(reading, _NOISE, lambda match: "")  # noqa: ARG005  all of it is left out
        else:
            changed = _changed(reading, _ESCAPE, _unescaped)
            if changed is reading:
                return
        if changed is not reading:
            yield changed
        reading = changed


def _changed(source: TextReading, pattern: re.Pattern[str], said: Callable[[re.Match[str]], str]) -> TextReading:
    """A reading in which every match is replaced by one character or none; the source itself where nothing matches."""
    parts: list[str] = []
    at: list[int] = []
    widths: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    length = end = 0
    for match in pattern.finditer(source.text):
        start, stop = match.span()
        new = said(match)
        length += start - end
        at.append(length)
        widths.append(len(new))
        starts.append(start)
        stops.append(stop)
        parts += (source.text[end:start], new)
        length += len(new)
        end = stop
    if not at:
        return source
    parts.append(source.text[end:])
    return TextReading("".join(parts), source, at, widths, starts, stops)


def _unescaped(match: re.Match[str]) -> str:
    """The one character an escape stands for."""
    kind = match.lastgroup or ""
    said = match[kind]
    if kind in _BASES:
        code = int(said, _BASES[kind])
        return chr(code) if code <= _LAST_CODE else "\ufffd"
    return _NAMES[said] if kind == "name" else _LETTERS.get(said, said)
