"""The limits of a plan that can be moved: every numeric parameter of its strategies, with its range as a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.core.scale import Scale
from inspector.strategies.registry import unit_of, value_of, with_value

if TYPE_CHECKING:
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.plan import Plan


@dataclass(frozen=True, slots=True)
class Axis:
    """A limit that is moved: one numeric parameter of one of a plan's strategies.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        strategy: Its name.
        parameter: What is moved.
        scale: Its range as a line.
    """

    entry: int
    strategy: str
    parameter: Parameter
    scale: Scale

    def value_in(self, plan: Plan) -> float:
        """The value a plan has."""
        value = value_of(plan.entries[self.entry].strategy, self.parameter)
        return float(value) if isinstance(value, int | float) else 0.0

    def unit_in(self, plan: Plan) -> str:
        """What the value counts in a plan."""
        return unit_of(plan.entries[self.entry].strategy, self.parameter)

    def moved(self, plan: Plan, value: float) -> Plan:
        """The plan with another value, and its strategy in use.

        Raises:
            ParameterError: The strategy takes no such value beside its others.
        """
        strategy = with_value(plan.entries[self.entry].strategy, self.parameter.name, self.proper(value))
        moved = plan.with_strategy(self.entry, strategy)
        return moved if moved.entries[self.entry].enabled else moved.toggled(self.entry)

    def proper(self, value: float) -> ParameterValue:
        """A number in the parameter's type and inside its range."""
        parameter = self.parameter
        if parameter.minimum is not None:
            value = max(value, parameter.minimum)
        if parameter.maximum is not None:
            value = min(value, parameter.maximum)
        return round(value) if parameter.kind is ParameterKind.WHOLE_NUMBER else float(value)


def axes_of(plan: Plan) -> tuple[Axis, ...]:
    """Every limit of a plan that can be moved, strategies that are not in use included, in the plan's order."""
    found = []
    for index, entry in enumerate(plan.entries):
        for parameter in entry.strategy.parameters:
            if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
                value = value_of(entry.strategy, parameter)
                scale = Scale.of(parameter, float(value) if isinstance(value, int | float) else 0.0)
                found.append(Axis(index, entry.strategy.name, parameter, scale))
    return tuple(found)
