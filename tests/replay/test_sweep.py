"""Sweeps of limits over their ranges: replays, their order, and the points of the curve."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.recoveries import NO_REFETCHES, TRIED, Envelope, EvidenceLevel, Rate, Refetches
from inspector.replay.analysis.sweep import (
    coarse_first,
    counts_along,
    grid,
    knee_of,
    sizes_for,
    sweep,
    tunable_limits,
    values_along,
)
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.parameters import ParameterError, ParameterKind, ValueScale
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from tests.replay.synthetic import SessionBuilder
from tests.replay.test_ledger import inputs_of


def conversation(sizes: list[int]) -> Session:
    """One result a call, of these many characters, of two tools in turn."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn, size in enumerate(sizes):
        tool = ("Read", "Bash")[turn % 2]
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", tool, f"c{turn}"), model="claude-opus-4-6")
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn:04}" + "r" * (size - 4), tool, f"c{turn}"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), model="claude-opus-4-6")
    return builder.session()


SIZES = [40, 900, 35, 4_000, 52, 60_000, 700, 90]
SPEC = "tiered-stale:tool-set=coding"


def axis_of(plan: Plan, name: str):
    return next(axis for axis in tunable_limits(plan) if axis.parameter.name == name)


def test_every_number_of_every_strategy_can_be_moved_over_its_whole_range():
    for kind in STRATEGIES.values():
        plan = Plan.of(kind())
        numeric = [p.name for p in kind.parameters if p.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER)]
        axes = tunable_limits(plan)
        assert [axis.parameter.name for axis in axes] == numeric
        for axis in axes:
            assert axis.value_in(plan) == axis.parameter.default
            assert axis.scale.minimum <= axis.value_in(plan) <= axis.scale.maximum
            if axis.parameter.maximum is not None:
                assert (axis.scale.minimum, axis.scale.maximum) == (axis.parameter.minimum, axis.parameter.maximum)


def test_moving_a_limit_switches_its_strategy_on_and_changes_nothing_else():
    plan = Plan.from_specs(["keep-recent", f"{SPEC},enabled=false"])
    moved = axis_of(plan, "data").moved(plan, 25.0)
    assert moved.to_specs() == ["keep-recent", f"{SPEC.replace(':', ':data=25,')}"]


def test_a_sweep_holds_at_every_value_what_a_replay_of_that_plan_holds():
    plan = Plan.from_specs([SPEC])
    inputs = inputs_of(conversation(SIZES))
    axis = axis_of(plan, "data")
    *earlier, last = sweep(inputs.isolated(), plan, axis, coarse=5, points=15)

    assert [len(found.points) for found in earlier] == list(range(1, 15))
    assert [found.is_complete for found in (*earlier, last)] == [False] * 14 + [True]
    assert last.values.tolist() == sorted(set(last.values.tolist()))
    assert {0.0, 100_000.0, 400.0} <= set(last.values.tolist())
    for point in last.points:
        spec = f"{SPEC.replace(':', f':data={point.value:.0f},')}"
        assert point.figures == replay(inputs, Plan.from_specs([spec])).figures


def test_values_gather_where_the_curve_bends():
    plan = Plan.from_specs([SPEC])
    inputs = inputs_of(conversation([5_000] * 12))
    axis = axis_of(plan, "data")
    *_, found = sweep(inputs, plan, axis, points=30)
    near = np.sum((found.values > 1_000) & (found.values < 10_000))
    assert near > 10, found.values


def test_a_range_of_few_values_is_replayed_at_each_once():
    plan = Plan.from_specs(["smart-retention:max-reads=3"])
    axis = axis_of(plan, "max-reads")
    *_, found = sweep(inputs_of(conversation(SIZES)), plan, axis, points=200)
    assert found.values.tolist() == list(range(2, 51))
    assert found.is_complete


def test_values_a_strategy_does_not_take_next_to_its_others_are_passed_over(monkeypatch):
    plan = Plan.from_specs(["keep-recent"])
    axis = axis_of(plan, "keep")
    kind = STRATEGIES["keep-recent"]
    checked, default = kind.__post_init__, kind().keep

    def refuse_even(self):
        checked(self)
        if self.keep % 2 == 0 and self.keep != default:
            raise ParameterError("odd values only")

    monkeypatch.setattr(kind, "__post_init__", refuse_even)
    *_, found = sweep(inputs_of(conversation(SIZES)), plan, axis, points=20)
    assert found.is_complete
    assert found.points
    assert all(value % 2 or value == default for value in found.values)


