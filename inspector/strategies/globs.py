"""Patterns with `*`, `**` and `?` for file paths and tool names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def matches_any(text: str, patterns: Iterable[str]) -> bool:
    """Whether a path or name matches one of the patterns as a whole.

    `**/` stands for any number of folders, `**` for anything, `*` for anything without a slash, `?` for one character
    that is no slash.
    """
    return any(_compiled(pattern).fullmatch(text) is not None for pattern in patterns if pattern)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    written = ""
    position = 0
    for wildcard in re.finditer(r"\*\*/|\*\*|\*|\?", pattern):
        written += re.escape(pattern[position : wildcard.start()]) + _MEANING[wildcard.group()]
        position = wildcard.end()
    return re.compile(written + re.escape(pattern[position:]))


_MEANING = {"**/": r"(?:[^\n]*/)?", "**": r"[^\n]*", "*": "[^/]*", "?": "[^/]"}
