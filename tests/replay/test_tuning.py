"""Plans tuned on many sessions: the grid is exact, a known best limit is found, the choice is tried honestly."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.reuse import ReuseEvidence, find_reuse
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.tuning.search import (
    FleetSession,
    GroupSearch,
    PlanChoice,
    Verdict,
    best_of,
    best_untried,
    choose,
    curves_through,
    grouped,
    leave_one_out,
)
from inspector.replay.tuning.search_space import SearchSpace, spaces_of
from inspector.replay.tuning.trials import (
    Constraints,
    Flaw,
    PreparedSession,
    Trial,
    TrialTable,
    TrialTerms,
    pareto_front,
)
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder

RESULT, WORD_AT = 30_000, 5_500
ANY = TrialTerms(beyond=True)
"""Plans beyond what has been tried in public count as well: nearly all limits cut these results young."""


def trial(
    saved: float,
    recovery: float = 0.0,
    refetches: float = 0.0,
    requests: float = 0.0,
    flaw: Flaw = Flaw.NONE,
    beyond: str = "",
) -> Trial:
    """A made trial; its re-fetches and their cost are half as many at the lower end and twice as many at the upper."""
    costs = (recovery, recovery / 2, recovery * 2)
    return Trial(saved, *costs, refetches, refetches / 2, refetches * 2, 0, requests, flaw, beyond)


def session_inputs(number: int, *, turns: int = 25, has_tools: bool = True) -> ReplayInputs:
    """A session in which every result is long, and one word of it is written two answers later; or one of words."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "the goal"))
    clock = 1_700_000_000.0 + 100_000 * number
    words = [f"made_{number}_{turn}/name.py" for turn in range(turns)]
    filler = "so " * (RESULT // 3)
    for turn in range(turns):
        clock += 20
        said = f"{words[turn - 2] if turn > 1 else 'so it begins'} {turn}"
        text = builder.block(BlockKind.ASSISTANT_TEXT, said if has_tools else f"{turn} {filler[:900]}")
        call = builder.block(BlockKind.TOOL_CALL, json.dumps({"path": f"{number}.{turn}"}), "Read", f"c{turn}")
        builder.respond(text, *([call] if has_tools else []), model="claude-opus-4-6", time=clock)
        answer = f"{filler[:WORD_AT]} {words[turn]} {filler[WORD_AT:]}"
        result = builder.block(BlockKind.TOOL_RESULT, answer, "Read", f"c{turn}")
        builder.add(Role.USER, result if has_tools else builder.block(BlockKind.USER_TEXT, f"and {turn}?"))
    session = builder.session()
    return ReplayInputs.of(History.of(session), CharacterTable(session))


@cache
def fleet(count: int = 5, **kind: int) -> tuple[PreparedSession, ...]:
    return tuple(PreparedSession.of(session_inputs(number, **kind)) for number in range(count))


@cache
def tried(session: PreparedSession, plans: tuple[Plan, ...], terms: TrialTerms) -> list[Trial | None]:
    return list(session.trials(plans, terms))


def searched(
    sessions: tuple[PreparedSession, ...],
    *specs: str,
    constraints: Constraints | None = None,
    terms: TrialTerms | None = None,
) -> GroupSearch:
    terms = terms or TrialTerms()
    bases = [Plan.from_specs([spec]) for spec in specs] if specs else sessions[0].bases()
    search = GroupSearch(
        bases,
        constraints or Constraints(),
        [session.cost for session in sessions],
        [session.inputs.history.call_count for session in sessions],
        terms.keep,
        beyond=terms.beyond,
    )
    for plans in search.rounds():
        columns = [tried(session, tuple(plans), terms) for session in sessions]
        for at, plan in enumerate(plans):
            search.add(plan, [column[at] for column in columns])
    return search


def limit_of(table: TrialTable, plan: int | None) -> float:
    assert plan is not None
    return float(table.plans[plan].to_specs()[0].partition("limit=")[2])


@pytest.mark.parametrize("spec", ["truncate-after-use", "strands-offload"])
def test_a_grid_is_exact_every_pair_tried_and_the_best_is_that_of_brute_force(spec: str) -> None:
    sessions = fleet(2, turns=9)
    (space,) = spaces_of([Plan.from_specs([spec])])
    grid = list(dict.fromkeys(space.grid()))
    table = searched(sessions, spec, terms=ANY).table()

    assert space.has_grid
    steps = [len(each) for each in space.dimensions]
    assert len(grid) == np.prod(steps)
    assert set(grid) <= set(table.plans)
    anew = [session_inputs(number, turns=9) for number in range(len(sessions))]
    known = [(inputs, replay(inputs, Plan()), find_reuse(inputs.history)) for inputs in anew]

    def net_of(plan: Plan, inputs: ReplayInputs, baseline: Replay, uses: ReuseEvidence) -> float:
        found = recoveries(baseline, replay(inputs, plan), uses)
        return found.saved - found.expected.cost.rate

    by_hand = {plan: sum(net_of(plan, *each) for each in known) for plan in grid}
    rows = {plan: at for at, plan in enumerate(table.plans)}
    assert [table.net[rows[plan]].sum() for plan in grid] == pytest.approx(list(by_hand.values()))
    best = best_of(table, Constraints())
    assert best is not None
    assert table.net[best].sum() >= max(by_hand.values()) - 1e-9


def made_fleet(trial_at: Callable[[float], Trial], count: int = 6) -> GroupSearch:
    """Search the limit of `cap-at-insertion` on sessions of which every one has the same trial at a limit."""
    search = GroupSearch([Plan.from_specs(["cap-at-insertion"])], Constraints(), [10.0] * count, [25] * count)
    for plans in search.rounds():
        for plan in plans:
            limit = float(plan.to_specs()[0].partition("limit=")[2] or 40_000)
            search.add(plan, [trial_at(limit)] * count)
    return search


def above_the_word(limit: float) -> Trial:
    """The lower the limit, the more is saved; below the word it is fetched again at almost every call, for more."""
    saved = 10 * (1 - limit / 100_000)
    return trial(saved) if limit > WORD_AT else trial(saved, 1.2 * saved, 23, 23)


def test_the_known_best_limit_of_a_fleet_is_recovered() -> None:
    search = made_fleet(above_the_word)
    choice = choose(search.table(), Constraints())

    assert search.is_complete
    assert choice.verdict is Verdict.RECOMMENDED
    assert WORD_AT < limit_of(search.table(), choice.plan) < 1.25 * WORD_AT
    assert choice.left_out.net.sum() == pytest.approx(choice.net.middle)
    assert choice.regret == pytest.approx(0, abs=1e-9)
    assert choice.chosen_again == 1


def test_a_trap_that_saves_most_and_is_needed_every_time_is_avoided() -> None:
    table = made_fleet(above_the_word).table()
    trap = int(np.argmax(table.saved.sum(axis=1)))
    chosen = best_of(table, Constraints())

    assert chosen is not None
    assert limit_of(table, trap) < WORD_AT
    assert (table.refetches[trap] >= 20).all()
    assert table.saved[trap].sum() > table.saved[chosen].sum()
    assert table.refetches[chosen].sum() == 0


def test_uses_of_cut_words_are_counted_and_the_expected_refetches_are_priced() -> None:
    """Every result is a file read, cut on arrival to 600 of 30,000 characters: 98 % of it, of which 35.9 % return."""
    table = searched(fleet(), "cap-at-insertion:limit=600", terms=ANY).table()
    plan = table.plans.index(Plan.from_specs(["cap-at-insertion:limit=600"]))
    session = fleet()[0]
    found = recoveries(session.baseline, replay(session.inputs, table.plans[plan]), session.uses)

    assert table.needed[plan].tolist() == [23] * 5
    assert found.needed == 23
    # The last of 25 results is sent by the next call only.
    assert found.expected.count.rate == pytest.approx(24 * 0.98 * 0.359 / (1 - 0.98 * 0.359), rel=0.01)
    assert table.recovery[plan] == pytest.approx([found.cost] * 5, rel=0.01)


@pytest.mark.long
def test_where_nothing_saves_it_is_stated() -> None:
    about_results = ("tiered-stale", "truncate-after-use", "cap-at-insertion", "token-budget", "maf-tool-calls")
    search = searched(fleet(has_tools=False), *about_results)
    choice = choose(search.table(), Constraints())

    assert search.is_complete
    assert len(search.table().plans) > 50
    assert choice.verdict is Verdict.NOTHING_SAVES


def test_too_few_sessions_or_calls_are_refused() -> None:
    few = searched(fleet(4), "cap-at-insertion")
    short = searched(fleet(5, turns=9), "cap-at-insertion")

    assert choose(few.table(), Constraints()).verdict is Verdict.TOO_FEW
    assert choose(short.table(), Constraints()).verdict is Verdict.TOO_FEW


def test_constraints_are_kept() -> None:
    loose = searched(fleet(), "truncate-after-use", terms=ANY)
    none_needed = Constraints(max_needed=0)
    strict = searched(fleet(), "truncate-after-use", constraints=none_needed, terms=ANY)
    plan = best_of(strict.table(), none_needed)

    assert loose.table().refetches_known.sum() > 0
    assert plan is None or strict.table().refetches_known[plan] == 0
    table = loose.table()
    for constraints in (Constraints(max_risk=10), Constraints(budget_calls=5)):
        allowed = table.allowed(constraints)
        assert allowed.any()
        assert not allowed.all()
        if constraints.max_risk is not None:
            assert (table.recovery[allowed].sum(axis=1) <= 0.1 * np.maximum(table.saved[allowed].sum(axis=1), 0)).all()
        if constraints.budget_calls is not None:
            assert (table.requests[allowed].sum(axis=1) <= 0.05 * table.calls.sum()).all()


def test_tools_that_are_to_be_kept_are_touched_by_no_plan_that_is_allowed() -> None:
    table = searched(fleet(), "truncate-after-use", terms=TrialTerms(frozenset({"Read"}), beyond=True)).table()

    touches = table.flaw == Flaw.TOUCHES_KEPT
    assert touches.any()
    assert (table.saved[~touches] == 0).all()
    assert not table.allowed(Constraints())[touches.any(axis=1)].any()


@pytest.mark.long
def test_plans_that_leave_out_messages_have_to_be_asked_for() -> None:
    held = searched(fleet(), "recent-events:max-events=5")
    asked = searched(fleet(), "recent-events:max-events=5", terms=TrialTerms(may_forget=True, beyond=True))

    assert choose(held.table(), Constraints()).plan is None
    assert (held.table().flaw == Flaw.DROPS_TEXT).any()
    assert not (asked.table().flaw == Flaw.DROPS_TEXT).any()


def test_limits_of_strategies_that_have_many_are_searched_from_several_starts() -> None:
    search = searched(fleet(), "tiered-stale", terms=ANY)
    table = search.table()
    (space,) = spaces_of([Plan.from_specs(["tiered-stale"])])

    assert not space.has_grid
    assert len(space.starts()) > 3
    assert len({json.dumps(plan.to_specs()) for plan in space.starts()}) == len(space.starts())
    default = table.plans.index(space.plan)
    best = best_of(table, Constraints())
    assert best is not None
    assert table.net[best].sum() > table.net[default].sum()
    line = [plan for plan in SearchSpace.of(table.plans[best]).lines(table.plans[best]) if plan in set(table.plans)]
    assert max(table.net[table.plans.index(plan)].sum() for plan in line) == pytest.approx(table.net[best].sum())


def made_trial(saved: float) -> list[Trial]:
    return [trial(saved)]


def test_limits_that_only_save_together_are_found_where_one_at_a_time_gets_stuck() -> None:
    """A made surface: a hill that every single move leads up, and a higher one that two limits reach together."""
    (space,) = spaces_of([Plan.from_specs(["anthropic-clear-tool-uses"])])[:1]
    names = [each.limit.parameter.name for each in space.limits if each.limit is not None]
    assert names == ["trigger", "keep", "clear-at-least"]

    def saved(plan: Plan) -> float:
        trigger, keep, least = (each.limit.value_in(plan) for each in space.limits if each.limit is not None)
        alone = 1.0 + trigger / 1e7
        return 2.0 if keep == 0 and least == 20_000 and trigger <= 100_000 else alone + 0.01 * keep + least / 1e8

    def one_at_a_time(plan: Plan) -> Plan:
        while (best := max((plan, *space.lines(plan)), key=saved)) != plan:
            plan = best
        return plan

    search = GroupSearch([space.plan], Constraints(), [10.0], [100])
    for plans in search.rounds():
        for plan in plans:
            search.add(plan, made_trial(saved(plan)))
    table = search.table()

    assert not space.has_grid
    assert all(saved(one_at_a_time(start)) < 2 for start in space.starts())
    assert float(table.net.max()) == 2.0
    assert len(table.plans) < np.prod([len(each) for each in space.dimensions]) / 5


def test_every_two_of_few_limits_are_tried_together_and_of_many_none() -> None:
    (few,) = spaces_of([Plan.from_specs(["anthropic-clear-tool-uses"])])[:1]
    (many,) = spaces_of([Plan.from_specs(["tiered-stale"])])
    changed = [
        sum(each.limit.value_in(plan) != each.limit.value_in(few.plan) for each in few.limits if each.limit is not None)
        for plan in few.pairs(few.plan)
    ]

    sizes = [len(each) for each in few.limits]
    assert len(changed) == sum(one * other for at, one in enumerate(sizes) for other in sizes[at + 1 :])
    assert set(changed) == {0, 1, 2}
    assert not list(many.pairs(many.plan))


def test_a_curve_goes_through_the_chosen_plan_and_rises_along_its_limit() -> None:
    table = searched(fleet(), "cap-at-insertion", terms=ANY).table()
    best = best_of(table, Constraints())
    assert best is not None
    (curve,) = curves_through(table, best)

    assert curve.limit.parameter.name == "limit"
    assert best in curve.plans
    assert list(curve.values) == sorted(set(curve.values))
    assert len(curve.values) >= 8


def a_session(number: int, agent: str, model: str, cost: float = 1.0) -> FleetSession:
    return FleetSession(Path(f"{number}.jsonl"), agent, model, 100, cost, HowKnown.CALIBRATED, 3)


def test_models_and_agents_are_tuned_apart_and_models_with_too_few_sessions_together() -> None:
    sessions = [
        *(a_session(number, "claude-code", "large") for number in range(6)),
        *(a_session(number, "claude-code", "small") for number in range(10, 13)),
        *(a_session(number, "claude-code", "tiny") for number in range(20, 22)),
        a_session(30, "codex", "other", cost=100.0),
    ]

    found = {(group.agent, group.models): len(group.sessions) for group in grouped(sessions)}

    assert found == {("codex", ("other",)): 1, ("claude-code", ("large",)): 6, ("claude-code", ("small", "tiny")): 5}
    assert grouped(sessions)[0].agent == "codex"


@given(st.integers(50, 90), st.integers(2, 45))
@settings(max_examples=examples(50), deadline=None)
def test_a_sample_is_no_larger_than_asked_and_holds_dear_and_cheap_sessions(sessions: int, count: int) -> None:
    (group,) = grouped([a_session(number, "claude-code", "large", cost=float(number)) for number in range(sessions)])
    sample = group.sample(max(count, 4))

    assert len(sample.sessions) <= max(count, 4)
    costs = {session.cost for session in sample.sessions}
    assert {0.0, sessions - 1.0} <= costs
    assert group.typical in sample.sessions


amounts = arrays.arrays(
    np.float64, st.integers(0, 12), elements=st.one_of(st.floats(-5, 5, width=32), st.just(float("nan")))
)


@given(amounts, st.data())
@settings(max_examples=examples(200), deadline=None)
def test_no_plan_of_the_front_is_beaten_and_every_other_one_is(saved: np.ndarray, data: st.DataObject) -> None:
    needed = np.array([data.draw(st.integers(0, 4)) for _ in saved], dtype=np.int64)
    points = pareto_front(saved, needed)

    for plan in range(len(saved)):
        if not saved[plan] > 0:
            assert plan not in points
            continue
        beaten = [
            other
            for other in range(len(saved))
            if saved[other] >= saved[plan]
            and needed[other] <= needed[plan]
            and (saved[other] > saved[plan] or needed[other] < needed[plan])
        ]
        alike = [other for other in points if (saved[other], needed[other]) == (saved[plan], needed[plan])]
        assert bool(alike) != bool(beaten)
    assert [needed[plan] for plan in points] == sorted({int(needed[plan]) for plan in points})
    assert [saved[plan] for plan in points] == sorted({float(saved[plan]) for plan in points})


@st.composite
def tables(draw: st.DrawFn) -> TrialTable:
    plans = [Plan.from_specs([f"keep-recent:keep={1 + at}"]) for at in range(draw(st.integers(0, 5)))]
    sessions = draw(st.integers(1, 6))
    one = st.builds(
        trial,
        st.one_of(st.integers(-8, 8).map(float), st.just(float("nan"))),
        st.integers(0, 4).map(float),
        st.integers(0, 3),
        st.integers(0, 5),
        st.sampled_from([Flaw.NONE, Flaw.NONE, Flaw.NONE, Flaw.REJECTED, Flaw.BEYOND]),
    )
    row = st.lists(st.one_of(one, one, one, st.none()), min_size=sessions, max_size=sessions)
    calls = draw(st.lists(st.integers(1, 50), min_size=sessions, max_size=sessions))
    return TrialTable.of({plan: draw(row) for plan in plans}, [10.0] * sessions, calls)


CONSTRAINTS = st.builds(
    Constraints,
    st.one_of(st.none(), st.integers(0, 20).map(float)),
    st.one_of(st.none(), st.sampled_from([0.0, 50.0, 200.0])),
    st.one_of(st.none(), st.integers(0, 20).map(float)),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 7)),
)


