"""A plan with one tool in a tier of its own, so that a limit can be found for it alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.registry import parameter_of, value_of, with_values
from inspector.strategies.tiered_stale import TIERS, TieredStale
from inspector.ui.plan_tools import tool_choices, with_tools

if TYPE_CHECKING:
    from inspector.strategies.history import History
    from inspector.strategies.plan import Plan
    from inspector.ui.screens.tools_dialog import ToolChoice


@dataclass(frozen=True, eq=False)
class ToolApart:
    """One tool in a tier of its own; equal only to itself.

    Attributes:
        before: The plan before.
        plan: The plan with the tool apart. It cuts as before: the tier has the limit the tool had.
        entry: Place of the strategy with the tiers.
        tier: The tier, which holds no other tool of the session; the name of its limit too.
        tool: The tool.
    """

    before: Plan
    plan: Plan
    entry: int
    tier: str
    tool: str


def tiered_entry(plan: Plan) -> int | None:
    """The place of the plan's first strategy with tiers, one in use before others; None where there is none."""
    places = [place for place, entry in enumerate(plan.entries) if isinstance(entry.strategy, TieredStale)]
    return min(places, key=lambda place: not plan.entries[place].enabled, default=None)


def tools_with_results(plan: Plan, history: History) -> list[ToolChoice]:
    """The session's tools that have results, those with the most first, and the tier of each."""
    entry = tiered_entry(plan)
    if entry is None:
        return []
    strategy = plan.entries[entry].strategy
    return [each for each in tool_choices(history, strategy, parameter_of(strategy, "default-tools")) if each.results]


def tool_apart(plan: Plan, history: History, tool: str) -> ToolApart | None:
    """A plan with a tool in a tier no other tool of the session is in; None where every tier has another."""
    entry = tiered_entry(plan)
    strategy = None if entry is None else plan.entries[entry].strategy
    if entry is None or not isinstance(strategy, TieredStale):
        return None
    now = strategy.tier_of(tool)
    taken = {strategy.tier_of(each.name) for each in tools_with_results(plan, history) if each.name != tool}
    tier = next((tier for tier in (now, *TIERS) if tier not in taken), None)
    if tier is None:
        return None
    if tier == now:
        return ToolApart(plan, plan, entry, tier, tool)
    edited = parameter_of(strategy, f"{tier}-tools")
    listed = value_of(strategy, edited)
    moved = with_tools(strategy, edited, (*(listed if isinstance(listed, tuple) else ()), tool))
    moved = with_values(moved, {tier: strategy.limit(now)})
    return ToolApart(plan, plan.with_strategy(entry, moved), entry, tier, tool)
