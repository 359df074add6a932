"""Cost answers and the best plan appear even while a session grows without a pause."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from inspector.ui.controller import answers
from inspector.ui.controller.answers import LONGEST_WAIT, SpendingAnswers
from inspector.ui.controller.host import ChangeListeners

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE = 0.1
"""Seconds between two lines: less than a session rests before anything is added up."""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[float, Callable[[], object]]] = []
        self.begun: list[tuple[str, float]] = []
        self.newest: Any = None

    def later(self, seconds: float, do: Callable[[], object]) -> SimpleNamespace:
        entry = (self.now + seconds, do)
        self.waiting.append(entry)
        return SimpleNamespace(stop=lambda: self.waiting.remove(entry) if entry in self.waiting else None)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        for entry in [each for each in self.waiting if each[0] <= self.now]:
            self.waiting.remove(entry)
            entry[1]()

    def run(self, work: object, take: Callable[[Any], object], *, group: str, description: str, **more: Any) -> None:
        del work, description, more
        self.begun.append((group, self.now))
        if group == "spending":
            take(SimpleNamespace(replay=self.newest))

    def stop(self, group: str) -> None:
        del group


def grown(calls: int) -> Any:
    """A replay of a session as of so many calls."""
    replay = SimpleNamespace(history=SimpleNamespace(call_count=calls))
    return SimpleNamespace(plan=SimpleNamespace(strategies=()), baseline=replay, replay=replay)


def test_the_best_plan_is_looked_for_between_the_lines_of_a_session_that_grows_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(answers, "monotonic", lambda: clock.now)
    host: Any = clock
    found = SpendingAnswers(host, ChangeListeners(), lambda _: SimpleNamespace())  # type: ignore[arg-type, return-value]
    for calls in range(1, 100):
        found.take(grown(calls), is_counted=True)
        clock.pass_by(PAUSE)
    searched = [at for group, at in clock.begun if group == "best plan"]
    assert searched
    assert min(searched) == pytest.approx(LONGEST_WAIT + PAUSE, abs=2 * PAUSE)


def test_what_a_session_cost_is_added_up_every_few_seconds_however_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(answers, "monotonic", lambda: clock.now)
    host: Any = clock
    found = SpendingAnswers(host, ChangeListeners(), lambda _: SimpleNamespace())  # type: ignore[arg-type, return-value]
    for calls in range(1, 101):
        outcome = grown(calls)
        clock.newest = outcome.baseline
        found.take(outcome, is_counted=True)
        clock.pass_by(PAUSE)
    times = [at for group, at in clock.begun if group == "spending"]
    assert len(times) > 2
    assert max(later - earlier for earlier, later in pairwise(times)) <= LONGEST_WAIT + 3 * PAUSE
