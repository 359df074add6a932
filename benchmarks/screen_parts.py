"""Where things are on the inspector's screen, found by what is written there."""

from __future__ import annotations

import re
from itertools import pairwise

_ROWS = re.compile(r"([0-9,]+) rows?\b")
_COSTS = 3
"""Cost as recorded, cost under the plan, and what that saves."""


def everything(screen: list[str]) -> list[str]:
    """All but the header and the status line, which change by themselves."""
    return screen[1:-1]


def figures(screen: list[str], limit: str) -> list[str]:
    """What a replay says: the chart, the timeline's rows, what a limit does, and what the plan costs and saves."""
    header = _header(screen)
    slider = slider_row(screen, limit)
    cost = next(number for number, line in enumerate(screen) if line.startswith("╭─ Cost "))
    effects = [line.rpartition("││")[2] for line in screen[slider - 1 : slider + 2]]
    # What stands behind the saving comes once the plan has stood for a while.
    costs = re.split(r" {2,}", screen[cost + 1])[:_COSTS]
    return [*screen[2 : header - 1], *timeline_rows(screen), *effects, *costs]


def timeline_rows(screen: list[str]) -> list[str]:
    """The rows of the timeline."""
    header = _header(screen)
    end = next(number for number in range(header, len(screen)) if screen[number].startswith("╰"))
    return [line.partition("││")[0] for line in screen[header + 1 : end]]


def last_row_holds(screen: list[str]) -> str:
    """What the timeline's last row is about, its amounts left out: they follow when the line has been counted."""
    return timeline_rows(screen)[-1][screen[_header(screen)].index(" what ") :]


def row_count(screen: list[str]) -> str:
    """How many rows there are, as the status line tells it; empty where something stands in its place."""
    found = _ROWS.search(screen[-1])
    return found[1] if found else ""


def slider_row(screen: list[str], name: str) -> int:
    """The row of a limit's slider; its name stands above."""
    named = enumerate(pairwise(screen), 1)
    return next(number for number, (above, line) in named if f" {name} " in above.rpartition("││")[2] and "●" in line)


def _header(screen: list[str]) -> int:
    return next(number for number, line in enumerate(screen) if " what " in line and " tokens " in line)
