"""A number and how it is known: reported, calibrated, estimated or projected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isnan


class HowKnown(StrEnum):
    """How a figure is known, from best to worst."""

    EXACT = "exact"
    """Reported by the provider."""
    CALIBRATED = "calibrated"
    """A local estimate fitted to the usage the provider reported for this session."""
    ESTIMATED = "estimated"
    """A local estimate or a default."""
    PROJECTED = "projected"
    """About calls that did not happen."""


_ORDER = list(HowKnown)


def weakest(*known: HowKnown) -> HowKnown:
    """How a figure made of several is known: as well as the least known of them."""
    return max(known, key=_ORDER.index)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and how it is known.

    Attributes:
        value: The number; None where it cannot be known, for example a cost without a price.
        known: How it is known.
        is_least: It is more than that: nothing tells the rest.
    """

    value: float | None
    known: HowKnown
    is_least: bool = False

    @classmethod
    def of(cls, value: float, known: HowKnown) -> Figure:
        """A figure of a number that is NaN where it cannot be known."""
        return cls(None if isnan(value) else value, known)


@dataclass(frozen=True, slots=True)
class Band:
    """A projected number with how far it may be off.

    Attributes:
        low: The 5th percentile.
        middle: What is projected.
        high: The 95th percentile.
    """

    low: float
    middle: float
    high: float

    @property
    def plus_minus(self) -> float:
        """Half the band as a share of the middle, 0.12 for ±12 %; NaN where the middle is zero."""
        return (self.high - self.low) / 2 / abs(self.middle) if self.middle else float("nan")

    def times(self, factor: float) -> Band:
        """All three multiplied by a factor that is not negative."""
        return Band(self.low * factor, self.middle * factor, self.high * factor)
