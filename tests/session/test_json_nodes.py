"""Nodes of JSON texts and their offsets, also in invalid JSON."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.session.json import FileNode, events_inside, lenient_json, parse_inner_json, repair_in_place, unescaped

HALVES = [rb"\ud83d", rb"\uDE00", rb"\ud83d\ud83d", rb"\\ud83d", rb"\ud83d\ude00", b"\xff", b"\xed\xa0\xbd", b"NaN"]


@pytest.mark.parametrize("odd", HALVES)
@pytest.mark.parametrize("place", ["value", "key", "nested"])
def test_entries_of_a_text_that_is_not_quite_json_are_found_where_they_are(odd: bytes, place: str) -> None:
    first = {"value": b'{"a":"' + odd + b'"}', "key": b'{"' + odd + b'":1}', "nested": b'{"a":[{"b":"' + odd + b'"}]}'}
    data = '{"é":[1,2],"messages":['.encode() + first[place] + b', {"c": "last"}]}'
    items = FileNode(data, 100).fields()["messages"].items()
    assert [data[item.offset - 100 : item.offset - 100 + item.length] for item in items] == [
        first[place],
        b'{"c": "last"}',
    ]
    assert [item.raw() for item in items] == [first[place], b'{"c": "last"}']
    assert [item.value() for item in items] == [lenient_json(first[place])[0], {"c": "last"}]


def test_numbers_that_python_alone_writes_do_not_hide_what_is_next_to_them() -> None:
    data = json.dumps({"a": [float("nan"), float("inf"), -float("inf"), "NaN"], "b": 1}).encode()
    fields = FileNode(data, 0).fields()
    assert fields["b"].value() == 1
    assert fields["a"].items()[3].value() == "NaN"


def test_words_in_strings_that_look_like_such_numbers_stay() -> None:
    data = rb'["a NaN", "\" Infinity", NaN, "-Infinity", "cut NaN'
    assert repair_in_place(data) == rb'["a NaN", "\" Infinity", 0  , "-Infinity", "cut NaN'


def test_what_is_no_json_at_all_has_no_parts() -> None:
    assert FileNode(b'{"a": ', 0).fields() == {}
    assert FileNode(b"[1, 2", 0).items() == []
    assert FileNode(b"[1, 2]", 0).fields() == {}


@given(data=st.lists(st.sampled_from([*HALVES, b'"', b"\\", b"a", b"Infinity", "é".encode()])).map(b"".join))
def test_a_text_made_sound_keeps_its_length(data: bytes) -> None:
    assert len(repair_in_place(data)) == len(data)


@given(st.text(), st.booleans(), st.booleans())
@example('naïve \\ "quoted" \u2028 🙂 \x00', True, True)
@example("é", True, True)
def test_a_value_inside_a_string_is_read_again_from_its_place_in_the_file(text: str, inner: bool, outer: bool) -> None:
    body = json.dumps({"before": text, "text": text}, ensure_ascii=inner)
    file = json.dumps({"body": body}, ensure_ascii=outer).encode()
    found = parse_inner_json(FileNode(file, 0).fields()["body"])
    assert found is not None
    node = found.fields()["text"]
    assert node.value() == text
    record = file[node.offset : node.offset + node.length]
    assert json.loads(unescaped(record)) == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
@example("Infinity", False)
def test_events_inside_a_string_are_read_from_their_places(text: str, ascii_only: bool) -> None:
    stream = "".join(f"event: message\ndata: {json.dumps({'text': each})}\n\n" for each in (text, "last"))
    file = json.dumps({"body": stream}, ensure_ascii=ascii_only).encode()
    events = events_inside(FileNode(file, 0).fields()["body"])
    assert [event.value() for event in events] == [{"text": text}, {"text": "last"}]
    assert [json.loads(unescaped(file[one.offset : one.offset + one.length])) for one in events] == [
        {"text": text},
        {"text": "last"},
    ]


@pytest.mark.parametrize("broken", [b'"{\\u"', b'"{\\u12"', b'"{\\uZZZZ}"', b'"{\\x}"', b'"{\xff\\u"', b'"', b'"\\"'])
def test_a_string_with_broken_escapes_holds_nothing(broken: bytes) -> None:
    assert parse_inner_json(FileNode(broken, 0)) is None
    assert events_inside(FileNode(broken, 0)) == []
