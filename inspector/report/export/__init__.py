"""A plan written as another agent's own configuration, and a clear word on what cannot be said there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from inspector.report.export.coding_agents import CODING_AGENTS
from inspector.report.export.design_documents import FOUNDING
from inspector.report.export.frameworks import FRAMEWORKS
from inspector.report.export.target import Exported, ExportError, Target, export_to

if TYPE_CHECKING:
    from inspector.strategies.plan import Plan

TARGETS: dict[str, Target] = {target.name: target for target in (*FOUNDING, *FRAMEWORKS, *CODING_AGENTS)}
"""Every system a plan can be written for, by name, in the order lists show them."""


def export_plan(plan: Plan, name: str) -> Exported:
    """Write a plan as the configuration of the named system.

    Raises:
        ExportError: There is no such system, or nothing in the plan can be said there.
    """
    if name not in TARGETS:
        near = get_close_matches(name, TARGETS, n=1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise ExportError(f"no system named {name!r}{meant} There are: {', '.join(TARGETS)}")
    return export_to(TARGETS[name], plan)


__all__ = ["TARGETS", "ExportError", "Exported", "Target", "export_plan"]
