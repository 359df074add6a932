"""Price a plan under the cache breakpoints that different agents set.

An edit costs more where requests set fewer breakpoints (`agent_breakpoints`). If they change a plan's cost by more than
a tenth, the cost is shown with its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from inspector.replay.cache.agent_breakpoints import LEAST, MOST, RULES
from inspector.replay.engine.replay import replay
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.quantity import Known, Result, Unit, about, figure

if TYPE_CHECKING:
    from inspector.replay.cache.agent_breakpoints import AgentRule
    from inspector.replay.engine.replay import Replay

RELEVANT: Final = 0.1
"""Smallest spread, as a share of the cost, for a note about breakpoints."""


class BreakpointPrice(Result, frozen=True, kw_only=True):
    """Cost of a session under a plan with the cache breakpoints of one rule."""

    rule: Annotated[str, about("Name of the rule: `end`, `claude-code`, `cline` …")]
    label: Annotated[str, about("Display name of the rule.")]
    places: Annotated[str, about("Positions of the breakpoints, in a few words.")]
    is_assumed: Annotated[bool, about("True for the rule that all other figures assume.")]
    is_of_agent: Annotated[bool, about("True if it is the rule of the session's agent.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Projected cost of the session.")]
    known: Known


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
        return min(each.usd or 0.0 for each in self.prices)

    @property
    def high(self) -> float:
        """Largest cost in dollars."""
        return max(each.usd or 0.0 for each in self.prices)

    @property
    def is_relevant(self) -> bool:
        """True if the rules change the cost by more than a tenth."""
        return self.high - self.low > RELEVANT * (self.prices[0].usd or 0.0)


def breakpoint_prices(planned: Replay) -> BreakpointPrices | None:
    """Return the cost of a plan by rule; None without a price, or if no provider of the session uses breakpoints.

    Args:
        planned: The session under the plan.
    """
    inputs = planned.inputs
    if inputs.breakpoints is None or planned.figures.cost_usd.value is None:
        return None
    assumed, is_known = inputs.breakpoint_rule, inputs.known_rule is not None

    def price(rule: AgentRule, usd: float) -> BreakpointPrice:
        return BreakpointPrice.of(
            rule=rule.name,
            label=rule.label,
            places=rule.about,
            is_assumed=rule == assumed,
            is_of_agent=rule == assumed and is_known,
            usd=Figure(usd, HowKnown.PROJECTED),
        )

    prices = [price(assumed, planned.figures.cost_usd.value)]
    for rule in dict.fromkeys((RULES["end"], LEAST, MOST)):
        if rule != assumed and (rule is not LEAST or inputs.known_rule is None):
            cost = replay(inputs.with_rule(rule), planned.plan).figures.cost_usd.value
            if cost is not None:
                prices.append(price(rule, cost))
    return BreakpointPrices(assumed, is_known, tuple(prices))
