"""An explanation as text: the formula, how the figure is known, the numbers that go into it, and their source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line

if TYPE_CHECKING:
    from inspector.replay.explain.explanation import Explanation

FAINT = "$foreground 60%"

MEANINGS = {
    "exact": "exact: reported by the provider, or counted in the file",
    "calibrated": "calibrated: our count, fitted to what the provider reported for this session",
    "estimated": "estimated: our count alone, or what is usual",
    "projected": "projected: about calls that did not happen",
}
"""What `how known` means, as a whole line."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A figure and its explanation.

    Attributes:
        name: What the figure is called; may hold session text.
        explanation: How it came about.
    """

    name: str
    explanation: Explanation


def explanation_content(explanation: Explanation, *, in_lines: bool) -> Content:
    """The formula, how the figure is known, the numbers that go into it, and where they come from.

    Args:
        explanation: What to say.
        in_lines: Every number on a line of its own; else one after another.
    """
    numbered = [
        Content.assemble((f"{one_line(given.label).strip()} ", FAINT), ON_SCREEN.quantity(given.value, given.unit))
        for given in explanation.inputs
    ]
    if in_lines:
        given = Content("\n").join([Content.assemble("  ", each) for each in numbered])
    else:
        given = Content.styled(" · ", FAINT).join(numbered)
    parts = [
        Content.styled(f"{explanation.formula[:1].upper()}{explanation.formula[1:]}.", "bold"),
        Content.styled(f"{MEANINGS[explanation.known.value]}.", ""),
        *([given] if numbered else []),
        Content.styled(f"From: {one_line(explanation.source)}.", FAINT),
    ]
    return Content("\n").join(parts)
