"""From a key on a limit or a strategy to its figures on the screen."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.pace import Pace
from benchmarks.promises import Measurement, at_most
from benchmarks.screen_parts import everything, figures, slider_row
from benchmarks.statistics_of_runs import Runs
from benchmarks.terminal import KEYS, SIZE, NotShownError, mouse
from benchmarks.workbench import largest_reference_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.terminal import Terminal
    from benchmarks.workbench import Workbench

PROMISE = "changing a plan"
LIMITS_MS = {10_000: 30, 100_000: 50}
LIMIT_OF_REAL_MS = 30
RUNS = 40
TIER = "data"
FRAMES_PER_SECOND = 60
DRAGS = 40
MOVES = 40
SHORTEST_PAUSE, LONGEST_PAUSE = 0.003, 0.012
"""Seconds between them, by chance, as a hand makes them. At equal distances, moves and frames would fall into step, and
the last move come when the program is always, or never, in the middle of a replay."""

COUNTED = re.compile(rb"compacts at")
"""Every text is counted, and the counts brought to the provider's scale."""

REPLAYED = re.compile(rb"compacts at")
"""The plan, switched off, has been replayed."""

HOW = f"""A synthetic session with exact counts, and the largest real one, in a pty. The keys are 1, which toggles
tiered-stale, and an arrow on the slider of its tier {TIER}. The time runs from the key to the last byte of the last
frame that changed a figure: slider, timeline bars, chart, cost and savings. The analyses that follow (range, risks)
are listed separately. The terminal reports synchronized frames, as current ones do; its emulation is not part of
the time. A drag is {MOVES} mouse moves on the slider, {SHORTEST_PAUSE * 1e3:.0f} to {LONGEST_PAUSE * 1e3:.0f} ms
apart at random, the same in every run; its time runs from the last move to the last change. An empty app's key
responses are timed before, between and after: no Textual program is faster."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Toggling, moving and dragging, at both lengths and on a real session."""
    for messages, limit in LIMITS_MS.items():
        yield from _changes(bench, f"{messages:,} messages", bench.long_session(messages), limit)
    if (real := largest_reference_session()) is not None:
        yield from _changes(bench, f"a real session of {real.stat().st_size / 1e6:.0f} MB", real, LIMIT_OF_REAL_MS)


def _changes(bench: Workbench, of: str, path: Path, limit: float) -> Iterator[Measurement]:
    with Pace.interleaved(bench) as pace, bench.inspector(path, "plan change") as terminal:
        terminal.wait_for(COUNTED, 180)
        terminal.settle(0.5)
        pace.take()
        # The plan is open while a strategy is switched off, too.
        terminal.send(b"p")
        while not any(f" {TIER} " in line and "●" in below for line, below in pairwise(terminal.screen())):
            terminal.settle(0.3)
        watch = partial(figures, limit=TIER)
        presses = range(bench.runs(RUNS))
        toggled = [terminal.time(partial(terminal.send, b"1"), watch).seconds for _ in presses]
        pace.take()
        _go_to_slider(terminal)
        # Above the limit there may be few results, so that its slider ends soon.
        keys = [KEYS["left" if run % 10 < 5 else "right"] for run in presses]
        moved = [terminal.time(partial(terminal.send, key), watch).seconds for key in keys]
        worked_out = [terminal.time(partial(terminal.send, key), everything).seconds for key in keys]
        pace.take()
        dragged, frames = _drags(bench, terminal)
        pace.take()
    yield pace.answer(PROMISE, of)
    for what, seconds in (("toggled", toggled), ("moved by a key", moved), ("dragged, after the last move", dragged)):
        runs = Runs(seconds)
        note = f" (p95 {runs.p95 * 1e3:.0f}, n {len(seconds)})"
        yield pace.at_most(PROMISE, f"{what}, {of}", runs.median * 1e3, limit, note=note)
    case = f"moved by a key, with all analyses, {of}"
    yield Measurement(PROMISE, case, Runs(worked_out).milliseconds())
    yield at_most(PROMISE, f"frames per second while dragging, {of}", max(frames), FRAMES_PER_SECOND + 5, "")


def _go_to_slider(terminal: Terminal) -> None:
    """Give the slider the focus, however slowly the screen follows the keys."""
    step, was_marked = "down", False
    for _ in range(40):
        terminal.settle(0.3)
        screen = terminal.screen()
        slider = slider_row(screen, TIER)
        if f"▸ {TIER} " in screen[slider - 1]:
            return
        marked = [number for number, line in enumerate(screen) if "▸" in line.rpartition("││")[2]]
        if marked:
            step = "up" if marked[0] > slider else "down"
        elif was_marked:
            # Values above and below the limits have no mark: the steps have left the range.
            step = "up" if step == "down" else "down"
        was_marked = bool(marked)
        terminal.send(KEYS[step])
    raise NotShownError(f"the slider of {TIER} could not be reached")


def _drags(bench: Workbench, terminal: Terminal) -> tuple[list[float], list[float]]:
    """Seconds from the last move of each drag, and frames a second while it lasted."""
    after: list[float] = []
    frames: list[float] = []
    chance = Random(1)  # noqa: S311  not used for secrets
    for run in range(bench.runs(DRAGS)):
        row, column = _knob(terminal)
        step = -1 if run % 2 == 0 else 1
        terminal.send(mouse("press", column, row))
        terminal.settle()

        pauses = [chance.uniform(SHORTEST_PAUSE, LONGEST_PAUSE) for _ in range(MOVES)]
        begun = perf_counter()

        def drag(row: int = row, column: int = column, step: int = step, pauses: list[float] = pauses) -> float:
            for move, pause in enumerate(pauses):
                terminal.pause(pause)
                # Back and forth between two cells, so that every move is another value; it ends on the next one.
                place = column + step * (2 if move == MOVES - 1 else move % 2)
                at = terminal.send(mouse("move", min(place, SIZE[0]), row))
            return at

        timing = terminal.time(drag, partial(figures, limit=TIER))
        seconds = timing.at + timing.seconds - begun
        terminal.send(mouse("release", column + 2 * step, row))
        terminal.settle()
        after.append(timing.seconds)
        frames.append(timing.frames / seconds)
    return after, frames


def _knob(terminal: Terminal) -> tuple[int, int]:
    """Row and column of the slider's knob, counted from 1."""
    screen = terminal.screen()
    row = slider_row(screen, TIER)
    return row + 1, screen[row].rindex("●") + 1
