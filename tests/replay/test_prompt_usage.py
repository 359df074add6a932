from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.cache.cache_models import CacheColumns, CacheModel
from inspector.replay.cache.prompt_usage import UNCHANGED, PromptUsage, anchored_usage, simulated_usage
from inspector.session.model import Usage
from tests.examples import examples
from tests.replay.cache_by_hand import CacheByHand, Served, common_prefix

WRITING = CacheModel("writing", "", minimum_prefix=12, lifetime=300, writes=True)
STEPPING = CacheModel("stepping", "", minimum_prefix=16, lifetime=300, step=8)
HOURLY = CacheModel("hourly", "", minimum_prefix=4, lifetime=3600, writes=True, writes_one_hour=True)
NONE = CacheModel("none", "", minimum_prefix=1 << 62, lifetime=0)

caches = st.sampled_from([WRITING, STEPPING, HOURLY, NONE])


@dataclass(frozen=True)
class Session:
    """Blocks by the call they enter at; the plan cuts block b to `kept[b]` tokens at call `cut_at[b]`."""

    sizes: tuple[int, ...]
    enters: tuple[int, ...]
    gaps: tuple[float, ...]
    models: tuple[str, ...]
    kept: tuple[int, ...]
    cut_at: tuple[int, ...]

    def prompt(self, call: int, *, with_plan: bool) -> list[tuple[int, ...]]:
        return [token for block in self.blocks(call) for token in self.tokens(block, call, with_plan=with_plan)]

    def blocks(self, call: int) -> list[int]:
        return [block for block, enters in enumerate(self.enters) if enters <= call]

    def tokens(self, block: int, call: int, *, with_plan: bool) -> list[tuple[int, ...]]:
        """A cut block begins with a marker, so that it differs from the whole one at its first token."""
        if with_plan and self.cut_at[block] <= call:
            return [(block, -1, index) for index in range(self.kept[block])]
        return [(block, index) for index in range(self.sizes[block])]

    def start(self, block: int, call: int) -> int:
        earlier = [other for other in self.blocks(call) if other < block]
        return sum(len(self.tokens(other, call, with_plan=True)) for other in earlier)

    def first_change(self, call: int) -> int:
        for block in self.blocks(call - 1) if call else []:
            if self.cut_at[block] == call:
                return self.start(block, call)
        return UNCHANGED


@st.composite
def sessions(draw: st.DrawFn, *, one_model: bool = False) -> Session:
    calls = draw(st.integers(1, 7))
    enters: list[int] = []
    for call in range(calls):
        enters += [call] * draw(st.integers(1 if call == 0 else 0, 3))
    count = len(enters)
    sizes = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    models = ["a"] * calls if one_model else draw(st.lists(st.sampled_from("aab"), min_size=calls, max_size=calls))
    return Session(
        sizes=tuple(sizes),
        enters=tuple(enters),
        gaps=tuple(draw(st.lists(st.sampled_from([1.0, 100.0, 299.0, 301.0, 5000.0]), min_size=calls, max_size=calls))),
        models=tuple(models),
        kept=tuple(draw(st.integers(1, size)) for size in sizes),
        cut_at=tuple(
            draw(st.sampled_from([enters[block], enters[block] + 1, enters[block] + 3, 99])) for block in range(count)
        ),
    )


