import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.replay.cache.miss_causes import MissCause
from inspector.ui.chart.drawing import (
    EIGHTHS,
    LEGEND_HEIGHT,
    LEVEL,
    Cell,
    areas_of,
    draw_chart,
    layout_of,
    short_size,
    upper_end,
)
from inspector.ui.chart.view import ChartSeries, Level, MarkedMiss, columns_of
from inspector.ui.miss_glyphs import CHANGED, EXPIRED, MARKS, REWRITTEN, mark_of

tokens = st.lists(st.integers(0, 300_000), max_size=300)
calls = st.lists(st.integers(-5, 310), max_size=5).map(tuple)


def series(recorded: list[int], planned: list[int] | None = None, **rest: object) -> ChartSeries:
    columns = [None if values is None else np.array(values, dtype=np.int64) for values in (recorded, planned)]
    return ChartSeries(*columns, **rest)  # type: ignore[arg-type]  # fields of ChartSeries


def missed(*calls: int, cause: MissCause = MissCause.PLAN_EDIT) -> tuple[MarkedMiss, ...]:
    return tuple(MarkedMiss(call, cause) for call in calls)


def art(shown: ChartSeries, width: int, height: int, *, by_glyph: bool = False) -> list[str]:
    return ["".join(run.text for run in row) for row in draw_chart(shown, width, height, by_glyph=by_glyph)]


def columns_drawn(shown: ChartSeries, width: int, height: int, *, by_glyph: bool = False) -> list[list[Cell]]:
    """The cells of every column of the plot, from the lowest."""
    layout = layout_of(shown, width, height)
    rows = [
        [(glyph, run.style) for run in row for glyph in run.text][layout.labels :]
        for row in draw_chart(shown, width, height, by_glyph=by_glyph)[: layout.rows]
    ]
    return [list(column) for column in zip(*reversed(rows), strict=True)]


def is_sent(cell: Cell) -> bool:
    glyph, style = cell
    if glyph == LEVEL:
        return style in ("chart--level-within", "chart--planned-later")
    names = ("chart--planned", "chart--edge", "chart--grown-edge", "chart--cursor")
    return glyph in EIGHTHS[1:] and style.startswith(names)


def is_difference(cell: Cell, kind: str) -> bool:
    of_kind = {
        "recorded": ("chart--recorded", "chart--edge", "chart--cursor-edge"),
        "grown": ("chart--grown", "chart--cursor-grown"),
    }
    return cell[1].startswith(of_kind[kind])


def test_a_plan_is_drawn_solid_on_the_shade_of_what_was_recorded() -> None:
    recorded = [50, 100, 150, 200, 100, 200, 300, 400]
    planned = [50, 100, 100, 100, 50, 100, 150, 200]

    shown = series(recorded, planned, window=400, compactions=(4,), misses=missed(6))

    assert art(shown, 20, 6, by_glyph=True) == [
        "400 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄░░",
        "                ░░░░",
        "200     ::░░..░░▄▄██",
        "    ▄▄██████▄▄██████",
        f"  0 ────────▲───{REWRITTEN.glyph}───",
        "    call 1         8",
    ]


def test_in_colours_a_cell_is_sent_up_to_its_glyph_and_recorded_behind_it() -> None:
    (column,) = columns_drawn(series([350], [150], window=400), 1, 6)

    assert column == [
        ("█", "chart--planned"),
        ("▄", "chart--edge"),
        ("░", "chart--recorded-whole"),
        ("▄", "chart--recorded"),
    ]


def test_in_colours_a_cell_is_recorded_up_to_its_glyph_and_added_behind_it() -> None:
    (column,) = columns_drawn(series([150], [350], window=400), 1, 6)

    assert column == [
        ("█", "chart--planned"),
        ("▄", "chart--grown-edge"),
        ("+", "chart--grown-whole"),
        ("▄", "chart--grown"),
    ]


