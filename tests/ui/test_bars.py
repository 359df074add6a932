from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.ui.toolkit.bars import BEYOND, CUT, EIGHTHS, bar, length, outside_bar

amounts = st.integers(0, 3_000)
widths = st.integers(0, 30)
scales = st.booleans()


def eighths(glyphs: str) -> int:
    return sum(EIGHTHS.index(glyph) for glyph in glyphs)


@given(amounts, amounts, st.integers(1, 2_000), widths, scales)
def test_a_bar_never_leaves_its_column(sent: int, recorded: int, full: int, width: int, logarithmic: bool) -> None:
    drawn = bar(sent, recorded, full, width, logarithmic=logarithmic)

    assert len(drawn.sent) + len(drawn.rest) <= width
    assert set(drawn.sent) <= set(EIGHTHS)
    assert set(drawn.rest) <= {CUT, BEYOND}


@given(st.lists(amounts, min_size=2), st.integers(1, 2_000), st.integers(1, 30), scales)
def test_more_sent_is_never_drawn_shorter(sent: list[int], full: int, width: int, logarithmic: bool) -> None:
    drawn = [eighths(bar(value, value, full, width, logarithmic=logarithmic).sent) for value in sorted(sent)]

    # The mark of a bar that goes on takes the last cell.
    assert all(second >= min(first, 8 * (width - 1)) for first, second in pairwise(drawn))


@given(amounts, st.lists(amounts, min_size=2), st.integers(1, 2_000), st.integers(1, 30), scales)
def test_more_cut_is_never_drawn_shorter(sent: int, cut: list[int], full: int, width: int, logarithmic: bool) -> None:
    drawn = [sum(map(len, bar(sent, sent + value, full, width, logarithmic=logarithmic))) for value in sorted(cut)]

    assert drawn == sorted(drawn)


@given(st.integers(1, 3_000), st.integers(1, 2_000), st.integers(1, 30), scales)
def test_anything_sent_shows(sent: int, full: int, width: int, logarithmic: bool) -> None:
    assert bar(sent, sent, full, width, logarithmic=logarithmic).sent


@given(st.integers(0, 800), st.integers(1, 800), st.integers(2, 30), scales)
def test_anything_cut_shows_where_a_cell_is_left(sent: int, cut: int, width: int, logarithmic: bool) -> None:
    drawn = bar(sent, sent + cut, 2_000, width, logarithmic=logarithmic)

    assert CUT in drawn.rest or len(drawn.sent) == width


@pytest.mark.parametrize(
    ("sent", "recorded", "drawn"),
    [
        (0, 0, ""),
        (1, 1, "▏"),
        (50, 50, "█████"),
        (55, 55, "█████▌"),
        (50, 100, "█████░░░░░"),
        (0, 30, "░░░"),
        (100, 100, "██████████"),
        (400, 400, "█████████»"),
        (50, 400, "█████░░░░»"),
        (60, 50, "██████"),
    ],
)
def test_ten_cells_for_a_hundred_tokens(sent: int, recorded: int, drawn: str) -> None:
    assert "".join(bar(sent, recorded, 100, 10)) == drawn


def test_ratios_give_small_amounts_room() -> None:
    assert length(100, 10_000, logarithmic=True) == pytest.approx(0.5, abs=0.01)
    assert length(100, 10_000) == 0.01


def test_what_is_outside_the_prompt_is_as_long_as_it_would_be_and_hollow() -> None:
    assert "".join(outside_bar(50, 100, 10)) == "╌╌╌╌╌"
    assert "".join(outside_bar(500, 100, 10)) == "╌╌╌╌╌╌╌╌╌»"
    assert "".join(outside_bar(0, 100, 10)) == ""
