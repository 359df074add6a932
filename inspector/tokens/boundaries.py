"""Positions where a text may be cut without changing how either side is divided into tokens.

The tokenizers of OpenAI first divide a text into words, numbers, runs of punctuation and runs of white space by a
regular expression (`tiktoken_ext/openai_public.py`), then each of those into tokens. Where one of them is certain to
end and the next to begin, whatever stands further left or right, the tokens of the whole are the tokens of both sides.
For `o200k_base` and `cl100k_base` that is so

- after a letter, before a character that is no letter, mark or apostrophe (a contraction keeps `'s` with its word),
- after a digit, before anything that is no numeral,
- after a line feed, before anything that is neither white space nor a slash.

Only characters whose class no version of Unicode will change are looked at, so that Python and tiktoken cannot
disagree about them: ASCII, and the letters and punctuation of Chinese, Japanese and Korean text, which may go on for
pages without a space.
"""

from __future__ import annotations

import re

_LETTER = "A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
_ASCII_BUT_LETTERS_AND_APOSTROPHE = "\\x00-\\x26\\x28-\\x40\\x5b-\\x60\\x7b-\\x7f"
_ASCII_BUT_DIGITS = "\\x00-\\x2f\\x3a-\\x7f"
_PUNCTUATION = "\u3000-\u3002\u300c\u300d\u201c\u201d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_LAST_BEFORE_BOUNDARY = re.compile(
    f"[{_LETTER}](?=[{_ASCII_BUT_LETTERS_AND_APOSTROPHE}{_PUNCTUATION}])"
    f"|[0-9](?=[{_ASCII_BUT_DIGITS}{_LETTER}{_PUNCTUATION}])"
    "|\\n(?=[^\\s/])"
)
_FIRST_WINDOW = 64
_WINDOW_GROWTH = 16


def first_boundary(text: str, start: int, stop: int) -> int:
    """The first boundary of `text[start:stop]`, as a position in `text`; -1 when there is none.

    The characters on both sides of it lie inside the slice, so it is one in every text that holds this slice.
    """
    found = _LAST_BEFORE_BOUNDARY.search(text, start, stop)
    return found.end() if found else -1


def last_boundary(text: str, start: int, stop: int) -> int:
    """The last boundary of `text[start:stop]`, as a position in `text`; -1 when there is none.

    The characters on both sides of it lie inside the slice, so it is one in every text that holds this slice.
    """
    width = _FIRST_WINDOW
    window_stop = stop
    while window_stop > start:
        window_start = max(start, stop - width)
        position = -1
        for found in _LAST_BEFORE_BOUNDARY.finditer(text, window_start, window_stop):
            position = found.end()
        if position >= 0:
            return position
        if window_start == start:
            break
        # One character of the window just searched stays in sight: a boundary may lie right before it.
        window_stop = window_start + 1
        width *= _WINDOW_GROWTH
    return -1
