"""A limit's curves and the map of two, as they are drawn."""

from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.analysis.sweep import Grid, LimitSizes, Point, tunable_limits
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width
from inspector.strategies.core.parameters import ValueScale
from inspector.strategies.plan import Plan
from inspector.ui.tune.drawing import (
    LABELS,
    Curve,
    HeatChart,
    TuneChart,
    draw_heat,
    draw_tuning,
    fitting,
    place_at,
    plot_columns,
    short_value,
    ticks,
)

if TYPE_CHECKING:
    from inspector.replay.engine.ledger import Figures

RANGE = ValueScale(0, 100_000, logarithmic=True)


def curve(name: str, amounts: list[float], level: float | None, written=ON_SCREEN.dollars) -> Curve:
    fractions = np.linspace(0, 1, len(amounts))
    return Curve(name, f"tune--{name}", fractions, np.array(amounts, dtype=np.float64), level, written)


CHART = TuneChart(
    RANGE,
    (
        curve("cost", [10, 10, 10, 12, 16, 18], 20),
        curve("tokens", [4e6, 4e6, 4e6, 5e6, 7e6, 8e6], 9e6, ON_SCREEN.short),
        curve("breaks", [40, 40, 40, 30, 20, 20], 6, ON_SCREEN.whole),
    ),
    LimitSizes(np.array([30] * 8 + [500] * 3 + [40_000] * 16), "result", "data"),
    here=400,
    plan=150,
    knee=60,
    least=0,
)

AXES = {axis.parameter.name: axis for axis in tunable_limits(Plan.from_specs(["tiered-stale"]))}
COST = np.array([[1, 2, 3, np.nan], [2, 3, 4, 5], [3, 4, 5, 6]], dtype=np.float64)
TRIED_PAIR = {(0, 0): Point(0, cast("Figures", None))}
GRID = Grid(
    AXES["data"],
    AXES["search"],
    np.array([0, 40, 2_000, 1e5]),
    np.array([0, 600, 1e5]),
    COST,
    COST * 1e6,
    TRIED_PAIR,
    11,
)
MAP = HeatChart(GRID, here=(1, 2), plan=(1, 1), written=ON_SCREEN.dollars, amount="cost")


def lines(rows) -> list[str]:
    return ["".join(run.text for run in row).rstrip() for row in rows]


def test_curves_share_one_axis_with_the_sizes_below_them_and_the_value_runs_through_all() -> None:
    assert lines(draw_tuning(CHART, 50, 16)) == [
        "   $20.00 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┊┄┄┄┄┄│┄┄┄┄ nothing cut ┄▗",
        "     cost               ┊     │         ▄▄▄▞▀▀▀▀▀▘",
        "                        ┊     │   ▗▄▄▀▀▀",
        "   $10.00 ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▀●▀▀▀▘",
        "     9.0M ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┊┄┄┄┄┄│┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▗",
        "   tokens               ┊     │         ▄▄▄▞▀▀▀▀▀▘",
        "                        ┊     │   ▗▄▄▀▀▀",
        "     4.0M ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▀●▀▀▀▘",
        "       40 ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▄▄●▄",
        "   breaks               ┊     │ ▀▀▀▚▄▄▄▖",
        "                        ┊     │        ▝▀▀▀▀▀▀▀▀▀▀",
        "        6 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┊┄┄┄┄┄│┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄",
        "          ▾─┴─────┴─────◇─┴▲──◆───┴───────┴──────┴",
        "          0 1    10      100     1k      10k  100k",
        "       16                     │               ░",
        "  results            █        │░              ░",
    ]


def test_a_low_chart_leaves_the_last_curves_out_and_names_the_ends_first() -> None:
    assert lines(draw_tuning(CHART, 30, 6)) == [
        "   $20.00 ┄┄┄┄┄┄┄┊┄┄│┄┄┄┄▄▄▄▄▄",
        "     cost ▄▄▄▄▄▄▄▄▄▄●▞▀▀▀",
        "          ▾┴──┴──◇▲─◆─┴───┴──┴",
        "          0  10  100 1k   100k",
        "       16           │       ░",
        "  results      █    ▃       ░",
    ]


def test_a_curve_far_from_the_session_with_nothing_cut_is_drawn_on_its_own_scale() -> None:
    low = curve("cost", [10, 10.2, 10.4], 50)
    assert low.range == (10, 10.4)
    assert curve("cost", [10, 20, 30], 50).range == (10, 50)
    assert curve("cost", [10, 10, 10], 50).range == (10, 10)


