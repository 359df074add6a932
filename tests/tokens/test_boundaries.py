from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspector.tokens.tokenizer import first_boundary, last_boundary
from tests.examples import examples
from tests.tokens.texts import TEXTS


def all_boundaries(text, start, stop):
    return [position for position in range(start + 1, stop) if first_boundary(text, position - 1, position + 1) > 0]


@settings(max_examples=examples(400), deadline=None)
@given(TEXTS)
@example("a \n b")
@example("x,\n/y")
@example("end.\n\n你好。world")
def test_the_tokens_of_a_text_are_those_of_both_sides_of_every_boundary(reference_of, text):
    for encoding in ("o200k_base", "cl100k_base"):
        encode = reference_of(encoding).encode_ordinary
        whole = encode(text)
        for position in all_boundaries(text, 0, len(text)):
            assert encode(text[:position]) + encode(text[position:]) == whole, (encoding, position)


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, st.integers(0, 80), st.integers(0, 80))
def test_the_first_and_last_boundaries_are_the_outermost_of_all(text, start, length):
    stop = min(start + length, len(text))
    found = all_boundaries(text, start, stop)
    assert first_boundary(text, start, stop) == (found[0] if found else -1)
    assert last_boundary(text, start, stop) == (found[-1] if found else -1)


def test_the_last_boundary_is_found_however_far_back_it_is():
    for distance in (1, 62, 63, 64, 65, 1023, 1024, 1025, 20_000):
        text = "word. " + "-" * distance
        assert last_boundary(text, 0, len(text)) == 4
        assert last_boundary(text, 4, len(text)) == -1


def test_ordinary_text_has_a_boundary_every_few_words():
    text = "The quick brown fox jumps over 13 lazy dogs;\nthen it sleeps.\n"
    assert len(all_boundaries(text, 0, len(text))) == 13
