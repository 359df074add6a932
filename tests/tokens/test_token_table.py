import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.model import BlockKind, Message, Role, Session
from inspector.tokens import token_table as table_module
from inspector.tokens.block_tokens import BlockColumns
from inspector.tokens.counter import ENCODINGS, EstimateCounter
from inspector.tokens.prefix_counts import CountedTexts
from inspector.tokens.token_table import CountCache, TokenTable, count_session
from inspector.tokens.tokenizer import TokenizerCounter
from inspector.tokens.vocabulary import find_vocabulary
from tests.examples import examples
from tests.tokens.conftest import TextsInMemory, block_of, session_of
from tests.tokens.texts import TEXTS

LONG_TEXTS = [
    "def resolve(self, path):\n    return self.routes[path]\n" * 40,
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 30,
    "一二三四五。六七八九十、" * 60,
    "{'a': [1, 2, 3], 'b': \"it's\"}\n" * 50,
    "\x1b[32mok\x1b[0m 😀 👩\u200d👩\u200d👧 " * 40,
    "0123456789abcdef" * 100,
    "short",
    "",
]


def counted(session, counter, previous=None, **options):
    *_, table = count_session(session, counter, previous, **options)
    return table


@pytest.fixture(scope="module")
def long_table(counter, tmp_path_factory):
    return counted(session_of(LONG_TEXTS), counter, cache=CountCache(tmp_path_factory.mktemp("counts")))


def test_every_block_has_the_tokens_of_its_text(counter, long_table):
    assert long_table.tokens.tolist() == counter.count_all(LONG_TEXTS)
    assert long_table.tokens.dtype == np.int32
    assert long_table.is_complete
    assert long_table.counted == len(LONG_TEXTS)
    assert not long_table.beyond_text.any()


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, len(LONG_TEXTS) - 1), st.integers(0, 3000), st.integers(0, 3000))
def test_heads_and_tails_are_at_most_three_tokens_off(counter, long_table, block, head, tail):
    text = LONG_TEXTS[block]
    assert abs(int(long_table.head_tokens([block], [head])[0]) - counter.count(text[:head])) <= 3
    kept = text[-tail:] if tail else ""
    assert abs(int(long_table.tail_tokens([block], [tail])[0]) - counter.count(kept)) <= 3


def test_a_head_or_tail_of_everything_is_the_whole_and_of_nothing_is_nothing(long_table):
    blocks = np.arange(len(LONG_TEXTS))
    for some in (long_table.head_tokens, long_table.tail_tokens):
        assert some(blocks, 10**7).tolist() == long_table.tokens.tolist()
        assert some(blocks, 0).tolist() == [0] * len(LONG_TEXTS)


def test_the_head_up_to_any_position_and_the_tail_from_there_make_up_the_whole(long_table):
    positions = np.arange(len(LONG_TEXTS[1]) + 1)
    blocks = np.full(len(positions), 1)
    head = long_table.head_tokens(blocks, positions)
    tail = long_table.tail_tokens(blocks, len(LONG_TEXTS[1]) - positions)
    assert (np.diff(head) >= 0).all()
    # A token divided by the cut counts on both sides.
    assert set((head + tail - long_table.tokens[1]).tolist()) == {0, 1}


MIDDLES = st.one_of(TEXTS, st.sampled_from(["", "\n... [cut] ...\n", "'s", "1", "/", " "]))


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, len(LONG_TEXTS) - 1), st.integers(0, 2000), MIDDLES, st.integers(0, 2000))
def test_a_cut_has_exactly_the_tokens_of_what_is_left(reference_of, long_table, block, head, middle, tail):
    text = LONG_TEXTS[block]
    left = text[:head] + middle + (text[-tail:] if tail else "")
    expected = len(reference_of("o200k_base").encode_ordinary(left))
    assert long_table.cut_tokens(block, head, middle, tail) == expected


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, st.lists(st.one_of(TEXTS, st.tuples(st.integers(0, 90), st.integers(0, 90))), max_size=5))
def test_pieces_have_exactly_the_tokens_of_the_text_they_make_up(counter, text, pieces):
    session, texts = session_of([text]), CountedTexts(counter)
    texts.add(session.blocks[0].digest, text)
    table = TokenTable.of(session, BlockColumns.of(session, texts, BlockColumns.empty()), texts)
    assert table.is_complete
    joined = "".join(piece if isinstance(piece, str) else text[piece[0] : piece[1]] for piece in pieces)
    assert table.pieces_tokens(0, pieces) == counter.count(joined)


