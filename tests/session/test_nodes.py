"""Parts of JSON texts and where they stand, in texts that are not quite JSON too."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.json.codec import lenient_json
from inspector.session.json.nodes import FileNode, sound_of_same_length

HALVES = [rb"\ud83d", rb"\uDE00", rb"\ud83d\ud83d", rb"\\ud83d", rb"\ud83d\ude00", b"\xff", b"\xed\xa0\xbd", b"NaN"]


@pytest.mark.parametrize("odd", HALVES)
@pytest.mark.parametrize("place", ["value", "key", "nested"])
def test_entries_of_a_text_that_is_not_quite_json_are_found_where_they_stand(odd: bytes, place: str) -> None:
    first = {"value": b'{"a":"' + odd + b'"}', "key": b'{"' + odd + b'":1}', "nested": b'{"a":[{"b":"' + odd + b'"}]}'}
    data = '{"é":[1,2],"messages":['.encode() + first[place] + b', {"c": "last"}]}'
    items = FileNode(data, 100).fields()["messages"].items()
    assert [data[item.offset - 100 : item.offset - 100 + item.length] for item in items] == [
        first[place],
        b'{"c": "last"}',
    ]
    assert [item.raw() for item in items] == [first[place], b'{"c": "last"}']
    assert [item.value() for item in items] == [lenient_json(first[place])[0], {"c": "last"}]


def test_numbers_that_python_alone_writes_do_not_hide_what_stands_beside_them() -> None:
    data = json.dumps({"a": [float("nan"), float("inf"), -float("inf"), "NaN"], "b": 1}).encode()
    fields = FileNode(data, 0).fields()
    assert fields["b"].value() == 1
    assert fields["a"].items()[3].value() == "NaN"


def test_words_in_strings_that_look_like_such_numbers_stay() -> None:
    data = rb'["a NaN", "\" Infinity", NaN, "-Infinity", "cut NaN'
    assert sound_of_same_length(data) == rb'["a NaN", "\" Infinity", 0  , "-Infinity", "cut NaN'


def test_what_is_no_json_at_all_has_no_parts() -> None:
    assert FileNode(b'{"a": ', 0).fields() == {}
    assert FileNode(b"[1, 2", 0).items() == []
    assert FileNode(b"[1, 2]", 0).fields() == {}


@given(data=st.lists(st.sampled_from([*HALVES, b'"', b"\\", b"a", b"Infinity", "é".encode()])).map(b"".join))
def test_a_text_made_sound_keeps_its_length(data: bytes) -> None:
    assert len(sound_of_same_length(data)) == len(data)
