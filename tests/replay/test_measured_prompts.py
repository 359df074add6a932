"""Usage reports that count new prompt tokens twice: detected only by the next call's cache read."""

import numpy as np
import pytest

from inspector.replay.analysis.validation import prompt_fit
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.recorded_calls import counted_twice, deduplicated_prompts
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role, Session, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.replay.synthetic import CharacterTable, SessionBuilder

PRICING = Pricing.load()


def session_of(twice: set[int], calls: int = 24) -> tuple[Session, list[int]]:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal" * 5_000))
    size, sizes = 20_006, []
    for turn in range(calls):
        read = sizes[-1] - 1 if sizes else 0
        fresh = size - read
        uncached = 2 * fresh - 1 if turn in twice else fresh
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        usage = Usage(cache_read=read, uncached=uncached, output=5)
        builder.respond(call, usage=usage, model="claude-sonnet-4-6", time=10.0 * turn)
        length = 700 + 90 * (turn % 7)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * length, "Read", f"c{turn}"))
        sizes.append(size)
        size += 2 + 6 + length + 6
    return builder.session(), sizes


def test_what_is_new_counted_twice_is_found_by_what_the_next_call_reads():
    session, sizes = session_of({3, 7, 8, 15})
    history = History.of(session)

    assert np.flatnonzero(counted_twice(history)).tolist() == [3, 7, 8, 15]
    assert deduplicated_prompts(history) == pytest.approx(np.array(sizes), abs=1)


def test_prompts_are_fitted_to_what_they_measured_and_cost_what_was_reported():
    session, _ = session_of({3, 7, 8, 15})
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)
    fit = prompt_fit(inputs)

    assert fit.keeps()
    assert (fit.counted_twice, fit.shifts) == (4, ())
    assert replay(inputs, Plan()).ledger.prompt_tokens.tolist() == [call.usage.prompt for call in session.calls]


@pytest.mark.parametrize("twice", [set(), {3}, {3, 9}])
def test_one_or_two_such_calls_may_be_by_chance(twice: set[int]):
    session, _ = session_of(twice)

    assert not counted_twice(History.of(session)).any()
