import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.tokens import tokenizer
from inspector.tokens.counter import load_counter
from tests.examples import examples
from tests.tokens.texts import TEXTS

ENCODINGS = ("o200k_base", "cl100k_base")
SURROGATES = st.lists(st.one_of(st.characters(categories=["Cs"]), TEXTS), max_size=12).map("".join)


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(TEXTS, SURROGATES))
def test_a_count_is_that_of_tiktoken(counter_of, reference_of, text):
    for encoding in ENCODINGS:
        assert counter_of(encoding).count(text) == len(reference_of(encoding).encode_ordinary(text))


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_token_lengths_are_the_characters_that_begin_in_each_token(counter_of, reference_of, text):
    for encoding in ENCODINGS:
        reference = reference_of(encoding)
        tokens = reference.decode_tokens_bytes(reference.encode_ordinary(text))
        begun = [sum(byte & 0xC0 != 0x80 for byte in token) for token in tokens]
        assert counter_of(encoding).encode(text).tolist() == begun


@settings(max_examples=examples(200), deadline=None)
@given(SURROGATES)
def test_token_lengths_add_up_to_the_length_of_any_text(counter, text):
    lengths = counter.encode(text)
    assert lengths.dtype == np.uint8
    assert int(lengths.sum(dtype=int)) == len(text)
    assert len(lengths) == counter.count(text)


SPECIAL = st.sampled_from(["<|endoftext|>", "<|endof", "text|>", "<|endofprompt|>"])


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.one_of(TEXTS, SURROGATES, SPECIAL), max_size=8))
def test_texts_encoded_together_are_encoded_as_if_alone(counter_of, texts):
    for encoding in ENCODINGS:
        counter = counter_of(encoding)
        together = counter.encode_all(texts)
        assert [lengths.tolist() for lengths in together] == [counter.encode(text).tolist() for text in texts]


def test_texts_too_long_to_be_encoded_together_are_encoded_alone(counter):
    texts = ["a word " * 40_000, " " * 1_050_000, "one"]
    together = counter.encode_all(texts)
    assert [len(lengths) for lengths in together] == [counter.count(text) for text in texts]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8).map("".join), st.integers(1, 30))
def test_a_text_counted_in_pieces_has_the_count_of_the_whole(counter_of, reference_of, text, longest):
    for encoding in ENCODINGS:
        counter = counter_of(encoding)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizer, "PIECE_CHARACTERS", longest)
            pieces = list(tokenizer._cut(text))
            assert "".join(pieces) == text
            assert counter.count(text) == len(reference_of(encoding).encode_ordinary(text))
            assert int(counter.encode(text).sum(dtype=int)) == len(text)


def test_texts_are_given_to_tiktoken_in_pieces_of_two_hundred_thousand_characters():
    text = "one two three\n" * 60_000
    pieces = list(tokenizer._cut(text))
    assert "".join(pieces) == text
    assert len(pieces) == 5
    assert all(len(piece) <= 200_000 for piece in pieces)


def test_a_long_run_without_a_boundary_is_counted_as_a_whole(counter, reference_of):
    reference = reference_of("o200k_base")
    for text in ("=" * 300_000, "x, " + "\u00a0" * 300_000 + "y", "\ufffd" * 210_000 + "end"):
        assert counter.count(text) == len(reference.encode_ordinary(text))


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0", "\u2003"])
def test_a_million_white_space_characters_are_counted_in_silence(counter_of, space, capfd):
    for encoding in ENCODINGS:
        counter = counter_of(encoding)
        text = "before\n" + space * 1_050_000 + "after"
        count = counter.count(text)
        in_parts = counter.count(space * 210_000) * 5
        assert abs(count - in_parts) < 40
    assert capfd.readouterr() == ("", "")


def test_names_of_special_tokens_are_text_like_any_other(counter, reference_of):
    text = "stop at <|endoftext|> or <|endofprompt|>"
    assert counter.count(text) == len(reference_of("o200k_base").encode(text, disallowed_special=()))
    assert counter.count("<|endoftext|>") > 1


def test_a_pair_of_surrogates_is_two_characters_of_one_token_run(counter):
    lengths = counter.encode("ab \ud83d\ude00 \ud83d!")
    assert int(lengths.sum(dtype=int)) == len("ab .. .!")
    assert len(lengths) == len(counter.encode("ab 😀 \ufffd!"))


def test_nothing_has_no_tokens(counter):
    assert counter.count("") == 0
    assert counter.encode("").tolist() == []
    assert counter.count_all(["", "hello", "hello"]) == [0, 1, 1]


def test_several_threads_may_count_with_a_counter_no_one_prepared(counter_of, reference_of):
    from inspector.tokens.counter import load_counter

    counter = load_counter("cl100k_base")
    texts = [f"line {number}: the same for everyone\n" * 50 for number in range(40)]
    expected = [len(tokens) for tokens in reference_of("cl100k_base").encode_ordinary_batch(texts)]
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(counter.count_all(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [expected] * 4


def test_sessions_share_one_tokenizer() -> None:
    first = load_counter()
    if not first.is_exact_tokenizer:
        pytest.skip(first.advice)
    assert load_counter() is first