def test_a_fresh_memory_is_apart_and_comes_to_the_same():
    inputs = inputs_of(conversation(SIZES))
    other = inputs.isolated()
    plan = Plan.from_specs([SPEC, "token-budget:budget=500"])
    assert replay(other, plan).figures == replay(inputs, plan).figures
    assert other.renderer is not inputs.renderer
    assert other.layout is inputs.layout


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_replay_no_one_waits_for_is_given_up(name):
    asked = 0

    def cancelled():
        nonlocal asked
        asked += 1
        return asked > 1

    plan = Plan.of(STRATEGIES[name]())
    inputs = inputs_of(conversation(SIZES * 3)).isolated(cancelled)
    try:
        replay(inputs, plan)
    except ReplayCancelledError:
        assert asked == 2
    else:
        assert asked <= 1, "it went on though it was told to stop"


@pytest.mark.parametrize(
    ("heights", "knee"),
    [
        ([100, 10, 5, 4, 0], 1),
        ([0, 1, 2, 60, 100], 2),
        ([5, 5, 5, 5, 5], None),
        ([0, 25, 50, 75, 100], None),
        ([0, 90, 95, 99, 100], None),
        ([50, 10, 0, 10, 50], 2),
        ([1, 2], None),
        ([1, np.nan, 3], None),
    ],
)
def test_the_knee_is_where_the_curve_is_furthest_below_the_line_between_its_ends(heights, knee):
    assert knee_of(np.linspace(0, 1, len(heights)), np.array(heights, dtype=float)) == knee


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=20), st.floats(0.1, 1e4), st.floats(-1e5, 1e5))
def test_the_knee_does_not_depend_on_units(heights, factor, shift):
    x, y = np.linspace(0, 1, len(heights)), np.round(np.array(heights))
    found = knee_of(x, y)
    other = knee_of(x * 7 + 3, y * factor + shift)
    if found != other:
        # Only two points that are equally far below may change places by rounding.
        line = y[0] + (y[-1] - y[0]) * x
        below = (line - y) / max(y.max() - y.min(), 1e-9)
        assert found is None or other is None or abs(below[found] - below[other]) < 1e-6
        assert abs(below.max() - 0.05) < 1e-6 or (found is not None and other is not None)


def test_sizes_are_those_of_the_results_a_tier_holds():
    inputs = inputs_of(conversation(SIZES))
    plan = Plan.from_specs([SPEC])
    baseline = replay(inputs, Plan())
    strategy = plan.strategies[0]
    data, action, batch = (axis_of(plan, name).parameter for name in ("data", "action", "batch-tokens"))
    found = sizes_for(baseline, strategy, data)
    assert (sorted(found.values.tolist()), found.noun, found.group) == (sorted(SIZES[::2]), "result", "data")
    assert sorted(sizes_for(baseline, strategy, action).values.tolist()) == sorted(SIZES[1::2])
    assert sizes_for(baseline, strategy, batch) is None


def test_a_limit_of_a_prompt_is_held_against_prompts_and_one_of_neither_against_nothing():
    inputs = inputs_of(conversation(SIZES))
    baseline = replay(inputs, Plan())
    budget = Plan.from_specs(["token-budget"]).strategies[0]
    budget_axis, keep_axis = tunable_limits(Plan.of(budget))[:2]
    assert sizes_for(baseline, budget, budget_axis.parameter).values.tolist() == baseline.ledger.prompt_tokens.tolist()
    assert sorted(sizes_for(baseline, budget, keep_axis.parameter).values.tolist()) == sorted(SIZES)
    recent = Plan.from_specs(["keep-recent"])
    assert sizes_for(baseline, recent.strategies[0], axis_of(recent, "keep").parameter) is None


@given(st.lists(st.integers(0, 300_000), max_size=60), st.integers(1, 90), st.booleans())
def test_every_size_is_counted_once_where_a_slider_would_put_it(sizes, columns, logarithmic):
    scale = ValueScale(0, 100_000, logarithmic)
    counts = counts_along(np.array(sizes, dtype=np.int64), scale, columns)
    expected = [0] * columns
    for size in sizes:
        expected[min(int(scale.fraction(size) * columns), columns - 1)] += 1
    assert counts.tolist() == expected


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 20))
def test_a_grid_is_gone_through_once_from_coarse_to_fine(rows, columns):
    order = coarse_first(rows, columns)
    assert sorted(order) == [(row, column) for row in range(rows) for column in range(columns)]
    strides = [max(s for s in (8, 4, 2, 1) if row % s == 0 and column % s == 0) for row, column in order]
    assert strides == sorted(strides, reverse=True)


