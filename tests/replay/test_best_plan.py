"""The plan that saves most of those that cut nothing the session used again."""

from collections.abc import Callable
from functools import cache, partial

import pytest

from inspector.errors import InspectorError
from inspector.replay.analysis import best_plan
from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch, compared, plans_to_compare, replays_of
from inspector.replay.analysis.hazards import HazardKind, drops_text
from inspector.replay.analysis.recoveries import envelope, recoveries
from inspector.replay.analysis.reuse import ReuseScan, find_reuse
from inspector.replay.engine.edits import EditedSession, Edits
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.engine.simulation import plan_edits
from inspector.replay.sessions import replay_session
from inspector.report.build_report import best_plan_facts
from inspector.report.export import part_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@cache
def sample() -> Replay:
    return replay_session(open_session(SAMPLE), Plan(), precise=False)


def search() -> BestPlanSearch:
    return BestPlanSearch(sample(), ReuseScan(sample().history))


def wanted() -> bool:
    return False


def at_once(seconds: float) -> None:
    assert seconds >= 0


def cancelled_after(questions: int) -> Callable[[], bool]:
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > questions

    return is_cancelled


@cache
def found() -> BestPlan:
    result = search().run(wanted, at_once)
    assert result is not None
    return result


def test_a_plan_that_leaves_out_messages_is_not_the_best_one() -> None:
    baseline = sample()
    window = replay(baseline.inputs, Plan.from_specs(["maf-window"]))
    results = replay(baseline.inputs, Plan.from_specs(["tiered-stale"]))
    assert drops_text(window)
    assert not drops_text(results)
    best = found().best
    assert best is not None
    assert not drops_text(replay(baseline.inputs, best.plan))
    uses = find_reuse(baseline.history)
    unsure, sure = (recoveries(baseline, each, uses) for each in (window, replay(baseline.inputs, best.plan)))
    assert (unsure.drops_text, unsure.is_sure) == (True, False)
    assert (sure.drops_text, sure.is_sure) == (False, True)


def test_it_saves_most_at_the_worst_end_of_those_that_have_been_tried() -> None:
    baseline, best = sample(), found()
    uses = find_reuse(baseline.history)
    judged, beyond, all_of_them = [], [], []
    for planned in replays_of(baseline.inputs, plans_to_compare(baseline.history.session)):
        each = compared(baseline, planned)
        share = each.savings.share.value or 0
        all_of_them.append(share)
        priced = recoveries(baseline, replay(baseline.inputs, each.plan), uses)
        if any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in each.hazards) or drops_text(
            replay(baseline.inputs, each.plan)
        ):
            continue
        is_good = priced.envelope.is_tried and priced.expected.per_100_calls.rate <= 5
        is_good = is_good and priced.saved > 2 * priced.cost
        (judged if is_good else beyond).append(
            (priced.saved - priced.expected.cost.high) / baseline.figures.cost_usd.value
        )

    assert best.is_complete
    assert best.tried == len(all_of_them)
    assert best.best is not None
    assert best.most is not None
    assert best.best.net_share == pytest.approx(max(judged))
    assert max(beyond) > best.best.net_share, "others save more, and have not been tried"
    assert best.most.savings.share.value == max(all_of_them)
    assert not best.most.recoveries.is_recommendable


def test_the_plan_that_saves_most_is_found_on_request() -> None:
    searched = search()
    first = searched.run(wanted, at_once, with_most=False)
    assert first is not None
    assert (first.best, first.applicable, first.tried) == (found().best, found().applicable, found().tried)
    assert (first.most, first.is_complete) == (None, True)
    assert searched.run(wanted, at_once) == found()


class FlawedError(InspectorError):
    def __init__(self, edits: int) -> None:
        super().__init__()
        self.edits = edits


def test_a_flaw_of_the_first_calls_is_one_of_the_whole_plan() -> None:
    """Some 30 plans are flawed on this session of 34 calls, and 8 of them before they have made all edits."""
    baseline, flawed = sample(), []
    inputs = baseline.inputs

    def check(edits: Edits) -> None:
        edited = EditedSession(baseline.history, baseline.table, edits)
        if drops_text(edited) or not envelope(edited).is_tried:
            raise FlawedError(len(edits.block))

    for plan in plans_to_compare(baseline.history.session):
        planned = replay(baseline.inputs, plan)
        whole = drops_text(planned) or not envelope(planned).is_tried
        try:
            check(plan_edits(inputs.history_of_window, inputs.renderer, plan, inputs.sizes, check=check))
        except FlawedError as error:
            flawed.append(error.edits < len(planned.edits.block))
            assert whole, plan.name
        else:
            assert not whole, plan.name
    assert len(flawed) > 20
    assert sum(flawed) > 5


