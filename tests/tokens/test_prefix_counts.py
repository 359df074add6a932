import threading

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.tokens.prefix_counts import CountedTexts, digest_of
from tests.examples import examples
from tests.tokens.texts import TEXTS


def added(texts, wanted):
    return np.array([texts.add(digest_of(text), text) for text in wanted], np.int32)


def tokens_within(counter, text, characters):
    """Tokens that end within the first characters, and whether another reaches further."""
    ends = np.cumsum(counter.encode(text).astype(int))
    within = int((ends <= characters).sum())
    return within, (int(ends[within - 1]) if within else 0) < characters


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=12), st.data())
def test_tokens_within_a_position_are_found_for_every_text_and_position(counter, wanted, data):
    texts = CountedTexts(counter)
    rows = added(texts, wanted)
    columns = texts.columns()
    assert columns.tokens(rows).tolist() == counter.count_all(wanted)
    assert columns.characters(rows).tolist() == [len(text) for text in wanted]
    positions = [data.draw(st.integers(0, len(text))) for text in wanted]
    within, further = columns.tokens_within(rows, positions)
    expected = [tokens_within(counter, text, position) for text, position in zip(wanted, positions, strict=True)]
    assert list(zip(within.tolist(), further.tolist(), strict=True)) == expected
    single = [columns.tokens_before(row, position) for row, position in zip(rows.tolist(), positions, strict=True)]
    assert single == within.tolist()


def test_every_position_of_a_text_that_ends_with_a_whole_step_is_found(counter):
    for words in (15, 16, 17, 31, 32, 33):
        texts = CountedTexts(counter)
        text = " word" * words
        rows = added(texts, [text])
        columns = texts.columns()
        assert columns.tokens(rows).tolist() == [words]
        within, further = columns.tokens_within(np.repeat(rows, len(text) + 1), np.arange(len(text) + 1))
        assert within.tolist() == [position // 5 for position in range(len(text) + 1)]
        assert further.tolist() == [position % 5 > 0 for position in range(len(text) + 1)]


def test_positions_out_of_range_are_the_ends(counter):
    texts = CountedTexts(counter)
    rows = added(texts, [" word" * 20, ""])
    within, further = texts.columns().tokens_within(rows[[0, 0, 1, 1]], np.array([-5, 1 << 40, -5, 1 << 40]))
    assert within.tolist() == [0, 20, 0, 0]
    assert not further.any()


def test_columns_stay_as_they_were_when_texts_are_added(counter):
    texts = CountedTexts(counter)
    rows = added(texts, ["first text", "second text, longer than the first"])
    before = texts.columns()
    within = before.tokens_within(rows, [5, 20])
    added(texts, [f"text number {number} " * number for number in range(200)])
    texts.columns()
    assert np.array_equal(before.tokens_within(rows, [5, 20]), within)
    assert before.tokens(rows).tolist() == counter.count_all(["first text", "second text, longer than the first"])
    assert len(before.first_token) == 4


def test_a_text_is_counted_once(counter):
    texts = CountedTexts(counter)
    assert added(texts, ["same", "other", "same"]).tolist() == [1, 2, 1]
    assert texts.row(digest_of("same")) == 1
    assert texts.row(digest_of("never seen")) == -1
    texts.add_counted([digest_of("other")], np.array([1]), np.array([5], np.uint8))
    assert added(texts, ["one more"]).tolist() == [3]
    assert texts.columns().characters(np.arange(4, dtype=np.int32)).tolist() == [0, 4, 5, 8]


def test_the_columns_do_not_depend_on_how_texts_were_added(counter):
    wanted = [f"number {number}: " + "words and 汉字 😀 " * (number % 7) for number in range(100)]
    at_once, one_by_one, restored = (CountedTexts(counter) for _ in range(3))
    added(at_once, wanted)
    for text in wanted:
        added(one_by_one, [text])
        one_by_one.columns()
    lengths = [counter.encode(text) for text in wanted]
    tokens = np.array([len(each) for each in lengths])
    restored.add_counted([digest_of(text) for text in wanted], tokens, np.concatenate(lengths))
    expected = at_once.columns()
    for texts in (one_by_one, restored):
        columns = texts.columns()
        assert texts.digests() == at_once.digests()
        assert np.array_equal(columns.first_token, expected.first_token)
        assert np.array_equal(columns.first_character, expected.first_character)
        assert np.array_equal(columns.step_characters, expected.step_characters)
        rows = np.arange(100, dtype=np.int32)
        assert np.array_equal(columns.tokens_within(rows, rows), expected.tokens_within(rows, rows))


def test_a_token_takes_little_over_a_byte(counter):
    texts = CountedTexts(counter)
    rng = np.random.default_rng(1)
    text = " ".join(str(number) for number in rng.integers(0, 10**6, 100_000))
    added(texts, [text])
    columns = texts.columns()
    taken = sum(column.nbytes for column in (columns.first_token, columns.step_characters, columns.lengths))
    assert taken < 2 * counter.count(text)


def test_threads_that_add_the_same_texts_agree_on_their_rows(counter):
    texts = CountedTexts(counter)
    wanted = [f"text number {number % 150} of many" for number in range(600)]
    rows = []

    def add_all():
        rows.append(added(texts, wanted).tolist())
        texts.columns()

    threads = [threading.Thread(target=add_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows == [rows[0]] * 4
    assert len(texts.digests()) == 151
    columns = texts.columns()
    assert columns.tokens(np.array(rows[0], np.int32)).tolist() == counter.count_all(wanted)