def test_a_grid_holds_at_every_pair_what_a_replay_of_that_plan_holds():
    plan = Plan.from_specs([SPEC])
    inputs = inputs_of(conversation(SIZES))
    across, down = axis_of(plan, "data"), axis_of(plan, "action")
    *earlier, last = grid(inputs, plan, across, down, columns=4, rows=3)

    assert (len(earlier), last.is_complete) == (11, True)
    assert 400.0 in last.columns
    assert 300.0 in last.rows
    for row, action in enumerate(last.rows.tolist()):
        for column, data in enumerate(last.columns.tolist()):
            figures = replay(inputs, Plan.from_specs([f"{SPEC},data={data:.0f},action={action:.0f}"])).figures
            assert last.cost[row, column] == figures.cost_usd.value
            assert last.tokens[row, column] == figures.prompt_tokens.value
    assert last.place(400.0, 300.0) == (last.rows.tolist().index(300.0), last.columns.tolist().index(400.0))


def test_what_of_a_grid_is_not_known_yet_is_shown_as_its_nearest_coarser_neighbour():
    plan = Plan.from_specs([SPEC])
    across, down = axis_of(plan, "data"), axis_of(plan, "action")
    first, *_ = grid(inputs_of(conversation(SIZES)), plan, across, down, columns=6, rows=5)
    assert (first.shown == first.cost[0, 0]).all()
    assert np.isnan(first.cost).sum() == first.cost.size - 1


@settings(deadline=None)
@given(st.integers(0, 100_000), st.integers(2, 20))
def test_values_along_a_limit_hold_its_ends_and_the_present_one(value, count):
    plan = Plan.from_specs([f"{SPEC},data={value}"])
    axis = axis_of(plan, "data")
    values = values_along(axis, float(value), count).tolist()
    assert values == sorted(set(values))
    assert {0.0, 100_000.0, float(value)} <= set(values)
    assert len(values) <= max(count, 3)


def test_the_best_value_is_the_cheapest_tried_one_with_its_refetches():
    """The cheapest value is untested, or its re-fetches cost more than all values differ by."""
    plan = Plan.from_specs(["cap-at-insertion"])
    axis = tunable_limits(plan)[0]
    *_, found = sweep(inputs_of(conversation(SIZES)), plan, axis, points=9)
    tried = [replace(point, envelope=TRIED, expected=NO_REFETCHES) for point in found.points]
    amounts = [point.figures.cost_usd.value or point.figures.prompt_tokens.value for point in tried]
    first = min(range(len(tried)), key=lambda at: (amounts[at], -tried[at].value))
    others = [at for at in range(len(tried)) if at != first]
    second = min(others, key=lambda at: (amounts[at], -tried[at].value))
    dear = Refetches(Rate(1, 1, 1), Rate(1, 1, 1), Rate(1e9, 1e9, 1e9), is_measured=True)
    many = Refetches(Rate(9, 9, 9), Rate(5.1, 5.1, 5.1), Rate(0, 0, 0), is_measured=True)

    def least_with(**change):
        changed = [replace(point, **change) if at == first else point for at, point in enumerate(tried)]
        return replace(found, points=tuple(changed)).least.value

    assert least_with() == tried[first].value
    assert least_with(envelope=Envelope(EvidenceLevel.BEYOND, "cut young")) == tried[second].value
    assert least_with(expected=dear) == tried[second].value
    assert least_with(expected=many) == tried[second].value
    assert least_with(cuts_any=False) == tried[second].value
    untested = tuple(replace(point, envelope=Envelope(EvidenceLevel.BEYOND, "cut young")) for point in tried)
    assert replace(found, points=untested).least is None


def test_the_best_pair_of_a_map_is_the_cheapest_tried_one_with_its_refetches():
    plan = Plan.from_specs([SPEC])
    across, down = axis_of(plan, "data"), axis_of(plan, "action")
    *_, found = grid(inputs_of(conversation(SIZES)), plan, across, down, columns=4, rows=3)
    beyond = Envelope(EvidenceLevel.BEYOND, "cut young")
    cheapest = tuple(int(each) for each in np.unravel_index(int(found.cost.argmin()), found.cost.shape))

    def least_with(tried: dict[tuple[int, int], Refetches]):
        points = {
            place: replace(point, envelope=TRIED, expected=tried[place], cuts_any=True)
            if place in tried
            else replace(point, envelope=beyond)
            for place, point in found.points.items()
        }
        return replace(found, points=points).least

    dear = Refetches(Rate(1, 1, 1), Rate(1, 1, 1), Rate(1e9, 1e9, 1e9), is_measured=True)
    assert cheapest not in {(0, 2), (2, 3)}
    assert least_with({}) is None
    assert least_with({cheapest: NO_REFETCHES, (2, 3): NO_REFETCHES}) == cheapest
    assert least_with({(2, 3): NO_REFETCHES}) == (2, 3), "the cheapest pair is untested"
    assert least_with({cheapest: dear, (2, 3): NO_REFETCHES}) == (2, 3)
