"""Exact counts, those of tiktoken, for any text of a session file, and where a text may be cut to be counted in parts.

The tokenizers of OpenAI first divide a text into words, numbers, runs of punctuation and runs of white space by a
regular expression (`tiktoken_ext/openai_public.py`), then each of those into tokens. Where one of them is certain to
end and the next to begin, whatever stands further left or right, the tokens of the whole are the tokens of both sides:
a boundary. For `o200k_base` and `cl100k_base` there is one

- after a letter, before a character that is no letter, mark or apostrophe (a contraction keeps `'s` with its word),
- after a digit, before anything that is no numeral,
- after a line feed, before anything that is neither white space nor a slash.

Only characters whose class no version of Unicode will change are looked at, so that Python and tiktoken cannot
disagree about them: ASCII, and the letters and punctuation of Chinese, Japanese and Korean text, which may go on for
pages without a space.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from inspector.tokens.fast_tokenizer import fast_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tiktoken import Encoding

    from inspector.tokens.fast_tokenizer import FastTokenizer
    from inspector.tokens.vocabulary import Vocabulary

PIECE_CHARACTERS = 200_000
"""Longest text given to tiktoken at once, where a boundary allows."""

LONGEST_PIECE_CHARACTERS = 1_000_000
"""Longest text given to tiktoken at all: half a second and 100 MB for one without a single boundary."""

SEPARATOR = "<|endoftext|>"
"""A token of its own in every encoding: what stands before and behind it is encoded as if it stood alone."""

_LETTER = "A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"

_ASCII_BUT_LETTERS_AND_APOSTROPHE = "\\x00-\\x26\\x28-\\x40\\x5b-\\x60\\x7b-\\x7f"

_ASCII_BUT_DIGITS = "\\x00-\\x2f\\x3a-\\x7f"

_PUNCTUATION = "\u3000-\u3002\u300c\u300d\u201c\u201d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"

_LAST_BEFORE_BOUNDARY = (
    f"[{_LETTER}](?=[{_ASCII_BUT_LETTERS_AND_APOSTROPHE}{_PUNCTUATION}])"
    f"|[0-9](?=[{_ASCII_BUT_DIGITS}{_LETTER}{_PUNCTUATION}])"
    "|\\n(?=[^\\s/])"
)

_FIRST_WINDOW = 64

_WINDOW_GROWTH = 16


class TokenizerCounter:
    """Counts with a verified vocabulary.

    Counts equal tiktoken's `encode_ordinary` for every text that function can encode, special tokens' names and lone
    surrogates included, with one exception: where there are more than a million characters between two boundaries (see
    above) the text is cut, which can change its count by a few tokens. Runs of about a million white space
    characters, on which tiktoken fails, are counted in parts likewise.

    Args:
        vocabulary: What to count with.
        advice: What to tell people about how it was found, in one line.
    """

    is_exact_tokenizer = True

    def __init__(self, vocabulary: Vocabulary, advice: str = "") -> None:
        self.name = vocabulary.encoding
        self.advice = advice
        self._vocabulary: Vocabulary | None = vocabulary
        self._lock = Lock()
        self._prepared = False
        self._fast: FastTokenizer | None = None
        self._built: Encoding | None = None
        self._characters: NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"<TokenizerCounter {self.name}>"

    @property
    def is_prepared(self) -> bool:
        """Whether the tokenizer was built."""
        return self._prepared

    def prepare(self) -> None:
        """Build the tokenizer, unless that is done."""
        if self.is_prepared:
            return
        with self._lock:
            if not self._prepared and self._vocabulary is not None:
                ranks = self._vocabulary.ranks()
                self._characters = _characters(self._vocabulary, ranks)
                self._fast = fast_tokenizer(self._vocabulary)
                if self._fast is None:
                    self._built, self._vocabulary = _build(self._vocabulary, ranks), None
                self._prepared = True

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return sum(len(tokens) for _, tokens in self._pieces(text))

    def count_all(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def encode(self, text: str) -> NDArray[np.uint8]:
        """Per token, how many characters of the text begin in it; see `Counter.encode`."""
        lengths = [_lengths(piece, self._characters[tokens]) for piece, tokens in self._pieces(text)]
        return lengths[0] if len(lengths) == 1 else np.concatenate([*lengths, np.zeros(0, np.uint8)])

    def encode_all(self, texts: Sequence[str]) -> list[NDArray[np.uint8]]:
        """What `encode` gives for each text.

        tiktoken lets other threads run while it encodes and has to wait for them afterwards. Between many short texts
        that wait is longer than the work, so they are encoded in one go.
        """
        self.prepare()
        if self._fast is not None:
            return [self.encode(text) for text in texts]
        together = SEPARATOR.join(texts)
        if len(together) > PIECE_CHARACTERS or together.count(SEPARATOR) != len(texts) - 1:
            return [self.encode(text) for text in texts]
        try:
            tokens = self._tiktoken().encode_to_numpy(together, allowed_special={SEPARATOR}, disallowed_special=())
        except (ValueError, UnicodeEncodeError):
            return [self.encode(text) for text in texts]
        stops = [*np.flatnonzero(tokens == self._tiktoken().eot_token).tolist(), len(tokens)]
        lengths = self._characters[tokens]
        return [lengths[start + 1 : stop] for start, stop in pairwise([-1, *stops])]

    def _pieces(self, text: str) -> Iterator[tuple[str, NDArray[np.uint32]]]:
        self.prepare()
        for piece in _cut(text):
            try:
                yield piece, self._tokens(piece)
            except ValueError:
                # The regular expression ran out of stack: about a million white space characters in a row.
                for start in range(0, len(piece), PIECE_CHARACTERS):
                    part = piece[start : start + PIECE_CHARACTERS]
                    yield part, self._tokens(part)

    def _tokens(self, text: str) -> NDArray[np.uint32]:
        if self._fast is not None and (tokens := self._fast.tokens(text)) is not None:
            return tokens
        # `encode_ordinary` and its batch form panic (openai/tiktoken issue 245) where this form raises `ValueError`.
        # With no special token allowed or disallowed it finds none: their names are text like any other.
        try:
            return self._tiktoken().encode_to_numpy(text, disallowed_special=())
        except UnicodeEncodeError:
            return self._tiktoken().encode_to_numpy(_repaired(text), disallowed_special=())

    def _tiktoken(self) -> Encoding:
        """What tiktoken builds; beside a faster tokenizer that is done for the first text left to it."""
        with self._lock:
            if self._built is None:
                assert self._vocabulary is not None  # noqa: S101  kept until this is built
                self._built, self._vocabulary = _build(self._vocabulary, self._vocabulary.ranks()), None
            return self._built


def _build(vocabulary: Vocabulary, ranks: dict[bytes, int]) -> Encoding:
    """The tokenizer of tiktoken; `ranks` are empty afterwards."""
    from tiktoken import Encoding

    encoding = Encoding(
        vocabulary.encoding,
        pat_str=vocabulary.pattern,
        mergeable_ranks=ranks,
        special_tokens=vocabulary.special_tokens,
    )
    # tiktoken has made its own form of them; this one, which it only refers to, takes 20 MB.
    ranks.clear()
    return encoding


def _characters(vocabulary: Vocabulary, ranks: dict[bytes, int]) -> NDArray[np.uint8]:
    """Per token, how many characters begin in it."""
    begins_character = (np.frombuffer(b"".join(ranks), dtype=np.uint8) & 0xC0) != 0x80
    sizes = np.fromiter(map(len, ranks), dtype=np.int64, count=len(ranks))
    values = list(ranks.values())
    characters = np.zeros(max(*values, *vocabulary.special_tokens.values()) + 1, dtype=np.uint8)
    characters[values] = np.add.reduceat(begins_character, np.cumsum(sizes) - sizes, dtype=np.uint8)
    return characters


def _cut(text: str) -> Iterator[str]:
    """The text in pieces that can be encoded apart from each other."""
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        stop = start + PIECE_CHARACTERS
        position = last_boundary(text, start, stop)
        if position < 0:
            longest = min(len(text), start + LONGEST_PIECE_CHARACTERS)
            position = first_boundary(text, stop - 1, longest)
            if position < 0:
                position = longest
        yield text[start:position]
        start = position
    if start < len(text):
        yield text[start:] if start else text


def _repaired(text: str) -> str:
    """The text as tiktoken reads one with lone surrogates: pairs joined, U+FFFD for each that has no partner."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _lengths(text: str, characters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`characters` per token, with surrogate pairs that were joined counted as the two characters they are here."""
    if int(characters.sum(dtype=np.int64)) == len(text):
        return characters
    ends = np.cumsum(characters, dtype=np.int64)
    position = 0
    for index, character in enumerate(_repaired(text)):
        if character > "\uffff" and text[position] != character:
            characters[np.searchsorted(ends, index, side="right")] += 1
            position += 1
        position += 1
    return characters


@cache
def _last_before_boundary() -> re.Pattern[str]:
    """Finds the last character before a boundary; compiled when a text is first cut, not before the first screen."""
    return re.compile(_LAST_BEFORE_BOUNDARY)


def first_boundary(text: str, start: int, stop: int) -> int:
    """The first boundary of `text[start:stop]`, as a position in `text`; -1 when there is none.

    The characters on both sides of it lie inside the slice, so it is one in every text that holds this slice.
    """
    found = _last_before_boundary().search(text, start, stop)
    return found.end() if found else -1


def last_boundary(text: str, start: int, stop: int) -> int:
    """The last boundary of `text[start:stop]`, as a position in `text`; -1 when there is none.

    The characters on both sides of it lie inside the slice, so it is one in every text that holds this slice.
    """
    last_before = _last_before_boundary()
    width = _FIRST_WINDOW
    window_stop = stop
    while window_stop > start:
        window_start = max(start, stop - width)
        position = -1
        for found in last_before.finditer(text, window_start, window_stop):
            position = found.end()
        if position >= 0:
            return position
        if window_start == start:
            break
        # One character of the window just searched stays in sight: a boundary may lie right before it.
        window_stop = window_start + 1
        width *= _WINDOW_GROWTH
    return -1
