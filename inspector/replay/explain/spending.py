"""Where a session's money went: by kind of token, by what was carried, and by what a prompt cache had to take again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.resend_cost import prompt_rates
from inspector.replay.explain.totals import cost_part_explanations
from inspector.replay.figure import Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.engine.replay import Replay

MOST_CARRIED = 10
"""So many of the tool results that cost most to resend are told."""

TOLERANCE, LEAST_TOKENS = 0.01, 64
"""A read that ends so close before the end of what the cache held, as a share and in tokens, is no miss."""


@dataclass(frozen=True, slots=True)
class RecachedTokens:
    """Tokens that a prompt cache held after one call and did not read at the next.

    Attributes:
        calls: At how many calls.
        tokens: How many they were.
        usd: Dollars they cost beyond what reading them would have; None without a price.
    """

    calls: int
    tokens: Figure
    usd: Figure


@dataclass(frozen=True, eq=False)
class Spending:
    """Where the money of a session with nothing cut went.

    Attributes:
        replay: The session.
        total: Dollars in all; None without a price.
        parts: Dollars of each kind of token, by its name among `COST_PARTS`.
        kinds: What every tool's results, and every other kind of block, cost to resend, the most first.
        heaviest: The tool results that cost most to resend, the most first.
        misses: Calls whose prompt departs from the one before it ahead of its end.
        expired: Other calls that did not find in the cache what the one before left there.
        is_all_idle: All of these came later than the cache keeps anything; otherwise it dropped some of it sooner.
    """

    replay: Replay
    total: Figure
    parts: dict[str, Figure]
    kinds: tuple[BreakdownRow, ...]
    heaviest: tuple[ResentBlock, ...]
    misses: RecachedTokens
    expired: RecachedTokens
    is_all_idle: bool

    def share(self, figure: Figure) -> float | None:
        """A figure in dollars as a share of the whole cost, 0.25 for a quarter; None where that is unknown."""
        return figure.value / self.total.value if figure.value is not None and self.total.value else None


def spending_of(replay: Replay) -> Spending:
    """Where the money went.

    Args:
        replay: The session with nothing cut.
    """
    breakdown = Breakdown(replay, replay)
    explained = cost_part_explanations(replay)
    lost = recached_tokens(replay)
    of_prompt = replay.ledger.is_break
    idle = replay.inputs.gap_seconds > replay.inputs.caches.lifetime
    kinds = sorted(breakdown.by_kind(), key=lambda row: -(row.cost.value or 0.0))
    return Spending(
        replay=replay,
        total=replay.figures.cost_usd,
        parts={name: Figure(each.value, each.known, each.is_least) for name, each in explained.items()},
        kinds=tuple(kinds),
        heaviest=breakdown.heaviest(MOST_CARRIED),
        misses=_priced(replay, np.where(of_prompt, lost, 0), int(of_prompt.sum())),
        expired=_priced(replay, np.where(of_prompt, 0, lost), int(((lost > 0) & ~of_prompt).sum())),
        is_all_idle=bool(idle[(lost > 0) & ~of_prompt].all()),
    )


def recached_tokens(replay: Replay) -> NDArray[np.int64]:
    """Per call, tokens that the prompt cache held after the call before it and that it did not read, int64."""
    inputs, ledger = replay.inputs, replay.ledger
    prompt, read, caches = ledger.prompt_tokens, ledger.cache_read, inputs.caches
    if not read.any():
        return np.zeros(len(prompt), dtype=np.int64)
    # Where writes are counted, what was neither read nor written is not kept; elsewhere whole prompts are.
    held = np.where(caches.writes, prompt - ledger.uncached, prompt)
    held = np.where(held >= caches.minimum_prefix, held, 0)
    before = np.where(inputs.previous_call >= 0, held[inputs.previous_call], 0)
    expected = np.minimum(before, prompt)
    least = np.maximum(np.maximum(expected * TOLERANCE, LEAST_TOKENS), caches.step)
    lost: NDArray[np.int64] = np.where(expected - read > least, expected - read, 0)
    return lost


def _priced(replay: Replay, lost: NDArray[np.int64], calls: int) -> RecachedTokens:
    read, other = prompt_rates(replay)
    known = replay.figures.cache_read_tokens.known
    # A provider that counts no writes may charge for reading nothing what it charges for reading.
    dollars = float((lost * np.maximum(other - read, 0)).sum())
    return RecachedTokens(calls, Figure(int(lost.sum()), known), Figure.of(dollars, known))
