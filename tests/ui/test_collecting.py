"""Cyclic garbage goes when nobody waits for the screen, and not before."""

import gc
import weakref

import pytest

from inspector.ui.performance import gc_scheduler
from inspector.ui.performance.gc_scheduler import CollectingApp


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def switched_off(monkeypatch):
    for name, seconds in {
        "SECONDS_BETWEEN": 0.02,
        "SECONDS_OF_IDLENESS": 0.2,
        "SECONDS_OF_ABSENCE": 0.2,
        "MOST_SECONDS_BETWEEN": 60,
    }.items():
        monkeypatch.setattr(gc_scheduler, name, seconds)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


async def until(pilot, happened) -> bool:
    for _ in range(100):
        if happened():
            return True
        await pilot.pause(0.02)
    return False


async def test_what_holds_itself_goes_when_no_key_was_pressed_for_a_while(switched_off):
    async with CollectingApp().run_test() as pilot:
        await pilot.press("x")
        garbage = weakref.ref(Cycle())
        await pilot.pause(0.05)
        assert garbage() is not None
        assert await until(pilot, lambda: garbage() is None)


async def test_what_was_there_at_a_full_collection_goes_at_the_next_one(switched_off, monkeypatch):
    monkeypatch.setattr(gc_scheduler, "SECONDS_TO_FIRST_FULL", 0)
    async with CollectingApp().run_test() as pilot:
        kept = Cycle()
        assert await until(pilot, lambda: gc.get_freeze_count() > 0)
        garbage = weakref.ref(kept)
        del kept
        await pilot.pause(0.3)
        assert garbage() is not None
        pilot.app.collect_everything_soon()
        assert await until(pilot, lambda: garbage() is None)


async def test_nothing_is_done_where_the_collector_works_by_itself(monkeypatch):
    monkeypatch.setattr(gc_scheduler, "SECONDS_BETWEEN", 0.02)
    monkeypatch.setattr(gc_scheduler, "SECONDS_TO_FIRST_FULL", 0)
    frozen = gc.get_freeze_count()
    async with CollectingApp().run_test() as pilot:
        await pilot.pause(0.5)
    assert gc.get_freeze_count() == frozen
