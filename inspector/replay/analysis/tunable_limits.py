"""Tunable limits of a plan: every numeric parameter of its strategies, with the scale of its range.

Also returns the sizes that a limit applies to: the number and sizes of results or prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.core.scale import ValueScale
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.registry import unit_of, value_of, with_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan


@dataclass(frozen=True, slots=True)
class TunableLimit:
    """A tunable limit: one numeric parameter of one of a plan's strategies.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        strategy: Its name.
        parameter: The parameter.
        scale: Scale of its range.
    """

    entry: int
    strategy: str
    parameter: Parameter
    scale: ValueScale

    def value_in(self, plan: Plan) -> float:
        value = value_of(plan.entries[self.entry].strategy, self.parameter)
        return float(value) if isinstance(value, int | float) else 0.0

    def unit_in(self, plan: Plan) -> str:
        return unit_of(plan.entries[self.entry].strategy, self.parameter)

    def moved(self, plan: Plan, value: float) -> Plan:
        """Return the plan with another value, and its strategy enabled.

        Raises:
            ParameterError: The strategy rejects the value in combination with its others.
        """
        strategy = with_value(plan.entries[self.entry].strategy, self.parameter.name, self.proper(value))
        moved = plan.with_strategy(self.entry, strategy)
        return moved if moved.entries[self.entry].enabled else moved.toggled(self.entry)

    def proper(self, value: float) -> ParameterValue:
        """Convert a number to the parameter's type and clamp it to its range."""
        parameter = self.parameter
        if parameter.minimum is not None:
            value = max(value, parameter.minimum)
        if parameter.maximum is not None:
            value = min(value, parameter.maximum)
        return round(value) if parameter.kind is ParameterKind.WHOLE_NUMBER else float(value)


def tunable_limits(plan: Plan) -> tuple[TunableLimit, ...]:
    """Return every tunable limit of a plan, including disabled strategies, in the plan's order."""
    found = []
    for index, entry in enumerate(plan.entries):
        for parameter in entry.strategy.parameters:
            if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
                value = value_of(entry.strategy, parameter)
                scale = ValueScale.of(parameter, float(value) if isinstance(value, int | float) else 0.0)
                found.append(TunableLimit(index, entry.strategy.name, parameter, scale))
    return tuple(found)


LARGEST_LIMIT_OF_ONE = 1_000_000
"""Maximum characters of a limit on a single result; a longer range applies to the sum of many."""


@dataclass(frozen=True, eq=False)
class LimitSizes:
    """Sizes that a limit applies to, in its own unit.

    Attributes:
        values: The sizes, int64.
        noun: Name of one item: `result`, `prompt`.
        group: Their tier; empty for all.
    """

    values: NDArray[np.int64]
    noun: str
    group: str = ""


def sizes_for(baseline: Replay, strategy: Strategy, parameter: Parameter) -> LimitSizes | None:
    """Return the sizes a limit applies to.

    A limit in characters applies to the tool results of its tier, a limit in tokens to the prompts of all calls.

    Args:
        baseline: The session with nothing cut.
        strategy: The limit's strategy.
        parameter: The limit.

    Returns:
        None if the limit is not a size, or applies to the sum of many results.
    """
    if parameter.group == BATCHING:
        return None
    unit = unit_of(strategy, parameter)
    if parameter.unit == "tokens" and (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return LimitSizes(baseline.ledger.prompt_tokens, "prompt")
    if parameter.unit != "characters" or (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return None
    history = baseline.history
    blocks = _results_of(history, strategy, parameter.group)
    group = parameter.group if len(blocks) else ""
    blocks = blocks if len(blocks) else history.results
    sizes = history.characters[blocks] if unit == parameter.unit else baseline.table.tokens[blocks]
    return LimitSizes(sizes.astype(np.int64), "result", group)


def _results_of(history: History, strategy: Strategy, group: str) -> NDArray[np.int32]:
    """Return the tool results in one of a strategy's tiers; empty if these are not known in advance."""
    none = np.zeros(0, dtype=np.int32)
    if not group or not isinstance(strategy, ScheduledStrategy):
        return none
    schedule = strategy.schedule(history)
    of_group = np.array([decision.group == group for decision in schedule.table], dtype=bool)
    if not of_group.any():
        return none
    blocks = np.unique(schedule.blocks[of_group[schedule.decisions]])
    results: NDArray[np.int32] = blocks[history.kind[blocks] == BlockKind.TOOL_RESULT]
    return results


def counts_along(sizes: NDArray[np.int64], scale: ValueScale, columns: int) -> NDArray[np.int64]:
    """Count the sizes in each of `columns` equal intervals of a limit's scale, larger ones in the last. int64."""
    counts = np.zeros(max(columns, 0), dtype=np.int64)
    if columns <= 0 or not len(sizes):
        return counts
    values, times = np.unique(sizes, return_counts=True)
    fractions = np.array([scale.fraction(value) for value in values.tolist()])
    np.add.at(counts, np.minimum((fractions * columns).astype(np.int64), columns - 1), times)
    return counts
