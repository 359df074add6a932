"""Estimates of cache behavior: compared with a slow count, and on generated sessions with known parameters."""

import dataclasses
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from inspector.replay.analysis.forecast import CacheSpread, CostComparison, ReadSpread, project_runs, read_spread
from inspector.replay.analysis.validation import learned_caches
from inspector.replay.assumptions import RunsPerDay
from inspector.replay.cache.cache_models import (
    CACHE_MODELS,
    OTHERS,
    PAUSES,
    PRIOR_CALLS,
    PRIOR_MISSES,
    TYPICAL,
    CacheModel,
    CacheObservations,
    CacheOdds,
    CallFeatures,
    ReadOdds,
    never_rising,
)
from inspector.replay.cache.prompt_usage import simulated_usage
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import Band
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Call, Context, Message, Role, Session, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder

PRICING = Pricing.load()
OPENAI, ANTHROPIC = CACHE_MODELS["openai"], CACHE_MODELS["anthropic"]


class Row(NamedTuple):
    """A call that was reported."""

    read: int
    shared: int
    gap: float = 10.0
    is_first: bool = False
    is_restart: bool = False
    written: int = 0
    kept: int | None = None
    is_sibling: bool = False


def seen(rows: list[Row]) -> CacheObservations:
    read, shared, gap, first, restart, written, kept, sibling = zip(*rows, strict=True) if rows else ((),) * 8
    most = [every if left is None else min(left, every) for left, every in zip(kept, shared, strict=True)]
    return CacheObservations(
        read=np.array(read, dtype=np.int64),
        shared=np.array(shared, dtype=np.int64),
        most_kept=np.array(most, dtype=np.int64),
        gap=np.array(gap, dtype=np.float64),
        is_first=np.array(first, dtype=np.bool_),
        is_sibling=np.array(sibling, dtype=np.bool_),
        is_restart=np.array(restart, dtype=np.bool_),
        writes=np.array(written, dtype=np.int64),
    )


def test_a_cache_of_a_few_calls_worked_out_by_hand():
    """Three calls within a minute that share 10,000 tokens: two read them, one reads 4,000 of them."""
    odds = CacheOdds.of(OPENAI, seen([Row(9_984, 10_000), Row(9_984, 10_000), Row(4_000, 10_000)]))

    # Four similar calls, of which 0.93 succeed, and three calls in this session, of which two do.
    assert odds.chances[0] == pytest.approx((4 * 0.93 + 2) / (4 + 3))
    # Of the miss 0.4 was read; of one like others 0.5 is.
    assert odds.after_miss == pytest.approx((4_000 + 0.5 * 10_000) / 20_000)
    # A difference of one step is no lag.
    assert odds.lag == 0
    assert (odds.is_used, odds.calls) == (True, 3)


def test_nothing_seen_is_what_is_typical():
    odds = CacheOdds.of(ANTHROPIC, seen([]))

    assert odds.chances == pytest.approx(TYPICAL["anthropic"].chances)
    typical = TYPICAL["anthropic"]
    assert (odds.after_miss, odds.after_expiry) == (typical.after_miss, typical.after_expiry)
    assert (odds.first, odds.sibling, odds.restart) == (typical.first, typical.sibling, typical.restart)
    assert odds.doubts[0] == pytest.approx((0.995 * 0.005 / 5) ** 0.5)


