"""How long until something is on the screen, against a Textual program that does nothing."""

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
HOW = """Both programs are started in turn, each in a pty of 120 by 36. An empty app draws one line of text; its first
paint is when that line has been written. The inspector's is when the frame with the title of its timeline has. It
opens a session of 10,000 messages meanwhile. Python's compiled files are in place: a run of each is made before, and
not counted."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """The ratio of the medians, and both."""
    path = bench.long_session(10_000)
    empty, own = [], []
    for run in range(bench.runs(RUNS) + 1):
        baseline = _first_paint(bench.empty_app(), b"drawn 0")
        painted = _first_paint(bench.inspector(path, "first paint"), b"Timeline")
        if run:
            empty.append(baseline)
            own.append(painted)
    ratio = Runs(own).median / Runs(empty).median
    yield at_most(PROMISE, "ratio to an empty app's", ratio, 1.4, " times", digits=2)
    yield Measurement(PROMISE, "inspector", Runs(own).milliseconds())
    yield Measurement(PROMISE, "empty app", Runs(empty).milliseconds())


def _first_paint(program: Terminal, marker: bytes) -> float:
    with program as terminal:
        return terminal.wait_for(marker).time - terminal.started
