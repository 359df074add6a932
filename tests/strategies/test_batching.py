import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.engine.replay import replay
from inspector.strategies.core.batching import BatchedRun, Batching, batched_schedule
from inspector.strategies.core.parameters import Parameter
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.history.history import History
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import STRATEGIES, strategy
from tests.examples import examples
from tests.replay.synthetic import Told, orders_for, sessions
from tests.replay.test_ledger import inputs_of
from tests.replay.test_prompt_layout import order_by_call
from tests.strategies.work import work


@dataclasses.dataclass(frozen=True)
class ToldBatched(Batching):
    """Given decisions, batched."""

    orders: tuple = ()
    name = "told-batched"
    title = summary = source = ""

    def schedule(self, history):
        return Told(self.orders).schedule(history)


def changes(outcome):
    found = outcome.edits
    return sorted(zip(found.call.tolist(), found.block.tolist(), found.tokens.tolist(), strict=True))


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_edits_of_what_was_sent_come_only_at_every_nth_call_or_with_a_new_context(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    every = data.draw(st.integers(2, 4))
    outcome = replay(inputs_of(session), Plan((PlanEntry(ToldBatched(orders, batch_calls=every)),)))
    history = outcome.history
    for call, block, _ in changes(outcome):
        begins = call == 0 or history.call_context[call] != history.call_context[call - 1]
        assert call == history.enters[block] or (call + 1) % every == 0 or begins


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_batching_worked_out_at_once_equals_batching_call_by_call(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    every = data.draw(st.integers(2, 4))
    inputs = inputs_of(session)

    at_once = replay(inputs, Plan((PlanEntry(ToldBatched(orders, batch_calls=every)),)))
    # A gate that is always open leaves only the walk to do the same.
    waiting = ToldBatched(orders, batch_calls=every, batch_before=99)
    object.__setattr__(waiting, "batch_before", 101)
    by_call = replay(inputs, Plan((PlanEntry(_Walked(waiting)),)))

    assert changes(at_once) == changes(by_call)


class _Walked:
    name = "walked"
    title = summary = source = ""
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, batching):
        self.batching = batching

    def start(self, history):
        schedule = self.batching.schedule(history)
        by_call = {}
        for at in range(len(schedule.blocks)):
            block = int(schedule.blocks[at])
            due = max(int(schedule.calls[at]), int(history.enters[block]))
            by_call.setdefault(due, []).append((block, schedule.table[schedule.decisions[at]]))
        from inspector.strategies.core.strategy import Choice

        return BatchedRun(self.batching, lambda context: [Choice(*item) for item in by_call.get(context.call, [])])


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_gate_opens_only_for_enough_tokens(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    least = data.draw(st.integers(1, 60))
    outcome = replay(inputs_of(session), Plan((PlanEntry(ToldBatched(orders, batch_tokens=least)),)))
    history, found = outcome.history, outcome.edits
    reclaimed: dict[int, int] = {}
    for row in range(len(found.block)):
        call = int(found.call[row])
        begins = call == 0 or history.call_context[call] != history.call_context[call - 1]
        if call > history.enters[found.block[row]] and not begins:
            reclaimed[call] = reclaimed.get(call, 0) + int(found.previous_tokens[row] - found.tokens[row])
    assert all(tokens >= least for tokens in reclaimed.values())


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_gate_opens_only_for_a_large_enough_share_of_the_prompt(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    share = data.draw(st.integers(1, 100))
    outcome = replay(inputs_of(session), Plan((PlanEntry(ToldBatched(orders, batch_share=share)),)))
    history, found = outcome.history, outcome.edits
    reclaimed: dict[int, int] = {}
    arriving: dict[int, int] = {}
    for row in range(len(found.block)):
        call = int(found.call[row])
        begins = call == 0 or history.call_context[call] != history.call_context[call - 1]
        if call < history.call_count and not begins:
            kind = reclaimed if call > history.enters[found.block[row]] else arriving
            kind[call] = kind.get(call, 0) + int(found.previous_tokens[row] - found.tokens[row])
    # The remaining tokens plus the tokens cut at this call equal the earlier prompt.
    left = outcome.ledger.prompt_tokens
    assert all(
        tokens * 100 >= share * (int(left[call]) + tokens + arriving.get(call, 0)) - 100
        for call, tokens in reclaimed.items()
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_with_an_idle_gate_a_warm_cache_is_never_broken(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    outcome = replay(inputs_of(session), Plan((PlanEntry(ToldBatched(orders, batch_idle=300)),)))
    previous = outcome.inputs.layout.previous_call
    for call, first in enumerate(outcome.ledger.first_changed.tolist()):
        # A compaction by the agent discards pending cuts: no call precedes this one.
        if first >= 0 and previous[call] >= 0:
            assert session.calls[call].time - session.calls[int(previous[call])].time >= 300


def test_a_strategy_at_rest_is_not_batched():
    assert not TieredStale().delays_edits
    assert TieredStale(batch_calls=25).delays_edits


@pytest.mark.parametrize("name", [name for name, kind in STRATEGIES.items() if issubclass(kind, Batching)])
def test_own_parameters_come_before_the_shared_ones(name):
    names = [parameter.name for parameter in STRATEGIES[name].parameters]
    assert names[-5:] == ["batch-calls", "batch-tokens", "batch-share", "batch-idle", "batch-before"]


@settings(max_examples=examples(30), deadline=None)
@given(sessions())
def test_a_schedule_batched_at_every_call_is_the_schedule(session):
    history = History.of(session)
    strategy = TieredStale(default=3)
    assert isinstance(strategy, ScheduledStrategy)
    schedule = strategy.schedule(history)
    batched = batched_schedule(history, schedule, 1)
    assert sorted(zip(batched.blocks.tolist(), batched.calls.tolist(), strict=True)) == sorted(
        zip(schedule.blocks.tolist(), schedule.calls.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    "gate", [{"batch_tokens": 1_000_000}, {"batch_tokens": 2_000}, {"batch_idle": 1_000}, {"batch_share": 90}]
)
def test_what_waits_is_not_looked_at_again_at_every_call(gate):
    made = strategy("tiered-stale", default=3, data=3, **gate)
    work(made, 10)
    once, twice, four_times = (work(made, count) for count in (80, 160, 320))
    assert four_times - twice < 2.5 * (twice - once)
