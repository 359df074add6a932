from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.session.json.nodes import FileNode, events_inside, inside_string, unescaped


@given(st.text(), st.booleans(), st.booleans())
@example('naïve \\ "quoted" \u2028 🙂 \x00', True, True)
@example("é", True, True)
def test_a_value_inside_a_string_is_read_again_from_its_place_in_the_file(text: str, inner: bool, outer: bool) -> None:
    body = json.dumps({"before": text, "text": text}, ensure_ascii=inner)
    file = json.dumps({"body": body}, ensure_ascii=outer).encode()
    found = inside_string(FileNode(file, 0).fields()["body"])
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
    assert inside_string(FileNode(broken, 0)) is None
    assert events_inside(FileNode(broken, 0)) == []
