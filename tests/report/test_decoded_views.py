"""Decoded views of a text, and the offset of every character in the original."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.report.decoded_views import MOST_READINGS, decoded_views

UNSEEN = (
    "\u200b",
    "\u200d",
    "\u00ad",
    "\ufeff",
    "\x1b[1;31m",
    "\x1b[0m",
    "\x1b]0;title\x07",
    "\\\n",
    "\\\r\n  ",
    "\x00",
)

SAID = st.sampled_from("abcxyz019 .,:;=+-_/\"'\n\té語😀")


def escaped(text: str, way: int) -> str:
    written = []
    for character in text:
        code = ord(character)
        if way == 0 or character in '"\\\n\t':
            written.append(json.dumps(character)[1:-1])
        elif way == 1 and code < 0x100:
            written.append(f"\\x{code:02x}")
        elif way == 2 and code < 0x10000:
            written.append(f"\\u{code:04X}")
        else:
            written.append(f"\\U{code:08x}" if way == 3 else character)
    return "".join(written)


@st.composite
def dressed(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    pieces = []
    for character in draw(st.lists(SAID, min_size=1, max_size=30)):
        written = character
        for way in draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=3)):
            written = escaped(written, way)
        unseen = draw(st.sampled_from(["", "", "", *UNSEEN]))
        # The blanks at the start of a continued line are part of the hidden characters.
        pieces.append(("" if character in " \t" and "\n" in unseen else unseen, written, character))
    return pieces


@given(dressed())
def test_the_last_reading_says_what_was_written_and_where_each_character_of_it_is(pieces):
    text = "".join(unseen + written for unseen, written, _ in pieces)
    reading = list(decoded_views(text))[-1]

    assert reading.text == "".join(character for *_, character in pieces)
    place = 0
    for index, (unseen, written, _) in enumerate(pieces):
        start = place + len(unseen)
        place = start + len(written)
        assert reading.span(index, index + 1) == (start, place)
    assert reading.span(0, len(pieces)) == (len(pieces[0][0]), len(text))


@given(
    st.text(st.characters(codec=None), max_size=200)
    | st.text(st.sampled_from('\\u0041x%3D&quot;"n\u200b\x1b[m\r\n'), max_size=60)
)
def test_places_follow_one_another_in_any_text(text: str):
    every = list(decoded_views(text))

    assert every[0].text == text
    assert len(every) <= MOST_READINGS
    for reading in every:
        end = 0
        for index in range(len(reading.text)):
            start, stop = reading.span(index, index + 1)
            assert end <= start < stop <= len(text)
            end = stop


@pytest.mark.parametrize(
    "written",
    [
        json.dumps('a="b/c"\nd'),
        json.dumps(json.dumps('a="b/c"\nd')),
        escape('a="b/c"\nd'),
        quote('a="b/c"\nd'),
        'a=\x1b[31m"b/c"\x1b[0m\nd',
        'a=\\\n   "b/c"\nd',
        "\\x61=\\042b\\u{2f}c\\042\\nd",
    ],
)
def test_usual_ways_to_write_a_text_are_read(written: str):
    assert any('a="b/c"\nd' in reading.text for reading in decoded_views(written))


def test_a_plain_text_is_read_once():
    assert [reading.text for reading in decoded_views("nothing to take off\n")] == ["nothing to take off\n"]
