import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.pricing.prices import Pricing
from inspector.session.follow import Follower
from inspector.session.model import Call, Usage
from inspector.strategies.history.history import History
from inspector.tokens.model_names import Categorical
from inspector.tokens.token_table import TokenTable
from tests.replay.synthetic import sessions

RECORDED = ("5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl", "fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl")

words = st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=12)


@given(words)
def test_coded_words_are_the_words_in_order_of_first_use(given_words):
    coded = Categorical.of(given_words)

    assert [coded.names[code] for code in coded.code] == given_words
    assert list(coded.names) == list(dict.fromkeys(given_words))
    assert Categorical.of(coded) is coded


@given(words, st.permutations(["a", "b", "", "c", "unused"]))
def test_words_numbered_in_any_order_are_renumbered_in_order_of_first_use(given_words, names):
    code = np.array([names.index(word) for word in given_words], dtype=np.int64)

    renumbered, coded = Categorical.renumbered(names, code), Categorical.of(given_words)

    assert renumbered.names == coded.names
    assert renumbered.code.tolist() == coded.code.tolist()


@given(words)
def test_the_last_word_again_is_an_empty_one_where_there_is_none(given_words):
    again = Categorical.of(given_words).and_again()

    assert [again.names[code] for code in again.code] == [*given_words, given_words[-1] if given_words else ""]


@given(sessions(), st.data())
def test_a_call_replaced_long_after_it_was_read_is_looked_at_again(session, data):
    calls = session.calls * 80
    before = dataclasses.replace(session, calls=calls)
    grown = History.of(before)
    recorded_calls(grown)
    usage = Usage(7, 6, 5, 4, 3, 2, output_is_placeholder=True)
    place = data.draw(st.integers(0, len(calls) - 1)) if calls else 0
    changed = (*calls[:place], *(Call(0, 0, 1, "another", usage=usage) for _ in calls[:1]), *calls[place + 1 :])
    after = dataclasses.replace(before, calls=changed)

    found = recorded_calls(dataclasses.replace(grown, session=after))

    assert [found.models.names[code] for code in found.models.code] == [call.model for call in changed]
    wanted = PromptUsage.of([call.usage for call in changed])
    assert found.usage.prompt.tolist() == wanted.prompt.tolist()
    assert found.output.tolist() == [-1 if call.usage is None else call.usage.output for call in changed]


@pytest.mark.parametrize(
    "name", ["5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl", "fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"]
)
def test_a_session_that_grew_is_replayed_from_what_it_would_be_replayed_from_at_once(corpus, tmp_path, name):
    lines = (corpus / "claude-code" / name).read_bytes().splitlines(keepends=True)
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"".join(lines[: len(lines) // 3]))
    follower = Follower(path)
    history = History.of(follower.session)
    ends = [*range(len(lines) // 3, len(lines), 9), len(lines)]
    for first, last in pairwise(ends):
        with path.open("ab") as file:
            file.writelines(lines[first:last])
        follower.poll()
        history = History.of(follower.session, history)
        grown = ReplayInputs.of(history, TokenTable.estimated(follower.session), pricing=Pricing())

    afresh = ReplayInputs.of(History.of(follower.session), TokenTable.estimated(follower.session), pricing=Pricing())
    for field in dataclasses.fields(ReplayInputs):
        one, other = getattr(grown, field.name), getattr(afresh, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=field.name)
    assert grown.recorded.prompt.tolist() == afresh.recorded.prompt.tolist()
    assert grown.cache_models == afresh.cache_models
    for one, other in zip(grown.caches, afresh.caches, strict=True):
        assert one.tolist() == other.tolist()