def table(usage: PromptUsage) -> list[tuple[int, ...]]:
    columns = (usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def column(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@settings(max_examples=examples(150), deadline=None)
@given(sessions(), caches)
def test_simulated_usage_equals_sending_every_prompt_token_by_token(session: Session, cache: CacheModel):
    by_hand, served, shared, gap, same = CacheByHand(cache), [], [], [], []
    time, last = 0.0, {}
    for call, model in enumerate(session.models):
        time += session.gaps[call]
        prompt = session.prompt(call, with_plan=True)
        served.append(by_hand.send(model, prompt, time))
        before, sent_at = last.get(model, ([], np.nan))
        shared.append(common_prefix(before, prompt))
        gap.append(time - sent_at)
        same.append(bool(before))
        last[model] = (prompt, time)
    prompts = column([len(session.prompt(call, with_plan=True)) for call in range(len(session.models))])
    usage = simulated_usage(cache, prompts, column(shared), np.array(gap), np.array(same))
    assert table(usage) == served


@settings(max_examples=examples(150), deadline=None)
@given(sessions(one_model=True), st.sampled_from([WRITING, HOURLY]), st.data())
def test_anchored_usage_equals_sending_the_plan_through_a_cache_with_the_same_misses(
    session: Session, cache: CacheModel, data: st.DataObject
):
    """A miss falls between two blocks, so that it has one place in both prompts."""
    recorded_cache, plan_cache = CacheByHand(cache), CacheByHand(cache)
    recorded, planned, boundary, change = [], [], [], []
    time = 0.0
    for call in range(len(session.models)):
        time += session.gaps[call]
        blocks = session.blocks(call)
        missed_at = data.draw(st.sampled_from([None, None, None, *blocks]))
        whole = [len(session.tokens(block, call, with_plan=False)) for block in blocks]
        at_most = None if missed_at is None else sum(whole[: blocks.index(missed_at)])
        served = recorded_cache.send("a", session.prompt(call, with_plan=False), time, at_most)
        recorded.append(Usage(*served))
        ends = np.cumsum([0, *whole]).tolist()
        place = session.start(blocks[ends.index(served.read)], call) if served.read in ends[:-1] else None
        place = len(session.prompt(call, with_plan=True)) if place is None else place
        boundary.append(place)
        change.append(session.first_change(call))
        planned.append(
            plan_cache.send("a", session.prompt(call, with_plan=True), time, None if at_most is None else place)
        )
    prompts = column([len(session.prompt(call, with_plan=True)) for call in range(len(session.models))])
    usage = anchored_usage(cache, PromptUsage.of(recorded), prompts, column(boundary), column(change))
    assert usage.prompt.tolist() == prompts.tolist()
    assert table(usage) == planned


reported = st.builds(Usage, *(st.integers(0, 5000) for _ in range(4)))


@given(st.lists(reported, min_size=1, max_size=20), caches)
def test_anchored_usage_without_edits_is_the_report_itself(usages: list[Usage], cache: CacheModel):
    recorded = PromptUsage.of(usages)
    usage = anchored_usage(
        cache, recorded, recorded.prompt, recorded.cache_read, np.full(len(usages), UNCHANGED, dtype=np.int64)
    )
    assert table(usage) == table(recorded)


@given(
    st.lists(st.tuples(reported, st.integers(0, 20000), st.integers(0, 20000), st.integers(0, 20000)), max_size=20),
    caches,
)
def test_anchored_usage_serves_every_token_once_whatever_the_plan_does(
    cases: list[tuple[Usage, int, int, int]], cache: CacheModel
):
    recorded = PromptUsage.of([case[0] for case in cases])
    prompts, boundary, change = (column([case[place] for case in cases]) for place in (1, 2, 3))
    usage = anchored_usage(cache, recorded, prompts, np.minimum(boundary, prompts), change)
    assert usage.prompt.tolist() == prompts.tolist()
    assert all(value >= 0 for row in table(usage) for value in row)


def anchored(cache: CacheModel, usage: Usage, prompt: int, boundary: int, change: int = UNCHANGED) -> Served:
    row = table(anchored_usage(cache, PromptUsage.of([usage]), column([prompt]), column([boundary]), column([change])))[
        0
    ]
    return Served(*row)


LIVE = CacheModel("live", "", minimum_prefix=1024, lifetime=300, writes=True)


def test_a_cut_behind_the_recorded_read_only_shrinks_the_write():
    assert anchored(LIVE, Usage(3, 10_000, 2_000), 11_503, 10_000) == (3, 10_000, 1_500, 0)


def test_a_cut_before_the_recorded_read_shrinks_the_read_once_the_shorter_text_is_cached():
    assert anchored(LIVE, Usage(3, 10_000, 2_000), 11_003, 9_000) == (3, 9_000, 2_000, 0)


def test_a_change_makes_everything_behind_it_a_write():
    assert anchored(LIVE, Usage(3, 10_000, 2_000), 11_003, 9_000, change=4_000) == (3, 4_000, 7_000, 0)


def test_a_change_before_the_shortest_prefix_leaves_nothing_to_read():
    assert anchored(LIVE, Usage(3, 10_000, 2_000), 11_003, 9_000, change=1_023) == (3, 0, 11_000, 0)


def test_a_change_at_a_recorded_miss_costs_nothing_extra():
    assert anchored(LIVE, Usage(3, 0, 12_000), 11_003, 0, change=4_000) == (3, 0, 11_000, 0)


def test_writes_are_split_between_kinds_as_the_call_split_them():
    assert anchored(LIVE, Usage(0, 10_000, 500, 1_500), 11_000, 9_000, change=5_000) == (0, 5_000, 1_500, 4_500)


def test_a_call_that_wrote_nothing_writes_to_the_kind_the_call_before_it_wrote_to():
    recorded = PromptUsage.of([Usage(0, 0, 0, 8_000), Usage(0, 8_000)])
    usage = anchored_usage(LIVE, recorded, column([8_000, 7_000]), column([0, 7_000]), column([UNCHANGED, 2_000]))
    assert table(usage) == [(0, 0, 0, 8_000), (0, 2_000, 0, 5_000)]


def test_a_call_recorded_without_any_cache_stays_without():
    assert anchored(LIVE, Usage(12_000), 11_000, 0, change=4_000) == (11_000, 0, 0, 0)


def test_what_was_cached_though_shorter_than_the_minimum_stays_cached_when_cut():
    assert anchored(LIVE, Usage(0, 900, 300), 1_100, 900) == (0, 900, 200, 0)


def test_a_stepping_cache_reads_whole_steps_after_a_change():
    cache = CacheModel("openai", "", minimum_prefix=1024, lifetime=600, step=128)
    assert anchored(cache, Usage(2_000, 10_240), 11_240, 9_240, change=5_000) == (11_240 - 4_992, 4_992, 0, 0)


def test_a_change_out_of_reach_of_the_lookback_is_read_up_to_the_static_prefix():
    cache = CacheModel("short", "", minimum_prefix=1024, lifetime=300, writes=True, lookback=20)
    recorded = PromptUsage.of([Usage(0, 10_000, 2_000)] * 2)
    usage = anchored_usage(
        cache,
        recorded,
        column([11_000, 11_000]),
        column([9_000, 9_000]),
        column([4_000, 4_000]),
        positions_after_change=column([19, 20]),
        static_prefix_tokens=3_000,
    )
    assert usage.cache_read.tolist() == [4_000, 3_000]


def test_calls_of_several_models_each_follow_their_own_cache():
    cache_columns = CacheColumns.of([WRITING, STEPPING, HOURLY, NONE])
    count = 4
    together = simulated_usage(
        cache_columns, np.full(count, 100), np.full(count, 59), np.full(count, 10.0), np.ones(count, dtype=np.bool_)
    )
    alone = [
        table(simulated_usage(cache, column([100]), column([59]), np.array([10.0]), np.array([True])))[0]
        for cache in (WRITING, STEPPING, HOURLY, NONE)
    ]
    assert table(together) == alone == [(0, 59, 41, 0), (44, 56, 0, 0), (0, 59, 0, 41), (100, 0, 0, 0)]


def test_a_gap_no_one_knows_counts_as_soon_enough():
    usage = simulated_usage(WRITING, column([100]), column([60]), np.array([np.nan]), np.array([True]))
    assert usage.cache_read.tolist() == [60]


@pytest.mark.parametrize(("gap", "read"), [(300.0, 60), (300.1, 0)])
def test_an_entry_lives_exactly_its_lifetime(gap: float, read: int):
    usage = simulated_usage(WRITING, column([100]), column([60]), np.array([gap]), np.array([True]))
    assert usage.cache_read.tolist() == [read]