def without(table: TrialTable, session: int) -> TrialTable:
    others = np.arange(len(table.cost)) != session
    columns = {name: getattr(table, name)[:, others] for name in Trial._fields if name != "beyond"}
    beyond = tuple(tuple(np.array(row, dtype=object)[others]) for row in table.beyond)
    return TrialTable(table.plans, table.cost[others], table.calls[others], **columns, beyond=beyond)


@given(tables(), CONSTRAINTS)
@settings(max_examples=examples(200), deadline=None)
def test_the_plan_chosen_without_a_session_is_that_of_a_table_without_it(table: TrialTable, asked: Constraints) -> None:
    left_out = leave_one_out(table, asked)

    for session in range(len(table.cost)):
        chosen = best_of(without(table, session), asked)
        assert left_out.plan[session] == (-1 if chosen is None else chosen)
        net = 0.0 if chosen is None else table.net[chosen, session]
        assert left_out.net[session] == (0.0 if np.isnan(net) else net)


@given(tables(), CONSTRAINTS)
@settings(max_examples=examples(200), deadline=None)
def test_the_chosen_plan_is_allowed_beats_all_others_and_is_regretted_no_less_than_nothing(
    table: TrialTable, asked: Constraints
) -> None:
    choice = choose(table, asked)
    allowed = table.allowed(asked.defensible())

    assert (choice.regret >= -1e-9).all()
    if choice.plan is None:
        assert not (np.nan_to_num(table.net[allowed].sum(axis=1)) > 1e-9).any()
        return
    assert allowed[choice.plan]
    assert table.net[choice.plan].sum() == table.net[allowed].sum(axis=1).max()
    assert choice.net.low <= choice.net.middle <= choice.net.high
    assert 0 <= choice.chosen_again <= 1


