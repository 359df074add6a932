"""Positions of secrets in a text, and their masking."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "[{kind} masked]"

_MASKS = re.compile(r"\[[^\[\]]{1,80} masked\]")


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A secret in a text: start, exclusive end, and kind."""

    start: int
    stop: int
    kind: str


def says_something(text: str) -> bool:
    """Return True if a text holds a letter or a digit outside its masks."""
    return any(character.isalnum() for character in _MASKS.sub("", text))


def merge_overlapping(found: Iterable[Found]) -> list[Found]:
    """Sort secrets and merge overlapping ones, with the kind of the first."""
    joined: list[Found] = []
    for one in sorted(found):
        if joined and one.start < joined[-1].stop:
            last = joined.pop()
            one = Found(last.start, max(last.stop, one.stop), last.kind)
        joined.append(one)
    return joined


def masked(text: str, found: Iterable[Found]) -> str:
    """Replace each secret with a mask.

    Args:
        text: Any text.
        found: The secrets, as returned by `merge_overlapping`.
    """
    parts: list[str] = []
    end = 0
    for one in found:
        parts += (text[end : one.start], MASK.format(kind=one.kind))
        end = one.stop
    return "".join((*parts, text[end:]))
