"""The plan that saves most of those that cut nothing the session used again."""

from collections.abc import Callable
from functools import cache, partial

import pytest

from inspector.replay.analysis import best_plan
from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
from inspector.replay.analysis.comparison import compare, plans_to_compare
from inspector.replay.analysis.hazards import HazardKind, drops_text
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.reuse import ReuseScan, find_reuse
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.sessions import replay_session
from inspector.report.export import answer_for, part_of
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


def test_a_plan_that_leaves_out_what_was_said_is_not_the_best_one() -> None:
    baseline = sample()
    window = replay(baseline.inputs, Plan.from_specs(["maf-window"]))
    results = replay(baseline.inputs, Plan.from_specs(["tiered-stale"]))
    assert drops_text(window)
    assert not drops_text(results)
    best = found().best
    assert best is not None
    assert not drops_text(replay(baseline.inputs, best.plan))


def test_it_saves_most_of_those_that_are_compared_if_what_was_needed_is_got_back() -> None:
    baseline, best = sample(), found()
    uses = find_reuse(baseline.history)
    judged, all_of_them = [], []
    for each in compare(baseline.inputs, plans_to_compare(baseline.history.session), baseline):
        share = each.savings.share.value or 0
        all_of_them.append(share)
        priced = recoveries(baseline, replay(baseline.inputs, each.plan), uses)
        if not any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in each.hazards):
            judged.append(priced.band_low / baseline.figures.cost_usd.value)

    assert best.is_complete
    assert best.tried == len(all_of_them)
    assert best.best is not None
    assert best.most is not None
    assert best.best.net_share == pytest.approx(max(judged))
    assert best.most.savings.share.value == max(all_of_them)
    assert best.most.needed > 0


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


def test_what_is_found_holds_for_the_same_session_on_the_same_terms() -> None:
    assert search().serves(sample())
    assert not search().serves(replay_session(open_session(SAMPLE), Plan(), precise=False))


def test_the_best_that_the_agent_can_apply_is_told_beside_the_best_of_all() -> None:
    part = partial(part_of, "claude-code")
    result = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=part).run(wanted, at_once)
    assert result is not None
    assert result.best == found().best
    assert result.most == found().most
    assert found().applicable is None
    assert result.applicable is not None
    assert answer_for("claude-code", result.applicable.plan).is_whole
    evidence = find_reuse(sample().history)
    for plan in plans_to_compare(sample().history.session):
        own = part(plan)
        if own is None:
            continue
        planned = replay(sample().inputs, own)
        usd = recoveries(sample(), planned, evidence).band_low
        assert usd is None or drops_text(planned) or usd <= result.applicable.recoveries.band_low + 1e-9


def test_what_nobody_can_say_of_an_agent_is_no_plan_it_can_apply() -> None:
    part = partial(part_of, "pi")
    assert all(part(plan) is None for plan in plans_to_compare(sample().history.session))


def test_the_best_that_the_agent_can_apply_is_kept_where_the_session_grows() -> None:
    search = BestPlanSearch(sample(), ReuseScan(sample().history), part_of=partial(part_of, "claude-code"))
    result = search.run(wanted, at_once)
    assert result is not None
    again = best_plan.renewed(result, sample(), find_reuse(sample().history), wanted)
    assert again == result
