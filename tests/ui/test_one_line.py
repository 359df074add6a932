"""Truncation order on a line that is too narrow for all of its parts."""

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from inspector.ui.toolkit.one_line import LinePiece, one_line

TITLE = LinePiece(Content("abcdefghijklmnopqrstuvwxy"), 2, least=10)
WINDOW = LinePiece(Content("200k window"), 4)
TOKENS = LinePiece(Content("tokens exact"), 5, right=True)
STATE = LinePiece(Content("live"), 0, right=True)


def shown(width: int) -> str:
    return one_line([TITLE, WINDOW, STATE, TOKENS], width).plain


def test_everything_is_where_there_is_room():
    assert shown(70) == "abcdefghijklmnopqrstuvwxy   200k window" + " " * 12 + "live   tokens exact"


def test_a_part_that_may_be_clipped_is_clipped_before_another_gives_way():
    assert shown(50).split() == ["abcdefghijklm…", "200k", "window", "live", "tokens", "exact"]


def test_below_its_least_the_highest_rank_gives_way_and_the_clipped_part_has_the_room():
    assert shown(44).split() == ["abcdefghijklmnopqrstuv…", "200k", "window", "live"]


def test_what_has_no_rank_stays():
    assert shown(6).strip() == "live"


def test_a_shorter_part_may_have_another_rank():
    tail = LinePiece(Content("in 4 misses"), 2)
    plan = LinePiece(Content("best plan: newest ten"), 3, shorter=LinePiece(Content("newest ten"), 1))
    assert [one_line([plan, tail], width).plain.strip() for width in (35, 34, 23)] == [
        "best plan: newest ten   in 4 misses",
        "newest ten   in 4 misses",
        "newest ten",
    ]


@given(st.integers(1, 120))
def test_the_line_has_exactly_its_width(width):
    assert one_line([TITLE, WINDOW, STATE, TOKENS], width).cell_length == width
