"""How wide each column of the timeline is. Narrow screens lose the free text first, then the change, then the tool."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.ui.numbers import whole

GUTTER = 1
CARRIED = 7
ROLE = 3
"""The letter, with the letters of tool results set in."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells, 0 for a column that is not shown. One blank stands between shown columns.

    Attributes:
        number: The message's number.
        time: Time since the session began.
        tool: The tool's name.
        bar: The token bar.
        tokens: Tokens recorded.
        change: Tokens the plan added or took away.
        carried: Tokens sent in all prompts together.
        what: Reason or preview.
    """

    number: int
    time: int
    tool: int
    bar: int
    tokens: int
    change: int
    what: int
    carried: int = 0

    @property
    def bar_start(self) -> int:
        """The first cell of the bar."""
        before = (self.time, ROLE, self.tool + 1 if self.tool else 0)
        return GUTTER + self.number + 1 + sum(cells + 1 for cells in before if cells) - (1 if self.tool else 0)


def columns_for(width: int, largest_message: int, largest_tokens: int, *, carried: bool = False) -> Columns:
    """The columns of a timeline.

    Args:
        width: Cells there are.
        largest_message: The highest message number to be shown.
        largest_tokens: The highest number of tokens to be shown.
        carried: Rows are ordered by the tokens sent in all prompts together, which are to be seen.
    """
    number = max(len(str(largest_message)), 3)
    tokens = max(len(whole(largest_tokens)), 6)
    change = tokens + 1
    time = 8 if width >= 150 else 0
    tool = 6 if width < 70 else 10 if width < 110 else 14
    room = width - (GUTTER + number + 1 + ROLE)
    shown = {"tokens": tokens, "tool": tool, "change": change, "time": time, "carried": CARRIED if carried else 0}
    for name in ("time", "change", "tool", "tokens", "carried"):
        taken = sum(cells + 1 for cells in shown.values() if cells)
        if room - taken >= 5:
            break
        shown[name] = 0
    room -= sum(cells + 1 for cells in shown.values() if cells)
    bar = max(min(room - 1, max(width // 5, 8)), 0)
    what = room - (bar + 1 if bar else 0) - 1
    if what < 12:
        bar, what = max(min(room - 1, 48), 0), 0
    return Columns(number=number, bar=bar, what=what, **shown)
