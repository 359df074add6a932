"""Texts that have a form: differences, JSON. What of a row is told apart by it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from inspector.ui.detail.wrapping import Wrapped

_LOOKED_AT: Final = 4000
_DIFFERENCE = re.compile(
    r"^(?:@@ -\d+(?:,\d+)? \+\d+|diff --git |\*\*\* Begin Patch|--- \S.*\n\+\+\+ \S)", re.MULTILINE
)
_MEMBER = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(: .*|:.*)', re.DOTALL)
_HEADINGS: Final = ("+++", "---", "@@", "diff ", "index ", "*** ")


class Form(StrEnum):
    """What a text is."""

    PLAIN = "plain"
    DIFFERENCE = "difference"
    JSON = "json"


def form_of(text: str) -> Form:
    """What a text is, by how it begins."""
    return Form.DIFFERENCE if _DIFFERENCE.search(text[:_LOOKED_AT]) else Form.PLAIN


def row_style(folded: Wrapped, row: int, plain: str) -> str:
    """The component class of a row of a difference: that of its line's first characters; `plain` for context."""
    start = folded.text.rfind("\n", 0, int(folded.starts[row])) + 1
    begin = folded.text[start : start + 6]
    if begin.startswith(_HEADINGS):
        return "detail--hunk"
    return {"+": "detail--added", "-": "detail--taken"}.get(begin[:1], plain)


def member_pieces(text: str, plain: str) -> tuple[tuple[str, str], ...]:
    """A row of laid out JSON, the name of a member apart from its value."""
    match = _MEMBER.fullmatch(text)
    if match is None:
        return ((text, plain),)
    return ((match[1], plain), (match[2], "detail--member"), (match[3], plain))