def by_hand(cache: CacheModel, rows: list[Row]) -> tuple[list[Fraction], list[Fraction]]:
    typical = TYPICAL.get(cache.name, OTHERS)
    kept = [row for row in rows if row.shared >= cache.minimum_prefix]
    grown = [row for row in kept if not row.is_first and not row.is_restart]
    usual = Fraction(sum(row.shared for row in grown), len(grown)) if grown else Fraction(1)

    def missed(row: Row) -> bool:
        lost = row.shared - row.read
        return lost >= 2_000 and 20 * lost >= row.shared

    found, weights = [], []
    for number in range(len(PAUSES) + 1):
        below = PAUSES[number - 1] if number else -1.0
        above = PAUSES[number] if number < len(PAUSES) else float("inf")
        mine = [row for row in grown if below < row.gap <= above]
        weight = Fraction(PRIOR_CALLS) + sum((row.shared / usual for row in mine), Fraction(0))
        good = Fraction(PRIOR_CALLS) * Fraction(typical.chances[number])
        good += sum((row.shared / usual for row in mine if not missed(row)), Fraction(0))
        found.append(good / weight)
        weights.append(weight)
    # The nearest values that never rise: of all stretches that begin no later, the least of the greatest averages.
    count = len(found)

    def average(first: int, last: int) -> Fraction:
        total = sum(weights[first : last + 1], Fraction(0))
        return sum((found[at] * weights[at] for at in range(first, last + 1)), Fraction(0)) / total

    falling = [
        min(max(average(first, last) for last in range(at, count)) for first in range(at + 1)) for at in range(count)
    ]

    def share(of: list[tuple[int, int]], usually: float) -> Fraction:
        if not of:
            return Fraction(usually)
        most = Fraction(sum(left for _, left in of))
        prior = Fraction(PRIOR_MISSES) * most / len(of)
        return (sum(min(each) for each in of) + Fraction(usually) * prior) / max(most + prior, Fraction(1))

    def whole(mine: list[Row]) -> list[tuple[int, int]]:
        return [(row.read, row.shared) for row in mine]

    def left(mine: list[Row]) -> list[tuple[int, int]]:
        return [(row.read, row.shared if row.kept is None else min(row.kept, row.shared)) for row in mine]

    failed = [row for row in grown if missed(row)]
    return falling, [
        share(left([row for row in failed if row.gap <= cache.lifetime]), typical.after_miss),
        share(left([row for row in failed if row.gap > cache.lifetime]), typical.after_expiry),
        share(whole([row for row in kept if row.is_first and not row.is_sibling]), typical.first),
        share(whole([row for row in kept if row.is_first and row.is_sibling]), typical.sibling),
        share(whole([row for row in kept if row.is_restart and not row.is_first]), typical.restart),
    ]


drawn_rows = st.lists(
    st.builds(
        Row,
        read=st.integers(0, 100_000),
        shared=st.integers(0, 100_000),
        gap=st.sampled_from([0.0, 5.0, 60.0, 61.0, 300.0, 301.0, 359.0, 400.0, 3_600.0, 5_000.0]),
        is_first=st.booleans(),
        is_restart=st.booleans(),
        written=st.just(0),
        kept=st.none() | st.integers(0, 50_000),
        is_sibling=st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from([OPENAI, ANTHROPIC, CACHE_MODELS["gemini"], CACHE_MODELS["automatic"]]), drawn_rows)
def test_what_is_learned_equals_a_count_by_hand(cache: CacheModel, rows: list[Row]):
    odds = CacheOdds.of(cache, seen(rows))
    chances, shares = by_hand(cache, rows)
    found = (odds.after_miss, odds.after_expiry, odds.first, odds.sibling, odds.restart)

    assert odds.chances == pytest.approx([float(each) for each in chances])
    assert found == pytest.approx([float(each) for each in shares])
    assert all(earlier >= later for earlier, later in zip(odds.chances, odds.chances[1:], strict=False))
    assert all(0 <= share <= 1 for share in (*odds.chances, *found))


def test_values_that_rise_are_averaged_by_their_weights():
    assert never_rising([0.9, 0.5, 0.8, 0.1], [10, 1, 2, 5]) == pytest.approx((0.9, 0.7, 0.7, 0.1))
    assert never_rising([0.1, 0.9], [1, 3]) == pytest.approx((0.7, 0.7))
    assert never_rising([], []) == ()


def test_a_route_that_never_reads_nor_writes_what_it_could_has_no_cache():
    assert not CacheOdds.of(ANTHROPIC, seen([Row(0, 9_000)] * 3)).is_used
    assert CacheOdds.of(ANTHROPIC, seen([Row(0, 9_000)] * 2)).is_used, "two calls may have missed"
    assert CacheOdds.of(ANTHROPIC, seen([Row(0, 9_000, written=9_000)] * 3)).is_used, "what is written is cached"
    assert CacheOdds.of(ANTHROPIC, seen([Row(0, 900)] * 9)).is_used, "too short to be cached"


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from([OPENAI, ANTHROPIC, CACHE_MODELS["gemini"]]),
    drawn_rows,
    st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 50_000), st.floats(0, 8_000)), min_size=1, max_size=20),
)
def test_no_read_is_larger_than_what_is_shared_and_every_token_is_served_once(cache, rows, asked):
    prompt, shared, gap = (np.array(column) for column in zip(*asked, strict=True))
    odds = read_odds(cache, CacheOdds.of(cache, seen(rows)), gap)

    usage = simulated_usage(cache, prompt, shared, gap, np.ones(len(gap), dtype=np.bool_), odds=odds)

    assert (usage.prompt == prompt).all()
    assert (usage.cache_read <= np.minimum(prompt, shared)).all()
    assert all((column >= 0).all() for column in (usage.uncached, usage.cache_read, usage.cache_write))


