"""A number with its confidence: reported, calibrated, estimated or projected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import Annotated

from msgspec import Meta


class HowKnown(StrEnum):
    """Confidence of a figure, from best to worst."""

    EXACT = "exact"
    """Reported by the provider."""
    CALIBRATED = "calibrated"
    """A local estimate fitted to the session's reported usage."""
    ESTIMATED = "estimated"
    """A local estimate or a default."""
    PROJECTED = "projected"
    """Concerns calls that did not happen."""


_ORDER = list(HowKnown)


def lowest_confidence(*known: HowKnown) -> HowKnown:
    return max(known, key=_ORDER.index)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its confidence; None if unknown, and a lower bound if a part is unknown."""

    value: float | None
    known: HowKnown
    is_lower_bound: bool = False

    @classmethod
    def of(cls, value: float, known: HowKnown) -> Figure:
        """Create a figure from a number, with NaN as unknown."""
        return cls(None if isnan(value) else value, known)


@dataclass(frozen=True, slots=True)
class Band:
    """A projected number with its range."""

    low: Annotated[
        float, Meta(description="The 5th percentile of the resamples; for a saving, after expected re-fetches.")
    ]
    middle: Annotated[float, Meta(description="The projected value.")]
    high: Annotated[float, Meta(description="The 95th percentile.")]

    def times(self, factor: float) -> Band:
        """Multiply all three by a non-negative factor."""
        return Band(self.low * factor, self.middle * factor, self.high * factor)

    def rounded(self, digits: int) -> Band:
        return Band(*(round(each, digits) for each in (self.low, self.middle, self.high)))
