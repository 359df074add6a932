from dataclasses import replace

import numpy as np
import pytest

from inspector.session.model import Call, Context, ContextCause
from inspector.strategies.history.history import History
from inspector.strategies.library.old_results import STALE_MARKER, TIERS, TieredStale
from inspector.strategies.registry import with_value
from tests.strategies.conversations import Sent, blocks_of_entries, matches, session_of, steps


def assert_changes_as(vector, sent):
    blocks = blocks_of_entries(vector["input"])
    expected = {blocks[int(entry)]: text for entry, text in vector["expected"]["changed"].items()}
    changed = sent.changed()
    assert changed.keys() == expected.keys()
    for index, text in expected.items():
        assert matches(changed[index], text)


def test_the_document_s_outputs_are_reproduced_byte_for_byte(vectors):
    assert vectors["hynous.TO3_seed_doc"]
    for vector in vectors["hynous.TO3_seed_doc"]:
        assert_changes_as(vector, Sent(session_of(vector["input"], grouped=True), TieredStale()))
        assert_changes_as(vector, Sent(session_of(vector["input"]), TieredStale()))


def test_the_released_code_s_outputs_are_reproduced_byte_for_byte(vectors):
    assert vectors["hynous.stale_truncation"]
    for vector in vectors["hynous.stale_truncation"]:
        assert_changes_as(vector, Sent(session_of(vector["input"]), TieredStale(variant="shipped")))


@pytest.mark.parametrize(
    ("tool", "kept"),
    [
        ("store_memory", 150),
        ("explore_memory", 150),
        ("execute_trade", 300),
        ("get_account", 400),
        ("recall_memory", 600),
        ("search_web", 600),
        ("made_up_tool", 800),
        ("Read", 800),
    ],
)
def test_a_stale_result_keeps_as_many_characters_as_its_tool_s_tier(tool, kept):
    sent = Sent(session_of(steps(2, tool=tool)), TieredStale())
    assert sent.changed() == {3: "a" * kept + STALE_MARKER}


def test_a_result_exactly_at_its_limit_stays_and_one_character_more_is_cut_and_grows():
    at_limit = Sent(session_of(steps(2, tool="store_memory", size=150)), TieredStale())
    over = Sent(session_of(steps(2, tool="store_memory", size=151)), TieredStale())
    assert at_limit.changed() == {}
    assert over.changed() == {3: "a" * 150 + STALE_MARKER}
    assert len(over.text(3)) == 150 + len(STALE_MARKER) > 151


def test_never_longer_leaves_a_result_whole_that_its_marker_would_lengthen():
    strategy = TieredStale(never_longer=True)
    same = Sent(session_of(steps(2, tool="store_memory", size=150 + len(STALE_MARKER))), strategy)
    longer = Sent(session_of(steps(2, tool="store_memory", size=151 + len(STALE_MARKER))), strategy)
    assert same.changed() == {}
    assert longer.changed() == {3: "a" * 150 + STALE_MARKER}


def test_every_result_of_the_newest_batch_is_fresh_and_becomes_stale_at_the_next_call():
    entries = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "calls": [{"id": "a", "name": "x", "args": {}}, {"id": "b", "name": "y", "args": {}}]},
        {"role": "tool", "id": "a", "content": "a" * 2000},
        {"role": "tool", "id": "b", "content": "b" * 2000},
        {"role": "assistant", "content": "seen", "calls": [{"id": "c", "name": "x", "args": {}}]},
        {"role": "tool", "id": "c", "content": "c" * 2000},
    ]
    for grouped in (False, True):
        sent = Sent(session_of(entries, grouped=grouped), TieredStale())
        assert sent.changed(1) == {}
        assert sent.changed(2).keys() == {3, 4}


def test_the_newest_result_is_stale_once_text_follows_it():
    answered = Sent(session_of([*steps(1), {"role": "assistant", "content": "done"}]), TieredStale())
    asked = Sent(session_of([*steps(1), {"role": "user", "content": "and now?"}]), TieredStale())
    assert answered.changed().keys() == {3}
    assert asked.changed().keys() == {3}