def read_odds(cache: CacheModel, odds: CacheOdds, gap: np.ndarray) -> ReadOdds:
    never = np.zeros(len(gap), dtype=np.bool_)
    asked = CallFeatures(
        gap=gap,
        most_kept=np.full(len(gap), 1 << 40),
        is_expired=gap > cache.lifetime,
        is_changed=never,
        is_first=never,
        is_sibling=never,
        is_restart=never,
        same_model=~never,
    )
    return ReadOdds.of([odds], np.zeros(len(gap), dtype=np.int64), asked)


def test_a_known_chance_and_what_a_miss_leaves_are_recovered():
    draws = np.random.default_rng(5)
    shared = draws.integers(20_000, 120_000, 2_000)
    gap = draws.choice([20.0, 200.0, 2_000.0], 2_000)
    hits = draws.random(2_000) < np.select([gap == 20.0, gap == 200.0], [0.9, 0.7], 0.2)
    read = np.where(hits, shared, np.where(gap > OPENAI.lifetime, 0, 5_000))
    rows = [Row(int(r), int(s), float(g)) for r, s, g in zip(read, shared, gap, strict=True)]

    odds = CacheOdds.of(OPENAI, seen(rows))

    assert odds.chances[0] == pytest.approx(0.9, abs=0.03)
    assert odds.chances[1] == pytest.approx(0.7, abs=0.05)
    assert odds.chances[3] == pytest.approx(0.2, abs=0.05)
    assert odds.after_miss == pytest.approx(5_000 / shared.mean(), abs=0.01)
    assert odds.after_expiry == pytest.approx(0, abs=0.002)
    expected = float((odds.chances[0] * shared + (1 - odds.chances[0]) * odds.after_miss * shared)[gap == 20.0].sum())
    assert expected == pytest.approx(float(read[gap == 20.0].sum()), rel=0.01)


def made_session(calls: int, read_of, *, write: bool = True, model: str = "claude-opus-4-8") -> Session:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal" * 5_000))
    size, previous = 20_000 + 6, 0
    for turn in range(calls):
        read = read_of(turn, previous)
        rest = size - read
        usage = Usage(cache_read=read, cache_write_5m=rest if write else 0, uncached=0 if write else rest, output=5)
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        builder.respond(call, usage=usage, model=model, time=10.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn:03}" + "r" * 997, "Read", f"c{turn}"))
        previous, size = size, size + 2 + 6 + 1000 + 6
    return builder.session()


def inputs_of(session: Session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)


def without_reports(session: Session, calls: range) -> Session:
    hidden = tuple(structs.replace(call, usage=None) if at in calls else call for at, call in enumerate(session.calls))
    return dataclasses.replace(session, calls=hidden)


def test_what_was_reported_stands_and_the_rest_is_by_what_it_shows():
    """Every fifth call misses: of twenty more that were not reported, one in five is expected to miss."""
    session = made_session(60, lambda turn, shared: 0 if turn % 5 == 0 else shared)
    inputs = inputs_of(without_reports(session, range(40, 60)))

    ledger = replay(inputs, Plan()).ledger

    told = [call.usage for call in session.calls[:40]]
    assert ledger.cache_read[:40].tolist() == [usage.cache_read for usage in told]
    assert ledger.cache_write_5m[:40].tolist() == [usage.cache_write_5m for usage in told]
    shares = ledger.cache_read[40:] / ledger.prompt_tokens[39:-1]
    # 31 or 32 of 39 reads succeeded, of which the later ones were of longer prompts; and four of 0.995 like others.
    assert shares == pytest.approx(np.full(20, (32 + 4 * 0.995) / (39 + 4)), abs=0.03)


def test_a_session_that_caches_as_it_did_is_predicted_by_either_half():
    session = made_session(240, lambda turn, shared: 0 if turn % 8 == 0 else shared)

    found = learned_caches(inputs_of(session))

    # Four similar calls next to 120 in this session raise the expected reads slightly above the actual ones.
    assert found.cost.off == pytest.approx(0, abs=0.08)
    assert found.cache_read.off == pytest.approx(0, abs=0.03)
    assert found.within


def test_a_route_without_a_cache_and_one_that_counts_no_writes_are_known_by_the_other_half():
    silent = learned_caches(inputs_of(made_session(40, lambda *_: 0, write=False)))
    unwritten = learned_caches(inputs_of(made_session(40, lambda turn, shared: shared, write=False)))

    assert (silent.cache_read.predicted, silent.cache_write.predicted) == (0, 0)
    assert silent.cost.off == pytest.approx(0, abs=0.01)
    assert unwritten.cache_write.predicted == 0
    assert unwritten.cost.off == pytest.approx(0, abs=0.05)


