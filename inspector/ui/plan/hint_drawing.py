"""What stands below a plan's controls, in so many cells: its risks, and what is said of a control."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from inspector.ui.terms import NEEDED_PHRASES

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_LABEL: Final = 8
"""Cells below which a text says too little."""

NEEDED_WORD: Final = "needed"
RISK: Final = "! "
KEY_OF_RISKS: Final = " · g r"


def risk_lines(risks: Sequence[str], width: int, rows: int) -> list[str]:
    """A plan's risks in so many rows, the worst first; the last row says how many more there are.

    A row that is left over says what is meant by text that was needed, if the whole of that fits.

    Args:
        risks: One line each.
        width: Cells of a row.
        rows: Rows there are.
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
    """What is said of a control in so many rows; a sign says where some of it is left out."""
    if width < LEAST_LABEL or rows < 1:
        return []
    return textwrap.wrap(" ".join(text), width, max_lines=rows, placeholder=" …")


def clipped(text: str, width: int) -> str:
    """A text in so many cells at most, with a sign where some of it is left out."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…" * (width > 0)
