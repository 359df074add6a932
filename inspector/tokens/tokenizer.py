"""Exact token counts, equal to tiktoken's, for any text, and safe boundaries for counting a text in parts.

OpenAI's tokenizers first split a text into words, numbers, runs of punctuation and runs of white space with a regular
expression (`tiktoken_ext/openai_public.py`), then split each of these into tokens. A boundary is a position where one
of these always ends, regardless of the surrounding text, so that the tokens of the whole are the tokens of both sides.
For `o200k_base` and `cl100k_base` there is one

- after a letter, before a character other than a letter, mark or apostrophe (a contraction keeps `'s` with its word),
- after a digit, before a character other than a numeral,
- after a line feed, before a character other than white space or a slash.

Only characters with the same class in all Unicode versions are used, so that Python and tiktoken agree on them: ASCII,
and the letters and punctuation of Chinese, Japanese and Korean text, which may have no spaces for pages.

If installed, splintr is several times as fast with identical tokens. It (`pip install 'session-inspector[speed]'`) gets
the verified vocabulary and tiktoken's pattern. For the releases listed here, all tokens were compared with tiktoken's:
for texts of real sessions, for every character alone and next to letters, digits and punctuation, and for a million
texts made of pieces that are difficult for tokenizers. Texts with the one difference found, and long texts that
tiktoken itself splits, are left to tiktoken. So is `cl100k_base`, because splintr does not support its pattern.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from splintr import Tokenizer
    from tiktoken import Encoding

    from inspector.tokens.vocabulary import Vocabulary


DISTRIBUTION = "splintr-rs"

ENCODING = "o200k_base"

RELEASES = "0.22."

LONGEST_CHARACTERS = 200_000
"""Longer texts are left to tiktoken, because it splits some of them (a million white space characters)."""

LONG_S = "\u017f"
"""tiktoken treats it as an `s` in a contraction; splintr does not."""

_PROBE = (
    "It's I'LL we've x\u0301y 1234567 0x1f,\r\n \n\t  /usr/lib\n//; don\u2019t \u4f60\u597d\u4e16\u754c "
    "\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4 \U0001f469\u200d\U0001f469 \u0627\u0644 <|endoftext|> "
    '{"a": [1.5e-3]}\u3000 '
)
_TOKENS_OF_PROBE = "e252c56bae13a23d"
"""Digest of tiktoken's tokens of the probe: another build of the same release may differ."""


class FastTokenizer:
    """Encodes most texts as tiktoken does."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokens(self, text: str) -> NDArray[np.uint32] | None:
        """Return the tokens of a text, with names of special tokens as text, or None if it is left to tiktoken."""
        if len(text) > LONGEST_CHARACTERS or LONG_S in text:
            return None
        try:
            return np.frombuffer(self._tokenizer.encode_flat(text), np.uint32)
        except UnicodeEncodeError:  # a lone surrogate
            return None


def fast_tokenizer(vocabulary: Vocabulary) -> FastTokenizer | None:
    """Return the fast tokenizer for a vocabulary, or None if no verified release is installed."""
    from importlib.metadata import (
        PackageNotFoundError,
        version,
    )  # imported late: the first rows on a screen do not need it

    try:
        if vocabulary.encoding != ENCODING or not version(DISTRIBUTION).startswith(RELEASES):
            return None
        from splintr import Tokenizer

        built = Tokenizer.from_bytes(vocabulary.data, vocabulary.pattern, vocabulary.special_tokens)
    except (PackageNotFoundError, ImportError, AttributeError, TypeError, ValueError):
        return None
    found = FastTokenizer(built)
    tokens = found.tokens(_PROBE)
    if tokens is None or blake2b(tokens.tobytes(), digest_size=8).hexdigest() != _TOKENS_OF_PROBE:
        return None
    return found


PIECE_CHARACTERS = 200_000
"""Maximum length of a piece for tiktoken if a boundary exists."""

LONGEST_PIECE_CHARACTERS = 1_000_000
"""Absolute maximum length of a piece: half a second and 100 MB for one without a boundary."""

SEPARATOR = "<|endoftext|>"
"""A special token in every encoding: the texts on both sides are encoded independently."""

_LETTER = "A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"

_ASCII_BUT_LETTERS_AND_APOSTROPHE = "\\x00-\\x26\\x28-\\x40\\x5b-\\x60\\x7b-\\x7f"

_ASCII_BUT_DIGITS = "\\x00-\\x2f\\x3a-\\x7f"

_PUNCTUATION = "\u3000-\u3002\u300c\u300d\u201c\u201d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"

_LAST_BEFORE_BOUNDARY = (
    f"[{_LETTER}](?=[{_ASCII_BUT_LETTERS_AND_APOSTROPHE}{_PUNCTUATION}])"
    f"|[0-9](?=[{_ASCII_BUT_DIGITS}{_LETTER}{_PUNCTUATION}])"
    "|\\n(?=[^\\s/])"
)

_PADDING = 64
_BASE64 = np.full(128, _PADDING, dtype=np.uint8)
_BASE64[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = np.arange(64)
"""Value of each base64 digit."""

_FIRST_WINDOW = 64

_WINDOW_GROWTH = 16


class TokenizerCounter:
    """Counts tokens with a verified vocabulary.

    Counts equal tiktoken's `encode_ordinary` for every text that this function can encode, including names of special
    tokens and lone surrogates, with one exception: a text with more than a million characters between two boundaries
    (see above) is cut, which can change its count by a few tokens. Runs of about a million white space characters, on
    which tiktoken fails, are also counted in parts.

    Args:
        advice: One line for the user on how it was found.
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
        return self._prepared

    def prepare(self) -> None:
        if self.is_prepared:
            return
        with self._lock:
            if not self._prepared and self._vocabulary is not None:
                self._characters = _characters(self._vocabulary)
                self._fast = fast_tokenizer(self._vocabulary)
                if self._fast is None:
                    self._built, self._vocabulary = _build(self._vocabulary), None
                self._prepared = True

    def count(self, text: str) -> int:
        return sum(len(tokens) for _, tokens in self._pieces(text))

    def count_all(self, texts: Iterable[str]) -> list[int]:
        return [self.count(text) for text in texts]

    def encode(self, text: str) -> NDArray[np.uint8]:
        """Return, per token, the number of characters that begin in it; see `Counter.encode`."""
        lengths = [_lengths(piece, self._characters[tokens]) for piece, tokens in self._pieces(text)]
        return lengths[0] if len(lengths) == 1 else np.concatenate([*lengths, np.zeros(0, np.uint8)])

    def encode_all(self, texts: Sequence[str]) -> list[NDArray[np.uint8]]:
        """Encode texts in one call: for short ones, tiktoken's handling of the GIL takes longer than encoding."""
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
        # Without allowed or disallowed special tokens, their names are encoded as text.
        try:
            return self._tiktoken().encode_to_numpy(text, disallowed_special=())
        except UnicodeEncodeError:
            return self._tiktoken().encode_to_numpy(_repaired(text), disallowed_special=())

    def _tiktoken(self) -> Encoding:
        """Return tiktoken's tokenizer; with a faster one, it is built on first use."""
        with self._lock:
            if self._built is None:
                assert self._vocabulary is not None  # noqa: S101  set until this is built
                self._built, self._vocabulary = _build(self._vocabulary), None
            return self._built