def chosen_of(trials: dict[str, list[Trial]], **asked: bool) -> tuple[PlanChoice, TrialTable]:
    """Choose among made trials on ten sessions of $10 and 100 calls each."""
    plans = {Plan.from_specs([spec]): row for spec, row in trials.items()}
    table = TrialTable.of(plans, [10.0] * 10, [100] * 10)
    return choose(table, Constraints(), **asked), table


SAFE = trial(1.0)


def test_a_plan_beyond_what_has_been_tried_is_listed_and_not_recommended_unless_requested() -> None:
    """The bolder plan saves $4.00 per session, but goes beyond on three of ten; the safe one saves $1.00."""
    bold = [trial(4.0, beyond="cuts file reads after 1 call", flaw=Flaw.BEYOND)] * 3 + [trial(4.0)] * 7
    choice, table = chosen_of({"keep-recent:keep=1": bold, "keep-recent:keep=9": [SAFE] * 10})
    allowed = [each._replace(flaw=Flaw.NONE) for each in bold]
    asked, _ = chosen_of({"keep-recent:keep=1": allowed, "keep-recent:keep=9": [SAFE] * 10}, beyond=True)
    alone, _ = chosen_of({"keep-recent:keep=1": bold})

    assert (choice.verdict, choice.plan) == (Verdict.RECOMMENDED, 1)
    assert best_untried(table, 5) == [0]
    assert table.evidence_reason(0) == "in 3 of 10 sessions: cuts file reads after 1 call"
    assert (asked.verdict, asked.plan) == (Verdict.RECOMMENDED, 0)
    assert (alone.verdict, alone.plan) == (Verdict.BEYOND, None)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        # 1,000 calls allow 50 calls for re-fetches: 69 re-fetched results, at 247 calls per 341 of them.
        ([trial(2.0, 0.1, 6.9)] * 10, Verdict.RECOMMENDED),
        ([trial(2.0, 0.1, 7.0)] * 10, Verdict.REFETCHES),
        # $2.00 saved, at twice the expected $0.99 still $0.02; at twice $1.00 nothing.
        ([trial(2.0, 0.99, 1.0)] * 10, Verdict.RECOMMENDED),
        ([trial(2.0, 1.0, 1.0)] * 10, Verdict.THIN),
        # One session of ten is less than one in seven, two are more.
        ([trial(2.0)] * 9 + [trial(-1.0)], Verdict.RECOMMENDED),
        ([trial(2.0)] * 8 + [trial(-1.0)] * 2, Verdict.MIXED),
        # 1 % of $100.
        ([trial(0.09)] * 10, Verdict.NOTHING_SAVES),
    ],
)
def test_each_rule_of_a_recommendation_has_its_own_verdict(row: list[Trial], verdict: Verdict) -> None:
    choice, _ = chosen_of({"keep-recent:keep=9": row})

    assert choice.verdict is verdict
    assert (choice.plan is None) == (verdict in (Verdict.REFETCHES, Verdict.THIN, Verdict.MIXED))


