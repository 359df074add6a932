"""Cyclic garbage is collected only while the screen is idle; threads share free memory."""

import asyncio
import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

from inspector.ui.performance import memory
from inspector.ui.performance.memory import CollectingApp
from tests.conftest import ROOT
from tests.program import environment
from tests.ui.waiting import until


class Cycle:
    def __init__(self) -> None:
        self.itself = self


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


TIMES = {"SECONDS_BETWEEN": 0.01, "SECONDS_OF_IDLENESS": 0.2, "SECONDS_OF_ABSENCE": 0.2, "MOST_SECONDS_BETWEEN": 60}


@contextmanager
def collector_of_the_screen(clock: Clock, **seconds: float) -> Iterator[None]:
    """Switch Python's collector off, as in the program, so that the application's own is at work."""
    gc.unfreeze()
    gc.collect()
    gc.disable()
    with mock.patch.multiple(memory, **TIMES, **seconds, monotonic=clock):
        yield
    gc.enable()


async def what_holds_itself_goes_when_no_key_was_pressed_for_a_while() -> None:
    clock = Clock()
    with collector_of_the_screen(clock):
        async with CollectingApp().run_test() as pilot:
            await pilot.press("x")
            garbage = weakref.ref(Cycle())
            clock.now += 0.1
            await pilot.pause(0.05)
            assert garbage() is not None
            clock.now += 0.2
            assert await until(pilot, lambda: garbage() is None)


class Opening(CollectingApp):
    is_opening = True


async def what_is_made_while_a_session_is_opened_is_not_looked_through() -> None:
    clock = Clock()
    with collector_of_the_screen(clock):
        async with Opening().run_test() as pilot:
            garbage = weakref.ref(Cycle())
            clock.now += 100
            assert await until(pilot, lambda: gc.get_freeze_count() > 0)
            assert garbage() is not None


async def what_was_there_at_a_full_collection_goes_at_the_next_one() -> None:
    clock = Clock()
    with collector_of_the_screen(clock, SECONDS_TO_FIRST_FULL=0):
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


async def nothing_is_done_where_the_collector_works_by_itself() -> None:
    clock = Clock()
    gc.unfreeze()
    with mock.patch.multiple(memory, **TIMES, SECONDS_TO_FIRST_FULL=0, monotonic=clock):
        async with CollectingApp().run_test() as pilot:
            clock.now += 100
            await pilot.pause(0.1)
    assert gc.get_freeze_count() == 0


FACTS = (
    what_holds_itself_goes_when_no_key_was_pressed_for_a_while,
    what_is_made_while_a_session_is_opened_is_not_looked_through,
    what_was_there_at_a_full_collection_goes_at_the_next_one,
    nothing_is_done_where_the_collector_works_by_itself,
)


def test_cyclic_garbage_is_collected_in_idle_moments_and_after_a_full_collection_at_the_next_one() -> None:
    """In a process of its own: full collections go through all objects, here those of every test."""
    done = subprocess.run(
        [sys.executable, "-m", __name__], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [fact.__name__ for fact in FACTS], done.stderr


HEAPS = """
import ctypes, sys
from threading import Barrier, Thread

def work():
    at_once.wait()
    kept.append([bytes(1_000) for _ in range(100)])
    at_once.wait()

kept, at_once = [], Barrier(4)
if sys.argv[1] == "one":
    from inspector.ui.performance.memory import share_one_heap
    share_one_heap()
threads = [Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's C library has several heaps, and says how many")
def test_threads_of_the_screen_take_memory_from_one_heap(tmp_path, monkeypatch):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if not hasattr(ctypes.CDLL(None), "malloc_info"):
        pytest.skip("another C library than glibc")
    heaps = {}
    for how in ("one", "each"):
        told = tmp_path / how
        subprocess.run([sys.executable, "-c", HEAPS, how, str(told)], check=True)
        heaps[how] = told.read_text().count("<heap nr=")
    assert heaps["one"] == 1
    assert heaps["each"] > 1


if __name__ == "__main__":
    for fact in FACTS:
        asyncio.run(fact())
        sys.stdout.write(f"{fact.__name__}\n")