def test_without_colours_what_a_plan_adds_has_a_glyph_of_its_own() -> None:
    assert art(series([100, 100, 100], [100, 250, 400], window=400), 20, 6, by_glyph=True) == [
        "400 ┄┄┄┄┄┄┄┄┄┄┄+++++",
        "          ++++++++++",
        "200       ++++++++++",
        "    ████████████████",
        "  0 ────────────────",
        "    call 1         3",
    ]


def test_two_rows_show_a_saving_in_colours_and_without() -> None:
    shown = series([50, 140, 160, 180], [50, 60, 70, 80], window=200)

    assert art(shown, 20, 3, by_glyph=True) == [
        "200 ┄┄┄┄::::::::░░░░",
        "    ▄▄▄▄▄▄▄▄▅▅▅▅▆▆▆▆",
        "  0 ────────────────",
    ]
    assert [column[1][1] for column in columns_drawn(shown, 20, 3)][4:] == ["chart--recorded"] * 12
    assert [column[0][1] for column in columns_drawn(shown, 20, 3)][4:] == ["chart--edge"] * 12


def near(size: int) -> st.SearchStrategy[int]:
    return st.integers(max(size - 20_000, 0), size + 20_000)


sizes = st.integers(0, 300_000)
pairs = st.lists(st.tuples(sizes, sizes) | sizes.flatmap(lambda size: st.tuples(st.just(size), near(size))), min_size=1)


@given(pairs, st.integers(1, 60), st.integers(2, 12), st.none() | st.integers(0, 40), st.booleans(), st.data())
def test_a_column_shows_what_is_sent_and_what_was_recorded_where_they_differ_by_a_cell(
    calls: list[tuple[int, int]], width: int, rows: int, cursor: int | None, by_glyph: bool, data: st.DataObject
) -> None:
    recorded, planned = map(list, zip(*calls, strict=True))
    levels = tuple(Level(tokens, "budget") for tokens in data.draw(st.lists(st.integers(1, 300_000), max_size=2)))
    shown = series(recorded, planned, window=200_000, cursor=cursor, levels=levels)
    height = rows + 1 if rows + 2 < LEGEND_HEIGHT else rows + 2
    layout = layout_of(shown, width, height)
    amounts = columns_of(shown, layout.columns)
    assert layout.rows == rows
    # Without colors a cell has one glyph, which shows the sent part if there is one.
    cell = layout.top / rows * (9 / 8 if by_glyph else 1)

    drawn = columns_drawn(shown, width, height, by_glyph=by_glyph)

    for cells, was, sent in zip(drawn, amounts.recorded.tolist(), amounts.planned.tolist(), strict=True):
        if min(was, sent) > 0:
            assert any(map(is_sent, cells))
            if abs(was - sent) >= cell:
                assert any(is_difference(each, "recorded" if was > sent else "grown") for each in cells)
        if was == sent:
            assert not any(is_difference(each, kind) for each in cells for kind in ("recorded", "grown"))