def test_nothing_is_recommended_from_a_search_that_ended_early() -> None:
    choice, _ = chosen_of({"keep-recent:keep=9": [SAFE] * 10}, is_complete=False)

    assert (choice.verdict, choice.plan) == (Verdict.INCOMPLETE, 0)


def test_net_is_a_range_whose_ends_are_added_over_sessions() -> None:
    """$2.00 saved on each of ten; re-fetches cost $0.40 expected, $0.20 to $0.80: net $12.00 to $18.00."""
    _, table = chosen_of({"keep-recent:keep=9": [trial(2.0, 0.4, 3.0)] * 10})

    assert table.net_range(0) == pytest.approx((12.0, 18.0))
    assert table.refetched(0) == pytest.approx((30.0, 15.0, 60.0))


def test_a_plan_that_cuts_no_result_is_not_measured() -> None:
    _, table = chosen_of({"keep-recent:keep=9": [trial(2.0, 0.0, float("nan"))] * 10})

    assert table.refetched(0) is None
    assert table.allowed(Constraints().defensible()).all()


def test_results_that_no_prompt_has_are_beyond_in_a_trial_and_never_recommended() -> None:
    """Every result is a file read of 30,000 characters; `keep=0` removes each before its first prompt."""
    table = searched(fleet(), "maf-tool-calls:keep=0", terms=TrialTerms(may_forget=True)).table()
    plan = table.plans.index(Plan.from_specs(["maf-tool-calls:keep=0"]))
    choice = choose(table, Constraints())

    assert (table.flaw[plan] == Flaw.BEYOND).all()
    assert "never sent whole" in table.evidence_reason(plan)
    assert choice.plan != plan
    assert choice.plan is None or not table.evidence_reason(choice.plan)


