"""Limits of a plan: the selected ones and their values on the tune screen."""

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
"""Index of the strategy in the plan, its name, and the name of the limit."""


@dataclass(frozen=True, eq=False)
class Limits:
    """A plan's limits; compared by identity.

    Attributes:
        plan: The plan.
        axes: Its limits.
        first: Index of the selected limit.
        second: Index of the second limit, for the map.
        looked: Selected values that differ from the plan.
    """

    plan: Plan
    axes: tuple[TunableLimit, ...]
    first: int = 0
    second: int = 0
    looked: Mapping[LimitKey, float] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, before: Limits | None = None) -> Limits:
        """Build the limits of a plan. The selection survives if the plan still has its limits."""
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
        return made.with_selection(made.first)

    @property
    def axis(self) -> TunableLimit:
        return self.axes[self.first]

    @property
    def down(self) -> TunableLimit:
        """The second limit, for the map."""
        return self.axes[self.second]

    def with_selection(self, first: int, second: int | None = None) -> Limits:
        """Select other limits. They always differ if there are at least two."""
        count = len(self.axes)
        if not count:
            return self
        first %= count
        wanted = self.second if second is None else second % count
        return replace(self, first=first, second=wanted if wanted != first else (first + 1) % count)

    def preferring(self, entry: int, name: str) -> Limits:
        """Select a limit by its strategy's index and its name, if it exists; an empty name selects the first."""
        for place, axis in enumerate(self.axes):
            if axis.entry == entry and name in ("", axis.parameter.name):
                return self.with_selection(place)
        return self

    def in_plan(self, axis: TunableLimit) -> float:
        """Return the plan's value of a limit."""
        return axis.value_in(self.plan)

    def here(self, axis: TunableLimit) -> float:
        """Return the selected value of a limit."""
        return self.looked.get(key_of(axis), self.in_plan(axis))

    def looking(self, axis: TunableLimit, value: float) -> Limits:
        """Select another value."""
        return replace(self, looked={**self.looked, key_of(axis): value})

    def applied(self, *axes: TunableLimit) -> Plan:
        """Return the plan with the selected values.

        Raises:
            ParameterError: A strategy rejects the value in combination with its others.
        """
        plan = self.plan
        for axis in axes:
            plan = axis.moved(plan, self.here(axis))
        return plan

    def subject(self, inputs: ReplayInputs, *axes: TunableLimit) -> SweptPlan:
        """Build the input of a sweep over some limits."""
        others = self.plan
        for axis in axes:
            try:
                others = axis.moved(others, axis.scale.minimum)
            except ParameterError:
                continue
        return SweptPlan(inputs, self.plan, others, axes)


@dataclass(frozen=True, eq=False)
class SweptPlan:
    """Input of a sweep; compared by identity.

    Attributes:
        inputs: The session.
        plan: The plan.
        others: The plan without the swept values.
        axes: The limit, or two for a map.
    """

    inputs: ReplayInputs
    plan: Plan
    others: Plan
    axes: tuple[TunableLimit, ...]

    def is_valid_for(self, other: SweptPlan) -> bool:
        """Return True if results for this input are also valid for another."""
        return self.inputs is other.inputs and self.others == other.others and self.axes == other.axes


def key_of(axis: TunableLimit) -> LimitKey:
    """Return a key that identifies a limit while others are added or removed."""
    return axis.entry, axis.strategy, axis.parameter.name
