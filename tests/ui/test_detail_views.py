import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.strategies.core.operations import Action, Rendition, Slice
from inspector.ui.detail.content import CutNote, DetailContent, difference_page, stretches_of
from inspector.ui.detail.views import VIEWS, Shown, input_sections, layout_sections, prepare
from tests.examples import examples
from tests.hostile import HOSTILE_TEXTS

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
PNG = ("image/png 731 by 637 80.4 kB",)


def content(text: str, **fields: object) -> DetailContent:
    return DetailContent("block", "R Grep", lambda: text, **fields)  # type: ignore[arg-type]  # fields of DetailContent


def rows(shown: Shown, made: DetailContent, width: int = 100) -> list[str]:
    page = prepare(made, None, shown, width).page
    return ["".join(piece for piece, _ in page.shown(index).pieces).rstrip() for index in range(len(page))]


@st.composite
def renditions(draw: st.DrawFn) -> tuple[str, Rendition]:
    text = draw(st.text("ab\n日 ", max_size=200))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces: list[Slice | str] = []
    for start, stop in zip(places[::2], places[1::2], strict=False):
        pieces += draw(st.sampled_from([[], ["[cut]"], ["[a]", "[b\n]"]]))
        if stop > start:
            pieces.append(Slice(start, stop))
    return text, Rendition(tuple(pieces), Action.CUT)


@given(renditions())
def test_one_side_of_a_difference_is_what_was_recorded_and_the_other_what_is_sent(made: tuple[str, Rendition]) -> None:
    text, rendition = made

    stretches = stretches_of(text, content(text, sent=rendition))

    assert "".join(stretch.kept + stretch.cut for stretch in stretches) == text
    assert "".join(stretch.kept + stretch.put_in for stretch in stretches) == rendition.text(text)


@settings(max_examples=examples(50))
@given(renditions(), st.integers(1, 160))
def test_every_row_of_a_difference_fits_and_both_sides_scroll_as_one(made: tuple[str, Rendition], width: int) -> None:
    text, rendition = made
    page = difference_page(text, content(text, sent=rendition), width)

    for index in range(len(page)):
        drawn = "".join(piece for piece, _ in page.shown(index).pieces)
        assert cell_len(drawn.rstrip()) <= width + 3
    assert list(page.note_rows()) == sorted(set(page.note_rows()))


def test_what_was_cut_is_next_to_what_is_sent_for_it_under_who_cut_it_and_why() -> None:
    cut = Rendition((Slice(0, 5), "[cut]\n", Slice(12, 16)), Action.CUT)
    made = content("kept\ngone 1\nrest", sent=cut, note=CutNote(3, "tiered-stale: stale, tier data", 7))

    drawn = [tuple(side.rstrip() for side in row.split("│")) for row in rows("difference", made, 120)]

    assert drawn == [
        (" kept", "  kept"),
        (" ⋯ ~3 tokens (7 characters) cut here by tiered-stale: stale, tier data, at call 7 ⋯",),
        ("-gone 1", " ▎[cut]"),
        (" rest", "  rest"),
    ]


def test_where_two_columns_do_not_fit_the_cut_text_is_over_the_marker() -> None:
    cut = Rendition((Slice(0, 5), "[cut]\n", Slice(11, 15)), Action.CUT)

    assert rows("difference", content("kept\ngone 1rest", sent=cut), 40) == [
        " kept",
        " ⋯ 6 characters cut here ⋯",
        "-gone 1",
        "▎[cut]",
        " rest",
    ]


def test_a_block_that_is_sent_as_recorded_has_no_difference() -> None:
    assert "no difference" in rows("difference", content("text"))[0]


def test_an_edit_is_laid_out_as_a_difference_and_long_arguments_under_their_names() -> None:
    arguments = {
        "file_path": "src/app.py",
        "old_string": "a = 1\nb = 2\n",
        "new_string": "a = 1\nb = 3\n",
        "note": "two\nlines",
        "count": 3,
    }

    assert rows("laid", content(json.dumps(arguments), is_tool_call=True)) == [
        ' "file_path": src/app.py',
        " @@ -1,2 +1,2 @@",
        "  a = 1",
        " -b = 2",
        " +b = 3",
        " note:",
        " two",
        " lines",
        ' "count": 3',
    ]


