"""Which plans can be asked for by name, as text for people and as data for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.report.layout import HEADING, LABEL, WIDTH, Page, broken_after_commas

if TYPE_CHECKING:
    from collections.abc import Iterable


class KnownPlan(NamedTuple):
    """A plan that has a name.

    Attributes:
        name: How it is asked for.
        summary: What it is, or what is wrong with it.
        specs: Its strategies in their one-line form.
    """

    name: str
    summary: str
    specs: tuple[str, ...]


def plans_text(plans: Iterable[KnownPlan], *, color: bool = False) -> str:
    """A list of plans: name, what it is, what it is made of."""
    page = Page(WIDTH, color=color)
    for index, plan in enumerate(plans):
        if index:
            page.line()
        _add(page, plan)
    return page.text()


def plan_text(plan: KnownPlan, *, color: bool = False) -> str:
    """One plan."""
    page = Page(WIDTH, color=color)
    _add(page, plan)
    return page.text()


def plan_data(plan: KnownPlan) -> dict[str, Any]:
    """One plan as plain data."""
    return {"name": plan.name, "summary": plan.summary, "strategies": list(plan.specs)}


def _add(page: Page, plan: KnownPlan) -> None:
    page.line(plan.name, HEADING)
    page.line(plan.summary, indent=2)
    for spec in plan.specs:
        for line in broken_after_commas(spec, WIDTH - 2):
            page.line(line, LABEL, indent=2)
