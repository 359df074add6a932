"""Counted texts: token boundaries of texts by digest, in a little over one byte per token.

For each token, only its length in characters is stored. A running total at every sixteenth token yields positions, so
the tokens before a position can be looked up for thousands of texts at once, without the texts. The exact token count
of a text assembled from parts of another needs little encoding: only the text around each seam, from the last boundary
before it to the first one after it; the tokens in between are the same as in the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from inspector.tokens.tokenizer import first_boundary, last_boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from inspector.tokens.counter import Counter

EMPTY_ROW = 0

NOT_COUNTED = -1

_STEP = 16

_FEW = 4
"""Up to this many queries are answered individually."""

_SHORT_TEXT = 512

_SHORT_TEXTS_KEPT = 16_384

_LONG_TEXTS_KEPT = 100_000

_Number = TypeVar("_Number", bound=np.generic)


def digest_of(text: str) -> bytes:
    """Return the 16-byte digest that identifies a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Column(Generic[_Number]):
    """An append-only column; arrays returned earlier do not change."""

    def __init__(self, dtype: type[_Number]) -> None:
        self._values: NDArray[_Number] = np.zeros(_whole_steps(0), dtype=dtype)
        self.size = 0

    def extend(self, values: NDArray[_Number]) -> None:
        size = self.size + len(values)
        if _whole_steps(size) > len(self._values):
            wider = np.zeros(_whole_steps(size + size // 2), dtype=self._values.dtype)
            wider[: self.size] = self._values[: self.size]
            self._values = wider
        self._values[self.size : size] = values
        self.size = size

    def values(self) -> NDArray[_Number]:
        return self._values[: self.size]

    def steps(self) -> NDArray[_Number]:
        """Return the numbers up to a whole step; the last step, never full, ends with undefined values."""
        return self._values[: _whole_steps(self.size)]


def _whole_steps(size: int) -> int:
    return (size // _STEP + 1) * _STEP


@dataclass(frozen=True, eq=False)
class TextColumns:
    """Snapshot of the counted texts, one row each.

    Attributes:
        first_token: Per row, index of its first token among the tokens of all texts, followed by their number. int64.
        first_character: Per row, index of its first character among the characters of all texts, followed by their
            number. int64.
        step_characters: Number of characters before every sixteenth token, int64.
        lengths: Number of characters that begin in each token, uint8; padded to whole steps of sixteen.
    """

    first_token: NDArray[np.int64]
    first_character: NDArray[np.int64]
    step_characters: NDArray[np.int64]
    lengths: NDArray[np.uint8]

    def tokens(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        return self.first_token[rows + 1] - self.first_token[rows]

    def characters(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        return self.first_character[rows + 1] - self.first_character[rows]

    def tokens_within(
        self, rows: NDArray[np.int32], characters: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return tokens that end within a prefix per row, clipped, and whether a token crosses its end."""
        if len(rows) <= _FEW:
            lengths = np.broadcast_to(np.asarray(characters, np.int64), len(rows)).tolist()
            pairs = [self._within(row, length) for row, length in zip(rows.tolist(), lengths, strict=True)]
            counts, further = zip(*pairs, strict=True) if pairs else ((), ())
            return np.array(counts, np.int64), np.array(further, np.bool_)
        target = self.first_character[rows] + np.clip(np.asarray(characters, np.int64), 0, self.characters(rows))
        step = np.searchsorted(self.step_characters, target, side="right") - 1
        beyond = (target - self.step_characters[step]).astype(np.int16)
        end = np.zeros(len(step), np.int16)
        within = np.zeros(len(step), np.int16)
        is_end = beyond == 0
        # One column of all queries at a time is three times as fast as sixteen lengths of one query at a time.
        for position in range(_STEP):
            end += self.lengths[step * _STEP + position]
            within += end <= beyond
            is_end |= end == beyond
        # Exclude the padding after the last token of the last text.
        count = np.minimum(step * _STEP + within, self.first_token[rows + 1])
        return count - self.first_token[rows], ~is_end

    def characters_within(self, rows: NDArray[np.int32], tokens: ArrayLike) -> NDArray[np.int64]:
        """Return the characters that begin in the first tokens of each row, clipped to the text."""
        target = self.first_token[rows] + np.clip(np.asarray(tokens, np.int64), 0, self.tokens(rows))
        if len(rows) <= _FEW:
            return np.array([self._characters_before(at) for at in target.tolist()]) - self.first_character[rows]
        step, rest = np.divmod(target, _STEP)
        characters = self.step_characters[step] - self.first_character[rows]
        for position in range(_STEP - 1):
            characters += np.where(position < rest, self.lengths[step * _STEP + position], 0)
        return characters

    def _characters_before(self, token: int) -> int:
        step = token // _STEP
        return int(self.step_characters[step]) + sum(self.lengths[step * _STEP : token].tobytes())

    def tokens_before(self, row: int, characters: int) -> int:
        """Return the tokens that end within the first `characters` characters of one text."""
        return self._within(row, characters)[0]

    def tokens_reaching(self, row: int, characters: int) -> int:
        """Return the tokens that begin within the first `characters` characters of one text."""
        within, further = self._within(row, characters)
        return within + further

    def _within(self, row: int, characters: int) -> tuple[int, bool]:
        """Answer one query of `tokens_within` without the overhead of array operations."""
        first, last = int(self.first_character[row]), int(self.first_character[row + 1])
        target = first + min(max(characters, 0), last - first)
        step = int(self.step_characters.searchsorted(target, side="right")) - 1
        beyond = target - int(self.step_characters[step])
        ends = [end for end in accumulate(self.lengths[step * _STEP : (step + 1) * _STEP].tobytes()) if end <= beyond]
        is_end = beyond == 0 or (bool(ends) and ends[-1] == beyond)
        count = min(step * _STEP + len(ends), int(self.first_token[row + 1]))
        return count - int(self.first_token[row]), not is_end


class CountedTexts:
    """Counted texts by digest, in permanent rows; thread-safe. `tokens_cached`: those in the on-disk cache."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.tokens_cached = 0
        self._lock = Lock()
        self._rows: dict[bytes, int] = {}
        # Counted but not yet in the columns: adding many texts at once costs little more than adding one.
        self._waiting: list[NDArray[np.uint8]] = []
        self._waiting_characters: list[int] = []
        self._first_token = _Column(np.int64)
        self._first_character = _Column(np.int64)
        self._step_characters = _Column(np.int64)
        self._lengths = _Column(np.uint8)
        for column in (self._first_token, self._first_character, self._step_characters):
            column.extend(np.zeros(1, np.int64))
        self._long_texts: dict[bytes, int] = {}
        self._count_short: Callable[[str], int] = lru_cache(_SHORT_TEXTS_KEPT)(counter.count)
        self._enter(digest_of(""), np.zeros(0, np.uint8), 0)

    def digests(self) -> list[bytes]:
        with self._lock:
            return list(self._rows)

    def row(self, digest: bytes) -> int:
        """Return the row of a text, or `NOT_COUNTED`."""
        return self._rows.get(digest, NOT_COUNTED)

    def count(self, text: str) -> int:
        """Return the tokens of a text outside the session (a marker, a replacement, a summary), with a cache."""
        if len(text) <= _SHORT_TEXT:
            return self._count_short(text)
        digest = digest_of(text)
        known = self._long_texts.get(digest)
        if known is None:
            if len(self._long_texts) >= _LONG_TEXTS_KEPT:
                self._long_texts.clear()
            known = self._long_texts[digest] = self.counter.count(text)
        return known

    def add(self, digest: bytes, text: str) -> int:
        """Count a text unless it was counted; return its row, or `NOT_COUNTED` if the counter only estimates."""
        row = self._rows.get(digest)
        if row is not None:
            return row
        lengths = self.counter.encode(text)
        return NOT_COUNTED if lengths is None else self._enter(digest, lengths, len(text))

    def add_all(self, texts: Mapping[bytes, str]) -> None:
        """Count the texts that were not counted, by digest; none if the counter only estimates."""
        new = {digest: text for digest, text in texts.items() if digest not in self._rows}
        for (digest, text), lengths in zip(new.items(), self.counter.encode_all([*new.values()]) or (), strict=False):
            self._enter(digest, lengths, len(text))

    def add_counted(self, digests: list[bytes], tokens: NDArray[np.int64], lengths: NDArray[np.uint8]) -> None:
        """Add texts counted earlier: their digests, tokens of each (never 0), and the tokens' lengths."""
        stops = np.cumsum(tokens)
        characters = np.add.reduceat(lengths, stops - tokens, dtype=np.int64) if len(tokens) else tokens
        rows = zip(digests, tokens.tolist(), stops.tolist(), characters.tolist(), strict=True)
        for digest, count, stop, length in rows:
            self._enter(digest, lengths[stop - count : stop], length)

    def columns(self) -> TextColumns:
        with self._lock:
            self._settle()
            return TextColumns(
                first_token=self._first_token.values(),
                first_character=self._first_character.values(),
                step_characters=self._step_characters.values(),
                lengths=self._lengths.steps(),
            )

    def _enter(self, digest: bytes, lengths: NDArray[np.uint8], characters: int) -> int:
        with self._lock:
            row = self._rows.get(digest)
            if row is None:
                row = self._rows[digest] = len(self._rows)
                self._waiting.append(lengths)
                self._waiting_characters.append(characters)
            return row

    def _settle(self) -> None:
        if not self._waiting:
            return
        tokens = np.fromiter(map(len, self._waiting), np.int64, len(self._waiting))
        characters = np.array(self._waiting_characters, np.int64)
        lengths = np.concatenate(self._waiting)
        first = self._lengths.size
        before = int(self._first_character.values()[-1])
        self._lengths.extend(lengths)
        self._first_token.extend(first + np.cumsum(tokens))
        self._first_character.extend(before + np.cumsum(characters))
        # Continue the column with the steps completed since: their sums include earlier partial steps.
        begun = self._step_characters.size - 1
        complete = self._lengths.size // _STEP
        lengths_of_steps = self._lengths.values()[begun * _STEP : complete * _STEP].reshape(-1, _STEP)
        sums = lengths_of_steps.sum(axis=1, dtype=np.int64)
        self._step_characters.extend(self._step_characters.values()[-1] + np.cumsum(sums))
        self._waiting, self._waiting_characters = [], []


class KnownText(NamedTuple):
    """A text with known tokens and its row."""

    text: str
    columns: TextColumns
    row: int

    def tokens_between(self, start: int, stop: int) -> int:
        """Return the tokens between two boundaries or ends of the text."""
        return self.columns.tokens_before(self.row, stop) - self.columns.tokens_before(self.row, start)


def tokens_of_pieces(known: KnownText, pieces: Sequence[tuple[int, int] | str], count: Callable[[str], int]) -> int:
    """Return the tokens of `pieces` in order: positions `(start, stop)` in a known text, or literal texts."""
    total = 0
    loose: list[str] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            loose.append(piece)
            continue
        start, stop, _ = slice(*piece).indices(len(known.text))
        is_first, is_last = not any(loose) and not total, index == len(pieces) - 1
        inner_start = 0 if start == 0 and is_first else first_boundary(known.text, start, stop)
        inner_stop = stop if stop == len(known.text) and is_last else last_boundary(known.text, start, stop)
        if not 0 <= inner_start < inner_stop:
            loose.append(known.text[start:stop])
            continue
        total += count("".join((*loose, known.text[start:inner_start])))
        total += known.tokens_between(inner_start, inner_stop)
        loose = [known.text[inner_stop:stop]]
    return total + count("".join(loose))
