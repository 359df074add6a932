from dataclasses import replace

import pytest

from inspector.strategies.library.micro_x import MARKER, TokenBudget
from tests.strategies.conversations import Sent, blocks_of_entries, matches, session_of, steps


def test_the_released_code_s_outputs_are_reproduced_byte_for_byte(vectors):
    assert vectors["microx.token_budget"]
    for vector in vectors["microx.token_budget"]:
        entries, params = vector["input"], vector["params"]
        # The recorded system compacted a whole list at once: here, one call sends it and its response is checked.
        session = session_of([*entries, {"role": "assistant", "content": "answer"}])
        session = replace(session, calls=session.calls[-1:])
        strategy = TokenBudget(
            budget=params["InputTokenBudget"], keep=params["ToolResultRetentionChars"], variant="shipped"
        )
        changed = Sent(session, strategy, measured={0: params["input_tokens"]}).changed()
        blocks = blocks_of_entries(entries)
        results = {entry["id"]: blocks[at] for at, entry in enumerate(entries) if entry["role"] == "tool"}
        expected = {results[name]: text for name, text in vector["expected"]["changed_by_id"].items()}
        assert changed.keys() == expected.keys()
        assert all(matches(changed[index], text) for index, text in expected.items())


def test_the_marker_follows_at_once_in_the_document_and_after_a_blank_line_in_the_program():
    entries = [*steps(3), {"role": "assistant", "content": "done"}]
    measured = dict.fromkeys(range(10), 50_000)
    document = Sent(session_of(entries), TokenBudget(), measured=measured)
    shipped = Sent(session_of(entries), TokenBudget(variant="shipped"), measured=measured)
    assert document.text(3) == "a" * 500 + MARKER
    assert shipped.text(3) == "a" * 500 + "\n\n" + MARKER


def test_the_prompt_after_one_over_budget_holds_two_batches_whole():
    measured = dict.fromkeys(range(10), 50_000)
    sent = Sent(session_of(steps(5)), TokenBudget(), measured=measured)
    results = [3, 6, 9, 12, 15]
    assert [index in sent.changed() for index in results] == [True, True, True, False, False]


@pytest.mark.parametrize(("tokens", "cut"), [(39_999, False), (40_000, False), (40_001, True)])
def test_only_a_prompt_larger_than_the_budget_triggers(tokens, cut):
    sent = Sent(session_of(steps(4)), TokenBudget(), measured=dict.fromkeys(range(10), tokens))
    assert bool(sent.changed()) is cut


def test_nothing_is_cut_between_triggers_and_a_cut_stays():
    sent = Sent(session_of(steps(8)), TokenBudget(), measured={3: 50_000})
    assert sent.changed(3) == {}
    assert sent.changed(4).keys() == {3, 6}
    assert sent.changed(8).keys() == {3, 6}


def test_a_budget_of_zero_never_cuts():
    sent = Sent(session_of(steps(4)), TokenBudget(budget=0), measured=dict.fromkeys(range(10), 10**6))
    assert sent.changed() == {}


def test_results_in_parts_are_left_alone():
    entries = steps(4)
    entries[2]["plain"] = False
    sent = Sent(session_of(entries), TokenBudget(), measured=dict.fromkeys(range(10), 50_000))
    assert sent.changed().keys() == {6}


def test_the_plan_s_own_prompt_is_measured_so_that_a_cut_conversation_stays_under_the_budget():
    entries = steps(60, size=20_000)
    sent = Sent(session_of(entries), TokenBudget())
    fired = [call for call in range(1, 61) if sent.changed(call) != sent.changed(call - 1)]
    # 5,000 tokens a step: over 40,000 after every nine or so, not at every step from then on.
    assert 5 <= len(fired) <= 12
