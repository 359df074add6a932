import copy
import json

import pytest

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.message_lists import apply_once, compact, messages_at
from inspector.session.formats.plain import read_conversation
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from inspector.tokens.token_table import TokenTable
from tests.strategies.conversations import steps
from tests.strategies.plain_lists import anthropic_list, openai_list, results_in

FORMS = (openai_list, anthropic_list)


@pytest.mark.parametrize("form", FORMS)
def test_messages_a_plan_leaves_alone_are_the_same_objects_and_nothing_given_is_changed(form):
    given = form(steps(6))
    before = copy.deepcopy(given)
    sent = apply_once(given, "clear-old:keep=2")
    assert given == before
    results = [at for at, message in enumerate(given) if results_in([message])]
    for at, message in enumerate(given):
        assert (sent[at] is message) == (at not in results[:4])


def test_no_messages_make_no_messages():
    assert apply_once([], "clear-old") == []


def test_what_the_provider_reported_decides_where_a_strategy_looks_at_it():
    given = openai_list(steps(6))
    plan = "anthropic-clear-tool-uses:trigger=50000"
    assert apply_once(given, plan) == given
    assert apply_once(given, plan, input_tokens=49_999) == given
    assert apply_once(given, plan, input_tokens=50_000) != given


def test_the_window_is_the_one_passed_in():
    given = openai_list(steps(6))
    for window, changes in ((60_000, False), (30_000, True)):
        sent = apply_once(given, "roo-truncate", input_tokens=40_000, window=window)
        assert (sent != given) == changes


@pytest.mark.parametrize(("input_tokens", "kept"), [(None, 1_333), (100_000, 666)])
def test_a_threshold_that_adapts_looks_at_what_is_shown_to_be_left_of_the_window(input_tokens, kept):
    """Thresholds of 4,000 and 2,000 characters, a third of each kept at either end."""
    given = openai_list(steps(1, size=5_000))
    plan = "trim-at-insertion:adaptive=remaining"
    (sent,) = results_in(apply_once(given, plan, window=200_000, input_tokens=input_tokens))
    note = f"\n\n[... {5_000 - 2 * kept:,} chars trimmed from read_file output ...]\n\n"
    assert sent == "a" * kept + note + "a" * kept


@pytest.mark.parametrize("form", FORMS)
def test_a_single_application_takes_what_an_answer_follows_in_the_list_for_answered(form):
    given = form(steps(6))
    sent = apply_once(given, "truncate-after-use")
    assert sent == compact(given, "truncate-after-use")
    assert results_in(sent)[-1] == results_in(given)[-1]
    assert all(text.endswith("[truncated for context management]") for text in results_in(sent)[:-1])


@pytest.mark.parametrize("form", FORMS)
def test_a_text_said_in_the_place_of_a_tool_result_is_a_message_of_the_user(form):
    given = form(steps(6))
    sent = apply_once(given, Plan.of(strategy("roo-truncate")), input_tokens=10_000_000)
    note = {"role": "user", "content": "[Sliding window truncation: 6 messages hidden to reduce context]"}
    assert sent == [given[0], note, *given[7:]]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_what_would_be_sent_at_a_call_says_it_as_a_message_of_the_user_too(form):
    session = read_conversation(openai_list(steps(6)))
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session))
    outcome = replay(inputs, Plan.of(strategy("roo-truncate", window=1_000, reserved=0)))
    messages = messages_at(outcome, outcome.history.call_count, form)
    notes = [message for message in messages if str(message["content"]).startswith("[Sliding window truncation")]
    assert notes
    assert all(message["role"] == "user" and isinstance(message["content"], str) for message in notes)
    json.dumps(messages)


def test_reasoning_next_to_a_message_goes_without_the_message():
    given = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer", "reasoning_content": "thought"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "answer", "reasoning_content": "thought again"},
    ]
    sent = apply_once(given, "anthropic-clear-thinking")
    assert sent == [given[0], {"role": "assistant", "content": "answer"}, given[2], given[3]]


def test_thinking_parts_go_and_their_message_stays():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    given = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "answer"}]},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "answer"}]},
    ]
    sent = apply_once(given, "anthropic-clear-thinking")
    assert sent[1]["content"] == [{"type": "text", "text": "answer"}]
    assert sent[3] is given[3]