def test_a_cut_encodes_only_what_is_near_the_seams(counter, long_table, monkeypatch):
    seen, count = [], counter.count
    monkeypatch.setattr(counter, "count", lambda text: seen.append(text) or count(text))
    long_table.cut_tokens(0, 1000, "[cut]", 500)
    assert sum(map(len, seen)) < 60


def test_a_text_that_cannot_be_read_any_more_keeps_its_estimate(counter):
    session = session_of(["first text", "second text of the two"])
    del session.texts.texts[1]
    table = counted(session, counter)
    assert table.counted == 1
    assert not table.is_complete
    assert table.tokens.tolist() == [counter.count("first text"), 7]
    assert table.head_tokens([1], 7).tolist() == [2]
    assert table.tail_tokens([1], 7).tolist() == [2]


def test_a_cut_of_a_text_that_vanished_after_it_was_counted_is_within_a_few_tokens(counter):
    session = session_of(LONG_TEXTS)
    table = counted(session, counter)
    session.texts.texts.clear()
    left = LONG_TEXTS[0][:300] + "[cut]" + LONG_TEXTS[0][-200:]
    assert abs(table.cut_tokens(0, 300, "[cut]", 200) - counter.count(left)) <= 4


def test_the_first_table_comes_before_anything_is_read_and_the_last_is_complete(counter, monkeypatch):
    monkeypatch.setattr(table_module, "SECONDS_BETWEEN_TABLES", 0.0)
    monkeypatch.setattr(table_module, "CHARACTERS_COUNTED_AT_ONCE", 0)
    monkeypatch.setattr(table_module, "CHARACTERS_READ_AT_ONCE", 1)
    session = session_of([f"text number {number} " * 20 for number in range(10)])
    tables = count_session(session, counter)
    first = next(tables)
    assert session.texts.read == []
    assert first.counted == 0
    assert first.tokens.tolist() == TokenTable.estimated(session).tokens.tolist()
    rest = list(tables)
    assert [table.counted for table in rest] == [*range(1, 11), 10]
    assert first.counted == 0
    assert first.tokens.tolist() == TokenTable.estimated(session).tokens.tolist()


def test_what_is_counted_in_no_time_is_not_estimated_before(counter):
    counter.prepare()
    assert len(list(count_session(session_of(["a few words"]), counter))) == 1
    assert len(list(count_session(session_of(["many words " * 20_000]), counter))) == 2


def test_an_estimate_comes_before_the_tokenizer_is_built():
    counter = TokenizerCounter(find_vocabulary(ENCODINGS[0]))
    tables = count_session(session_of(["a few words"]), counter)
    assert next(tables).counted == 0
    assert not counter.is_prepared
    assert next(tables).is_complete


def test_progress_is_reported_in_characters(counter, monkeypatch):
    monkeypatch.setattr(table_module, "SECONDS_BETWEEN_TABLES", 0.0)
    monkeypatch.setattr(table_module, "CHARACTERS_READ_AT_ONCE", 1)
    told = []
    counted(session_of(["a" * 10, "b" * 20]), counter, progress=lambda done, total: told.append((done, total)))
    assert told == [(10, 30), (30, 30), (30, 30)]


def test_texts_are_read_once_in_file_order_and_equal_texts_only_once(counter):
    session = session_of(["one", "two", "one", "three"])
    table = counted(session, counter)
    assert session.texts.read == [0, 1, 3]
    assert table.tokens.tolist() == [1, 1, 1, 1]


def test_after_an_append_only_the_new_texts_are_read(counter):
    before = session_of(["one", "two"])
    table = counted(before, counter)
    after = session_of(["three three", "one"], messages=before.messages, offset=2)
    grown = counted(after, counter, table)
    assert after.texts.read == [2]
    assert grown.tokens.tolist() == [1, 1, 2, 1]
    assert table.tokens.tolist() == [1, 1]
    assert len(list(count_session(after, counter, grown))) == 1


