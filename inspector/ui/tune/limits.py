"""The limits of a plan as a screen moves them: which are chosen, and which values of them are looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.tunable_limits import tunable_limits
from inspector.strategies.core.parameters import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.analysis.tunable_limits import TunableLimit
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.plan import Plan

LimitKey = tuple[int, str, str]
"""A limit by its strategy's place in the plan, the strategy's name and its own."""


@dataclass(frozen=True, eq=False)
class Limits:
    """A plan's limits; equal only to itself.

    Attributes:
        plan: The plan.
        axes: Its limits.
        first: Place of the one that is moved.
        second: Place of the one that is moved beside it on a map.
        looked: Values looked at that the plan does not have.
    """

    plan: Plan
    axes: tuple[TunableLimit, ...]
    first: int = 0
    second: int = 0
    looked: Mapping[LimitKey, float] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, before: Limits | None = None) -> Limits:
        """The limits of a plan, the same ones chosen as before where it still has them."""
        axes = tunable_limits(plan)
        keys = [key_of(axis) for axis in axes]
        if before is None or not before.axes:
            made = cls(plan, axes)
        else:
            first, second = (
                keys.index(key) if (key := key_of(before.axes[place])) in keys else 0
                for place in (before.first, before.second)
            )
            made = cls(plan, axes, first, second, before.looked)
        return made.choosing(made.first)

    @property
    def axis(self) -> TunableLimit:
        """The limit that is moved."""
        return self.axes[self.first]

    @property
    def down(self) -> TunableLimit:
        """The limit beside it on a map."""
        return self.axes[self.second]

    def choosing(self, first: int, second: int | None = None) -> Limits:
        """Others chosen; never the same twice, where there are two."""
        count = len(self.axes)
        if not count:
            return self
        first %= count
        wanted = self.second if second is None else second % count
        return replace(self, first=first, second=wanted if wanted != first else (first + 1) % count)

    def preferring(self, entry: int, name: str) -> Limits:
        """One limit chosen by its strategy's place and its name, where there is such a one; empty for the first."""
        for place, axis in enumerate(self.axes):
            if axis.entry == entry and name in ("", axis.parameter.name):
                return self.choosing(place)
        return self

    def in_plan(self, axis: TunableLimit) -> float:
        """The plan's value of a limit."""
        return axis.value_in(self.plan)

    def here(self, axis: TunableLimit) -> float:
        """The value of a limit that is looked at."""
        return self.looked.get(key_of(axis), self.in_plan(axis))

    def looking(self, axis: TunableLimit, value: float) -> Limits:
        """Another value looked at."""
        return replace(self, looked={**self.looked, key_of(axis): value})

    def applied(self, *axes: TunableLimit) -> Plan:
        """The plan with the values looked at.

        Raises:
            ParameterError: A strategy does not take such a value beside its others.
        """
        plan = self.plan
        for axis in axes:
            plan = axis.moved(plan, self.here(axis))
        return plan

    def subject(self, inputs: ReplayInputs, *axes: TunableLimit) -> SweptPlan:
        """What is replayed at many values of some limits."""
        others = self.plan
        for axis in axes:
            try:
                others = axis.moved(others, axis.scale.minimum)
            except ParameterError:
                continue
        return SweptPlan(inputs, self.plan, others, axes)


@dataclass(frozen=True, eq=False)
class SweptPlan:
    """What is replayed at many values; equal only to itself.

    Attributes:
        inputs: The session.
        plan: The plan.
        others: The plan apart from the values that are moved.
        axes: The limit, or the two of a map.
    """

    inputs: ReplayInputs
    plan: Plan
    others: Plan
    axes: tuple[TunableLimit, ...]

    def holds_for(self, other: SweptPlan) -> bool:
        """Whether what was found for this one is what would be found for another."""
        return self.inputs is other.inputs and self.others == other.others and self.axes == other.axes


def key_of(axis: TunableLimit) -> LimitKey:
    """What a limit is known by while others come and go."""
    return axis.entry, axis.strategy, axis.parameter.name
