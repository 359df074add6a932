"""The sizes a limit is about: how many results, or prompts, it has to do with, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.registry import unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.replay import Replay
    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.core.scale import Scale
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.history.history import History

LARGEST_LIMIT_OF_ONE = 1_000_000
"""No limit on a single result's characters goes further; what does is about many together."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """What a limit can be held against, in its own unit.

    Attributes:
        values: One size each, int64.
        noun: What one of them is: `result`, `prompt`.
        group: The tier they belong to; empty for all.
    """

    values: NDArray[np.int64]
    noun: str
    group: str = ""


def sizes_for(baseline: Replay, strategy: Strategy, parameter: Parameter) -> Sizes | None:
    """The sizes a limit is about.

    A limit in characters is about the tool results its tier holds, one in tokens about the prompts of all calls.

    Args:
        baseline: The session with nothing cut.
        strategy: Whose limit it is.
        parameter: The limit.

    Returns:
        None where the limit is no size, or one of many results together.
    """
    if parameter.group == BATCHING:
        return None
    unit = unit_of(strategy, parameter)
    if parameter.unit == "tokens" and (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return Sizes(baseline.ledger.prompt_tokens, "prompt")
    if parameter.unit != "characters" or (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return None
    history = baseline.history
    blocks = _results_of(history, strategy, parameter.group)
    group = parameter.group if len(blocks) else ""
    blocks = blocks if len(blocks) else history.results
    sizes = history.characters[blocks] if unit == parameter.unit else baseline.table.tokens[blocks]
    return Sizes(sizes.astype(np.int64), "result", group)


def _results_of(history: History, strategy: Strategy, group: str) -> NDArray[np.int32]:
    """The tool results a strategy decides about in one of its tiers; none where that is not said beforehand."""
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


def counts_along(sizes: NDArray[np.int64], scale: Scale, columns: int) -> NDArray[np.int64]:
    """How many sizes fall on each of so many equal pieces of a limit's line, those beyond it on the last. int64."""
    counts = np.zeros(max(columns, 0), dtype=np.int64)
    if columns <= 0 or not len(sizes):
        return counts
    values, times = np.unique(sizes, return_counts=True)
    fractions = np.array([scale.fraction(value) for value in values.tolist()])
    np.add.at(counts, np.minimum((fractions * columns).astype(np.int64), columns - 1), times)
    return counts
