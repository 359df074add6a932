"""Plans A and B with undo and redo, and titles of plans on the screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from inspector.safe_text import clip_cells, one_line

if TYPE_CHECKING:
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.session.model import Session
    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.plan import Plan


MOST_CHANGES = 500
"""Maximum number of changes in the undo history."""


class PlanHistory(NamedTuple):
    """A plan with its undo and redo history.

    Attributes:
        plan: The current plan.
        past: Earlier plans, the newest last.
        future: Undone plans; the last one is redone first.
        merging: Name of the change in progress, into which later values merge; empty if none.
    """

    plan: Plan
    past: tuple[Plan, ...] = ()
    future: tuple[Plan, ...] = ()
    merging: str = ""

    def changed(self, plan: Plan, *, merge: str = "") -> PlanHistory:
        """Return the history after a change.

        Args:
            plan: The new plan.
            merge: Name of a change that arrives in pieces, such as a drag. Consecutive pieces of the same name are
                undone together.
        """
        if merge and merge == self.merging:
            return self._replace(plan=plan)
        if plan == self.plan:
            return self._replace(merging=merge)
        return PlanHistory(plan, (*self.past, self.plan)[-MOST_CHANGES:], (), merge)

    def settled(self) -> PlanHistory:
        """Complete the change in progress, so that the next one is separate."""
        return self._replace(merging="")

    def undone(self) -> PlanHistory:
        """Undo one change; does nothing without one."""
        if not self.past:
            return self
        return PlanHistory(self.past[-1], self.past[:-1], (*self.future, self.plan))

    def redone(self) -> PlanHistory:
        """Redo one change; does nothing without one."""
        if not self.future:
            return self
        return PlanHistory(self.future[-1], (*self.past, self.plan), self.future[:-1])


class LimitMove(NamedTuple):
    """A limit that is being moved.

    Attributes:
        limit: Place of its strategy in the plan, and its name.
        plan: The plan before.
        totals: Totals of that plan.
    """

    limit: tuple[int, str]
    plan: Plan
    totals: PlanOutcome


class Plans(NamedTuple):
    """Plans A and B with their histories: one on the screen, and one to compare with.

    Attributes:
        shown: The plan on the screen.
        letter: Its letter, `A` or `B`.
        other: The other plan; None if there is none.
    """

    shown: PlanHistory
    letter: str = "A"
    other: PlanHistory | None = None

    @classmethod
    def begin(cls, plan: Plan) -> Plans:
        """Start with a single plan and no history."""
        return cls(PlanHistory(plan))

    @property
    def plan(self) -> Plan:
        return self.shown.plan

    @property
    def other_letter(self) -> str:
        """Letter of the other plan, even if there is none yet."""
        return "B" if self.letter == "A" else "A"

    @property
    def other_plan(self) -> tuple[str, Plan] | None:
        """Letter and plan of the other plan; None if there is none."""
        return None if self.other is None else (self.other_letter, self.other.plan)

    @property
    def by_letter(self) -> dict[str, Plan]:
        return dict(((self.letter, self.plan), *(() if self.other_plan is None else (self.other_plan,))))

    def with_other(self, letter: str, other: Plan) -> Plans:
        """Assign a letter to the plan on the screen, and set the other plan."""
        return Plans(self.shown, letter, PlanHistory(other))

    def changed(self, plan: Plan, *, merge: str = "") -> Plans:
        """Change the plan on the screen; see `PlanHistory.changed`."""
        return self._replace(shown=self.shown.changed(plan, merge=merge))

    def moved(self, entry: int, parameter: str, value: ParameterValue, *, is_final: bool) -> Plans:
        """Set a parameter, which also switches its strategy on.

        Consecutive steps are one change, and so is a drag, which its final value completes.

        Args:
            entry: Index of the strategy in the plan on the screen.
            parameter: Name of the parameter.
            value: The value.
            is_final: False during a drag.
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
        """Complete the change in progress, so that the next one is separate."""
        return self._replace(shown=self.shown.settled())

    def undone(self) -> Plans:
        """Undo the last change to the plan on the screen."""
        return self._replace(shown=self.shown.undone())

    def redone(self) -> Plans:
        """Redo the last undone change to the plan on the screen."""
        return self._replace(shown=self.shown.redone())

    def named(self, name: str) -> Plans:
        """Rename the plan on the screen, which cannot be undone."""
        return self._replace(shown=self.shown._replace(plan=replace(self.plan, name=name)))

    def swapped(self) -> Plans:
        """Swap the plans. Without another plan, the screen gets a copy of this one."""
        return Plans(self.other or PlanHistory(self.plan), self.other_letter, self.shown)


LONGEST = 16
CHANGED = ", changed"


class PlanNames:
    """Plans by name, as they were saved or opened."""

    def __init__(self) -> None:
        self._saved: dict[str, Plan] = {}

    def note(self, plan: Plan) -> None:
        """Record a plan that was saved or opened."""
        if plan.name:
            self._saved[plan.name] = plan

    def is_changed(self, plan: Plan, session: Session | None) -> bool:
        """Return True if a plan differs from the one its name refers to. A plan without a name never does.

        A name refers to the plan last saved or opened under it, then to a saved plan, then to a preset, and finally to
        the first plan seen with that name.

        Args:
            plan: The plan.
            session: Session to fit a preset to.
        """
        if not plan.name:
            return False
        if plan.name not in self._saved:
            self._saved[plan.name] = _known(plan.name, session) or plan
        return self._saved[plan.name].entries != plan.entries

    def title(self, letter: str, plan: Plan, session: Session | None) -> str:
        """Return the title of a plan: `Plan A: careful, changed`."""
        if not plan.name:
            return f"Plan {letter}"
        from inspector.strategies.presets import display_name

        changed = CHANGED if self.is_changed(plan, session) else ""
        return f"Plan {letter}: {clip_cells(one_line(display_name(plan.name)), LONGEST)}{changed}"


def _known(name: str, session: Session | None) -> Plan | None:
    from inspector.strategies.presets import PRESETS, saved_plans

    saved = next((each.plan for each in saved_plans() if each.name == name and each.plan is not None), None)
    return saved or (PRESETS[name].plan(session) if name in PRESETS else None)
