"""Undo and redo of plan changes. A drag is one change, however many values it passed through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from inspector.strategies.plan import Plan

LONGEST = 500
"""Changes remembered."""

NUMBERED = 9
"""Entries of a plan that a number key switches."""


class PlanHistory(NamedTuple):
    """What the plan was, is, and was before it was taken back.

    Attributes:
        plan: The plan now.
        past: Earlier plans, the last one newest.
        future: Plans taken back, the last one to come next.
        merging: The change under way that later values of the same kind belong to; empty when none is.
    """

    plan: Plan
    past: tuple[Plan, ...] = ()
    future: tuple[Plan, ...] = ()
    merging: str = ""

    def changed(self, plan: Plan, *, merge: str = "") -> PlanHistory:
        """The history after a change.

        Args:
            plan: The new plan.
            merge: Names a change that arrives in pieces (a drag of one control): consecutive pieces of one name are
                one step to take back.
        """
        if merge and merge == self.merging:
            return self._replace(plan=plan)
        if plan == self.plan:
            return self._replace(merging=merge)
        return PlanHistory(plan, (*self.past, self.plan)[-LONGEST:], (), merge)

    def settled(self) -> PlanHistory:
        """The change under way is complete: what follows is another one."""
        return self._replace(merging="")

    def undone(self) -> PlanHistory:
        """One change taken back; the same where there is none."""
        if not self.past:
            return self
        return PlanHistory(self.past[-1], self.past[:-1], (*self.future, self.plan))

    def redone(self) -> PlanHistory:
        """One change made again; the same where none was taken back."""
        if not self.future:
            return self
        return PlanHistory(self.future[-1], (*self.past, self.plan), self.future[:-1])
