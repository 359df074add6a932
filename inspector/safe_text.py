r"""Make session text safe for a terminal. All text of a session passes through here once before display.

Session files contain arbitrary tool output and web pages: color escapes, clipboard and title sequences, markup,
characters that reverse the direction of a line, lone surrogates. Terminals execute some of it, and text libraries
measure some of it wrongly, which breaks column alignment. The output of `safe_text` is only visible text:

- Control characters are shown as their Control Pictures (`␛`), delete as `␡`, the second control block as `\x9b`.
- Characters that are invisible, change the direction of text or hide other text are shown as `\u202e`.
- Lone surrogates and noncharacters are shown as the replacement character.
- Joiners, variation selectors and skin tones are dropped. They are not text, and terminals disagree about
  the width of joined characters: an emoji family is shown as its members. Flags are shown as their two letters.
- Tabs become a fixed number of spaces, so that a text may be cut anywhere before it is made safe.
- At most four combining marks are stacked on one character.

Tokens are counted on the original text. This module imports no other module of the project.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from rich.cells import cell_len, get_character_cell_size

TAB_CELLS: Final = 4
"""Number of spaces for a tab, regardless of its column."""

NEW_LINE_MARK: Final = "⏎"
"""Replacement for a line break in text on one line."""

_LEFT_OUT = "\u034f\u180b-\u180d\u200c\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"
_SHOWN_AS_CODE = (
    "\x80-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_BROKEN = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_UNSAFE = f"[\\x00-\\x09\\x0b-\\x1f\\x7f{_SHOWN_AS_CODE}{_BROKEN}{_FLAG_LETTERS}{_LEFT_OUT}]"
_CONTROL = "[\\x00-\\x09\\x0b-\\x1f\\x7f]"
_CODE = f"[{_SHOWN_AS_CODE}]"
_REPLACED = f"[{_BROKEN}]"
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACK = f"({_MARK}{{4}}){_MARK}+"
_BLANKS = re.compile(r" {2,}")
_LINE_BREAKS = re.compile(r" *(?:\r?\n|\r)\s*")


def safe_text(text: str) -> str:
    """Return a safe form of `text` without control characters except line breaks.

    Markup is not escaped: do not parse it when showing the result. The width of the result is the sum of its
    characters' widths (`cell_width`). Except for stacked marks, characters are translated one by one, so the safe form
    of a part is a part of the safe form.

    Args:
        text: Any string, possibly with lone surrogates.
    """
    if text.isascii() and text.isprintable():
        return text
    safe = _compiled(_UNSAFE).sub(_shown, text)
    return safe if safe.isascii() else _compiled(_STACK).sub(r"\1", safe)


def one_line(text: str, limit: int = 1000) -> str:
    """Return the beginning of `text` in a safe form on one line: line breaks as `⏎`, runs of blanks as one."""
    flat = _LINE_BREAKS.sub(f" {NEW_LINE_MARK} ", text[:limit].strip())
    return _BLANKS.sub(" ", safe_text(flat)).strip()


def cell_width(safe: str) -> int:
    """Return the number of terminal cells of a safe text without line breaks."""
    return cell_len(safe)


def clip_cells(safe: str, width: int, ellipsis: str = "…") -> str:
    """Cut a safe text to at most `width` cells, never between a character and its combining marks.

    Args:
        safe: One line of safe text.
        width: Available cells.
        ellipsis: Appended to a text that was cut, if it fits; may be empty.
    """
    if width <= 0:
        return ""
    if len(safe) <= width and safe.isascii():
        return safe
    # A character takes at most two cells, but marks take none: a longer text can only be an endless stack of marks.
    head = safe[: 16 * width + 16]
    if len(head) == len(safe) and cell_len(safe) <= width:
        return safe
    room = width - cell_len(ellipsis)
    if room < 0:
        ellipsis, room = "", width
    return head[: _fitting(head, room)] + ellipsis


def fit_cells(safe: str, width: int, *, align_right: bool = False, ellipsis: str = "…") -> str:
    """Cut or pad a safe text to exactly `width` cells."""
    clipped = clip_cells(safe, width, ellipsis)
    padding = " " * (max(width, 0) - cell_len(clipped))
    return padding + clipped if align_right else clipped + padding


def cut_middle(safe: str, width: int, ellipsis: str = "…") -> str:
    """Cut a safe text in the middle to at most `width` cells; its end is slightly longer than its beginning."""
    room = width - cell_len(ellipsis)
    if room < 2 or cell_len(safe) <= width:
        return clip_cells(safe, width, ellipsis)
    head = clip_cells(safe, room // 2, "")
    start = len(head)
    while cell_len(safe[start:]) > room - cell_len(head):
        start += 1
    return head + ellipsis + safe[start:]


def _fitting(text: str, room: int) -> int:
    """Return the number of characters of `text` that fit into `room` cells, including combining marks."""
    if cell_len(text[:room]) == room == cell_len(text[: room + 1]) - 1:
        return room
    for position, character in enumerate(text):
        room -= get_character_cell_size(character)
        if room < 0:
            return position
    return len(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: plain texts need none."""
    return re.compile(pattern)


def _shown(match: re.Match[str]) -> str:
    return _shown_character(match[0])


@lru_cache(maxsize=4096)
def _shown_character(character: str) -> str:
    if character == "\t":
        return " " * TAB_CELLS
    code = ord(character)
    if _compiled(_CONTROL).match(character):
        return "␡" if code == 0x7F else chr(0x2400 + code)
    if _compiled(_CODE).match(character):
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return chr(ord("A") + code - 0x1F1E6)
    return "�" if _compiled(_REPLACED).match(character) else ""
