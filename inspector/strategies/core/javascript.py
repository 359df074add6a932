"""Texts as programs in JavaScript measure, cut and write them, which differs from Python outside the basic plane.

There a text is a row of UTF-16 units, and a character outside the basic plane is two of them. A cut can fall between
the two; what is left of the character then is no character, and arrives as U+FFFD.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

WHITE_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff".replace(
    "\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B)))
)
"""What `String.prototype.trim` takes off."""

HALF = "\ufffd"
"""What arrives of half a character."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def length(text: str) -> int:
    """UTF-16 units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Place(NamedTuple):
    """Where a number of UTF-16 units ends in a text.

    Attributes:
        whole: Characters that end before it or at it.
        splits: Whether the next character begins before it and ends after it.
    """

    whole: int
    splits: bool


def place(text: str, units: int) -> Place:
    """Where the first `units` UTF-16 units of a text end; at its end where it has no more."""
    if text.isascii():
        return Place(min(units, len(text)), splits=False)
    encoded = text.encode("utf-16-le", "surrogatepass")
    if 2 * units >= len(encoded):
        return Place(len(text), splits=False)
    head = encoded[: 2 * units].decode("utf-16-le", "surrogatepass")
    # A surrogate at the end is half of what the text has whole, or stands alone there too.
    splits = bool(head) and head[-1] != text[len(head) - 1]
    return Place(len(head) - splits, splits)


def head(text: str, units: int) -> str:
    """The first UTF-16 units of a text: `slice(0, units)`."""
    end = place(text, units)
    return text[: end.whole] + HALF * end.splits


def tail(text: str, units: int) -> str:
    """The last UTF-16 units of a text: `slice(-units)`, which is all of it for none."""
    if not units:
        return text
    start = place(text, max(length(text) - units, 0))
    return HALF * start.splits + text[start.whole + start.splits :]


def json_string(text: str) -> str:
    """What `JSON.stringify` makes of a text."""
    written = json.dumps(text, ensure_ascii=False)
    return written if written.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", written)


def json_length(text: str) -> int:
    """UTF-16 units of what `JSON.stringify` makes of a text."""
    return length(json_string(text))


def compact_json(value: object) -> str:
    """What `JSON.stringify` makes of a value read from JSON."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written if written.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", written)
