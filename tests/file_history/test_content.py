"""Tracked file content after reads and edits, compared with the real file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.file_history.content import ContradictionError, FileContent, Gap, LineRun

LINES = st.lists(st.sampled_from(["a", "b", "c = 1", "", "    return x", "def f():", "z"]), min_size=0, max_size=14)


def lines_of(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def assert_true_of(content: FileContent, text: str) -> None:
    lines = lines_of(text)
    for run in content.placed:
        assert run.first is not None
        assert tuple(lines[run.first - 1 : run.end - 1]) == run.lines
    for run in content.loose:
        assert "\n".join(run.lines) in text
    if content.total is not None:
        assert content.total == len(lines)
    if content.ends_with_newline is not None and lines:
        assert content.ends_with_newline == text.endswith("\n")
    if content.is_whole:
        assert content.text() == (text if content.ends_with_newline is not None or text.endswith("\n") else f"{text}\n")


@given(LINES, st.booleans())
def test_a_whole_text_is_given_back_byte_for_byte(lines: list[str], has_newline: bool) -> None:
    text = "\n".join(lines) + ("\n" if has_newline else "")
    content = FileContent.of_text(text)
    assert content.is_whole
    assert content.text() == text


@given(st.data(), st.lists(st.integers(0, 60), min_size=3, max_size=18, unique=True), st.booleans())
def test_what_is_shown_to_be_known_is_so_after_any_reads_and_edits(
    data: st.DataObject, numbers: list[int], has_newline: bool
) -> None:
    text = "\n".join(f"line {number}" for number in numbers) + ("\n" if has_newline else "")
    content = FileContent()
    fresh = iter(range(100, 1000))
    for _ in range(data.draw(st.integers(1, 10))):
        lines = lines_of(text)
        if data.draw(st.booleans()) or not lines:
            first = data.draw(st.integers(1, max(1, len(lines))))
            last = data.draw(st.integers(first, max(first, len(lines))))
            tells_total = data.draw(st.booleans())
            content = content.seen(lines[first - 1 : last], first, total=len(lines) if tells_total else None)
        else:
            first = data.draw(st.integers(0, len(lines) - 1))
            last = data.draw(st.integers(first + 1, len(lines)))
            old = "\n".join(lines[first:last])
            if text.count(old) != 1:
                continue
            new = "\n".join(f"line {next(fresh)}" for _ in range(data.draw(st.integers(1, 4))))
            text = text.replace(old, new)
            content = content.replaced(old, new)
        assert_true_of(content, text)


def test_gaps_are_stated_where_lines_were_not_seen() -> None:
    content = FileContent().seen(["c", "d"], 3, total=6)
    assert list(content.pieces()) == [Gap(1, 2), LineRun(3, ("c", "d")), Gap(5, 2)]
    assert list(FileContent().seen(["a"]).pieces()) == [LineRun(1, ("a",)), Gap(2, None)]
    assert not content.is_whole


def test_lines_behind_an_edit_get_the_numbers_they_have_then() -> None:
    content = FileContent().seen(["a", "b", "c"], 1).seen(["x", "y"], 10)
    assert content.replaced("b\n", "b1\nb2\nb3\n").placed == (
        LineRun(1, ("a", "b1", "b2", "b3", "c")),
        LineRun(12, ("x", "y")),
    )


def test_an_edit_of_what_was_never_seen_leaves_the_new_text_somewhere_in_it() -> None:
    content = FileContent().replaced("old", "new words")
    assert content.loose == (LineRun(None, ("new words",)),)
    assert not content.placed


def test_what_is_between_two_gaps_has_no_place_after_an_edit_in_one_of_them() -> None:
    content = FileContent().seen(["a"], 1).seen(["m"], 10).seen(["z"], 20, total=20).replaced("unseen", "two\nlines")
    assert content.placed == (LineRun(1, ("a",)), LineRun(21, ("z",)))
    assert LineRun(None, ("m",)) in content.loose
    assert content.total == 21


def test_a_read_that_differs_leaves_nothing_of_what_was_known_before() -> None:
    content = FileContent.of_text("a\nb\nc\n").seen(["B"], 2)
    assert content.placed == (LineRun(2, ("B",)),)
    assert not content.is_whole
    assert FileContent.of_text("a\nb\n").differs(["B"], 2)


def test_a_whole_file_that_does_not_hold_the_replaced_text_contradicts() -> None:
    with pytest.raises(ContradictionError):
        FileContent.of_text("a\n").replaced("b", "c")
    with pytest.raises(ContradictionError):
        FileContent.of_text("a a\n").replaced("a", "c")
    assert FileContent.of_text("a a\n").replaced("a", "c", everywhere=True).text() == "c c\n"


def test_lines_alike_but_for_blanks_are_replaced_as_opencode_does() -> None:
    content = FileContent.of_text("if x:\n\t\tgo()\nend\n")
    assert content.replaced("if x:\n  go()", "if y:\n\t\tstop()").text() == "if y:\n\t\tstop()\nend\n"
