"""Excerpts of cut text and of its later use, side by side above either text."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width, one_line
from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from inspector.replay.analysis.recoveries import Need
    from inspector.session.model import Session
    from inspector.ui.detail.content import DetailContent

CELLS: Final = 34
"""Column width in cells: two fit the narrowest screen."""
GAP: Final = " │ "
_AROUND: Final = 50
_SHOWN: Final = 110
_UNAVAILABLE: Final = "its text can no longer be read"


def detail_of_need(content: DetailContent, need: Need, session: Session) -> DetailContent:
    """Add the excerpts of a need above the text of the cut block or of the block that used it later."""
    call, since = ON_SCREEN.whole(need.call + 1), ON_SCREEN.whole(need.removed_at + 1)
    heading = f"needed at call {call} ({need.kind.label}), cut since call {since}"
    return replace(content, key=("need", content.key), lead=(*content.lead, heading, *_columns(need, session)))


def _columns(need: Need, session: Session) -> list[str]:
    left = [f"in the {_name(session, need.block)}:", *_excerpt(session, need.block, need.start, need.stop)]
    right = [f"used in the {_name(session, need.use)}:", *_excerpt(session, need.use, need.use_start, need.use_stop)]
    return [
        f"{one}{' ' * (CELLS - cell_width(one))}{GAP}{other}" for one, other in zip_longest(left, right, fillvalue="")
    ]


def _name(session: Session, block: int) -> str:
    found = session.all_blocks[block]
    return one_line(" ".join(word for word in (found.tool_name, found.kind.label) if word), CELLS - 14)


def _excerpt(session: Session, block: int, start: int, stop: int) -> list[str]:
    """Return an excerpt of a text with its surroundings, the match between guillemets, wrapped to a column."""
    try:
        text = session.text(session.all_blocks[block])
    except (TextUnavailableError, OSError):
        return [_UNAVAILABLE]
    there = text[start:stop]
    if len(there) > _SHOWN:
        there = f"{there[: _SHOWN // 2]} … {there[-_SHOWN // 2 :]}"
    before = ("… " if start > _AROUND else "") + text[max(start - _AROUND, 0) : start]
    after = text[stop : stop + _AROUND] + (" …" if len(text) > stop + _AROUND else "")
    return _folded(one_line(f"{before}«{there}»{after}"))


def _folded(line: str) -> list[str]:
    folded, row, cells = [], "", 0
    for character in line:
        width = cell_width(character)
        if cells + width > CELLS:
            folded.append(row)
            row, cells = "", 0
        row += character
        cells += width
    return [*folded, row]
