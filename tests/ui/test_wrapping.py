import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.safe_text import safe_text
from inspector.ui.detail.page import wrap
from tests.hostile import HOSTILE_TEXTS

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
pieces = st.sampled_from([*HOSTILE_TEXTS, "word", "longer", " ", "  ", "\n", "\t", "日本"])
wordy = st.lists(pieces, max_size=40).map("".join)


@given(any_text | wordy, st.integers(1, 30))
@example("a\u0301" * 3000, 1)
@example("\u0301" * 3000, 2)
@settings(deadline=None)
def test_rows_hold_the_whole_text_in_order(text: str, width: int) -> None:
    wrapped = wrap(text, width)

    rebuilt, position = [], 0
    for start, end in zip(wrapped.starts.tolist(), wrapped.ends.tolist(), strict=True):
        assert text[position:start] in ("", "\n")
        rebuilt += [text[position:start], text[start:end]]
        position = end
    assert text[position:] in ("", "\n")
    assert "".join(rebuilt) + text[position:] == text


@given(any_text | wordy, st.integers(10, 30))
def test_no_row_is_wider_than_the_screen_but_for_the_blank_it_was_folded_at(text: str, width: int) -> None:
    wrapped = wrap(text, width)

    for index in range(len(wrapped)):
        row = wrapped.row(index)
        assert "\n" not in row
        assert cell_len(row.removesuffix(" ")) <= width


@given(wordy, st.integers(10, 30))
def test_rows_are_as_safe_as_the_text_made_safe_at_once(text: str, width: int) -> None:
    wrapped = wrap(text, width)

    rows = "".join(wrapped.row(index) for index in range(len(wrapped)))

    # Stacked marks are counted within a row.
    assert rows.replace("\u0301", "") == safe_text(text).replace("\n", "").replace("\u0301", "")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("\n", [""]),
        ("a\n\nb\n", ["a", "", "b"]),
        ("abcdefghijkl", ["abcdefghij", "kl"]),
        ("some words fold", ["some words ", "fold"]),
        ("    indented_code", ["    indent", "ed_code"]),
        ("日本語日本語", ["日本語日本", "語"]),
        ("\tx" * 3, ["    x    x", "    x"]),
        ("\x1b[31mred\x1b[0m", ["␛[31mred␛[", "0m"]),
        ("0123456789 x", ["0123456789 ", "x"]),
    ],
)
def test_ten_cells(text: str, rows: list[str]) -> None:
    wrapped = wrap(text, 10)

    assert [wrapped.row(index) for index in range(len(wrapped))] == rows


def test_a_megabyte_of_marks_is_many_rows_not_one() -> None:
    wrapped = wrap("\u0301" * 1_000_000, 80)

    assert int((wrapped.ends - wrapped.starts).max()) < 2000


def test_five_megabytes_are_folded_without_making_them_safe() -> None:
    text = "x" * 1_000_000 + "\n" + "\x1b[31mline\x1b[0m\n" * 300_000

    wrapped = wrap(text, 100)

    assert len(wrapped) == 310_000
    assert wrapped.row(309_999) == "␛[31mline␛[0m"
