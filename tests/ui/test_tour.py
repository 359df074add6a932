import re
from textwrap import wrap

import pytest

from inspector.cli.demo import FIRST, TOUR_SECONDS, sample_named
from inspector.replay.analysis.best_plan import BestPlanSearch, SavingPlan
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.engine.replay import Replay
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.actions.action import key_name
from inspector.ui.actions.screens import COMPARE
from inspector.ui.main.screen import MAIN
from inspector.ui.tour import CURRENT_MODEL, LAST_WORD, STEPS, TAKES_OVER, Tour, TourStep
from tests.ui.facade import toured

PATIENCE = 180
"""Seconds until a tour is taken never to end."""

SAMPLE = sample_named(FIRST).path


async def test_the_tour_ends_on_the_plan_that_compare_calls_the_best() -> None:
    seen: list[str] = []

    async def look(_: int) -> None:
        seen.append(run.on_top)

    async with toured(SAMPLE, STEPS, seen=look) as run:
        await run.until(lambda: not run.is_touring, PATIENCE)
        assert [name for name in seen if name != "session"] == ["live", "misses", "tune", "compare"]
        assert seen[-1] == "session"
        assert len(seen) == len(STEPS)
        await run.settled()
        assert run.inputs.other_model == CURRENT_MODEL
        best, now = best_plan(replay_session(open_session(SAMPLE), Plan())), best_plan(run.baseline)
        assert best is not None
        assert now is not None
        assert (run.plan.name, run.plan.strategies) == (best.plan.name, best.plan.strategies)
        # The best tried plan saves $1.76, 18 %, and more than a dollar at the upper end of its re-fetches.
        assert best.savings.share.value > 0.15
        assert best.recoveries.is_recommendable
        assert best.recoveries.net[0] is not None
        assert best.recoveries.net[0] > 1
        # The last step says that the plan still pays at the newer model, and saves less there.
        assert now.plan == best.plan
        assert now.recoveries.is_recommendable
        assert 0 < now.recoveries.net[0] < now.recoveries.net[1] < best.recoveries.net[0]
        assert run.caption == LAST_WORD


def best_plan(baseline: Replay) -> SavingPlan | None:
    found = BestPlanSearch(baseline, ReuseScan(baseline.history)).run(lambda: False, lambda _: None, with_most=False)
    return None if found is None else found.best


def test_the_tour_takes_less_than_a_minute_and_its_words_fit_a_small_screen() -> None:
    assert sum(step.seconds for step in STEPS) + TOUR_SECONDS < 60
    for step in STEPS:
        said = f"▶ {len(STEPS)} of {len(STEPS)} · {TAKES_OVER}  {step.text.replace('`', '')}"
        assert len(wrap(said, 78)) <= 2, step.text
    assert len(wrap(f"▶ {LAST_WORD.replace('`', '')}", 78)) <= 2


async def endless(tour: Tour) -> None:
    await tour.until(lambda: False, 60)


@pytest.mark.parametrize("key", ["1", "space", "escape"])
async def test_any_key_takes_over_and_does_nothing_else(session_file, key: str) -> None:
    async with toured(session_file.path, [TourStep("watch", 1, endless)]) as run:
        await run.until(lambda: run.caption and run.plan is not None, PATIENCE)
        plan = run.plan
        await run.tap(key)
        await run.until(lambda: not run.is_touring, PATIENCE)
        assert run.plan == plan
        assert run.caption == LAST_WORD
        await run.tap("1")
        await run.until(lambda: run.plan != plan, PATIENCE)


async def test_q_leaves_a_tour_at_once(session_file) -> None:
    async with toured(session_file.path, [TourStep("watch", 1, endless)]) as run:
        await run.until(lambda: run.caption, PATIENCE)
        await run.tap("q")
        await run.until(lambda: run.is_over, PATIENCE)


def test_every_key_a_caption_names_is_a_key_of_the_screen() -> None:
    actions = (*MAIN, *COMPARE)
    keys = {key for action in actions for key in action.each_key} | {action.menu for action in actions}
    texts = [*(step.text for step in STEPS), LAST_WORD]
    named = {key for text in texts for key in re.findall("`(.|. .)`", text)} - {"⏎"}

    assert named
    assert {key if " " in key else key_name(key) for key in named} <= keys
