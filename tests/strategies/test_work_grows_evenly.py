"""Work is linear in the number of calls and in every other count of a session."""

import sys
from functools import cache

import pytest

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Role
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.replay.synthetic import CharacterTable, SessionBuilder


def results_that_come_late(count):
    builder = _begun()
    for turn in range(count):
        calls = [builder.block(BlockKind.TOOL_CALL, "{}", "Bash", f"c{turn}.{at}") for at in range(2)]
        builder.respond(*calls)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"first {turn}", "Bash", f"c{turn}.0"))
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"said {turn}"))
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"asked {turn}"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"second {turn}", "Bash", f"c{turn}.1"))
    return builder.session()


def one_id_for_all(count):
    """Every tool call has the same id, as some providers number them."""
    builder = _begun()
    for turn in range(count):
        builder.respond(builder.block(BlockKind.TOOL_CALL, f'{{"path": "{turn}"}}', "Read", "call_0"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {turn}", "Read", "call_0"))
    return builder.session()


def one_file(count):
    """One file is read again and again, and edited."""
    builder = _begun()
    for turn in range(count):
        tool = "Edit" if turn % 3 else "Read"
        builder.respond(builder.block(BlockKind.TOOL_CALL, '{"file_path": "/a/b.py"}', tool, f"c{turn}"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {turn}", tool, f"c{turn}"))
    return builder.session()


def calls_in_one_message(count):
    """All tools are called at once, twice."""
    builder = _begun()
    for turn in range(2):
        names = [f"c{turn}.{at}" for at in range(count)]
        builder.respond(*(builder.block(BlockKind.TOOL_CALL, "{}", "Read", name) for name in names))
        builder.add(Role.USER, *(builder.block(BlockKind.TOOL_RESULT, "of " + name, "Read", name) for name in names))
    return builder.session()


def compactions(count):
    """Every turn ends with a compaction that keeps two messages."""
    builder = _begun()
    for turn in range(count):
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {turn}", "Read", f"c{turn}"))
        builder.compact(2)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"summary {turn}"))
    return builder.session()


def _begun():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    return builder


@cache
def shaped(shape, count):
    return shape(count)


def inputs_of(session):
    return ReplayInputs.of(History.of(session), CharacterTable(session))


def lines_run(made, session):
    """Lines of the program run while a session is replayed: loops that call nothing are work, too."""
    inputs = inputs_of(session)
    run = 0

    def count(frame, event, argument):
        nonlocal run
        run += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        replay(inputs, Plan.of(made))
    finally:
        sys.settrace(before)
    return run


STRATEGIES = (
    strategy("maf-tool-results", keep=1),
    strategy("maf-tool-calls", keep=1),
    strategy("maf-truncation", unit="tokens", limit=2_000, target=1_000),
    strategy("vercel-prune", tool_calls="before-last-messages", messages=4),
    strategy("hermes-prepass", threshold=0.0, window=10, tail=0.0, protect_last=1, minimum=1),
    strategy("hermes-proactive-prune", trigger=100, minimum=5, reclaim=1),
    strategy("openhands-condenser", max_size=20, summary_tokens=50),
    strategy("langchain-summarization", trigger_messages=20, summary_tokens=50),
    strategy("summarize", threshold=1_000, tail=2, summary_tokens=50),
    strategy("dcp-dedupe"),
    strategy("smart-diff-compression", changes=1, line="", marker="~"),
    strategy("smart-diff-compression", changes=4),
    strategy("headroom-stale-reads", superseded=True, minimum=0),
    strategy("cozempic-stale-reads", limit=0),
    strategy("store-large", limit=5, batch_budget=5, preview=2),
)
SHAPES = (results_that_come_late, one_id_for_all, one_file, calls_in_one_message, compactions)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("made", STRATEGIES, ids=lambda made: made.name)
def test_twice_of_anything_is_about_twice_the_work(made, shape):
    replay(inputs_of(shaped(shape, 120)), Plan.of(made))  # text searches are cached
    once, twice, four_times = (lines_run(made, shaped(shape, count)) for count in (30, 60, 120))
    assert four_times - twice < 2.5 * max(twice - once, 1_000)
