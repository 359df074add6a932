"""Figures of a replay as cells of a table: written, and followed by a letter for how they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.figures_table import MARKS
from inspector.ui import numbers
from inspector.ui.tables.figures import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.replay.ledger import Figure
    from inspector.replay.savings import Savings


def figure_cell(
    figure: Figure,
    written: Callable[[float], str],
    shorter: Callable[[float], str] | None = None,
    *,
    style: str = "",
) -> Cell:
    """A figure as a cell.

    Args:
        figure: The figure.
        written: How it is written.
        shorter: How it is written where that is too long.
        style: Component class.
    """
    if figure.value is None:
        return Cell(numbers.UNKNOWN, "?", "table--faint")
    short = shorter(figure.value) if shorter is not None else ""
    return Cell(written(figure.value), short, style, MARKS[figure.known.value], figure.value)


def savings_style(savings: Savings) -> str:
    """The component class of a saving: a loss looks like one."""
    return "table--lost" if (savings.usd.value or savings.tokens.value or 0) < 0 else "table--saved"


def letters(known: Iterable[str]) -> str:
    """What the letters behind numbers mean, those that are used."""
    used = set(known)
    return "  ".join(f"{letter} {how}" for how, letter in MARKS.items() if letter and how in used)
