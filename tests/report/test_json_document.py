import json
import re

from hypothesis import given
from hypothesis import strategies as st

from inspector.report.json_document import to_json

DISTURBING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_json_says_what_it_was_given_without_a_character_that_disturbs_a_terminal(value):
    text = to_json(value)

    assert json.loads(text) == value
    assert not DISTURBING.search(text)


@given(ANYTHING)
def test_ascii_json_is_ascii_and_says_the_same(value):
    text = to_json(value, ascii_only=True)

    assert text.isascii()
    assert json.loads(text) == value


def test_letters_of_every_script_stay_readable():
    assert to_json({"title": "Grüße, 世界"}) == '{\n  "title": "Grüße, 世界"\n}\n'
