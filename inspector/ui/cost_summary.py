"""What a plan costs and saves, as the cost bar shows it: figures, each with how it is known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and how it is known.

    Attributes:
        value: None where it cannot be known.
        known: `exact`, `calibrated`, `estimated` or `projected`.
    """

    value: float | None
    known: str


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One session under one plan.

    Attributes:
        recorded: Dollars of the session as it was recorded.
        planned: Dollars under the plan.
        saved: Dollars the plan saves; negative where it costs more.
        saved_share: The same as a share of `recorded`, None where that is nothing or unknown.
        saved_tokens: Prompt tokens not sent, over all calls; negative where more are.
        rebuilds: Dollars of writing caches again that the plan's own changes cost; None where unknown.
        pays_off: The first call from which the plan stays ahead, -1 when it never does, None when nothing changes.
        per_day: Dollars saved a day at `runs` runs a day.
        per_month: Dollars saved a month.
        band: Uncertainty of the projection as a share, 0.12 for ±12 %; None when unknown.
        runs: Runs a day.
        breaks: Calls at which the plan broke the cache.
        first_change: The first call the plan changed, -1 when none.
        is_idle: The plan changes nothing.
        unpriced: Models without a price; session text.
    """

    recorded: Amount
    planned: Amount
    saved: Amount
    saved_share: float | None
    saved_tokens: Amount
    rebuilds: float | None
    pays_off: int | None
    per_day: Amount
    per_month: Amount
    band: float | None
    runs: float
    breaks: int = 0
    first_change: int = -1
    is_idle: bool = False
    unpriced: tuple[str, ...] = ()
