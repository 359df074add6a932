import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.ui.chart.drawing import BREAK, draw_chart, layout_of, short_size, upper_end
from inspector.ui.chart.view import ChartSeries, Level, columns_of

tokens = st.lists(st.integers(0, 300_000), max_size=300)
calls = st.lists(st.integers(-5, 310), max_size=5).map(tuple)


def series(recorded: list[int], planned: list[int] | None = None, **rest: object) -> ChartSeries:
    columns = [None if values is None else np.array(values, dtype=np.int64) for values in (recorded, planned)]
    return ChartSeries(*columns, **rest)  # type: ignore[arg-type]  # fields of ChartSeries


def art(shown: ChartSeries, width: int, height: int) -> list[str]:
    return ["".join(run.text for run in row) for row in draw_chart(shown, width, height)]


def test_a_plan_is_drawn_solid_on_the_shade_of_what_was_recorded() -> None:
    recorded = [50, 100, 150, 200, 100, 200, 300, 400]
    planned = [50, 100, 100, 100, 50, 100, 150, 200]

    assert art(series(recorded, planned, window=400, compactions=(4,), breaks=(6,)), 20, 6) == [
        "400 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄░░",
        "                ░░░░",
        "200     ░░░░  ░░▄▄██",
        "    ▄▄██████▄▄██████",
        f"  0 ────────▲───{BREAK}───",
        "    call 1         8",
    ]


def test_the_call_looked_at_has_a_line_and_a_foot() -> None:
    assert art(series([100, 200, 300, 400], cursor=1), 12, 5) == [
        "   │  ▂▂▂███",
        "   ▄▄▄██████",
        "▆▆▆█████████",
        "───◆────────",
        "call 1     4",
    ]


def test_three_rows_are_enough() -> None:
    assert art(series([100_000, 150_000] * 50, window=200_000), 25, 3) == [
        "200k ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄",
        "     ████████████████████",
        "   0 ────────────────────",
    ]


def test_a_session_without_calls_has_an_axis() -> None:
    assert art(series([]), 20, 6) == [
        "10                  ",
        "                    ",
        " 5                  ",
        "                    ",
        " 0 ─────────────────",
        "   no calls         ",
    ]


def test_the_legend_explains_the_glyphs_there_are() -> None:
    assert art(series([10, 20], [5, 10], compactions=(1,), breaks=(1,)), 90, 6)[-1].split("  ")[-1].strip() == "2"
    legend = art(series([10, 20], [5, 10], compactions=(1,), breaks=(1,)), 90, 6)[-1]
    for word in ("call 1", "█ with the plan", "░ recorded", "▲ compaction", f"{BREAK} cache miss"):
        assert word in legend
    assert "█ recorded" in art(series([10, 20]), 60, 6)[-1]


@given(tokens, st.booleans(), calls, calls, st.integers(0, 320), st.integers(1, 120), st.integers(1, 12))
def test_every_row_is_exactly_as_wide_as_asked(
    recorded: list[int],
    planned: bool,
    compactions: tuple[int, ...],
    breaks: tuple[int, ...],
    cursor: int,
    width: int,
    height: int,
) -> None:
    shown = series(
        recorded,
        [value // 2 for value in recorded] if planned else None,
        window=200_000,
        compactions=compactions,
        breaks=breaks,
        cursor=cursor,
    )

    drawn = art(shown, width, height)

    assert len(drawn) == height
    assert {cell_len(row) for row in drawn} == {width}


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=300), st.integers(1, 120))
def test_columns_keep_every_peak_and_every_call(recorded: list[int], width: int) -> None:
    columns = columns_of(series(recorded), width)

    assert len(columns.recorded) == width
    assert columns.recorded.max() == max(recorded)
    assert columns.call[-1] == len(recorded) - 1
    assert (np.diff(columns.call) >= 0).all()
    if len(recorded) <= width:
        assert set(columns.call.tolist()) == set(range(len(recorded)))
        assert columns.recorded.tolist() == [recorded[call] for call in columns.call.tolist()]