def test_a_search_called_off_goes_on_where_it_was() -> None:
    slowly, tries, result = search(), 0, None
    while result is None:
        result = slowly.run(cancelled_after(40 + tries), at_once)
        tries += 1

    assert tries > 1
    assert result == found()


def test_a_session_on_which_it_would_take_too_long_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_plan, "MOST_SECONDS", 1e-9)
    soon = search().run(wanted, at_once)
    monkeypatch.setattr(best_plan, "MOST_BLOCKS", 10)
    at_once_given_up = search().run(wanted, at_once)

    assert soon is not None
    assert not soon.is_complete
    assert soon.tried <= best_plan._TRIED_FIRST
    assert at_once_given_up is not None
    assert (at_once_given_up.tried, at_once_given_up.is_complete) == (0, False)


def test_a_search_that_ended_early_names_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = 0.0

    def one_second_more() -> float:
        nonlocal spent
        spent += 1.0
        return spent

    # Every reading of the clock adds a second, so the limit is reached after several plans, the best one among them.
    monkeypatch.setattr(best_plan, "thread_time", one_second_more)
    monkeypatch.setattr(best_plan, "MOST_SECONDS", 1_000.0)
    monkeypatch.setattr(best_plan, "_TRIED_FIRST", 10_000)
    searched = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=lambda plan: plan)
    early = searched.run(wanted, at_once)

    assert early is not None
    assert not early.is_complete
    assert early.tried > 0
    assert searched._best is not None
    assert (early.best, early.most, early.applicable, early.recommended) == (None, None, None, None)
    facts = best_plan_facts(early)
    assert (facts.best, facts.most, facts.applicable, facts.is_complete) == (None, None, None, False)


def test_what_is_found_holds_for_the_same_session_on_the_same_terms() -> None:
    assert search().serves(sample())
    assert not search().serves(replay_session(open_session(SAMPLE), Plan(), precise=False))


def test_the_best_that_the_agent_can_apply_is_reported_next_to_the_best_of_all() -> None:
    def part_with_stored_results(plan: Plan) -> Plan | None:
        return plan if plan.to_specs()[0] == "store-large" else None

    result = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=part_with_stored_results).run(
        wanted, at_once
    )
    all_of_them = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=lambda plan: plan).run(wanted, at_once)
    assert result is not None
    assert all_of_them is not None
    assert result.best == all_of_them.best == found().best
    assert result.most == all_of_them.most == found().most
    assert found().applicable is None
    assert all_of_them.applicable == found().best
    assert result.applicable is not None
    assert part_with_stored_results(result.applicable.plan) is not None
    evidence = find_reuse(sample().history)
    for plan in filter(part_with_stored_results, plans_to_compare(sample().history.session)):
        planned = replay(sample().inputs, plan)
        priced = recoveries(sample(), planned, evidence)
        if priced.is_recommendable and priced.net[0] > 0.01 * sample().figures.cost_usd.value:
            assert drops_text(planned) or priced.net[0] <= result.applicable.recoveries.net[0] + 1e-9


def test_what_the_agent_can_apply_but_no_one_has_tried_is_not_recommended() -> None:
    """Claude Code can limit results on arrival: on this session that saves only where they are never sent whole."""
    part = partial(part_of, "claude-code")
    result = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=part).run(wanted, at_once)
    assert result is not None
    assert result.applicable is None
    evidence = find_reuse(sample().history)
    priced = [
        recoveries(sample(), replay(sample().inputs, own), evidence)
        for plan in plans_to_compare(sample().history.session)
        if (own := part(plan)) is not None
    ]
    assert max(each.saved for each in priced) > 0.1
    assert all(each.envelope.never_whole for each in priced if each.saved > 0)


def test_what_no_one_can_say_of_an_agent_is_no_plan_it_can_apply() -> None:
    part = partial(part_of, "pi")
    assert all(part(plan) is None for plan in plans_to_compare(sample().history.session))


def test_the_best_that_the_agent_can_apply_is_kept_where_the_session_grows() -> None:
    search = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=lambda plan: plan)
    result = search.run(wanted, at_once)
    assert result is not None
    assert result.applicable is not None
    again = best_plan.refreshed(result, sample(), find_reuse(sample().history), wanted)
    assert again == result
