"""What is assumed of a session: what calls are priced and served as, and what is projected from them.

None of it was recorded. Assumptions other than the default ask what would have been, and their figures are projected
where they say otherwise than the provider reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.pricing.prices import Pricing
from inspector.replay.projection_terms import DAYS_PER_MONTH, NEXT_CALLS

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.replay.pricing.rates import Rates


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What may be set otherwise than it was recorded.

    Attributes:
        factor: What every price is multiplied by: 0.5 for a batch at half price.
        model: Price every call as this model; None for each call's own.
        rates: Price every call at these rates, whatever its model; None for the price file and the table.
        cache: Name of the prompt cache that serves every call; None for what was reported, or each model's own.
        window: The context window in tokens; None for what the file or the model's listing says.
        next_calls: How many calls more are projected.
        days_per_month: How many days a month are projected.
    """

    factor: float = 1.0
    model: str | None = None
    rates: Rates | None = None
    cache: str | None = None
    window: int | None = None
    next_calls: int = NEXT_CALLS
    days_per_month: float = DAYS_PER_MONTH

    def pricing(self, price_file: Path | None = None) -> Pricing:
        """Prices under these assumptions.

        Args:
            price_file: A price file in place of the one in the settings folder.

        Raises:
            PriceFileError: The price file cannot be used.
        """
        return Pricing.load(price_file, factor=self.factor, model=self.model, rates=self.rates)

    def replays_as(self, other: Assumptions) -> bool:
        """Whether replays come out the same on both."""
        return (self.factor, self.model, self.rates, self.cache, self.window) == (
            other.factor,
            other.model,
            other.rates,
            other.cache,
            other.window,
        )
