"""Strategies in a row: nothing is lost or sent twice that none of them takes away."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector import compact
from inspector.replay.engine.replay import replay
from inspector.replay.message_lists import inputs_of_messages
from inspector.session.formats.plain import read_conversation
from inspector.strategies.core.operations import Action
from inspector.strategies.plan import Plan
from tests.examples import examples
from tests.strategies.odd_lists import lists
from tests.strategies.test_every_strategy import EAGER

ROWS = st.lists(st.sampled_from(EAGER), min_size=2, max_size=4).map(lambda strategies: Plan.of(*strategies))


def taken_away(replayed) -> set[int]:
    renditions = replayed.changed_renditions(replayed.history.call_count)
    return {block for block, sent in renditions.items() if sent.action is Action.REMOVED or sent.kind is not None}


def tools_of(messages) -> tuple[Counter, Counter]:
    """Ids of the tool calls and of the results in messages, with how often each is there."""
    parts = [part for message in messages for part in message["content"] if isinstance(message["content"], list)]
    parts = [part for part in parts if isinstance(part, dict)]
    calls = Counter(part["id"] for part in parts if part.get("type") == "tool_use")
    results = Counter(part["tool_use_id"] for part in parts if part.get("type") == "tool_result")
    calls += Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
    results += Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    return calls, results


@given(lists(), ROWS)
@settings(max_examples=examples(50), deadline=None)
def test_what_no_strategy_takes_away_is_sent_once(messages, plan):
    session = read_conversation(messages)
    gone = taken_away(replay(inputs_of_messages(session), plan))
    blocks = session.blocks

    sent_calls, sent_results = tools_of(compact(messages, plan))
    calls, results = tools_of(messages)
    for block in gone:
        if blocks[block].kind.label == "tool call":
            calls[blocks[block].tool_call_id] -= 1
        elif blocks[block].kind.label == "tool result":
            results[blocks[block].tool_call_id] -= 1
    assert (sent_calls, sent_results) == (+calls, +results)


@given(lists(), ROWS)
@settings(max_examples=examples(40), deadline=None)
def test_only_a_strategy_that_removes_makes_a_block_go(messages, plan):
    session = read_conversation(messages)
    replayed = replay(inputs_of_messages(session), plan)
    changes = replayed.edits
    for row in range(len(changes.block)):
        if changes.action[row] == Action.REMOVED:
            removing = {"RemoveBlock", "ReplaceWithMessage", "AppendSummary"}
            assert removing & {type(operation).__name__ for operation in changes.stacks[changes.stack[row]]}
