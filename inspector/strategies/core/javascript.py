"""Measure, cut and write text as JavaScript programs do, which differs from Python outside the basic plane.

A JavaScript string is a sequence of UTF-16 units, and a character outside the basic plane takes two. A cut can fall
between the two; the remaining half is an unpaired surrogate and is sent as U+FFFD.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import NamedTuple

WHITE_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff".replace(
    "\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B)))
)
"""Characters that `String.prototype.trim` strips."""

HALF = "\ufffd"
"""Replacement for half a character."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def length(text: str) -> int:
    """Count the UTF-16 units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Place(NamedTuple):
    """End of a number of UTF-16 units: whole characters before it, and whether it splits the next one."""

    whole: int
    splits: bool


def place(text: str, units: int) -> Place:
    """Return where the first `units` UTF-16 units of a text end, at most the end of the text."""
    if text.isascii():
        return Place(min(units, len(text)), splits=False)
    encoded = text.encode("utf-16-le", "surrogatepass")
    if 2 * units >= len(encoded):
        return Place(len(text), splits=False)
    head = encoded[: 2 * units].decode("utf-16-le", "surrogatepass")
    # A surrogate at the end is half of a character of the text, or is unpaired there too.
    splits = bool(head) and head[-1] != text[len(head) - 1]
    return Place(len(head) - splits, splits)


def head(text: str, units: int) -> str:
    """Return the first UTF-16 units of a text, as `slice(0, units)` does."""
    end = place(text, units)
    return text[: end.whole] + HALF * end.splits


def tail(text: str, units: int) -> str:
    """Return the last UTF-16 units of a text, as `slice(-units)` does: all of it for 0."""
    if not units:
        return text
    start = place(text, max(length(text) - units, 0))
    return HALF * start.splits + text[start.whole + start.splits :]


def json_string(text: str) -> str:
    """Return a text as `JSON.stringify` writes it."""
    written = encode_basestring(text)
    return written if written.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", written)


def json_length(text: str) -> int:
    """Count the UTF-16 units of a text as `JSON.stringify` writes it."""
    return length(json_string(text))


def compact_json(value: object) -> str:
    """Return a value read from JSON as `JSON.stringify` writes it."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written if written.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", written)