def test_every_edit_of_several_is_a_difference() -> None:
    sections = input_sections({"edits": [{"old_string": "a", "new_string": "b"}, {"old_str": "c", "new_str": "c"}]})

    assert [section.text for section in sections] == ["edits:\n", "@@ -1 +1 @@\n-a\n+b\n", " c\n"]


def test_lines_of_a_difference_are_distinguished_however_often_they_are_folded() -> None:
    text = "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n same\n-" + "old " * 30 + "\n+new\n"
    page = prepare(content(text), None, "raw", 50).page

    styles = [page.shown(index).pieces[1][1] for index in range(len(page))]
    taken = [style for style in styles if style == "detail--taken"]
    assert styles[:3] == ["detail--hunk", "detail--hunk", "detail--recorded"]
    assert len(taken) == 3
    assert styles[-1] == "detail--added"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda value: st.lists(value) | st.dictionaries(st.text(), value),
)


@settings(max_examples=examples(40))
@given(values)
def test_any_input_can_be_laid_out(value: object) -> None:
    for is_tool_call in (True, False):
        assert isinstance(layout_sections(json.dumps(value), is_tool_call=is_tool_call), tuple)


def test_images_are_named_with_their_size() -> None:
    assert rows("sent", content("", media=PNG)) == [f" {PNG[0]}"]
    assert rows("raw", content("said", media=PNG)) == [f" {PNG[0]}", " said"]


def test_markdown_is_drawn_without_links_or_controls_and_only_so_much_of_it() -> None:
    text = "# Title\n\n- [click](http://example.org) &#x202e;\x1b[31m\n\n" + "word " * 30_000
    page = prepare(content(text), None, "markdown", 80).page
    drawn = [page.shown(index) for index in range(len(page))]

    assert "the first 100,000 characters" in drawn[0].pieces[0][0]
    assert any("Title" in piece for row in drawn for piece, _ in row.pieces)
    for row in drawn:
        for piece, style in row.pieces:
            assert not CONTROL.search(piece)
            assert "\u202e" not in piece
            assert isinstance(style, str) or style.link is None


def test_the_record_is_shown_as_it_is_in_the_file() -> None:
    made = content("x", record=lambda: b'{"type": "user", "n": 1}')

    assert rows("record", made) == [" {", '   "type": "user",', '   "n": 1', " }"]
    assert rows("record", replace(made, record=lambda: b"\xff{broken"))[0] == " \ufffd{broken"
    assert "no separate record" in rows("record", replace(made, record=None))[0]


@pytest.mark.parametrize("shown", [name for name, _ in VIEWS])
def test_every_view_finds_words_in_any_case_where_they_are_shown(shown: Shown) -> None:
    text = "\n".join(["first NEEDLE", *["hay"] * 50, "second needle and Needle"])
    page = prepare(content(text, record=text.encode), None, shown, 100).page

    found = page.find("needle").tolist()
    assert len(found) in (3, 6)
    for row in found:
        assert "needle" in "".join(piece for piece, _ in page.shown(row).pieces).lower()
    assert page.find("nowhere").tolist() == []
    assert "second needle" in page.whole()


@pytest.mark.parametrize("shown", [name for name, _ in VIEWS])
@pytest.mark.parametrize("width", [1, 13, 64, 200])
def test_no_view_lets_a_control_character_through(shown: Shown, width: int) -> None:
    text = "\n".join(HOSTILE_TEXTS) * 2
    cut = Rendition((Slice(0, 50), "\x1b]0;x\x07", Slice(80, len(text))), Action.CUT)
    record = text.encode("utf-8", "surrogatepass")
    made = content(text, sent=cut, note=CutNote(1, "\x9b31m", 3), media=("a",), record=lambda: record)
    page = prepare(made, None, shown, width).page

    for index in range(len(page)):
        assert not any(CONTROL.search(piece) for piece, _ in page.shown(index).pieces)