@given(st.integers(1, 400), st.integers(1, 120), st.data())
def test_a_mark_stands_in_a_column_of_its_call(count: int, width: int, data: st.DataObject) -> None:
    call = data.draw(st.integers(0, count - 1))

    columns = columns_of(series([1] * count, compactions=(call,), breaks=(call,), cursor=call), width)

    marked = np.flatnonzero(columns.compaction).tolist()
    assert marked == np.flatnonzero(columns.is_break).tolist() == [columns.cursor]
    assert marked == [int(np.searchsorted(columns.call, call))]


@pytest.mark.parametrize(
    ("peak", "window", "top"),
    [
        (150_000, 200_000, 200_000),
        (90_000, 200_000, 200_000),
        (30_000, 200_000, 30_000),
        (31_000, 200_000, 40_000),
        (210_000, 200_000, 250_000),
        (0, None, 10),
        (7, None, 10),
        (1_130_000, None, 1_200_000),
    ],
)
def test_the_axis_ends_at_the_window_or_at_a_round_number(peak: int, window: int | None, top: int) -> None:
    assert upper_end(peak, window) == top


@given(st.integers(0, 10_000_000), st.none() | st.integers(1, 2_000_000))
def test_nothing_is_above_the_axis(peak: int, window: int | None) -> None:
    assert upper_end(peak, window) >= peak


def test_an_axis_names_small_and_large_amounts() -> None:
    assert [short_size(value) for value in (0, 40, 7_500, 200_000, 1_000_000)] == ["0", "40", "7.5k", "200k", "1M"]


def test_labels_give_way_on_a_narrow_screen() -> None:
    assert layout_of(series([100_000]), 12, 6).labels == 0
    assert layout_of(series([100_000]), 60, 6).labels == 5


def test_a_level_of_the_plan_is_a_line_that_is_seen_through_what_is_sent() -> None:
    recorded, planned = [100, 200, 300, 400], [100, 200, 200, 200]

    assert art(series(recorded, planned, levels=(Level(150, "budget"),), firings=(2,), breaks=(2, 3)), 24, 6) == [
        "400                ░░░░░",
        "              ░░░░░░░░░░",
        "150 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
        "    ████████████████████",
        f"  0 ──────────△────{BREAK}────",
        "    call 1             4",
    ]


def test_a_line_is_named_where_nothing_else_is_drawn() -> None:
    shown = series([100, 100, 100, 100], window=250, levels=(Level(170, "budget"),))

    assert art(shown, 24, 6)[:2] == [
        "250 ┄┄┄┄┄┄┄┄┄┄┄┄┄ window",
        "170 ╌╌╌╌╌╌╌╌╌╌╌╌╌ budget",
    ]


def test_over_time_a_call_stands_where_it_was_made_and_lasts_until_the_next() -> None:
    shown = series([10, 20, 40], seconds=np.array([0.0, 50.0, 60.0]), cursor=1)
    columns = columns_of(shown, 12)

    assert columns.call.tolist() == [0] * 10 + [1, 2]
    assert columns.cursor == 10
    assert art(shown, 30, 5)[-1].split() == ["0:00", "█", "recorded", "1:00"]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.integers(1, 120), st.data())
def test_over_time_every_mark_has_a_column_and_no_peak_is_lost(
    moments: list[float], width: int, data: st.DataObject
) -> None:
    count = len(moments)
    recorded = data.draw(st.lists(st.integers(0, 300_000), min_size=count, max_size=count))
    call = data.draw(st.integers(0, count - 1))
    shown = series(recorded, seconds=np.sort(moments) - min(moments), compactions=(call,), cursor=call)

    columns = columns_of(shown, width)

    assert columns.recorded.max() == max(recorded)
    assert np.flatnonzero(columns.compaction).tolist() == [columns.cursor]
    assert (np.diff(columns.call) >= 0).all()
    assert columns.call[-1] == count - 1
