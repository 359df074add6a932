"""Index of words, word parts and lines that only one tool result of a session has contained so far.

Texts are added in session order. A word that occurs in a second text, or is used by a later one, is dropped from the
index: it is evidence only once.

Common words are never evidence, because models write them without a result that shows them: those that sessions of
unrelated projects share (`common_words.txt`, counted by `scripts/common_words.py`), and names of standard libraries.
"""

from __future__ import annotations

import builtins
import os
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from inspector.replay.analysis.edit_targets import bare_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,300}")

_AROUND: Final = ".:-/"
"""Punctuation stripped from the ends of a word."""

_PARTED = re.compile(r"[./:@\-]+")
"""Separators between the parts of a word."""

_INFORMATIVE = re.compile(r"[0-9_./:\-]|.[A-Z]")
"""Distinguishes an identifier, a path or a number from an ordinary word, which may be capitalized."""

_PACKAGES = (
    "atomic base64 binary bufio bytes context embed errors exec filepath flag fmt hash heap hex html http io ioutil "
    "json log maps math net os path rand reflect regexp runtime signal slices slog sort sql strconv strings sync "
    "syscall template testing time unicode url utf8 xml zip"
)
"""Packages of Go's standard library."""

_OBJECTS = "Array Boolean Date Error Intl JSON Map Math Number Object Promise Reflect RegExp Set String Symbol"
"""Built-in objects of ECMAScript."""

_OWNERS: Final = frozenset(f"{_PACKAGES} {_OBJECTS}".split())

_PYTHON: Final = (builtins, os, posixpath, Path, str, bytes, dict)
"""Modules and classes with names that Python programs share: `read_text`."""

_LINE_SHOWN = re.compile(r'File "([^"\n]{3,300})", line (\d{1,7})')
"""File and line in a traceback."""

_WORDS_PER_RESULT = 4_000
_LINES_PER_RESULT = 4_000

_LEAST_WORD: Final = 8

_ANYWHERE: Final = -1
"""Marks a word without evidence: it occurs in several places, or was used already."""

_PLACE_BITS: Final = 40
"""A place encodes a result's block and, in this many low bits, the offset in its text."""


class MappingLike(Protocol):
    """The dictionary operations needed here."""

    def get(self, key: Any, default: Any = None, /) -> Any: ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...


class LayeredDict:
    """A dictionary layered over another one that stays unchanged."""

    def __init__(self, below: MappingLike) -> None:
        self._below = below
        self._above: dict[Any, Any] = {}

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self._above[key] if key in self._above else self._below.get(key, default)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._above[key] = value


class UniqueTerms:
    """Index of the texts so far."""

    def __init__(
        self,
        words: MappingLike | None = None,
        lines: MappingLike | None = None,
        settled_before: AbstractSet[int] = frozenset(),
    ) -> None:
        """Create an index.

        Args:
            words: Place of a word that only one result contains, or `_ANYWHERE`, by the word's hash.
            lines: The only result with a line, by the line's hash, -1 for several places.
            settled_before: Hashes of words already settled.
        """
        self._words: MappingLike = dict(_common_words()) if words is None else words
        self._lines: MappingLike = {} if lines is None else lines
        # Hashes of words that need no further notes: ordinary words, and those in several places.
        self._settled: set[int] = set()
        self._settled_before = settled_before

    def layered(self) -> UniqueTerms:
        """Return a layered copy for the rest of the session, which may still change."""
        return UniqueTerms(LayeredDict(self._words), LayeredDict(self._lines), self._settled)

    def unsettled(self, text: str) -> list[str]:
        """Return the distinct words of a text that may have an entry or get one."""
        parts = dict.fromkeys(_WORD.findall(text))
        left = set(map(hash, parts)) - self._settled - self._settled_before
        return [each for each in parts if hash(each) in left] if left else []

    def knows(self, word: str) -> bool:
        """Return True if a word of sufficient length has an entry."""
        return len(word) >= _LEAST_WORD and self._words.get(hash(word)) is not None

    def take(self, word: str) -> tuple[int, int] | None:
        """Return the only result with a word, and its offset there, and mark it as used; None if there is none."""
        place = self._words.get(hash(word), _ANYWHERE)
        if place < 0:
            return None
        self._words[hash(word)] = _ANYWHERE
        return _result_and_start(place)

    def use_all(self, unsettled: list[str]) -> list[tuple[str, int, int]]:
        """Return a text's words that only one result contains, with result and offset, and mark them as used."""
        words, found = self._words, []
        for reported in unsettled:
            word = reported.strip(_AROUND)
            place = words.get(hash(word), _ANYWHERE)
            if place >= 0:
                found.append((word, *_result_and_start(place)))
                words[hash(word)] = _ANYWHERE
        return found

    def results_showing(self, text: str) -> set[int]:
        """Return the only results for lines or words of a text, without marking them as used."""
        showing = {self._lines.get(hash(line), -1) for line in bare_lines(text)}
        seen = {each.strip(_AROUND) for each in _WORD.findall(text)}
        showing |= {self._words.get(hash(word), _ANYWHERE) >> _PLACE_BITS for word in seen}
        return showing - {-1}

    def note_result(self, text: str, result: int) -> None:
        """Add the words and lines of a tool result."""
        words, settled, settled_before = self._words, self._settled, self._settled_before
        added = 0
        seen: set[str] = set()
        for match in _WORD.finditer(text):
            reported = match[0]
            if reported in seen or (number := hash(reported)) in settled or number in settled_before:
                continue
            seen.add(reported)
            word = reported.strip(_AROUND)
            known = _known(word, words)
            if known == _ANYWHERE:
                settled.add(number)
                continue
            if known is None:
                if added >= _WORDS_PER_RESULT:
                    continue
                added += 1
            elif known >> _PLACE_BITS == result:
                continue
            offset = match.start() + reported.index(word)
            words[hash(word)] = result << _PLACE_BITS | offset if known is None else _ANYWHERE
            _note_parts(word, result, offset, words)
        self._note_lines(text, result)
        for match in _LINE_SHOWN.finditer(text):
            _note(f"{match[1]}:{match[2]}", result, match.start(), words)

    def note_other(self, text: str, unsettled: list[str]) -> None:
        """Add another text: its words and lines are no longer evidence for a result.

        Args:
            text: The text.
            unsettled: Its words.
        """
        words = self._words
        for reported in unsettled:
            word = reported.strip(_AROUND)
            if _known(word, words) != _ANYWHERE:
                words[hash(word)] = _ANYWHERE
                for _, part in _parts(word):
                    words[hash(part)] = _ANYWHERE
            self._settled.add(hash(reported))
        self._note_lines(text, -1)

    def _note_lines(self, text: str, result: int) -> None:
        lines, added = self._lines, 0
        for line in bare_lines(text):
            key = hash(line)
            known = lines.get(key)
            if known is None:
                if result >= 0 and added >= _LINES_PER_RESULT:
                    continue
                added += 1
                lines[key] = result
            elif known != result:
                lines[key] = -1


