"""Separate one tool from the others in a plan, so that a limit can be tuned for it alone.

A tiered strategy gets a separate tier for the tool. A strategy that can exclude tools excludes this one, and a copy
after it in the plan excludes all others. A strategy that treats all tools the same cannot be split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.tunable_limits import tunable_limits
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.strategy import TieredStrategy
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import parameter_of, value_of, with_values
from inspector.ui.plan.tools import tool_choices, with_tools

if TYPE_CHECKING:
    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.history.history import History
    from inspector.ui.plan.tools import ToolChoice


@dataclass(frozen=True, eq=False)
class SeparatedTool:
    """Plan with one tool separated; compared by identity.

    Attributes:
        before: The plan before.
        plan: The plan with the tool separated. A new tier starts with the tool's previous limit and so cuts the same.
        entry: Index of the strategy for this tool.
        limit: Name of the limit to tune.
        tool: The tool.
        is_copy: True if all limits of the strategy at `entry` apply to this tool only, not just `limit`.
    """

    before: Plan
    plan: Plan
    entry: int
    limit: str
    tool: str
    is_copy: bool = False


def can_separate(strategy: Strategy) -> bool:
    """Return True if a strategy can treat one tool differently."""
    return isinstance(strategy, TieredStrategy) or any(_lists(strategy))


def entry_to_separate(plan: Plan, wanted: int | None = None) -> int | None:
    """Return the index of the strategy to split; None if every strategy of the plan treats all tools the same.

    Args:
        plan: The plan.
        wanted: Preferred index. After it, enabled strategies and then tiered ones are preferred.
    """
    places = [place for place, entry in enumerate(plan.entries) if can_separate(entry.strategy)]
    if wanted in places:
        return wanted

    def rank(place: int) -> tuple[bool, bool]:
        return not plan.entries[place].enabled, not isinstance(plan.entries[place].strategy, TieredStrategy)

    return min(places, key=rank, default=None)


def tools_with_results(plan: Plan, history: History, entry: int | None = None) -> list[ToolChoice]:
    """Return the session's tools with results, the most first, and how the strategy treats each.

    Args:
        plan: The plan.
        history: History of the session.
        entry: Index of the strategy; None for the preferred one.
    """
    place = entry_to_separate(plan) if entry is None else entry
    if place is None or not can_separate(plan.entries[place].strategy):
        return []
    strategy = plan.entries[place].strategy
    if isinstance(strategy, TieredStrategy):
        listed = parameter_of(strategy, f"{strategy.tiers[-1]}-tools")
        choices = (each for each in tool_choices(history, strategy, listed) if each.results)
        return [replace(each, place=f"now {strategy.tier_of(each.name)}") for each in choices]
    left_alone, only = _lists(strategy)
    alone = set(_listed(strategy, left_alone))
    parameter = left_alone or only
    if parameter is None:
        return []
    choices = (each for each in tool_choices(history, strategy, parameter) if each.results)
    return [replace(each, place="excluded now" if each.name in alone else "like the others") for each in choices]


def separate_tool(
    plan: Plan, history: History, tool: str, entry: int | None = None, limit: str = ""
) -> SeparatedTool | None:
    """Separate a tool from the others in a plan.

    Args:
        plan: The plan.
        history: History of the session.
        tool: The tool.
        entry: Index of the strategy to split; None for the preferred one.
        limit: Limit to tune if the strategy is copied; empty for its first.

    Returns:
        None if there is no such strategy, or if each of its tiers has another tool of the session.
    """
    place = entry_to_separate(plan) if entry is None else entry
    if place is None or not can_separate(plan.entries[place].strategy):
        return None
    strategy = plan.entries[place].strategy
    if isinstance(strategy, TieredStrategy):
        return _in_a_tier(plan, history, place, strategy, tool)
    others = tuple(each.name for each in tools_with_results(plan, history, place) if each.name != tool)
    made = Plan(
        (
            *plan.entries[:place],
            replace(plan.entries[place], strategy=_without(strategy, tool, others)),
            PlanEntry(_for_only(strategy, tool, others), enabled=plan.entries[place].enabled),
            *plan.entries[place + 1 :],
        ),
        name=plan.name,
    )
    limits = [axis.parameter.name for axis in tunable_limits(made) if axis.entry == place + 1]
    if not limits:
        return None
    return SeparatedTool(plan, made, place + 1, limit if limit in limits else limits[0], tool, is_copy=True)


def _in_a_tier(plan: Plan, history: History, entry: int, strategy: TieredStrategy, tool: str) -> SeparatedTool | None:
    """Move the tool to a tier without other tools of the session."""
    now = strategy.tier_of(tool)
    taken = {strategy.tier_of(each.name) for each in tools_with_results(plan, history, entry) if each.name != tool}
    tier = next((tier for tier in (now, *strategy.tiers) if tier not in taken), None)
    if tier is None:
        return None
    if tier == now:
        return SeparatedTool(plan, plan, entry, tier, tool)
    edited = parameter_of(strategy, f"{tier}-tools")
    moved = with_tools(strategy, edited, (*_listed(strategy, edited), tool))
    moved = with_values(moved, {tier: value_of(strategy, now)})
    return SeparatedTool(plan, plan.with_strategy(entry, moved), entry, tier, tool)


def _without(strategy: Strategy, tool: str, others: tuple[str, ...]) -> Strategy:
    """Return the strategy for all tools but one."""
    left_alone, only = _lists(strategy)
    if left_alone is not None:
        return with_values(strategy, {left_alone.name: _with(_listed(strategy, left_alone), tool)})
    if only is None:
        raise AssertionError(f"{strategy.name} treats all tools alike")
    about = _listed(strategy, only) or others
    return with_values(strategy, {only.name: tuple(each for each in about if each != tool)})


def _for_only(strategy: Strategy, tool: str, others: tuple[str, ...]) -> Strategy:
    """Return the strategy for one tool only."""
    left_alone, only = _lists(strategy)
    if only is not None:
        return with_values(strategy, {only.name: (tool,)})
    if left_alone is None:
        raise AssertionError(f"{strategy.name} treats all tools alike")
    kept = (each for each in _listed(strategy, left_alone) if each != tool)
    return with_values(strategy, {left_alone.name: _with(tuple(kept), *others)})


def _lists(strategy: Strategy) -> tuple[Parameter | None, Parameter | None]:
    """Return the parameters of excluded tools and of exclusively included tools."""
    left_alone, only = (
        next((each for each in strategy.parameters if each.about is about), None)
        for about in (ToolList.LEFT_ALONE, ToolList.ONLY)
    )
    return left_alone, only


def _listed(strategy: Strategy, parameter: Parameter | None) -> tuple[str, ...]:
    value = value_of(strategy, parameter) if parameter is not None else ()
    return value if isinstance(value, tuple) else ()


def _with(listed: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*listed, *more)))
