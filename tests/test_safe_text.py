import re
import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.safe_text import NEW_LINE_MARK, TAB_CELLS, cell_width, clip_cells, fit_cells, one_line, safe_text
from tests.hostile import HOSTILE_TEXTS

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufe0f\ud800-\udfff\U000e0000-\U000e0fff]")

any_text = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(HOSTILE_TEXTS)


@given(any_text)
@example("".join(HOSTILE_TEXTS))
def test_nothing_that_controls_a_terminal_or_hides_comes_out(text: str) -> None:
    safe = safe_text(text)

    assert not CONTROL.search(safe)
    assert not INVISIBLE.search(safe)
    safe.encode()


def test_every_character_there_is_comes_out_without_control() -> None:
    safe = safe_text("".join(map(chr, range(0x110000))))

    assert not CONTROL.search(safe)
    assert not INVISIBLE.search(safe)


@given(any_text, any_text)
def test_a_safe_text_is_as_wide_as_the_sum_of_its_parts(first: str, second: str) -> None:
    together = cell_width(safe_text(first + second).replace("\n", ""))

    assert together == sum(cell_width(safe_text(part).replace("\n", "")) for part in (first, second))


@given(any_text)
def test_a_safe_text_is_safe_already(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@given(st.text("abc [](){}=,.;:/\\\"'`~!@#$%^&*-+_?<>|\näöüßéжщю日本", max_size=60))
def test_ordinary_text_and_markup_are_left_as_they_are(text: str) -> None:
    assert safe_text(text) == text


def test_controls_show_what_they_are() -> None:
    assert safe_text("\x1b[2J\x07\x00\x7f\x9b") == "␛[2J␇␀␡\\x9b"
    assert safe_text("a\u202eb\ufeff\U000e0041") == "a\\u202eb\\ufeff\\U000e0041"
    assert safe_text("\ud83d x \ufffe") == "� x �"
    assert safe_text("\t|") == " " * TAB_CELLS + "|"


def test_emoji_are_shown_by_what_they_are_made_of() -> None:
    assert safe_text("👩\u200d👧") == "👩👧"
    assert safe_text("👍\U0001f3fd❤\ufe0f") == "👍❤"
    assert safe_text("🇫🇷") == "FR"


def test_marks_stack_four_high() -> None:
    assert safe_text("e" + "\u0301" * 50 + "x") == "e" + "\u0301" * 4 + "x"


@given(any_text, st.integers(0, 40), st.sampled_from(["…", "", "..."]))
def test_a_clipped_text_fits_and_begins_as_the_text_does(text: str, width: int, ellipsis: str) -> None:
    safe = safe_text(text).replace("\n", "")

    clipped = clip_cells(safe, width, ellipsis)

    assert cell_len(clipped) <= width
    if cell_len(safe) <= width and width > 0:
        assert clipped == safe
    else:
        assert safe.startswith(clipped.removesuffix(ellipsis))
        assert cell_len(clipped) >= min(width - 1, cell_len(ellipsis))


@given(any_text, st.integers(0, 40), st.booleans())
def test_a_fitted_text_is_exactly_as_wide_as_asked(text: str, width: int, align_right: bool) -> None:
    assert cell_len(fit_cells(safe_text(text).replace("\n", ""), width, align_right=align_right)) == width


def test_clipping_never_parts_a_character_from_its_marks() -> None:
    assert clip_cells("ae\u0301b", 2, "") == "ae\u0301"
    assert clip_cells("日本語", 4) == "日…"
    assert clip_cells("日本語", 3, "") == "日"


@given(any_text, st.integers(0, 30))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert "\n" not in line
    assert not CONTROL.search(line)
    assert line == line.strip()


def test_one_line_marks_where_lines_ended() -> None:
    assert one_line("  first\r\n\n   second\tthird ") == f"first {NEW_LINE_MARK} second third"


def test_a_megabyte_of_anything_is_clipped_by_looking_at_its_beginning() -> None:
    assert clip_cells("x" * 1_000_000, 5) == "xxxx…"
    assert len(clip_cells("\u0e34" * 1_000_000, 5)) < 200


def test_it_needs_nothing_else_of_the_project() -> None:
    code = (
        "import sys, inspector.safe_text; print(*(n for n in sys.modules if n.startswith(('inspector.', 'textual'))))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "inspector.safe_text"
