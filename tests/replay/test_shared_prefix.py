"""A context that begins as the plan had left the prompt before it."""

import dataclasses

import msgspec
import pytest

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Role, Usage
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told

LONG = "x" * 4_000


def kept_the_newest(reads=(None, None, None), **seconds):
    """Three calls; before the last one the agent dropped its oldest message and kept the other two."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "old " + LONG))
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "newer " + LONG))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "answer"), model="claude-opus-4-1", time=1_000.0)
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "newest"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "second"), model="claude-opus-4-1", time=1_010.0)
    builder.compact(keep=4)
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go on"))
    time = 1_020.0 + seconds.get("later", 0.0)
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "third"), model="claude-opus-4-1", time=time)
    session = builder.session()
    calls = [
        call if read is None else msgspec.structs.replace(call, usage=Usage(0, read, written, 0, output=1))
        for call, (read, written) in zip(session.calls, [each or (None, 0) for each in reads], strict=True)
    ]
    return dataclasses.replace(session, calls=tuple(calls))


WITHOUT_THE_OLDEST = Plan((PlanEntry(Told(((0, 1, Decision(RemoveBlock(), "old")),))),))


def read_at_last(session, plan, cache=None):
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), cache=cache)
    return int(replay(inputs, plan).ledger.cache_read[2])


@pytest.mark.parametrize(
    ("reads", "cache"),
    [((None, None, None), "openai"), (((0, 8_100), (8_000, 100), (0, 4_200)), None)],
    ids=["counted", "read"],
)
def test_what_the_agent_dropped_was_out_of_the_cached_prefix_where_the_plan_had_dropped_it(reads, cache):
    session = kept_the_newest(reads)

    assert read_at_last(session, Plan(), cache) == 0
    assert read_at_last(session, WITHOUT_THE_OLDEST, cache) >= 4_000


def test_entries_at_breakpoints_of_a_context_that_dropped_messages_are_not_counted_on():
    """A lower bound: the last request had marked the end of the same messages, at another place of the recording."""
    assert read_at_last(kept_the_newest(), WITHOUT_THE_OLDEST) == 0


@pytest.mark.parametrize("reads", [(None, None, None), ((0, 8_100), (8_000, 100), (0, 4_200))], ids=["counted", "read"])
def test_after_a_pause_nothing_of_it_is_read(reads):
    assert read_at_last(kept_the_newest(reads, later=4_000.0), WITHOUT_THE_OLDEST) == 0


def test_a_provider_that_caches_nothing_reads_nothing_of_it():
    session = kept_the_newest()
    calls = [msgspec.structs.replace(call, usage=Usage(8_000, 0, 0, 0, output=1)) for call in session.calls]

    assert read_at_last(dataclasses.replace(session, calls=tuple(calls)), WITHOUT_THE_OLDEST) == 0
