from hypothesis import given
from hypothesis import strategies as some

from inspector.strategies.core import javascript

TEXTS = some.text(some.characters(), max_size=12)


def units(text):
    encoded = text.encode("utf-16-le", "surrogatepass")
    return [encoded[at : at + 2] for at in range(0, len(encoded), 2)]


def arrived(row):
    """UTF-16 units as they arrive: halves of pairs replaced."""
    return b"".join(row).decode("utf-16-le", "replace").replace("\ufffd\ufffd", "\ufffd")


@given(TEXTS)
def test_the_length_is_in_units(text):
    assert javascript.length(text) == len(units(text))


@given(some.text(max_size=12), some.integers(0, 14))
def test_a_head_is_the_first_units_and_half_a_character_is_replaced(text, count):
    assert javascript.head(text, count) == arrived(units(text)[:count])


@given(some.text(max_size=12), some.integers(1, 14))
def test_a_tail_is_the_last_units_and_half_a_character_is_replaced(text, count):
    assert javascript.tail(text, count) == arrived(units(text)[-count:])


def test_no_units_from_the_end_are_all_of_them_as_in_the_language():
    assert javascript.tail("abc", 0) == "abc"


def test_json_is_written_as_the_language_writes_it():
    assert javascript.json_string('a"\\\n\t\x01\x7f€') == '"a\\"\\\\\\n\\t\\u0001\x7f€"'
    assert javascript.json_string("\ud83d") == '"\\ud83d"'
    assert javascript.compact_json({"b": [1, None, True], "a": "é"}) == '{"b":[1,null,true],"a":"é"}'


@given(TEXTS)
def test_what_is_trimmed_is_white_space_of_the_language_only(text):
    assert javascript.WHITE_SPACE.isspace() or "\ufeff" in javascript.WHITE_SPACE
    assert "\x1c" not in javascript.WHITE_SPACE
    trimmed = text.strip(javascript.WHITE_SPACE)
    assert trimmed in text
