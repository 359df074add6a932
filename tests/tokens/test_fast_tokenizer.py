"""Counting with the faster tokenizer, and without it: the same to the token."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.open import open_session
from inspector.tokens import tokenizer
from inspector.tokens.block_tokens import sends_text
from inspector.tokens.tokenizer import FastTokenizer, TokenizerCounter
from inspector.tokens.vocabulary import find_vocabulary
from tests.examples import examples
from tests.tokens.texts import TEXTS

pytest.importorskip("splintr", reason="the optional part [speed] is not installed")

ENCODINGS = ("o200k_base", "cl100k_base")
SURROGATES = st.lists(st.one_of(st.characters(categories=["Cs"]), TEXTS), max_size=12).map("".join)
REAL = Path(os.environ.get("INSPECTOR_SHARED", Path(__file__).parents[3] / "shared")) / "corpus" / "claude-code"

References = Callable[[str], tiktoken.Encoding]


Counters = dict[str, TokenizerCounter]


@pytest.fixture(scope="module")
def quick() -> FastTokenizer:
    found = tokenizer.fast_tokenizer(find_vocabulary("o200k_base"))
    assert found is not None, "the installed release is not used"
    return found


@pytest.fixture(scope="module")
def fast() -> Counters:
    return {encoding: TokenizerCounter(find_vocabulary(encoding)) for encoding in ENCODINGS}


@pytest.fixture(scope="module")
def plain() -> Counters:
    counters = {encoding: TokenizerCounter(find_vocabulary(encoding)) for encoding in ENCODINGS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "fast_tokenizer", lambda vocabulary: None)
        for counter in counters.values():
            counter.prepare()
    return counters


@settings(max_examples=examples(300), deadline=None)
@given(st.one_of(TEXTS, st.text(max_size=200), st.text(min_size=1, max_size=3).map(lambda text: text * 90)))
def test_its_tokens_are_those_of_tiktoken(quick: FastTokenizer, reference_of: References, text: str) -> None:
    tokens = quick.tokens(text)
    if tokens is None:
        assert tokenizer.LONG_S in text
    else:
        assert tokens.tolist() == reference_of("o200k_base").encode_ordinary(text)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.one_of(TEXTS, SURROGATES), max_size=8))
def test_texts_are_encoded_the_same_with_and_without_it(fast: Counters, plain: Counters, texts: list[str]) -> None:
    for encoding in ENCODINGS:
        quick, slow = fast[encoding].encode_all(texts), plain[encoding].encode_all(texts)
        assert [lengths.tolist() for lengths in quick] == [lengths.tolist() for lengths in slow]
        assert fast[encoding].count_all(texts) == plain[encoding].count_all(texts)


def test_texts_beyond_what_it_is_trusted_with_are_encoded_the_same(fast: Counters, plain: Counters) -> None:
    words = "a word and a number 17; " * 20_000
    texts = [" " * 1_050_000, "=" * 300_000, words, "it'\u017f", "Kelvin\u212a's", "\ud83d\ude00 \ud83d", ""]
    for encoding in ENCODINGS:
        for text in texts:
            assert np.array_equal(fast[encoding].encode(text), plain[encoding].encode(text))


def test_every_text_of_real_sessions_has_the_same_tokens(fast: Counters, plain: Counters) -> None:
    paths = sorted(REAL.glob("*.jsonl"), key=lambda path: path.stat().st_size)[:-1]
    if not paths:
        pytest.skip("no real sessions beside the checkout")
    for path in paths:
        session = open_session(path)
        texts = [session.text(block) for block in session.blocks if sends_text(block)]
        assert fast["o200k_base"].count_all(texts) == plain["o200k_base"].count_all(texts)


def test_an_encoding_it_does_not_read_is_left_to_tiktoken() -> None:
    assert tokenizer.fast_tokenizer(find_vocabulary("cl100k_base")) is None


def test_a_release_that_was_not_compared_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.23.0")
    assert tokenizer.fast_tokenizer(find_vocabulary("o200k_base")) is None


def test_one_whose_tokens_differ_is_not_used_and_counts_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        @staticmethod
        def from_bytes(*arguments: object) -> "Wrong":
            return Wrong()

        def encode_flat(self, text: str) -> bytes:
            return bytes(4 * len(text))

    import splintr

    monkeypatch.setattr(splintr, "Tokenizer", Wrong)
    assert tokenizer.fast_tokenizer(find_vocabulary("o200k_base")) is None
    assert TokenizerCounter(find_vocabulary("o200k_base")).count("hello world") == 2