def _result_and_start(place: int) -> tuple[int, int]:
    return place >> _PLACE_BITS, place & ((1 << _PLACE_BITS) - 1)


@cache
def _common_words() -> Mapping[int, int]:
    """Return the hashes of common words, marked as words without evidence."""
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    names = (name for owner in _PYTHON for name in dir(owner))
    return {hash(word): _ANYWHERE for word in (*lines, *names) if not word.startswith("#")}


def is_standard(word: str) -> bool:
    """Return True for an exported name of a standard library: `time.Now`, `Object.keys`."""
    owner, dot, name = word.partition(".")
    return bool(dot) and owner in _OWNERS and (owner[0].isupper() or name[:1].isupper())


def identifiers_of(text: str) -> Iterator[str]:
    """Yield the words of a text that can be evidence, and their parts."""
    for reported in _WORD.findall(text):
        word = reported.strip(_AROUND)
        if len(word) >= _LEAST_WORD and _INFORMATIVE.search(word):
            yield word
            yield from (part for _, part in _parts(word))


def _known(word: str, words: MappingLike) -> int | None:
    """Return the place of a word, None without an entry; `_ANYWHERE` for an ordinary word."""
    if len(word) < _LEAST_WORD or not _INFORMATIVE.search(word) or is_standard(word):
        return _ANYWHERE
    place: int | None = words.get(hash(word))
    return place


def _note(word: str, result: int, offset: int, words: MappingLike) -> None:
    key = hash(word)
    known = words.get(key)
    if known is None:
        words[key] = result << _PLACE_BITS | offset
    elif known >> _PLACE_BITS != result:
        words[key] = _ANYWHERE


def _note_parts(word: str, result: int, offset: int, words: MappingLike) -> None:
    """Add the parts of a word; inlines `_note`, because there may be a million parts."""
    for start, part in _parts(word):
        key = hash(part)
        known = words.get(key)
        if known is None:
            words[key] = result << _PLACE_BITS | offset + start
        elif known >> _PLACE_BITS != result:
            words[key] = _ANYWHERE


def _parts(word: str) -> list[tuple[int, str]]:
    """Return the parts of a word with offsets: `view.show` for `this.view.show`, `tests/ui` for `tests/ui/facade.py`.

    Runs of separators count as one, so no part ends with a separator.
    """
    found, length = [], len(word)
    for signs in _PARTED.finditer(word):
        before, behind = signs.span()
        if before >= _LEAST_WORD and _INFORMATIVE.search(word, 0, before):
            found.append((0, word[:before]))
        if length - behind >= _LEAST_WORD and _INFORMATIVE.search(word, behind):
            found.append((behind, word[behind:]))
    return found
