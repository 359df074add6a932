"""Background work after a key press yields to waiting tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session
from inspector.ui.controller import host as cooperative
from inspector.ui.controller import jobs
from inspector.ui.controller.host import SECONDS_AT_WORK, SECONDS_TO_YIELD, YieldingTask
from inspector.ui.controller.replaying import replay_plan
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.ui.outcome import Outcome


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cooperative, "monotonic", lambda: made.now)
    monkeypatch.setattr(cooperative, "sleep", made.sleep)
    return made


def test_others_go_first_after_every_stretch_of_work_and_not_before(clock: Clock) -> None:
    polite = YieldingTask(lambda: False)
    for _ in range(10):
        clock.now += SECONDS_AT_WORK / 4
        assert not polite.is_cancelled()

    assert clock.slept == [SECONDS_TO_YIELD] * 2


def test_work_that_is_called_off_is_reported_so_and_rests_no_more(clock: Clock) -> None:
    polite = YieldingTask(lambda: True)

    assert polite.is_cancelled()
    polite.pause(1.0)
    assert not clock.slept


class SlowScan:
    """A search for needed text that takes its time between two questions whether it is called off."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        for _ in range(5):
            self._clock.now += 2 * SECONDS_AT_WORK
            assert not is_cancelled()
        return None


def test_the_search_for_needed_text_behind_a_plan_lets_others_go_first(clock: Clock) -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    *_, table = count_session(session, load_counter())
    found: list[Outcome] = []
    plan = Plan.from_specs(["tiered-stale"])
    replay_plan(History.of(session), table, plan, None, None, None, found.append, lambda: False)

    jobs.assess(found[0], ASSUMED_RUNS, None, SlowScan(clock), lambda _: None, lambda: False)

    assert clock.slept == [SECONDS_TO_YIELD] * 5
