"""Price a plan under the cache breakpoints that different agents set.

An edit costs more where requests set fewer breakpoints (`agent_breakpoints`). If they change a plan's cost by more than
a tenth, the cost is shown with its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.replay.cache.agent_breakpoints import LEAST, MOST, RULES
from inspector.replay.engine.replay import replay

if TYPE_CHECKING:
    from inspector.replay.cache.agent_breakpoints import AgentRule
    from inspector.replay.engine.replay import Replay

RELEVANT: Final = 0.1
"""Smallest spread, as a share of the cost, for a note about breakpoints."""


@dataclass(frozen=True, slots=True)
class BreakpointPrice:
    """Cost of the session under one rule.

    Attributes:
        rule: Positions of the breakpoints.
        usd: Cost of the session in dollars.
    """

    rule: AgentRule
    usd: float


@dataclass(frozen=True, slots=True)
class BreakpointPrices:
    """Cost of a plan by breakpoint rule.

    Attributes:
        assumed: The rule that its figures assume.
        is_known: True if that is the rule of the session's agent, False if the agent is unknown.
        prices: The assumed rule, one breakpoint at the end, and the known rule with the most breakpoints.
    """

    assumed: AgentRule
    is_known: bool
    prices: tuple[BreakpointPrice, ...]

    @property
    def low(self) -> float:
        """Smallest cost in dollars."""
        return min(each.usd for each in self.prices)

    @property
    def high(self) -> float:
        """Largest cost in dollars."""
        return max(each.usd for each in self.prices)

    @property
    def is_relevant(self) -> bool:
        """True if the rules change the cost by more than a tenth."""
        return self.high - self.low > RELEVANT * self.prices[0].usd


def breakpoint_prices(planned: Replay) -> BreakpointPrices | None:
    """Return the cost of a plan by rule; None without a price, or if no provider of the session uses breakpoints.

    Args:
        planned: The session under the plan.
    """
    inputs = planned.inputs
    if inputs.breakpoints is None or planned.figures.cost_usd.value is None:
        return None
    assumed = inputs.breakpoint_rule
    prices = [BreakpointPrice(assumed, planned.figures.cost_usd.value)]
    for rule in dict.fromkeys((RULES["end"], LEAST, MOST)):
        if rule != assumed and (rule is not LEAST or inputs.known_rule is None):
            cost = replay(inputs.with_rule(rule), planned.plan).figures.cost_usd.value
            if cost is not None:
                prices.append(BreakpointPrice(rule, cost))
    return BreakpointPrices(assumed, inputs.known_rule is not None, tuple(prices))
