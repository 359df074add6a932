"""Uncertainty of replayed figures, in words: one line for every report."""

from __future__ import annotations

from typing import Final

from inspector.replay.analysis.forecast import MASKING, TURNS_OF_A_MODEL, widened
from inspector.replay.figure import Band, HowKnown
from inspector.replay.quantity import DOLLAR_DIGITS, PERCENT_DIGITS
from inspector.report.catalogue import UncertainSaving
from inspector.report.numbers import IN_TEXT, with_minus_sign


def _signed(share: float, decimals: int = 0) -> str:
    return with_minus_sign(f"{100 * share:+.{decimals}f} %")


def describe_turn_range() -> str:
    """Return the range by which a model's turns may change, in percent with signs."""
    return f"{_signed(TURNS_OF_A_MODEL.low)} to {_signed(TURNS_OF_A_MODEL.high)}"


HOLDS: Final = "savings hold on average, not always"

REPLAY_CAVEAT: Final = f"Assumes unchanged answers: {HOLDS}"
"""One line of 80 columns with a left margin of two."""

EXPERIMENTS: Final = (
    f"In public experiments with {MASKING.pairs:,} pairs of the same task, with and without masked tool results, "
    f"turns changed by {_signed(MASKING.turns.middle, 1)} ({_signed(MASKING.turns.low, 1)} to "
    f"{_signed(MASKING.turns.high, 1)}); "
    f"{MASKING.lost} tasks were lost and {MASKING.won} won. With a model outside these experiments, turns may change "
    f"by {describe_turn_range()}: inspector help evidence."
)
"""Evidence for the line, for places with more room."""

UNCERTAIN_ANSWERS: Final = "different answers"
"""Name of the range of a saving if the model answers differently from the recording."""


def uncertain_saving(saved: float | None, planned: float | None) -> UncertainSaving | None:
    """Estimate a plan's saving if the model takes more or fewer turns with it.

    Args:
        saved: Dollars saved with the recorded answers; None without a price.
        planned: Cost with the plan and the recorded answers; None without a price.
    """
    if saved is None or planned is None:
        return None
    found = widened(Band(saved, saved, saved), planned)
    return UncertainSaving(
        turns_low_percent=round(100 * TURNS_OF_A_MODEL.low, PERCENT_DIGITS),
        turns_high_percent=round(100 * TURNS_OF_A_MODEL.high, PERCENT_DIGITS),
        low_usd=round(found.low, DOLLAR_DIGITS),
        high_usd=round(found.high, DOLLAR_DIGITS),
        known=dict.fromkeys(("low_usd", "high_usd"), HowKnown.PROJECTED.value),
    )


def describe_uncertain_saving(found: UncertainSaving) -> str:
    """Format the range in a few words: `~$1.20 to ~$8.30 saved, if turns change by` so many percent."""
    low, high = (IN_TEXT.qualified(IN_TEXT.dollars(each), "projected") for each in (found.low_usd, found.high_usd))
    return f"{low} to {high} saved, if turns change by {describe_turn_range()}"
