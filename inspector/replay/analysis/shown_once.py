"""What one tool result alone has shown of a session so far: words, parts of words, lines.

Texts are told of in the order of the session. What a second text holds as well is nowhere in particular from then on,
and so is what a later one used: it is evidence once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from inspector.replay.analysis.old_texts import bare_lines

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,300}")

_AROUND: Final = ".:-/"
"""Signs that belong to a sentence rather than to the word before or behind them."""

_PARTED = re.compile(r"[./:@\-]+")
"""What parts a word into words."""

_TELLING = re.compile(r"[0-9_./:\-]|.[A-Z]")
"""What tells an identifier, a path or a number from an ordinary word, which may begin with a capital."""

_LINE_SHOWN = re.compile(r'File "([^"\n]{3,300})", line (\d{1,7})')
"""How a traceback names a line."""

_WORDS_PER_RESULT = 4_000
_LINES_PER_RESULT = 4_000

_LEAST_WORD: Final = 8

_ANYWHERE: Final = -1
"""Stands for a word that is no evidence: it occurs in several places, or was used already."""

_PLACE_BITS: Final = 40
"""A place is a number: a result's block, and in so many bits below it where in its text."""


class Map(Protocol):
    """What is needed here of a dictionary."""

    def get(self, key: Any, default: Any = None, /) -> Any:
        """As of a dictionary."""
        ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...


class Overlay:
    """A dictionary over another that is not changed."""

    def __init__(self, below: Map) -> None:
        """Over which."""
        self._below = below
        self._above: dict[Any, Any] = {}

    def get(self, key: Any, default: Any = None, /) -> Any:
        """As of a dictionary."""
        return self._above[key] if key in self._above else self._below.get(key, default)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._above[key] = value


