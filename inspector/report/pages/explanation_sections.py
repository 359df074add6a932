"""How figures came about, where that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.detail_text import given_text, quantity
from inspector.report.figures_table import plan_letter
from inspector.report.pages.figures import Figures, pointer, word
from inspector.report.pages.model import Cell, Section, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.report.details import ExplanationFacts
    from inspector.report.document import Report
    from inspector.report.pages.figures import Step


def explanation_sections(report: Report, figures: Figures) -> tuple[Section, ...]:
    """A table for the baseline and one a plan; none where it was not asked for."""
    places: list[tuple[str, tuple[Step, ...], Mapping[str, ExplanationFacts] | None]] = [
        ("the baseline", ("explain",), report.explain)
    ]
    places += [
        (f"plan {plan_letter(index)}", ("plans", index, "explain"), plan.explain)
        for index, plan in enumerate(report.plans)
    ]
    tables = [_table(name, steps, explained, figures) for name, steps, explained in places if explained]
    return (Section("explained", "How figures came about", tuple(tables), folded=True),) if tables else ()


def _table(name: str, steps: tuple[Step, ...], explained: Mapping[str, ExplanationFacts], figures: Figures) -> Table:
    rows = []
    for figure, each in explained.items():
        at = (*steps, figure, "value")
        inputs = "; ".join(f"{given.label}: {given_text(given.value, given.unit)}" for given in each.inputs)
        value = Cell(quantity(each.value, each.unit), pointer(*at), figures.value(*at), each.known)
        rows.append((word(figure), value, word(each.formula), word(inputs), word(each.source)))
    head = ("figure", "value", "what was worked out", "from", "source")
    return Table(f"Figures of {name}", head, tuple(rows), frozenset({1}))
