"""Uncertainty notes of reports, and the option that uses the bounds of savings."""

from __future__ import annotations

import pytest

from inspector.replay.analysis.forecast import TURNS_OF_A_MODEL, CostComparison, widened
from inspector.replay.figure import Band
from inspector.report.layout import WIDTH
from inspector.report.numbers import MINUS
from inspector.report.sentences import REPLAY_CAVEAT, describe_uncertain_saving, uncertain_saving


def test_the_line_fits_a_report() -> None:
    assert len(REPLAY_CAVEAT) <= WIDTH - 2


def test_a_saving_moves_by_what_the_plan_costs_more_or_less() -> None:
    band = widened(Band(3, 4, 5), 10)
    assert (band.low, band.middle, band.high) == (
        pytest.approx(3 - 10 * TURNS_OF_A_MODEL.high),
        4,
        pytest.approx(5 - 10 * TURNS_OF_A_MODEL.low),
    )


def test_a_comparison_is_widened_where_the_plan_is_and_not_where_it_is_not() -> None:
    found = CostComparison(Band(19, 20, 21), Band(9, 10, 11), Band(9, 10, 11)).widened()
    assert found.baseline == Band(19, 20, 21)
    assert (found.plan.middle, found.saving.middle) == (10, 10)
    assert found.plan.high - 11 == pytest.approx(9 - found.saving.low)


def test_without_a_price_nothing_is_stated() -> None:
    assert uncertain_saving(None, 3.0) is None
    assert uncertain_saving(3.0, None) is None


def test_it_is_stated_with_the_turns_it_represents() -> None:
    found = uncertain_saving(4.0, 10.0)
    assert found is not None
    assert describe_uncertain_saving(found) == f"~$0.79 to ~$6.55 saved, if turns change by {MINUS}26 % to +32 %"
