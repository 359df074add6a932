"""Tables of figures: narrow layouts, number alignment, and sorting."""

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.figure import Figure, HowKnown
from inspector.safe_text import cell_width, one_line
from inspector.ui.figure_table.table import (
    GUTTER,
    Cell,
    Column,
    FigureRow,
    Length,
    Sorting,
    Table,
    column_at,
    header_pieces,
    legend_of,
    number_cell,
    row_pieces,
    shortened,
    widths_for,
)
from tests.examples import examples

COLUMNS = (
    Column("name", "plan", 8, 12, is_text=True, falls=False),
    Column("tokens", "tokens", 7, 11),
    Column("bar", "█ sent ░ cut", 6, 10, is_bar=True, short="sent", rank=1),
    Column("breaks", "breaks", 7, rank=2),
)


def plan(name: str, tokens: int, breaks: int | None, known: HowKnown = HowKnown.EXACT) -> FigureRow:
    figure = Figure(float(tokens), known)
    cells = {
        "name": Cell(name, order=name),
        "tokens": number_cell(f"{tokens:,}", f"{tokens / 1e6:.1f}M", figure),
        "bar": Cell(length=Length(tokens, 4_000_000, 4_000_000)),
    }
    if breaks is not None:
        cells["breaks"] = Cell(str(breaks), order=float(breaks))
    return FigureRow(name, cells)


ROWS = (plan("whole", 4_000_000, 6), plan("half", 2_000_000, 371, HowKnown.ESTIMATED), plan("none", 0, None))


def drawn(width: int, sorting: Sorting = Sorting("tokens")) -> list[str]:  # noqa: B008  frozen
    widths = widths_for(COLUMNS, width)
    rows = [row_pieces(COLUMNS, widths, row, selected=row.key == "half") for row in ROWS]
    return ["".join(text for text, _ in pieces).rstrip() for pieces in (header_pieces(COLUMNS, widths, sorting), *rows)]


def test_a_table_with_room_shows_everything_in_full() -> None:
    assert drawn(50) == [
        "  plan             ▾tokens sent        breaks",
        "  whole          4,000,000 ██████████       6",
        "▶ half          ~2,000,000 █████░░░░░     371",
        "  none                   0 ░░░░░░░░░░",
    ]


def test_where_it_is_narrow_numbers_are_short_and_columns_give_way_the_least_important_first() -> None:
    assert drawn(25) == [
        "  plan     ▾tokens sent",
        "  whole       4.0M ██████",
        "▶ half       ~2.0M ███░░░",
        "  none           0 ░░░░░░",
    ]
    assert drawn(18)[1] == "  whole       4.0M"


def test_the_marks_that_are_used_are_explained_in_one_line() -> None:
    assert legend_of(Table(COLUMNS, ROWS)) == "~ estimated"
    assert legend_of(Table(COLUMNS, ROWS[:1])) == ""
    least = number_cell("$1", "", Figure(1.0, HowKnown.ESTIMATED, is_lower_bound=True))
    projected = number_cell("$2", "", Figure(2.0, HowKnown.PROJECTED))
    rows = (FigureRow("a", {"tokens": least, "breaks": projected}),)
    assert (least.text, projected.text) == ("≥ $1", "~$2")
    assert legend_of(Table(COLUMNS, rows)) == "~ estimated or projected, ≥ lower bound"


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 120), st.lists(st.text(max_size=20), max_size=4))
def test_rows_are_never_wider_than_the_screen_once_everything_that_may_go_is_gone(width: int, texts: list[str]) -> None:
    widths = widths_for(COLUMNS, width)
    least = GUTTER + 1 + 1 + 7
    for text in texts:
        row = FigureRow(text, {"name": Cell(one_line(text)), "tokens": Cell(one_line(text))})
        cells = sum(cell_width(piece) for piece, _ in row_pieces(COLUMNS, widths, row, selected=False))
        assert cells == sum(widths.values()) + GUTTER + len(widths) - 1
        assert cells <= max(width, least)


def test_rows_are_sorted_by_value_with_those_that_have_none_last_either_way() -> None:
    table = Table(COLUMNS, ROWS)
    assert [row.key for row in table.sorted(Sorting("breaks", falls=True)).rows] == ["half", "whole", "none"]
    assert [row.key for row in table.sorted(Sorting("breaks", falls=False)).rows] == ["whole", "half", "none"]
    assert [row.key for row in table.sorted(Sorting("name", falls=False)).rows] == ["half", "none", "whole"]
    assert table.sorted(Sorting()) is table


def test_equal_rows_keep_their_order_and_the_first_row_stays_first() -> None:
    rows = (plan("b", 1, 1), plan("a", 1, 1), FigureRow("total", {}, is_first=True), plan("c", 9, 1))
    for falls in (True, False):
        assert [row.key for row in Table(COLUMNS, rows).sorted(Sorting("breaks", falls)).rows] == [
            "total",
            "b",
            "a",
            "c",
        ]


def test_a_click_finds_the_column_under_it() -> None:
    widths = widths_for(COLUMNS, 25)
    found = [column_at(COLUMNS, widths, x) for x in range(27)]
    assert [None if column is None else column.name for column in found] == [
        *[None] * 2, *["name"] * 8, None, *["tokens"] * 7, None, *["bar"] * 6, *[None] * 2,
    ]  # fmt: skip


def test_numbers_of_a_column_are_all_written_short_where_one_has_no_room() -> None:
    columns = (Column("tokens", "tokens", 8),)
    rows = [plan(str(tokens), tokens, None) for tokens in (37_214_950, 7_759_072, 12)]
    short = shortened(columns, {"tokens": 8}, rows)
    said = [row_pieces(columns, {"tokens": 8}, row, selected=False, short=short)[-1][0].strip() for row in rows]
    assert said == ["37.2M", "7.8M", "0.0M"]
    assert shortened(columns, {"tokens": 10}, rows) == frozenset()