def test_a_message_that_was_replaced_is_looked_at_again_wherever_it_is(counter):
    before = session_of(["one", "two two", "three"])
    table = counted(before, counter)
    other = Message(Role.USER, (block_of("four four four", 7), block_of("one", 8)))
    texts = TextsInMemory({7: "four four four"})
    after = Session("test", before.path, "test", (before.messages[0], other, before.messages[2]), (), (), texts)
    assert counted(after, counter, table).tokens.tolist() == [1, 3, 1, 1]
    assert texts.read == [7]


def test_a_shorter_session_than_before_is_no_difficulty(counter):
    before = session_of(["one", "two two", "three"])
    after = Session("test", before.path, "test", before.messages[:1], (), (), before.texts)
    assert counted(after, counter, counted(before, counter)).tokens.tolist() == [1]


def test_a_count_can_be_cancelled_and_taken_up_again(counter):
    session = session_of([f"text {number}" for number in range(6)])
    left = iter([False, False, True])
    tables = list(count_session(session, counter, cancelled=lambda: next(left)))
    assert session.texts.read == [0, 1]
    assert tables[-1].counted == 2
    session.texts.read.clear()
    assert counted(session, counter, tables[-1]).is_complete
    assert session.texts.read == [2, 3, 4, 5]


def test_a_count_that_is_cancelled_at_once_still_has_a_table(counter):
    (table,) = count_session(session_of(["some text"]), counter, cancelled=lambda: True)
    assert table.counted == 0


def test_estimates_need_no_text_and_are_marked(counter):
    session = session_of(["x" * 35, "", "y" * 8])
    estimating = EstimateCounter("how to get exact counts")
    (table,) = count_session(session, estimating)
    assert table.tokens.tolist() == [10, 0, 3]
    assert (table.counted, table.is_complete) == (0, False)
    assert table.counter is estimating
    assert session.texts.read == []
    assert table.head_tokens([0, 2], [14, 100]).tolist() == [4, 3]
    assert table.tail_tokens([0, 2], 100).tolist() == [10, 3]
    assert table.cut_tokens(0, 14, "1234567", 7) == 4 + 2 + 2
    assert table.text_tokens("1234567") == 2


def test_an_estimate_of_a_session_that_grew_is_that_of_all_of_it():
    before = session_of(["x" * 35, "y" * 8])
    after = session_of(["z" * 70], messages=before.messages, offset=2)
    grown = TokenTable.estimated(after, previous=TokenTable.estimated(before))
    assert grown.session is after
    assert grown.tokens.tolist() == [10, 3, 20]


def test_counts_of_another_encoding_are_not_taken_over(counter, counter_of):
    session = session_of(["汉字" * 50])
    table = counted(session, counter)
    other = counted(session, counter_of("cl100k_base"), table)
    assert other.tokens.tolist() == [counter_of("cl100k_base").count("汉字" * 50)]
    assert other.tokens.tolist() != table.tokens.tolist()


def test_an_exact_count_follows_an_estimate(counter):
    session = session_of(["hello there"])
    assert counted(session, counter, TokenTable.estimated(session)).tokens.tolist() == [2]


def test_a_session_without_blocks_has_an_empty_table(counter):
    table = counted(session_of([]), counter)
    assert table.tokens.tolist() == []
    assert table.is_complete
    assert table.head_tokens([], []).tolist() == []


def test_a_tool_calls_name_is_beyond_its_text(counter):
    name, arguments = "search_the_archive", '{"query":"lions"}'
    block = block_of(arguments, 0, BlockKind.TOOL_CALL, tool_name=name)
    result = block_of("found", 1, tool_name=name)
    session = Session(
        "test",
        session_of([]).path,
        "test",
        (Message(Role.ASSISTANT, (block,)), Message(Role.USER, (result,))),
        (),
        (),
        TextsInMemory({0: arguments, 1: "found"}),
    )
    table = counted(session, counter)
    assert table.beyond_text.tolist() == [counter.count(name), 0]
    assert table.tokens.tolist() == [counter.count(name) + counter.count(arguments), 1]
    assert table.tail_tokens([0], 100).tolist() == [counter.count(arguments)]
    assert table.cut_tokens(0, 3, "", 0) == counter.count(arguments[:3])
