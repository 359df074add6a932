"""Time to first paint, compared with an empty Textual program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.terminal import Terminal
    from benchmarks.workbench import Workbench

PROMISE = "first paint, from process start"
RUNS = 15
HOW = """An empty app and inspector are started in turn, each in a pty of 120 by 36. The empty app draws one line of
text; its first paint ends when that line is written. First paint of inspector ends when the frame with the
timeline's title is written, while it opens a session of 10,000 messages. A warm-up run of each, which compiles
Python's bytecode, is not counted."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the ratio of the medians, and both."""
    path = bench.long_session(10_000)
    empty, own = [], []
    for run in range(bench.runs(RUNS) + 1):
        baseline = _first_paint(bench.empty_app(), b"drawn 0")
        painted = _first_paint(bench.inspector(path, "first paint"), b"Timeline")
        if run:
            empty.append(baseline)
            own.append(painted)
    ratio = Runs(own).median / Runs(empty).median
    yield at_most(PROMISE, "ratio to an empty app", ratio, 1.4, " times", digits=2)
    yield Measurement(PROMISE, "inspector", Runs(own).milliseconds())
    yield Measurement(PROMISE, "empty app", Runs(empty).milliseconds())


def _first_paint(program: Terminal, marker: bytes) -> float:
    with program as terminal:
        return terminal.wait_for(marker).time - terminal.started
