r"""Decoded views of a text for searching, each with a mapping to positions in the original.

A secret may be encoded in many ways: in JSON within JSON (`\\\"`), in a URL (`%3D`), in HTML (`&quot;`), with color
codes or invisible characters inside, or broken over two lines of a shell command. Rules for the plain form find all of
them in the decoded views: the text itself, the text without invisible characters, and then with one layer of escapes
less at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_LAYERS = 4
"""Maximum layers of escapes to decode: JSON in JSON in JSON in a quoted argument."""

MOST_READINGS = 2 + 2 * MOST_LAYERS
"""Maximum views of a text: the original, and each layer with and without invisible characters."""

AROUND = 600
"""Characters searched on both sides of a changed position: the length of the longest match."""

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
"""Invisible characters, color codes and line continuations, which may split a match."""

_ESCAPE = re.compile(
    r"\\(?:u(?P<four>[0-9A-Fa-f]{4})|x(?P<two>[0-9A-Fa-f]{2})|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}"
    r"|U(?P<eight>[0-9A-Fa-f]{8})|(?P<octal>[0-3][0-7]{2})|(?P<one>[^\w\s]|[nrtbfe]))"
    r"|%(?P<percent>0[9ADad]|[2-7][0-9A-Fa-f])|(?P<bytes>%[C-Fc-f][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){1,3})"
    r"|&(?:\#x(?P<hexadecimal>[0-9A-Fa-f]{1,6})|\#(?P<decimal>[0-9]{1,7})|(?P<name>quot|amp|apos|lt|gt|nbsp));"
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "e": "\x1b"}
_NAMES = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "nbsp": " "}
_BASES = {"four": 16, "two": 16, "braced": 16, "eight": 16, "octal": 8, "percent": 16, "hexadecimal": 16, "decimal": 10}
_LAST_CODE = 0x10FFFF


@dataclass(frozen=True, slots=True)
class DecodedView:
    """One decoded view of a text; `source` is the view it was decoded from, None for the original."""

    text: str
    source: DecodedView | None = None
    _at: list[int] = field(default_factory=list)
    """Positions in `text` of changed pieces, ascending."""
    _widths: list[int] = field(default_factory=list)
    """Lengths of the changed pieces in `text`: 1, or 0 if removed."""
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    """End positions of the changed pieces in the source; `_starts` holds the beginnings."""

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges that differ from the source, with their surroundings."""
        if self.source is None:
            yield 0, len(self.text)
            return
        start, stop = 0, -1
        for place in self._at:
            if place - AROUND > stop:
                if stop >= 0:
                    yield start, stop
                start = max(0, place - AROUND)
            stop = min(len(self.text), place + AROUND)
        yield start, stop

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Return the range in the original text of a range in this view, `stop` exclusive."""
        reading = self
        while reading.source is not None:
            start, stop = reading._in_source(start)[0], reading._in_source(stop - 1)[1]
            reading = reading.source
        return start, stop

    def _in_source(self, place: int) -> tuple[int, int]:
        """Return the range in the source of one character."""
        change = bisect_right(self._at, place) - 1
        if change < 0:
            return place, place + 1
        behind = self._at[change] + self._widths[change]
        if place < behind:
            return self._starts[change], self._stops[change]
        start = self._stops[change] + place - behind
        return start, start + 1


def decoded_views(text: str) -> Iterator[DecodedView]:
    """Yield at most `MOST_READINGS` views: the original, without invisible characters, and less escaped ones."""
    reading = DecodedView(text)
    yield reading
    for step in range(1, MOST_READINGS):
        if step % 2:
            changed = _changed(reading, _NOISE, lambda match: "")  # noqa: ARG005  every match is removed
        else:
            changed = _changed(reading, _ESCAPE, _unescaped)
            if changed is reading:
                return
        if changed is not reading:
            yield changed
        reading = changed


def _changed(source: DecodedView, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> DecodedView:
    """Replace every match with one character or none; return the source itself without a match."""
    parts: list[str] = []
    at: list[int] = []
    widths: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    length = end = 0
    for match in pattern.finditer(source.text):
        start, stop = match.span()
        new = replacement(match)
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
    return DecodedView("".join(parts), source, at, widths, starts, stops)


def _unescaped(match: re.Match[str]) -> str:
    """Decode an escape to its character."""
    kind = match.lastgroup or ""
    reported = match[kind]
    if kind in _BASES:
        code = int(reported, _BASES[kind])
        return chr(code) if code <= _LAST_CODE else "\ufffd"
    if kind == "bytes":
        return bytes.fromhex(reported.replace("%", "")).decode("utf-8", "replace")
    return _NAMES[reported] if kind == "name" else _LETTERS.get(reported, reported)
