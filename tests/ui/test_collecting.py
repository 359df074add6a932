"""Cyclic garbage goes when nobody waits for the screen, and not before."""

import gc
import weakref

import pytest

from inspector.ui.performance import gc_scheduler
from inspector.ui.performance.gc_scheduler import CollectingApp
from tests.ui.waiting import until


class Cycle:
    def __init__(self) -> None:
        self.itself = self


class Clock:
    """A clock that stands still unless it is put forward."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(gc_scheduler, "monotonic", made)
    return made


@pytest.fixture
def nothing_frozen():
    """What the collector passes over is told to it here alone, not for all tests (see tests/conftest.py)."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def switched_off(nothing_frozen, monkeypatch):
    for name, seconds in {
        "SECONDS_BETWEEN": 0.01,
        "SECONDS_OF_IDLENESS": 0.2,
        "SECONDS_OF_ABSENCE": 0.2,
        "MOST_SECONDS_BETWEEN": 60,
    }.items():
        monkeypatch.setattr(gc_scheduler, name, seconds)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def test_what_holds_itself_goes_when_no_key_was_pressed_for_a_while(switched_off, clock):
    async with CollectingApp().run_test() as pilot:
        await pilot.press("x")
        garbage = weakref.ref(Cycle())
        clock.now += 0.1
        await pilot.pause(0.05)
        assert garbage() is not None
        clock.now += 0.2
        assert await until(pilot, lambda: garbage() is None)


async def test_what_was_there_at_a_full_collection_goes_at_the_next_one(switched_off, clock, monkeypatch):
    monkeypatch.setattr(gc_scheduler, "SECONDS_TO_FIRST_FULL", 0)
    async with CollectingApp().run_test() as pilot:
        kept = Cycle()
        clock.now += 0.3
        assert await until(pilot, lambda: gc.get_freeze_count() > 0)
        garbage = weakref.ref(kept)
        del kept
        clock.now += 0.3
        await pilot.pause(0.05)
        assert garbage() is not None
        pilot.app.collect_everything_soon()
        clock.now += 0.1
        assert await until(pilot, lambda: garbage() is None)


async def test_nothing_is_done_where_the_collector_works_by_itself(nothing_frozen, monkeypatch, clock):
    monkeypatch.setattr(gc_scheduler, "SECONDS_BETWEEN", 0.01)
    monkeypatch.setattr(gc_scheduler, "SECONDS_TO_FIRST_FULL", 0)
    async with CollectingApp().run_test() as pilot:
        clock.now += 100
        await pilot.pause(0.1)
    assert gc.get_freeze_count() == 0
