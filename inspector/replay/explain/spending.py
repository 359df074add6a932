"""Break a session's cost down by kind of token and by carried content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.costs import side_spending
from inspector.replay.explain.totals import cost_part_explanations
from inspector.replay.figure import Figure

if TYPE_CHECKING:
    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.engine.replay import Replay

MOST_RESENT = 10
"""Maximum number of tool results listed, most expensive to resend first."""


@dataclass(frozen=True, eq=False)
class Spending:
    """Spending of a session with nothing cut.

    Attributes:
        replay: The session.
        total: Total dollars; None without a price.
        parts: Dollars of each kind of token, by its name in `COST_PARTS`.
        kinds: Resend cost of every tool's results and every other kind of block, highest first.
        heaviest: The tool results that cost most to resend by block, highest first.
        side_requests: Dollars of side requests by purpose; None for one without a price.
        copied_calls: Calls copied from an earlier session, which was billed for them.
    """

    replay: Replay
    total: Figure
    parts: dict[str, Figure]
    kinds: tuple[BreakdownRow, ...]
    heaviest: dict[int, ResentBlock]
    side_requests: tuple[float | None, ...] = ()
    copied_calls: int = 0

    def share(self, figure: Figure) -> float | None:
        """Return dollars as a share of the whole cost, 0.25 for a quarter; None if unknown."""
        return figure.value / self.total.value if figure.value is not None and self.total.value else None


@dataclass(frozen=True, slots=True)
class LargestPart:
    """The kind of token with the largest share of the cost, and its origin.

    Attributes:
        name: One of `COST_PARTS`.
        share: Share of the cost, 0.25 for a quarter.
        total: The cost in dollars.
        calls: Number of calls.
        sent: Sum of prompt tokens.
        uncached: Tokens neither read from the cache nor written to it, part of `sent`.
    """

    name: str
    share: float
    total: Figure
    calls: int
    sent: float
    uncached: float

    @property
    def prompt(self) -> float:
        """Average prompt tokens per call."""
        return self.sent / self.calls


def largest_part(replay: Replay) -> LargestPart | None:
    """Return the largest part of a replay's cost; None without a price, or if nothing cost anything."""
    total, figures = replay.figures.cost_usd, replay.figures
    costs = {name: each.value or 0.0 for name, each in cost_part_explanations(replay).items()}
    name = max(costs, key=lambda part: costs[part])
    calls = replay.history.call_count
    if not total.value or costs[name] <= 0 or not calls:
        return None
    sent, uncached = (each.value or 0.0 for each in (figures.prompt_tokens, figures.uncached_tokens))
    return LargestPart(name, costs[name] / total.value, total, calls, sent, uncached)


def resent_tokens(replay: Replay) -> int:
    """Return the prompt tokens that the previous prompt of the same conversation also had, summed over all calls.

    A prompt after a compaction or a rewind counts as new.
    """
    prompts, inputs = replay.ledger.prompt_tokens, replay.inputs
    if not len(prompts):
        return 0
    grows = (inputs.previous_call >= 0) & ~inputs.restarts
    return int(np.where(grows, np.minimum(prompts, prompts[inputs.previous_call]), 0).sum())


def spending_of(replay: Replay) -> Spending:
    """Compute the spending of a session.

    Args:
        replay: The session with nothing cut.
    """
    breakdown = Breakdown(replay, replay)
    explained = cost_part_explanations(replay)
    kinds = sorted(breakdown.by_kind(), key=lambda row: -(row.usd or 0.0))
    session = replay.inputs.history.session
    side_requests = side_spending(session, replay.inputs.pricing)
    return Spending(
        replay=replay,
        total=replay.figures.cost_usd,
        parts={name: Figure(each.value, each.known, each.is_lower_bound) for name, each in explained.items()},
        kinds=tuple(kinds),
        heaviest=breakdown.heaviest(MOST_RESENT),
        side_requests=tuple(each.cost for each in side_requests),
        copied_calls=session.copied_calls,
    )
