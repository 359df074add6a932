"""What plans are called, and whether one is still as it was saved or opened under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.safe_text import clip_cells, one_line

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.strategies.plan import Plan

LONGEST = 16
CHANGED = ", changed"


class PlanNames:
    """Plans as they were saved or opened, by name."""

    def __init__(self) -> None:
        self._saved: dict[str, Plan] = {}

    def note(self, plan: Plan) -> None:
        """A plan was saved or opened as it is."""
        if plan.name:
            self._saved[plan.name] = plan

    def is_changed(self, plan: Plan, session: Session | None) -> bool:
        """Whether a plan is another than what its name stands for; one without a name never is.

        A name stands for what was saved or opened under it last, else for a saved plan, else for a ready one, else
        for the first plan that was seen under it.

        Args:
            plan: The plan.
            session: What a ready plan is fitted to.
        """
        if not plan.name:
            return False
        if plan.name not in self._saved:
            self._saved[plan.name] = _known(plan.name, session) or plan
        return self._saved[plan.name].entries != plan.entries

    def title(self, letter: str, plan: Plan, session: Session | None) -> str:
        """What stands above a plan: `Plan A: careful, changed`."""
        if not plan.name:
            return f"Plan {letter}"
        changed = CHANGED if self.is_changed(plan, session) else ""
        return f"Plan {letter}: {clip_cells(one_line(plan.name), LONGEST)}{changed}"


def _known(name: str, session: Session | None) -> Plan | None:
    from inspector.strategies.presets import PRESETS
    from inspector.ui.plan.library import saved_plans

    saved = next((each.plan for each in saved_plans() if each.name == name and each.plan is not None), None)
    return saved or (PRESETS[name].plan(session) if name in PRESETS else None)