def test_a_plan_of_a_session_whose_writes_are_not_counted_is_charged_for_none():
    inputs = inputs_of(made_session(30, lambda turn, shared: shared, write=False))

    planned = replay(inputs, Plan.from_specs(["keep-recent:keep=3"]))

    assert planned.ledger.is_break.any()
    assert not planned.ledger.cache_write.any()


def test_a_subagents_few_calls_are_served_as_those_of_its_parents_family():
    session = made_session(40, lambda turn, shared: 0 if turn % 2 else shared)
    calls = tuple(
        structs.replace(call, model="claude-sonnet-5", usage=None) if at >= 36 else call
        for at, call in enumerate(session.calls)
    )
    inputs = inputs_of(dataclasses.replace(session, calls=calls))

    assert set(inputs.cache_odds) == {"anthropic"}
    assert inputs.read_odds.chance[37:] == pytest.approx(np.full(3, inputs.cache_odds["anthropic"].chances[0]))
    assert inputs.read_odds.chance[36] == 0, "its first call after another model's reads nothing"
    assert inputs.cache_odds["anthropic"].chances[0] == pytest.approx(0.55, abs=0.1)


def test_a_call_that_names_no_model_is_taken_to_be_of_the_one_next_to_it():
    session = made_session(6, lambda turn, shared: shared)
    calls = tuple(structs.replace(call, model="" if at < 3 else call.model) for at, call in enumerate(session.calls))
    inputs = inputs_of(dataclasses.replace(session, calls=calls))

    assert inputs.same_model.tolist() == [False, True, True, True, True, True]


def test_a_cache_that_is_named_keeps_to_its_rules():
    session = made_session(20, lambda turn, shared: 0)
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING, cache="anthropic")
    found = replay(inputs, Plan())

    assert inputs.read_odds is None
    assert found.ledger.cache_read[1:] == pytest.approx(found.ledger.prompt_tokens[:-1], abs=30)
    assert read_spread(found).deviation() == 0


def test_nothing_recorded_is_unsure_and_a_plan_that_changes_prompts_is_only_where_it_does():
    inputs = inputs_of(made_session(40, lambda turn, shared: shared))
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan.from_specs(["keep-recent:keep=5,batch-calls=8"]))
    spread = CacheSpread.between(baseline, planned)

    assert spread.baseline.deviation() == 0
    changed = planned.ledger.is_break
    # Requests mark only their last block. The first batch leaves the entry of the goal, 14 positions before the mark.
    # At every later batch it is out of reach, and no other entry is intact: nothing is read, so nothing is at stake.
    assert np.flatnonzero(changed).tolist() == [7, 15, 23, 31, 39]
    assert (planned.ledger.cache_read[changed] > 0).tolist() == [True, False, False, False, False]
    assert ((spread.plan.chance > 0) == (changed & (planned.ledger.cache_read > 0))).all()
    assert not spread.plan.chance[~changed].any()

    costs = baseline.ledger.cost, planned.ledger.cost
    without, with_spread = (project_runs(*costs, RunsPerDay(1), spread=each).per_run for each in (None, spread))
    assert with_spread.baseline == without.baseline
    assert with_spread.plan.middle == without.plan.middle
    assert with_spread.plan.high - with_spread.plan.low > without.plan.high - without.plan.low
    assert with_spread.saving.high - with_spread.saving.low > without.saving.high - without.saving.low


def test_luck_that_both_have_leaves_what_is_saved_as_it_is():
    same = ReadSpread(np.full(50, 0.2), np.full(50, 0.01))
    costs = CostComparison(Band(9, 10, 12), Band(7, 8, 9), Band(1, 2, 3))

    wider = CacheSpread(same, same).widen(costs)

    # Fifty independent calls with an error of 0.2 each, and a common error of 0.01 per call.
    deviation = (50 * 0.2**2 + 0.5**2) ** 0.5
    assert same.deviation() == pytest.approx(deviation)
    assert wider.saving == costs.saving
    assert wider.plan.low == pytest.approx(8 - (1 + (1.645 * deviation) ** 2) ** 0.5)
    assert wider.baseline.high == pytest.approx(10 + (4 + (1.645 * deviation) ** 2) ** 0.5)


def test_more_calls_of_the_kind_are_as_unsure_as_so_many_by_chance_and_by_doubt():
    spread = ReadSpread(np.full(50, 0.2), np.full(50, 0.01))

    assert spread.deviation(times=4) == pytest.approx((200 * 0.2**2 + 2.0**2) ** 0.5)


