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