@given(sizes, sizes, st.integers(2, 12))
def test_in_colours_neither_end_is_drawn_further_off_than_half_a_cell(was: int, sent: int, rows: int) -> None:
    shown = series([was], [sent], window=200_000)
    layout = layout_of(shown, 1, rows + 1 if rows + 2 < LEGEND_HEIGHT else rows + 2)
    recorded, planned = (round(each[0]) for each in areas_of(columns_of(shown, 1), layout)[::-1])

    (cells,) = columns_drawn(shown, 1, rows + 1 if rows + 2 < LEGEND_HEIGHT else rows + 2)

    low = high = 0
    for glyph, style in cells:
        if style not in ("", "chart--window"):
            eighths = 0 if style.endswith("-whole") else EIGHTHS.index(glyph)
            low += 0 if style in ("chart--recorded", "chart--grown") else eighths
            high += 8 if style in ("chart--edge", "chart--grown-edge") or style.endswith("-whole") else eighths
    drawn = (high, low) if was > sent else (low, high)
    if low == high:
        assert high == planned
    else:
        assert abs(drawn[0] - recorded) + abs(drawn[1] - planned) <= 3


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
    assert art(series([10, 20], [5, 10], compactions=(1,), misses=missed(1)), 90, 6)[-1].split("  ")[-1].strip() == "2"
    legend = art(series([10, 20], [5, 10], compactions=(1,), misses=missed(1)), 90, 6)[-1]
    for word in (
        "call 1",
        "█ with the plan",
        "░ recorded",
        "▲ compaction",
        f"plan misses: {REWRITTEN.glyph} plan edit",
    ):
        assert word in legend
    roomy = art(series([10, 20], [5, 10], compactions=(1,), misses=missed(1)), 120, 6)[-1]
    assert f"cache misses with the plan: {REWRITTEN.glyph} plan edit" in roomy
    assert "added" not in legend
    expired, changed = (missed(0, cause=cause) for cause in (MissCause.TTL_EXPIRED_5M, MissCause.MODEL_CHANGED))
    for_one = art(series([10, 20], misses=(*expired, *changed)), 120, 6)[-1]
    assert f"cache misses: {EXPIRED.glyph} expired (5 min)  {CHANGED.glyph} model changed" in for_one
    for_two = art(series([10, 20], misses=(*missed(0, cause=MissCause.TOOLS_CHANGED), *changed)), 120, 6)[-1]
    assert f"{CHANGED.glyph} {CHANGED.label}" in for_two
    assert "░ recorded" in art(series([10, 20], [5, 10]), 90, 6, by_glyph=True)[-1]
    assert "+ added by the plan" in art(series([10, 20], [20, 40]), 90, 6)[-1]
    assert "+ added by the plan" in art(series([10, 20], [20, 40]), 90, 6, by_glyph=True)[-1]
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
        misses=missed(*breaks),
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
def test_a_mark_is_in_a_column_of_its_call(count: int, width: int, data: st.DataObject) -> None:
    call = data.draw(st.integers(0, count - 1))

    columns = columns_of(series([1] * count, compactions=(call,), misses=missed(call), cursor=call), width)

    marked = np.flatnonzero(columns.compaction).tolist()
    assert marked == np.flatnonzero(columns.miss >= 0).tolist() == [columns.cursor]
    assert marked == [int(np.searchsorted(columns.call, call))]


def test_of_several_misses_in_a_column_the_costliest_is_marked_which_comes_last() -> None:
    shown = series([10] * 8, misses=(*missed(1), *missed(0, cause=MissCause.MODEL_CHANGED)))

    assert columns_of(shown, 2).miss.tolist() == [MARKS.index(CHANGED), -1]


def test_every_cause_has_a_glyph_of_one_cell_and_those_that_had_to_be_one_of_their_own() -> None:
    assert {cell_len(mark_of(cause).glyph) for cause in MissCause} == {1}
    assert all((mark_of(cause) in MARKS) is not cause.is_expected for cause in MissCause)
    assert len({mark.glyph for mark in MARKS}) == len(MARKS)


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

    shown = series(recorded, planned, levels=(Level(150, "budget"),), firings=(2,), misses=missed(2, 3))

    assert art(shown, 24, 6, by_glyph=True) == [
        "400                ░░░░░",
        "              ░░░░░░░░░░",
        "150 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
        "    ████████████████████",
        f"  0 ──────────△────{REWRITTEN.glyph}────",
        "    call 1             4",
    ]


def test_a_level_of_the_plan_is_a_line_on_what_was_recorded() -> None:
    (column,) = columns_drawn(series([400], [50], levels=(Level(250, "budget"),)), 1, 6)

    assert column[2] == (LEVEL, "chart--edge")


def test_a_line_is_named_where_nothing_else_is_drawn() -> None:
    shown = series([100, 100, 100, 100], window=250, levels=(Level(170, "budget"),))

    assert art(shown, 24, 6)[:2] == [
        "250 ┄┄┄┄┄┄┄┄┄┄┄┄┄ window",
        "170 ╌╌╌╌╌╌╌╌╌╌╌╌╌ budget",
    ]


def test_over_time_a_call_is_where_it_was_made_and_lasts_until_the_next() -> None:
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