def _build(vocabulary: Vocabulary) -> Encoding:
    from tiktoken import Encoding

    ranks = vocabulary.ranks()
    encoding = Encoding(
        vocabulary.encoding,
        pat_str=vocabulary.pattern,
        mergeable_ranks=ranks,
        special_tokens=vocabulary.special_tokens,
    )
    # tiktoken has copied the ranks and only holds a reference to this dict, which takes 20 MB.
    ranks.clear()
    return encoding


def _characters(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Return, per token, the number of characters that begin in it.

    Four base64 digits hold three bytes. A byte continues a character if its upper two bits are 10; they are the upper
    bits of the first digit, the middle bits of the second, and the lower bits of the third. A missing byte is padded.
    """
    data = np.frombuffer(vocabulary.data.rstrip() + b"\n", dtype=np.uint8)
    starts, spaces = np.append(0, np.flatnonzero(data == ord("\n"))[:-1] + 1), np.flatnonzero(data == ord(" "))
    is_token = np.zeros(len(data), dtype=np.int8)
    is_token[starts], is_token[spaces] = 1, -1
    is_token = np.cumsum(is_token, dtype=np.int8)
    ranks = np.fromstring(data[is_token == 0].tobytes(), dtype=np.int64, sep=" ")
    first, second, third, fourth = _BASE64[data[is_token == 1]].reshape(-1, 4).T
    begins = (first >> 4 != 2).astype(np.uint8)
    begins += (third != _PADDING) & (second >> 2 & 3 != 2)
    begins += (fourth != _PADDING) & (third & 3 != 2)
    characters = np.zeros(max(int(ranks.max()), *vocabulary.special_tokens.values()) + 1, dtype=np.uint8)
    digits = spaces - starts
    characters[ranks] = np.add.reduceat(begins, (np.cumsum(digits) - digits) // 4, dtype=np.uint8)
    return characters


def _cut(text: str) -> Iterator[str]:
    """Split the text into pieces that can be encoded independently."""
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
    """Repair lone surrogates as tiktoken does: pairs are joined, unpaired ones become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _lengths(text: str, characters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return `characters` per token, counting joined surrogate pairs as the two characters they are in `text`."""
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
    """Compile the pattern for the last character before a boundary on first use, to speed up the first screen."""
    return re.compile(_LAST_BEFORE_BOUNDARY)


def first_boundary(text: str, start: int, stop: int) -> int:
    """Return the first boundary of `text[start:stop]` as a position in `text`, or -1.

    The characters on both sides of it are inside the slice, so it is a boundary in every text with this slice.
    """
    found = _last_before_boundary().search(text, start, stop)
    return found.end() if found else -1


def last_boundary(text: str, start: int, stop: int) -> int:
    """Return the last boundary of `text[start:stop]` in `text`, or -1; see `first_boundary`."""
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
        # Overlap the previous window by one character: a boundary may be just before it.
        window_stop = window_start + 1
        width *= _WINDOW_GROWTH
    return -1