def test_a_result_is_fresh_again_where_a_rewind_makes_it_the_last_message():
    session = session_of([*steps(1), {"role": "assistant", "content": "no"}, {"role": "user", "content": "redo"}])
    rewound = Context((0, 1, 2), 3, ContextCause.REWIND)
    calls = (*session.calls, Call(3, 0, 4), Call(3, 1, 3))
    session = replace(session, calls=calls, contexts=(*session.contexts, rewound))
    sent = Sent(session, TieredStale())
    assert sent.changed(1) == {}
    assert sent.changed(2).keys() == {3}
    assert sent.changed(3) == {}


def test_results_recorded_in_parts_are_cut_only_where_asked_for():
    entries = steps(2)
    entries[2]["plain"] = False
    assert Sent(session_of(entries), TieredStale()).changed() == {}
    assert Sent(session_of(entries), TieredStale(lists=True)).changed() == {3: "a" * 800 + STALE_MARKER}


def test_a_tool_named_in_a_tier_s_list_belongs_to_it_whatever_the_set_says():
    strategy = TieredStale(search_tools=("store_memory", "read_file"))
    assert strategy.tier_of("store_memory") == "search"
    assert strategy.tier_of("read_file") == "search"
    assert strategy.tier_of("update_memory") == "confirmation"


def test_the_released_code_knows_five_more_tools():
    shipped = TieredStale(variant="shipped")
    tiers = {"monitor_signal": "confirmation", "batch_prune": "action", "data_layer": "data", "analyze_memory": "data"}
    for tool, tier in {**tiers, "get_book_history": "data"}.items():
        assert shipped.tier_of(tool) == tier
        assert TieredStale().tier_of(tool) == "default"


def test_an_outdated_snapshot_is_dropped_when_a_newer_question_arrives():
    entries = [
        {"role": "user", "content": "[Live State 10:00]\nBTC 1\n[End Live State]\n\nhello"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "next"},
    ]
    assert Sent(session_of(entries), TieredStale()).changed() == {}
    stripped = Sent(session_of(entries), TieredStale(snapshots="strip"))
    assert stripped.changed(0) == {}
    assert stripped.changed() == {0: "hello"}


def test_a_coding_agent_s_session_gets_tiers_for_its_tools():
    session = session_of([*steps(1, tool="Bash"), *steps(1, tool="mcp__files__read_file")])
    strategy = TieredStale.for_session(session)
    assert strategy.tool_set == "coding"
    tiers = {name: strategy.tier_of(name) for name in ("Bash", "Edit", "mcp__files__read_file", "Grep", "apply_patch")}
    assert tiers == {
        "Bash": "action",
        "Edit": "confirmation",
        "mcp__files__read_file": "data",
        "Grep": "search",
        "apply_patch": "confirmation",
    }


def test_the_trading_agent_s_and_an_unknown_agent_s_sessions_get_the_document_s_tiers():
    assert TieredStale.for_session(session_of(steps(1, tool="get_orderbook"))) == TieredStale()
    assert TieredStale.for_session(session_of(steps(1, tool="frobnicate"))) == TieredStale()


def test_every_decision_says_its_tier():
    session = session_of(steps(3, tool="search_web"))
    sent = Sent(session, TieredStale())
    decision = sent.by_call[-1][3]
    assert (decision.reason, decision.group) == ("stale, tier search", "search")
    assert [parameter.group for parameter in TieredStale.parameters if parameter.name in TIERS] == list(TIERS)


def test_decisions_of_a_grown_session_are_those_of_the_whole_one():
    entries = steps(8)
    whole = session_of(entries)
    history = None
    for length in range(1, len(entries) + 1):
        session = session_of(entries[:length])
        shared_part = replace(session, messages=whole.messages[:length])
        history = History.of(shared_part, history)
    fresh = History.of(whole)
    for name in ("kind", "characters", "tool", "call_block", "plain_text", "message_batch", "message_thread"):
        assert np.array_equal(getattr(history, name), getattr(fresh, name)), name
    assert history.call_block[history.results].tolist() == (history.results - 1).tolist()


def test_a_limit_out_of_range_names_the_parameter_the_value_and_the_range():
    with pytest.raises(ValueError, match="confirmation: -1 is not allowed; it takes 0 to 100,000 characters"):
        TieredStale(confirmation=-1)
    with pytest.raises(ValueError, match="data"):
        with_value(TieredStale(), "data", "many")
