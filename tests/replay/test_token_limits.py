"""Limits in tokens: the retained text has that many, and columns agree with single blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.engine.renderer import Renderer
from inspector.strategies.core.operations import Action, CutText, CutTokens, Slice, make_cut
from inspector.strategies.history.history import History
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session
from tests.examples import examples
from tests.strategies.conversations import session_of

WORDS = ("alpha", " beta", "\n", "é", "🦊🦊", " 12345678", "    ", "def f(x):\n    return x\n", "漢字", "x" * 30)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=120).map("".join)
CUTS = st.builds(
    CutTokens,
    limit=st.integers(0, 60),
    head=st.integers(0, 40),
    tail=st.integers(0, 40),
    marker=st.sampled_from(["~", "<{removed} of {length}, {tokens} tokens of {tool}>"]),
    numbered=st.just(True),
    never_longer=st.booleans(),
)


@pytest.fixture(scope="module")
def counter():
    return load_counter()


def renderer_of(counter, *texts):
    entries = [{"role": "user", "content": "go"}]
    for at, text in enumerate(texts):
        entries.append({"role": "assistant", "calls": [{"id": f"c{at}", "name": "Bash", "args": {}}]})
        entries.append({"role": "tool", "id": f"c{at}", "name": "Bash", "content": text})
    session = session_of(entries)
    *_, table = count_session(session, counter)
    return Renderer(History.of(session), table)


@given(texts=st.lists(TEXTS, min_size=1, max_size=7), cut=CUTS)
@settings(max_examples=examples(40), deadline=None)
def test_head_and_tail_end_where_tokens_end_and_no_token_more_is_kept(counter, texts, cut):
    renderer = renderer_of(counter, *texts)
    for block, text in zip(renderer.history.results.tolist(), texts, strict=True):
        lengths = counter.encode(text).tolist()
        rendition = renderer.rendition(block, (cut,))
        if len(lengths) <= cut.limit:
            assert rendition.action is Action.WHOLE
            continue
        head = sum(lengths[: cut.head])
        tail = min(sum(lengths[max(len(lengths) - cut.tail, 0) :]) if cut.tail else 0, len(text) - head)
        marker = cut.marker.format(removed=len(text) - head - tail, length=len(text), tokens=len(lengths), tool="Bash")
        expected = text[:head] + marker + text[len(text) - tail :]
        stays = cut.never_longer and len(expected) >= len(text)
        assert rendition.text(text) == (text if stays else expected)


@given(texts=st.lists(TEXTS, min_size=1, max_size=9), cut=CUTS)
@settings(max_examples=examples(40), deadline=None)
def test_all_blocks_at_once_come_to_what_each_of_them_comes_to(counter, texts, cut):
    renderer = renderer_of(counter, *texts)
    blocks = renderer.history.results
    found = renderer.render(blocks, np.zeros(len(blocks), np.int32), ((cut,),))
    apart = [renderer.rendition(int(block), (cut,)) for block in blocks]

    assert found.action.tolist() == [each.action for each in apart]
    assert found.tokens.tolist() == [
        renderer.tokens(int(block), each) for block, each in zip(blocks, apart, strict=True)
    ]


def test_a_text_that_was_cut_before_is_cut_to_about_so_many_tokens(counter):
    text = "one two three four " * 200
    renderer = renderer_of(counter, text)
    block = int(renderer.history.results[0])

    twice = renderer.rendition(block, (CutText(2_000, 2_000, 0, "~"), CutTokens(50, 50, 0, "#")))

    kept = next(piece for piece in twice.pieces if isinstance(piece, Slice))
    assert abs(counter.count(text[kept.start : kept.stop]) - 50) <= 2


def test_the_unit_says_which_cut_is_made():
    assert make_cut("tokens", 1, 1, 0, "~") == CutTokens(1, 1, 0, "~")
    assert make_cut("characters", 1, 1, 0, "~") == CutText(1, 1, 0, "~")
