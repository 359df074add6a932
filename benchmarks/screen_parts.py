"""Parts of the inspector's screen, located by their texts."""

from __future__ import annotations

import re
from itertools import pairwise

_NEW_ROWS = re.compile(r"([0-9,]+) new below")
_COSTS = 3
"""Recorded cost, cost under the plan, and saving."""


def everything(screen: list[str]) -> list[str]:
    """Return all lines except the header and the status line, which change on their own."""
    return screen[1:-1]


def figures(screen: list[str], limit: str) -> list[str]:
    """Return the figures of a replay: chart, timeline rows, effect of a limit, cost and saving of the plan."""
    header = _header(screen)
    slider = slider_row(screen, limit)
    cost = next(line for line in screen if line.startswith(" Cost "))
    effects = [line.rpartition("││")[2] for line in screen[slider - 1 : slider + 2]]
    # The part after the saving appears a while after the plan.
    costs = re.split(r" {2,}", cost)[:_COSTS]
    return [*screen[2 : header - 1], *timeline_rows(screen), *effects, *costs]


def timeline_rows(screen: list[str]) -> list[str]:
    header = _header(screen)
    end = next(number for number in range(header, len(screen)) if screen[number].startswith("╰"))
    return [line.partition("││")[0] for line in screen[header + 1 : end]]


def last_row_holds(screen: list[str]) -> str:
    """Return the last row of the timeline without its amounts, which follow once the line has been counted."""
    return timeline_rows(screen)[-1][screen[_header(screen)].index(" what ") :]


def row_count(screen: list[str]) -> str:
    """Return the number of rows added below, from the status line; empty if it shows something different."""
    found = _NEW_ROWS.search(screen[-1])
    return found[1] if found else ""


def slider_row(screen: list[str], name: str) -> int:
    """Return the row of a limit's slider; its name is above."""
    named = enumerate(pairwise(screen), 1)
    return next(number for number, (above, line) in named if f" {name} " in above.rpartition("││")[2] and "●" in line)


def _header(screen: list[str]) -> int:
    return next(number for number, line in enumerate(screen) if " what " in line and " tokens " in line)
