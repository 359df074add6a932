"""Counting on sessions that agents really recorded."""

import numpy as np
import pytest

from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.tokens.token_table import CountCache, TokenTable, count_session

SESSIONS = [
    "claude-code/70d782f7-b303-4e48-9512-6bec16c37abd.jsonl",
    "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
    "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl",
    "cline/session.messages.json",
]
MARKER = "\n... [1,234 characters left out] ...\n"


@pytest.fixture(scope="module", params=SESSIONS, ids=lambda path: path[:20])
def session(request, corpus):
    return open_session(corpus / request.param)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return CountCache(tmp_path_factory.mktemp("counts"))


@pytest.fixture(scope="module")
def table(session, counter, cache):
    *_, table = count_session(session, counter, cache=cache)
    return table


@pytest.fixture(scope="module")
def results(session):
    found = [index for index, block in enumerate(session.blocks) if block.kind is BlockKind.TOOL_RESULT]
    return np.array([index for index in found if session.blocks[index].characters > 40], np.int32)


@pytest.fixture(scope="module")
def cuts(session, results):
    """Random cuts: a block, the length of its head, the length of its tail."""
    rng = np.random.default_rng(len(session.blocks))
    blocks = rng.choice(results, 300)
    characters = np.array([session.blocks[block].characters for block in blocks])
    positions = np.sort(rng.integers(0, characters[:, None] + 1, (300, 2)), axis=1)
    return blocks, positions[:, 0], characters - positions[:, 1]


def texts_of(session, cuts):
    for block, head, tail in zip(*(column.tolist() for column in cuts), strict=True):
        text = session.text(session.blocks[block])
        yield text[:head], text[len(text) - tail :]


def test_every_text_has_the_count_of_tiktoken(session, table, reference_of):
    encode = reference_of("o200k_base").encode_ordinary
    assert table.is_complete
    sent = [
        index
        for index, block in enumerate(session.blocks)
        if block.characters and block.kind not in {BlockKind.IMAGE, BlockKind.OTHER}
    ]
    counted = (table.tokens - table.beyond_text)[sent].tolist()
    assert counted == [len(encode(session.text(session.blocks[index]))) for index in sent]


def test_estimates_are_near_the_counts(session, table):
    assert TokenTable.estimated(session).tokens.sum() == pytest.approx(table.tokens.sum(), rel=0.15)


def test_heads_and_tails_of_tool_results_are_at_most_three_tokens_off_and_right_in_sum(session, table, cuts, counter):
    blocks, head, tail = cuts
    real = np.array([(counter.count(first), counter.count(last)) for first, last in texts_of(session, cuts)])
    estimated = np.stack([table.head_tokens(blocks, head), table.tail_tokens(blocks, tail)], axis=1)
    assert np.abs(estimated - real).max() <= 3
    assert estimated.sum() == pytest.approx(real.sum(), rel=0.003)


def test_cuts_of_tool_results_are_counted_exactly(session, table, cuts, reference_of):
    encode = reference_of("o200k_base").encode_ordinary
    counted = [table.cut_tokens(block, head, MARKER, tail) for block, head, tail in zip(*cuts, strict=True)]
    assert counted == [len(encode(first + MARKER + last)) for first, last in texts_of(session, cuts)]


def test_a_cut_estimated_without_text_is_near_the_exact_one(table, cuts):
    blocks, head, tail = cuts
    estimated = table.head_tokens(blocks, head) + table.text_tokens(MARKER) + table.tail_tokens(blocks, tail)
    exact = np.array([table.cut_tokens(block, first, MARKER, last) for block, first, last in zip(*cuts, strict=True)])
    assert np.abs(estimated - exact).max() <= 4
    assert estimated.sum() == pytest.approx(exact.sum(), rel=0.003)


def test_opened_again_the_session_has_its_counts_at_once(session, table, counter, cache):
    again = open_session(session.path)
    (first,) = count_session(again, counter, cache=cache)
    assert first.is_complete
    assert first.tokens.tolist() == table.tokens.tolist()


def test_a_session_that_grew_has_the_counts_of_one_read_whole(corpus, counter, tmp_path):
    table = None
    for number in range(5):
        session = open_session(corpus / f"claude-code-growth/cc432c40/snap{number}.jsonl")
        *_, table = count_session(session, counter, table, cache=CountCache(tmp_path / "grown"))
    *_, whole = count_session(session, counter, cache=CountCache(tmp_path / "whole"))
    assert whole.is_complete
    assert table.tokens.tolist() == whole.tokens.tolist()
