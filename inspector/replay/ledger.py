"""What a replay found, as figures that say how they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.figure import Figure, HowKnown, weakest

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Ledger:
    """One row of figures a call, as columns in call order.

    Attributes:
        prompt_tokens: Tokens sent, int64.
        cache_read: Prompt tokens read from the prompt cache, int64.
        cache_write_5m: Prompt tokens written to a five-minute cache (or the provider's only kind), int64.
        cache_write_1h: Prompt tokens written to a one-hour cache, int64.
        uncached: Prompt tokens neither read nor written, int64.
        output: Response tokens, int64.
        cost: Dollars, what strategies ask of models included, NaN where the model has no price, float64.
        strategy_cost: Of these, the dollars of requests the plan's strategies make themselves, float64.
        removed_tokens: Tokens the plan left out of this prompt (negative where it added), int64.
        first_changed: Block at which this prompt departs from the previous one before its end, -1 for none, int32.
        edits: Blocks whose rendition changed at this call, int32.
        is_break: The plan made this prompt differ from the previous one before its end, bool.
    """

    prompt_tokens: NDArray[np.int64]
    cache_read: NDArray[np.int64]
    cache_write_5m: NDArray[np.int64]
    cache_write_1h: NDArray[np.int64]
    uncached: NDArray[np.int64]
    output: NDArray[np.int64]
    cost: NDArray[np.float64]
    strategy_cost: NDArray[np.float64]
    removed_tokens: NDArray[np.int64]
    first_changed: NDArray[np.int32]
    edits: NDArray[np.int32]
    is_break: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals over all calls of one replay, or of what the provider reported."""

    calls: Figure
    prompt_tokens: Figure
    peak_prompt_tokens: Figure
    cache_read_tokens: Figure
    cache_write_tokens: Figure
    uncached_tokens: Figure
    output_tokens: Figure
    cache_breaks: Figure
    cost_usd: Figure


def figures_of(ledger: Ledger, tokens: HowKnown, output: HowKnown, served: HowKnown) -> Figures:
    """Totals of a ledger.

    Args:
        ledger: The rows.
        tokens: How the sizes of prompts are known.
        output: How the output column is known.
        served: How it is known what caches held.
    """
    costs = ledger.cost
    cost = None if len(costs) and bool(np.isnan(costs).any()) else float(costs.sum())
    return Figures(
        calls=Figure(len(costs), HowKnown.EXACT),
        prompt_tokens=Figure(int(ledger.prompt_tokens.sum()), tokens),
        peak_prompt_tokens=Figure(int(ledger.prompt_tokens.max(initial=0)), tokens),
        cache_read_tokens=Figure(int(ledger.cache_read.sum()), served),
        cache_write_tokens=Figure(int((ledger.cache_write_5m + ledger.cache_write_1h).sum()), served),
        uncached_tokens=Figure(int(ledger.uncached.sum()), served),
        output_tokens=Figure(int(ledger.output.sum()), output),
        cache_breaks=Figure(int(ledger.is_break.sum()), tokens),
        cost_usd=Figure(cost, weakest(tokens, output, served)),
    )
