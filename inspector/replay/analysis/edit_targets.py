"""Extract the text that an edit replaces, and locate it in a tool result.

Agents use different argument names, and results show files with line numbers, so texts are matched line by line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_CHARACTERS = 12
"""Minimum length of a line; shorter ones occur in too many places."""

_NAMES = frozenset({"old_string", "old_str", "oldText", "old_text", "oldString", "search", "find"})
"""Argument names for the text that an edit replaces."""

_SEARCH = re.compile(r"<{5,9} ?SEARCH\n(?:-{5,9}\n)?(.*?)\n={5,9}", re.DOTALL)
PATCH = "*** Begin Patch"
"""First line of a patch for OpenAI's tool."""

_NUMBERED = re.compile(r"[ \t]*\d{1,7}(?:\t|→|\|| ?: ?|-)")
_PLACED = re.compile(r"(?:[\w./~@+-]{1,200}[:-])?\d{1,7}(?:\t|→|\|| ?: ?|-)")
_DEEPEST = 6


def strings_of(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every string of a tool call's arguments with its argument name."""
    if isinstance(value, str):
        yield name, value
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, each in value.items():
            yield from strings_of(each, str(key), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for each in value:
            yield from strings_of(each, name, depth + 1)


def replaced_texts(arguments: dict[str, Any]) -> list[str]:
    """Return the texts a tool call replaces; empty if it replaces none."""
    found = []
    for name, text in strings_of(arguments):
        if name in _NAMES:
            found.append(text)
        elif PATCH in text:
            found.extend(_of_patch(text))
        elif " SEARCH\n" in text or "<SEARCH\n" in text:
            found.extend(_SEARCH.findall(text))
    return [text for text in found if text.strip()]


def _of_patch(text: str) -> Iterator[str]:
    """Yield runs of removed and context lines of a patch."""
    run: list[str] = []
    for line in [*text.splitlines(), "***"]:
        if line[:1] in {"-", " "} and not line.startswith("---"):
            run.append(line[1:])
        elif line[:1] != "+":
            if run:
                yield "\n".join(run)
            run = []


def bare_lines(text: str) -> Iterator[str]:
    """Yield a text's lines without indentation, line numbers, file names and diff signs."""
    for line in text.splitlines():
        bare = line.strip()
        if len(bare) < LEAST_CHARACTERS:
            continue
        number = _PLACED.match(bare)
        bare = bare[number.end() if number is not None else 0 :].lstrip("+- \t")
        if len(bare) >= LEAST_CHARACTERS:
            yield bare


def find_text(old: str, text: str) -> tuple[int, int] | None:
    """Return the bounds of an old text in a result, ignoring line numbers; None if absent."""
    start = text.find(old)
    if start >= 0:
        return start, start + len(old)
    lines = old.strip("\n").splitlines()
    if len(lines) < 2:
        return None
    between = r"[ \t]*\r?\n(?:" + _NUMBERED.pattern + ")?"
    match = re.search(between.join(re.escape(line.rstrip()) for line in lines), text)
    return None if match is None else match.span()
