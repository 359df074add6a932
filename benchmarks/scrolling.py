"""From an arrow key to the row below, in a very long timeline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.pace import Pace
from benchmarks.plan_change import COUNTED
from benchmarks.promises import Measurement
from benchmarks.screen_parts import everything, timeline_rows
from benchmarks.statistics_of_runs import Runs
from benchmarks.terminal import KEYS
from benchmarks.workbench import largest_reference_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.workbench import Workbench

PROMISE = "scrolling through 100,000 rows"
RUNS = 60
LIMIT_MS = 10
PRESSES_BEFORE = 40
HOW = """A session of 100,000 messages (110,000 rows) with exact counts, in a pty. The cursor is moved to the last
visible row, so every further press of the down key scrolls by one row. The time runs from the key to the last byte
of the frame that changed the rows; the detail of the row under the cursor follows one frame later and is listed
separately. An empty app's key responses are timed before and after. The largest real session is measured the same
way."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the rows, and the detail next to them."""
    yield from _scrolled(bench, bench.long_session(100_000), "100,000 messages")
    if (real := largest_reference_session()) is not None:
        yield from _scrolled(bench, real, f"a real session of {real.stat().st_size / 1e6:.0f} MB")


def _scrolled(bench: Workbench, path: Path, of: str) -> Iterator[Measurement]:
    with Pace.interleaved(bench) as pace, bench.inspector(path, "scroll") as terminal:
        terminal.wait_for(COUNTED, 180)
        terminal.settle(0.5)
        press = partial(terminal.send, KEYS["down"])
        terminal.send(KEYS["home"])
        for _ in range(PRESSES_BEFORE):
            press()
        terminal.settle(0.5)
        pace.take()
        rows, detail = [], []
        for run in range(bench.runs(RUNS)):
            if run == RUNS // 2:
                pace.take()
            rows.append(terminal.time(press, timeline_rows).seconds)
            detail.append(terminal.time(press, everything).seconds)
        pace.take()
    runs = Runs(rows)
    note = f" (p95 {runs.p95 * 1e3:.0f}, n {len(rows)})"
    yield pace.answer(PROMISE, of)
    yield pace.at_most(PROMISE, f"rows, {of}", runs.median * 1e3, LIMIT_MS, note=note)
    yield Measurement(PROMISE, f"rows and detail, {of}", Runs(detail).milliseconds())
