"""Fit the text below the plan's controls into the available cells: risks and help for a control."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from inspector.ui.definitions import NEEDED_PHRASES

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_LABEL: Final = 8
"""Minimum width of a useful text, in cells."""

NEEDED_WORD: Final = "needed"
RISK: Final = "! "
KEY_OF_RISKS: Final = " · g r"


def risk_lines(risks: Sequence[str], width: int, rows: int) -> list[str]:
    """Fit the risks into the available rows, the worst first. The last row counts the risks left out.

    A free row is used for the definition of text needed later, if it fits completely.

    Args:
        risks: One line each.
        width: Cells of a row.
        rows: Available rows.
    """
    shown = [RISK + risk for risk in risks[: max(rows, 0)]]
    if not shown:
        return []
    more, last = len(risks) - len(shown), shown.pop()
    count = f", {more} more" if more else ""
    ends = [count + KEY_OF_RISKS, count]
    end = next((end for end in ends if len(last + end) <= width), ends[-1])
    lines = [*(clipped(line, width) for line in shown), clipped(last, width - len(end)) + end]
    if len(lines) < rows and any(NEEDED_WORD in risk for risk in risks):
        lines += [phrase for phrase in NEEDED_PHRASES if len(phrase) <= width][:1]
    return lines


def hint_lines(text: Sequence[str], width: int, rows: int) -> list[str]:
    """Wrap the help for a control into the available rows. A sign marks omitted text."""
    if width < LEAST_LABEL or rows < 1:
        return []
    return textwrap.wrap(" ".join(text), width, max_lines=rows, placeholder=" …")


def clipped(text: str, width: int) -> str:
    """Truncate a text to a width in cells. A sign marks omitted text."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…" * (width > 0)