def test_a_flat_curve_is_drawn() -> None:
    chart = TuneChart(RANGE, (curve("cost", [3, 3], 3),), None, 400, 400)
    assert lines(draw_tuning(chart, 30, 6))[3].startswith("    $3.00 ▄▄▄▄")


@given(st.integers(1, 130), st.integers(1, 40), st.floats(0, 1))
def test_every_row_is_as_wide_as_the_chart_and_there_are_as_many(width: int, height: int, fraction: float) -> None:
    chart = TuneChart(RANGE, CHART.curves, CHART.sizes, RANGE.value(fraction), 150, 60, 0)
    for rows in (draw_tuning(chart, width, height), draw_heat(MAP, width, height)):
        assert len(rows) == height
        assert {sum(cell_width(run.text) for run in row) for row in rows} == {width}


@given(st.integers(0, 119))
def test_the_value_under_a_column_is_in_that_column(column: int) -> None:
    columns = plot_columns(120 + LABELS)
    value = CHART.value_at(column, columns)
    # Values are round, and the first few whole numbers are further apart than columns.
    assert abs(CHART.column(value, columns) - column) <= (1 if value >= 10 else 8)


@pytest.mark.parametrize(
    ("scale", "named"),
    [
        (RANGE, [0, 1, 10, 100, 1_000, 10_000, 100_000]),
        (ValueScale(1, 5_000, logarithmic=True), [1, 10, 100, 1_000, 5_000]),
        (ValueScale(0, 100), [0, 20, 40, 60, 80, 100]),
        (ValueScale(2, 50), [2, 10, 20, 30, 40, 50]),
        (ValueScale(0, 1, whole=False), [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_round_values_are_named_on_the_axis(scale: ValueScale, named: list[float]) -> None:
    assert ticks(scale) == pytest.approx(named)


def test_values_are_written_in_few_cells() -> None:
    written = [short_value(value) for value in (0, 0.25, 150, 5_300, 100_000, 2_500_000)]
    assert written == ["0", "0.25", "150", "5.3k", "100k", "2.5M"]


def test_a_map_is_darker_where_it_costs_more_and_marks_three_pairs() -> None:
    assert lines(draw_heat(MAP, 44, 8)) == [
        "   0 ·· ▾ ··· ░░░░░░░░ ▒▒▒▒▒▒▒▒ ▒▒▒▒▒▒▒▒",
        "     ········ ░░░░░░░░ ▒▒▒▒▒▒▒▒ ▒▒▒▒▒▒▒▒",
        " 600 ░░░░░░░░ ▒▒ ▲ ▒▒▒ ▓▓ ◆ ▓▓▓ ████████",
        "     ░░░░░░░░ ▒▒▒▒▒▒▒▒ ▓▓▓▓▓▓▓▓ ████████",
        "100k ▒▒▒▒▒▒▒▒ ▓▓▓▓▓▓▓▓ ████████ ████████",
        "     ▒▒▒▒▒▒▒▒ ▓▓▓▓▓▓▓▓ ████████ ████████",
        "        0        40       2k      100k",
        "     cost $1.00 ··░░▒▒▓▓██ $6.00   → data",
    ]


def test_a_narrow_map_keeps_its_marks() -> None:
    assert lines(draw_heat(MAP, 16, 4)) == [
        "   0 ▾  ░░ ▒▒ ▒▒",
        " 600 ░░ ▲  ◆  ██",
        "100k ▒▒ ▓▓ ██ ██",
        "     0  40 2k",
    ]


@given(st.integers(20, 200), st.integers(6, 60))
def test_a_pair_is_found_where_it_is_drawn(width: int, height: int) -> None:
    rows = lines(draw_heat(MAP, width, height))
    at = next(((x, y) for y, row in enumerate(rows) for x, glyph in enumerate(row) if glyph == "◆"), None)
    if at is not None:
        assert place_at(MAP, width, height, *at) == MAP.here


@given(st.integers(10, 250), st.integers(1, 70))
def test_as_many_pairs_are_replayed_as_fit_and_say_something(width: int, height: int) -> None:
    columns, rows = fitting(width, height)
    assert 3 <= columns <= 20
    assert 3 <= rows <= 16


def test_a_curve_next_to_others_has_three_rows_or_is_left_out() -> None:
    for height in range(6, 30):
        drawn = lines(draw_tuning(CHART, 60, height))
        named = [at for at, line in enumerate(drawn) if line.split()[0] in ("cost", "tokens", "breaks")]
        assert named[0] == 1
        assert all(second - first >= 3 for first, second in pairwise(named))
        assert drawn[0].count("nothing cut") == 1
        assert sum(line.count("nothing cut") for line in drawn) == 1