def test_a_strategy_whose_every_limit_is_beyond_is_not_searched_further() -> None:
    """No ladder of a plan that cuts results of 30,000 characters to a few lines on arrival leaves them whole."""
    spec = "cozempic-trim:max-lines=1,max-bytes=10"
    table = searched(fleet(), spec).table()
    (space,) = spaces_of([Plan.from_specs([spec])])

    assert set(table.plans) == set(space.sketch())
    assert (table.flaw == Flaw.BEYOND).all()


@pytest.mark.long
def test_no_session_of_codex_gets_a_plan_that_sends_no_tool_result(corpus: Path) -> None:
    """Each session stands for a group of ten, so that the number of sessions is not the reason."""
    plan = Plan.from_specs(["maf-tool-calls:keep=0"])
    judged = 0
    for path in sorted((corpus / "codex").glob("*.jsonl")):
        session = open_session(path)
        inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
        prepared = PreparedSession.of(inputs)
        (found,) = prepared.trials([plan], TrialTerms(may_forget=True))
        if found is None or np.isnan(prepared.cost) or not len(inputs.history.results):
            continue
        calls = max(inputs.history.call_count, 100)
        choice = choose(TrialTable.of({plan: [found] * 10}, [prepared.cost] * 10, [calls] * 10), Constraints())
        assert found.flaw == Flaw.BEYOND, path
        assert "never sent whole" in found.beyond
        assert choice.plan is None
        judged += 1
    assert judged