def test_what_the_file_shows_to_break_a_cache_teaches_nothing_of_pauses_and_is_expected_to_miss():
    """Every tenth call thinks at another level, and misses for it."""
    session = made_session(60, lambda turn, shared: 0 if turn % 10 == 0 else shared)
    calls = tuple(
        structs.replace(call, thinking="high" if at // 10 % 2 else "low") for at, call in enumerate(session.calls)
    )
    session = dataclasses.replace(session, calls=calls)

    inputs = inputs_of(without_reports(session, range(30, 60)))
    found = learned_caches(inputs_of(session))

    assert inputs.cache_odds["anthropic"].chances[0] > 0.995
    assert inputs.read_odds.chance[[30, 40, 50]].tolist() == [0, 0, 0]
    assert found.cost.off == pytest.approx(0, abs=0.02)


def test_a_miss_leaves_system_prompt_and_tools_however_long_the_conversation_is():
    start = 12_000

    def read(turn: int, shared: int) -> int:
        return min(start, shared) if turn % 4 == 0 else shared

    session = made_session(80, read)
    calls = tuple(
        structs.replace(
            call,
            usage=structs.replace(
                call.usage,
                cache_read=call.usage.cache_read + (start if at % 4 else 0),
                cache_write_5m=max(call.usage.cache_write_5m + (start if at % 4 == 0 else 0), 0),
            ),
        )
        for at, call in enumerate(session.calls)
    )
    inputs = inputs_of(dataclasses.replace(session, calls=calls))

    odds = inputs.cache_odds["anthropic"]

    # The measured envelopes of the texts include the tokens before them.
    assert inputs.start_tokens[0] == pytest.approx(start, rel=0.06)
    assert odds.after_miss == pytest.approx(0.95, abs=0.05)
    assert inputs.read_odds.most_kept.max() == inputs.start_tokens[0]


def with_subagents(starts: list[float], read_of) -> Session:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal" * 500))
    usage = Usage(cache_write_5m=20_000, output=5)
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "yes"), usage=usage, model="claude-opus-4-8", time=0.0)
    session = builder.session()
    messages, calls, contexts = list(session.messages), list(session.calls), list(session.contexts)
    for number, start in enumerate(starts):
        asked = builder.block(BlockKind.USER_TEXT, f"task {number}")
        answer = builder.block(BlockKind.ASSISTANT_TEXT, f"done {number}")
        at = len(messages)
        messages += [
            Message(Role.USER, (asked,), time=start, thread=number + 1),
            Message(Role.ASSISTANT, (answer,), time=start, thread=number + 1),
        ]
        read = read_of(number)
        told = Usage(cache_read=read, cache_write_5m=12_000 - read, output=5)
        calls.append(
            Call(
                response=at + 1, context=len(contexts), prompt_messages=1, model=calls[0].model, time=start, usage=told
            )
        )
        contexts.append(Context(members=(at, at + 1), thread=number + 1))
    return dataclasses.replace(session, messages=tuple(messages), calls=tuple(calls), contexts=tuple(contexts))


def test_a_subagent_finds_what_another_left_while_the_cache_lives_and_nothing_of_one_that_starts_with_it():
    starts = [10.0, 10.2, 30.0, 30.1, 2_000.0]
    warm = [False, False, True, True, False]
    inputs = inputs_of(with_subagents(starts, lambda number: 11_000 if warm[number] else 0))

    odds = inputs.cache_odds["anthropic"]

    first = inputs.start_tokens[1]
    # Of two that find 11,000 each, and one like others that finds 0.9 of as much.
    assert odds.sibling == pytest.approx((2 * 11_000 + 0.9 * first) / (3 * first), rel=0.01)
    # The other four find nothing, and one like them half.
    assert odds.first == pytest.approx(0.5 / 5)
    chances = inputs.read_odds.chance[1:]
    assert chances.tolist() == [odds.sibling if each else odds.first for each in warm]


def test_no_more_is_read_than_the_prompt_before_held_where_something_came_unseen():
    """A note of 4,000 tokens that the file does not show comes with the sixth call, and stays."""
    session = made_session(12, lambda turn, shared: shared)
    calls = [
        structs.replace(
            call,
            usage=structs.replace(
                call.usage,
                cache_read=call.usage.cache_read + (4_000 if at > 6 else 0),
                cache_write_5m=call.usage.cache_write_5m + (4_000 if at == 6 else 0),
            ),
        )
        for at, call in enumerate(session.calls)
    ]
    inputs = inputs_of(dataclasses.replace(session, calls=tuple(calls)))

    odds = inputs.cache_odds["anthropic"]

    assert odds.lag == 0
    assert odds.chances[0] == pytest.approx((4 * 0.995 + 11) / 15, abs=1e-3), "none of eleven reads missed"
