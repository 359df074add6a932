"""Assumptions about a session: prices and caches of its calls, and projections from them.

None of them is recorded. Assumptions other than the default are hypothetical, and their figures are marked as projected
where they differ from the provider's report.

Imports no other module of the package at first, so that the command line's help is fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.replay.pricing.prices import Pricing
    from inspector.replay.pricing.rates import Rates


DAYS_PER_MONTH: Final = 30.0

MOST_DAYS: Final = 31

SECONDS_PER_DAY: Final = 86_400.0


class RunsPerDay(NamedTuple):
    """Number of runs per day like a session, which no session records; assumed if the user did not set it."""

    number: float
    is_assumed: bool = False

    @property
    def origin(self) -> str:
        return "assumed" if self.is_assumed else "as set"

    def fits(self, seconds: float) -> bool:
        """Return True if runs of this length fit into a day one after another, or the user set their number."""
        return not self.is_assumed or self.number * seconds <= SECONDS_PER_DAY


ASSUMED_RUNS: Final = RunsPerDay(1, is_assumed=True)
"""Default: the recorded run, once a day. A session may take hours."""

NEXT_CALLS: Final = 50
"""Default number of next calls to project."""

MOST_NEXT_CALLS: Final = 10_000
"""Maximum number of next calls to project; later ones are unpredictable."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Settings that override recorded values.

    Attributes:
        factor: Factor on every price, such as 0.5 for a batch at half price.
        model: Price every call as this model; None for each call's own.
        rates: Price every call at these rates, regardless of its model; None for the price file and the table.
        cache: Name of the prompt cache for every call; None for reported usage, or each model's own cache.
        window: The context window in tokens; None for the value in the file or the model's listing.
        next_calls: Number of next calls to project.
        days_per_month: Number of days per month to project.
    """

    factor: float = 1.0
    model: str | None = None
    rates: Rates | None = None
    cache: str | None = None
    window: int | None = None
    next_calls: int = NEXT_CALLS
    days_per_month: float = DAYS_PER_MONTH

    def pricing(self, price_file: Path | None = None) -> Pricing:
        """Load prices, from `price_file` if given; raise `PriceFileError` if it cannot be used."""
        from inspector.replay.pricing.prices import Pricing

        return Pricing.load(price_file, factor=self.factor, model=self.model, rates=self.rates)

    def replays_as(self, other: Assumptions) -> bool:
        return (self.factor, self.model, self.rates, self.cache, self.window) == (
            other.factor,
            other.model,
            other.rates,
            other.cache,
            other.window,
        )
