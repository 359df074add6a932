import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import REMOVED, Action, CutText, Rendition, ReplaceText, Slice
from inspector.ui.detail.content import (
    CutNote,
    DetailContent,
    DetailSection,
    Document,
    SectionKind,
    format_json,
    sent_sections,
)
from tests.ui.synthetic import block

RECORDED, INSERTED, NOTE = SectionKind.RECORDED, SectionKind.INSERTED, SectionKind.NOTE
TEXT = "0123456789" * 10
WHY = CutNote(1370, "tiered-stale: stale, tier search", 152)


class Source:
    block = block(BlockKind.TOOL_RESULT, TEXT)
    tool_name = "Bash"

    def text(self) -> str:
        return TEXT


def content(sent: Rendition | None, note: CutNote | None = WHY, absent: str = "") -> DetailContent:
    return DetailContent("key", "title", lambda: TEXT, sent, note, absent)


def parts(shown: DetailContent) -> list[tuple[str, SectionKind]]:
    return [(section.text, section.kind) for section in sent_sections(TEXT, shown)]


def test_a_cut_says_what_was_left_out_where_it_was_left_out() -> None:
    cut = Rendition((Slice(0, 10), "[cut]", Slice(90, 100)), Action.CUT)

    assert parts(content(cut)) == [
        ("0123456789", RECORDED),
        (
            "⋯ ~1,370 tokens (80 characters) cut here by tiered-stale: stale, tier search, at call 152 ⋯",
            NOTE,
        ),
        ("[cut]", INSERTED),
        ("0123456789", RECORDED),
    ]


def test_a_cut_at_the_end_and_one_at_the_beginning_are_stated_too() -> None:
    assert parts(content(Rendition((Slice(0, 90),), Action.CUT), CutNote(3, "x"))) == [
        (TEXT[:90], RECORDED),
        ("⋯ ~3 tokens (10 characters) cut here by x ⋯", NOTE),
    ]
    assert parts(content(Rendition((Slice(99, 100),), Action.CUT), None)) == [
        ("⋯ 99 characters cut here ⋯", NOTE),
        ("9", RECORDED),
    ]


def test_of_several_cuts_the_first_shows_why_and_every_one_how_much() -> None:
    cut = Rendition((Slice(0, 10), "[a]", Slice(20, 30), "[b]", Slice(99, 100)), Action.CUT)

    notes = [text for text, kind in parts(content(cut)) if kind is NOTE]

    assert "(10 characters) cut here by tiered-stale" in notes[0]
    assert notes[1] == "⋯ 69 characters cut here ⋯"


def test_what_was_replaced_or_removed_is_stated_once() -> None:
    replaced = parts(content(Rendition.replaced("[see message 12]"), CutNote(5, "dedupe", 3)))

    assert replaced == [
        ("⋯ ~5 tokens (100 characters) replaced by dedupe, at call 3 ⋯", NOTE),
        ("[see message 12]", INSERTED),
    ]
    assert parts(content(REMOVED, CutNote(5, "dedupe", 3))) == [
        ("⋯ ~5 tokens (100 characters) removed by dedupe, at call 3 ⋯", NOTE)
    ]


def test_a_plan_that_adds_is_not_shown_to_save() -> None:
    (note, _), _ = parts(content(Rendition.replaced("a long pointer"), CutNote(-12, "dedupe")))

    assert note == "⋯ 100 characters replaced, ~12 tokens more than recorded, by dedupe ⋯"


def test_a_whole_block_is_shown_as_recorded_and_an_absent_one_as_absent() -> None:
    assert parts(content(None)) == [(TEXT, RECORDED)]
    assert parts(content(Rendition.whole(100))) == [(TEXT, RECORDED)]
    assert parts(content(None, absent="not in the prompt of call 3")) == [
        ("⋯ not in the prompt of call 3 ⋯", NOTE),
        (TEXT, SectionKind.ABSENT),
    ]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, 30)), max_size=4), st.booleans())
def test_sections_without_notes_are_what_is_sent(cuts: list[tuple[int, int, int]], replaced: bool) -> None:
    rendition = Rendition.whole(len(TEXT))
    for limit, head, tail in cuts:
        rendition = CutText(limit, head, tail, "[…]").apply(rendition, Source())
    if replaced:
        rendition = ReplaceText("[old]").apply(rendition, Source())

    shown = "".join(text for text, kind in parts(content(rendition)) if kind is not NOTE)

    assert shown == rendition.text(TEXT)


def test_a_document_finds_every_row_and_every_note() -> None:
    document = Document.of(
        [DetailSection("a\nb", RECORDED), DetailSection("⋯ gone ⋯", NOTE), DetailSection("c", INSERTED)], 20
    )

    assert [document.row(index) for index in range(len(document))] == [
        ("a", RECORDED),
        ("b", RECORDED),
        ("⋯ gone ⋯", NOTE),
        ("c", INSERTED),
    ]
    assert document.note_rows() == (2,)


@pytest.mark.parametrize("text", ['{"a": [1, "日"]}', "[]", "3"])
def test_json_is_laid_out_and_stays_the_same_value(text: str) -> None:
    formatted = format_json(text)

    assert formatted is not None
    assert json.loads(formatted) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", "plain", "[" * 100_000])
def test_what_is_not_json_is_not_laid_out(text: str) -> None:
    assert format_json(text) is None
