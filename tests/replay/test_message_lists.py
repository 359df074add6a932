"""Results for lists that both APIs accept, and for invalid ones."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector import Conversation, InspectorError
from inspector.replay.message_lists import MessageListError, apply_once, compact
from inspector.strategies.core.batching import Batching
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from tests.examples import examples
from tests.strategies.test_every_strategy import EAGER, for_every
from tests.strategies.whole_lists import (
    ASSISTANT_FIRST,
    EMPTY,
    FORMS,
    WITHOUT_CALL,
    WITHOUT_RESULT,
    conversations,
    refused,
)

ADMITTED = {
    "clear-old": {WITHOUT_CALL, WITHOUT_RESULT, ASSISTANT_FIRST},
    "cline-truncate": {WITHOUT_CALL, WITHOUT_RESULT},
    "roo-truncate": {WITHOUT_CALL, WITHOUT_RESULT},
    "maf-window": {ASSISTANT_FIRST},
    "maf-truncation": {ASSISTANT_FIRST},
    "maf-context-window": {ASSISTANT_FIRST},
    "strands-window": {ASSISTANT_FIRST},
    "vercel-prune": {EMPTY},
}
KEPT_FIRST = [
    made
    for made in (*EAGER, STRATEGIES["maf-context-window"](window=400, max_output=0, keep_first_user=True))
    if getattr(made, "keep_first_user", False) or getattr(made, "pin_first", 0)
]
GATES = ({"batch_calls": 3}, {"batch_tokens": 30}, {"batch_before": 50}, {"batch_before": 30, "batch_calls": 2})
BATCHED = [replace(made, **gate) for made in EAGER if isinstance(made, Batching) for gate in GATES]
WHOLE = [made for made in BATCHED if made.name not in ADMITTED or getattr(made, "empty_messages", "") == "remove"]
GOES_ON = some.sampled_from(sorted(FORMS))


def named(made: Any) -> str:
    return str(made.name)


def sent_of(made: Any, messages: list[dict[str, Any]], form: Any, *, once: bool) -> list[dict[str, Any]]:
    before = copy.deepcopy(messages)
    if once:
        sent = apply_once(messages, Plan.of(made), input_tokens=10_000_000, form=form)
    else:
        sent = compact(messages, Plan.of(made), form)
    assert messages == before
    return sent


@pytest.mark.parametrize("made", EAGER, ids=named)
@given(conversations(), GOES_ON, some.booleans())
@settings(max_examples=examples(16))
def test_a_list_that_apis_accept_stays_one_or_the_strategy_says_what_it_does(made, entries, form, once):
    messages = FORMS[form](entries)
    assert refused(messages, form) == set()
    admitted = set() if getattr(made, "empty_messages", "") == "remove" else ADMITTED.get(made.name, set())
    assert refused(sent_of(made, messages, form, once=once), form) <= admitted


@given(conversations(), GOES_ON)
@settings(max_examples=examples(6))
@for_every(WHOLE)
def test_batching_parts_nothing_and_lets_no_one_else_speak_first(made, entries, form):
    assert refused(sent_of(made, FORMS[form](entries), form, once=False), form) == set()


@pytest.mark.parametrize("made", KEPT_FIRST, ids=named)
@given(conversations(), GOES_ON)
@settings(max_examples=examples(30))
def test_with_the_first_message_kept_the_user_speaks_first(made, entries, form):
    assert refused(sent_of(made, FORMS[form](entries), form, once=False), form) == set()


BLANKED = (
    (["one two", "more"], ["more"]),
    (["more", "one two"], ["more"]),
    (["one two"], None),
    (["one", "two"], None),
)


@pytest.mark.parametrize(("texts", "left"), BLANKED)
def test_texts_that_a_plan_leaves_blank_are_not_sent_to_anthropic(texts: list[str], left: list[str] | None) -> None:
    parts = [{"type": "text", "text": text} for text in texts]
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": parts},
        {"role": "user", "content": "and on"},
    ]
    sent = compact(messages, "remove-regex:pattern=one|two", "anthropic")
    expected = [] if left is None else [{"role": "assistant", "content": [{"type": "text", "text": t} for t in left]}]
    assert sent == [messages[0], *expected, messages[2]]


def test_strategies_say_what_apis_refuse_of_their_lists_and_others_have_nothing_to_say() -> None:
    noted = {name for name, kind in STRATEGIES.items() if getattr(kind, "note", "")}
    assert noted == {*ADMITTED, *NOTED_VARIANTS}


NOTED_VARIANTS = ("cline-compaction", "hermes-prepass")
"""Strategies with a note about their variants only."""

NO_MESSAGES = [
    ("hello", "messages[0] is not a chat message: it is of type str"),
    ([{"role": "user", "content": "hello"}, 5], "messages[1] is not a chat message: it is of type int"),
    ([None], "of type NoneType"),
    ([{"role": "user", "content": "a"}] * 9 + [{"content": "b"}], "messages[9] is not a chat message: it has no role"),
    ([{"role": "robot", "content": "a"}], "its role is 'robot'"),
    ([{"role": "user"}], "it has no content"),
    ([{}], "it has no role"),
    ([[{"role": "user", "content": "a"}]], "of type list"),
    ({"messages": []}, "of type str"),
]


@pytest.mark.parametrize(("messages", "said"), NO_MESSAGES, ids=[said for _, said in NO_MESSAGES])
def test_what_is_no_message_is_named_with_its_place(messages: Any, said: str) -> None:
    for apply in (compact, apply_once, lambda given, plan: Conversation(plan).add(*given)):
        with pytest.raises(MessageListError) as caught:
            apply(messages, "clear-old")
        assert said in caught.value.message
        assert "dicts with role and content" in caught.value.message


def test_a_message_that_is_refused_is_not_added() -> None:
    held = Conversation("clear-old")
    held.add({"role": "user", "content": "go"})
    with pytest.raises(InspectorError, match=r"messages\[2\]"):
        held.add({"role": "user", "content": "on"}, {"role": "assistant"})
    assert len(held) == 1


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(("type", "text", "id", "content", "tool_use_id", "function")), inner, max_size=4
        )
    ),
    max_leaves=6,
)
ODD_MESSAGES = some.lists(
    some.fixed_dictionaries(
        {"role": some.sampled_from(("system", "user", "assistant", "tool")), "content": VALUES},
        optional={"tool_calls": VALUES, "tool_call_id": VALUES, "reasoning_content": VALUES},
    ),
    max_size=5,
)


@pytest.mark.parametrize("plan", ["clear-old:keep=0", "keep-recent:keep=0", "roo-truncate:window=1,reserved=0"])
@given(ODD_MESSAGES, some.sampled_from([None, "anthropic", "openai"]))
@settings(max_examples=examples(60))
def test_messages_of_any_content_come_back_or_are_an_error_of_ours(plan, messages, form):
    before = copy.deepcopy(messages)
    try:
        sent = compact(messages, plan, form)
    except InspectorError:
        sent = []
    assert all(isinstance(message, dict) for message in sent)
    assert messages == before
