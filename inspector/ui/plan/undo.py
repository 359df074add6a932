"""Plans A and B, and undo and redo of what was changed: a drag is one change, whatever it passed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.plan import Plan

LONGEST = 500
"""Changes remembered."""


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


class Plans(NamedTuple):
    """Plans A and B, one on the screen and one to compare it with, each with what it was before.

    Attributes:
        shown: The one on the screen.
        letter: Which of the two it is, `A` or `B`.
        other: The other one of A and B; None before there is one.
    """

    shown: PlanHistory
    letter: str = "A"
    other: PlanHistory | None = None

    @classmethod
    def begin(cls, plan: Plan) -> Plans:
        """A plan that nothing has changed yet, alone."""
        return cls(PlanHistory(plan))

    @property
    def plan(self) -> Plan:
        """The plan on the screen."""
        return self.shown.plan

    @property
    def other_letter(self) -> str:
        """What the other plan is called, or would be."""
        return "B" if self.letter == "A" else "A"

    @property
    def aside(self) -> tuple[str, Plan] | None:
        """What the other plan is called, and it; None before there is one."""
        return None if self.other is None else (self.other_letter, self.other.plan)

    @property
    def by_letter(self) -> dict[str, Plan]:
        """The plans there are."""
        return dict(((self.letter, self.plan), *(() if self.aside is None else (self.aside,))))

    def beside(self, letter: str, other: Plan) -> Plans:
        """The plan under a letter, and another one put aside."""
        return Plans(self.shown, letter, PlanHistory(other))

    def changed(self, plan: Plan, *, merge: str = "") -> Plans:
        """After a change of the plan on the screen; see `PlanHistory.changed`."""
        return self._replace(shown=self.shown.changed(plan, merge=merge))

    def moved(self, entry: int, parameter: str, value: ParameterValue, *, is_final: bool) -> Plans:
        """After a parameter was given another value, which switches its strategy on.

        Steps that follow soon are one change, and so is a drag, which its last value completes.

        Args:
            entry: The strategy's place in the plan on the screen.
            parameter: The parameter's name.
            value: The value.
            is_final: False while a control is being dragged.
        """
        from inspector.strategies.registry import with_value

        plan = self.plan.with_strategy(entry, with_value(self.plan.entries[entry].strategy, parameter, value))
        if plan != self.plan and not plan.entries[entry].enabled:
            plan = plan.toggled(entry)
        stepped, dragged = f"{entry} {parameter}", f"{entry} {parameter} dragged"
        if not is_final:
            return self.changed(plan, merge=dragged)
        if self.shown.merging == dragged:
            return self.changed(plan, merge=dragged).settled()
        return self.changed(plan, merge=stepped)

    def settled(self) -> Plans:
        """The change under way is complete: what follows is another one."""
        return self._replace(shown=self.shown.settled())

    def undone(self) -> Plans:
        """The last change of the plan on the screen taken back."""
        return self._replace(shown=self.shown.undone())

    def redone(self) -> Plans:
        """The change taken back made again."""
        return self._replace(shown=self.shown.redone())

    def named(self, name: str) -> Plans:
        """The plan on the screen under a name, which is no change to take back."""
        return self._replace(shown=self.shown._replace(plan=replace(self.plan, name=name)))

    def swapped(self) -> Plans:
        """The other one on the screen; a copy of this one where there is none."""
        return Plans(self.other or PlanHistory(self.plan), self.other_letter, self.shown)