class ShownOnce:
    """What is known of the texts so far."""

    def __init__(
        self, words: Map | None = None, lines: Map | None = None, settled_before: AbstractSet[int] = frozenset()
    ) -> None:
        """Begin.

        Args:
            words: The place of a word that stands in one result alone, or `_ANYWHERE`, by the word's hash.
            lines: The result that alone has a line, by the line's hash, -1 for several places.
            settled_before: What is settled already.
        """
        self._words: Map = {} if words is None else words
        self._lines: Map = {} if lines is None else lines
        # Hashes of words, as they stand in texts, of which nothing will ever be noted: those that tell nothing, and
        # those that stand in several places.
        self._settled: set[int] = set()
        self._settled_before = settled_before

    def aside(self) -> ShownOnce:
        """The same to go on with where what comes next may still change."""
        return ShownOnce(Overlay(self._words), Overlay(self._lines), self._settled)

    def unsettled(self, text: str) -> list[str]:
        """The words of a text, as they stand in it, of which something may be or have been noted, each once."""
        said = dict.fromkeys(_WORD.findall(text))
        left = set(map(hash, said)) - self._settled - self._settled_before
        return [each for each in said if hash(each) in left] if left else []

    def knows(self, word: str) -> bool:
        """Whether a word of some length was noted."""
        return len(word) >= _LEAST_WORD and self._words.get(hash(word)) is not None

    def take(self, word: str) -> tuple[int, int] | None:
        """The result that alone showed a word, and where in its text; it is used then. None where there is none."""
        place = self._words.get(hash(word), _ANYWHERE)
        if place < 0:
            return None
        self._words[hash(word)] = _ANYWHERE
        return _result_and_start(place)

    def take_all(self, unsettled: list[str]) -> list[tuple[str, int, int]]:
        """Of the words of a text, those that one result alone showed, with that result and where in its text."""
        words, found = self._words, []
        for said in unsettled:
            word = said.strip(_AROUND)
            place = words.get(hash(word), _ANYWHERE)
            if place >= 0:
                found.append((word, *_result_and_start(place)))
                words[hash(word)] = _ANYWHERE
        return found

    def results_showing(self, text: str) -> set[int]:
        """The results that alone showed a line or a word of a text; nothing of it is used by that."""
        showing = {self._lines.get(hash(line), -1) for line in bare_lines(text)}
        said = {each.strip(_AROUND) for each in _WORD.findall(text)}
        showing |= {self._words.get(hash(word), _ANYWHERE) >> _PLACE_BITS for word in said}
        return showing - {-1}

    def note_result(self, text: str, result: int) -> None:
        """Note what a tool result shows."""
        words, settled, settled_before = self._words, self._settled, self._settled_before
        noted = 0
        seen: set[str] = set()
        for match in _WORD.finditer(text):
            said = match[0]
            if said in seen or (number := hash(said)) in settled or number in settled_before:
                continue
            seen.add(said)
            word = said.strip(_AROUND)
            known = _known(word, words)
            if known == _ANYWHERE:
                settled.add(number)
                continue
            if known is None:
                if noted >= _WORDS_PER_RESULT:
                    continue
                noted += 1
            elif known >> _PLACE_BITS == result:
                continue
            offset = match.start() + said.index(word)
            words[hash(word)] = result << _PLACE_BITS | offset if known is None else _ANYWHERE
            _note_parts(word, result, offset, words)
        self._note_lines(text, result)
        for match in _LINE_SHOWN.finditer(text):
            _note(f"{match[1]}:{match[2]}", result, match.start(), words)

    def note_other(self, text: str, unsettled: list[str]) -> None:
        """Note that something stands in another text: no result alone shows it from then on.

        Args:
            text: The text.
            unsettled: Its words.
        """
        words = self._words
        for said in unsettled:
            word = said.strip(_AROUND)
            if _known(word, words) != _ANYWHERE:
                words[hash(word)] = _ANYWHERE
                for _, part in _parts(word):
                    words[hash(part)] = _ANYWHERE
            self._settled.add(hash(said))
        self._note_lines(text, -1)

    def _note_lines(self, text: str, result: int) -> None:
        lines, noted = self._lines, 0
        for line in bare_lines(text):
            key = hash(line)
            known = lines.get(key)
            if known is None:
                if result >= 0 and noted >= _LINES_PER_RESULT:
                    continue
                noted += 1
                lines[key] = result
            elif known != result:
                lines[key] = -1


def _result_and_start(place: int) -> tuple[int, int]:
    return place >> _PLACE_BITS, place & ((1 << _PLACE_BITS) - 1)


def _known(word: str, words: Map) -> int | None:
    """The place of a word, None where nothing was noted; a word that tells nothing is nowhere in particular."""
    if len(word) < _LEAST_WORD or not _TELLING.search(word):
        return _ANYWHERE
    place: int | None = words.get(hash(word))
    return place


def _note(word: str, result: int, offset: int, words: Map) -> None:
    key = hash(word)
    known = words.get(key)
    if known is None:
        words[key] = result << _PLACE_BITS | offset
    elif known >> _PLACE_BITS != result:
        words[key] = _ANYWHERE


def _note_parts(word: str, result: int, offset: int, words: Map) -> None:
    """Note what a word shows besides itself; as `_note`, which would be called for each of a million parts."""
    for start, part in _parts(word):
        key = hash(part)
        known = words.get(key)
        if known is None:
            words[key] = result << _PLACE_BITS | offset + start
        elif known >> _PLACE_BITS != result:
            words[key] = _ANYWHERE


def _parts(word: str) -> list[tuple[int, str]]:
    """What else a word shows, and where in it: `this.view.show` shows `view.show`, `tests/ui/facade.py` `tests/ui`.

    Signs are taken in runs, so that what stands before one ends with none.
    """
    found, length = [], len(word)
    for signs in _PARTED.finditer(word):
        before, behind = signs.span()
        if before >= _LEAST_WORD and _TELLING.search(word, 0, before):
            found.append((0, word[:before]))
        if length - behind >= _LEAST_WORD and _TELLING.search(word, behind):
            found.append((behind, word[behind:]))
    return found
