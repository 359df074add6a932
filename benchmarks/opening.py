"""Time until a session of usual size is usable, compared with an empty Textual program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.large_file import count_messages
from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.workbench import NotMeasuredError, reference_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.workbench import Workbench

PROMISE = "opening a session under 5 MB"
RUNS = 7
LARGEST = 5_000_000
MOST_COLD, MOST_WARM = 3.4, 2.3
"""Times an empty app's first paint: 0.6 and 0.4 s where that takes 175 ms."""

HOW = """The largest real session of Claude Code under 5 MB is opened in a pty of 120 by 36, without caches and again
with them, in turn with an empty app. The time ends when the header shows the number of all messages; the timeline
then answers keys. The empty app's time ends when its one line is drawn. A warm-up run of each, which compiles
Python's bytecode, is not counted."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Both times, and their ratios to the empty app's."""
    found = [path for path in (reference_sessions() / "claude-code").glob("*.jsonl") if path.stat().st_size < LARGEST]
    if not found:
        raise NotMeasuredError("no real Claude Code session under 5 MB next to the checkout")
    path = max(found, key=lambda path: path.stat().st_size)
    shown = f"{count_messages(path):,} messages".encode()
    empty, cold, warm = [], [], []
    for run in range(bench.runs(RUNS) + 1):
        with bench.empty_app() as terminal:
            baseline = terminal.wait_for(b"drawn 0").time - terminal.started
        first, again = (_until(bench, path, f"opening {run}", shown) for _ in range(2))
        if run:
            empty.append(baseline)
            cold.append(first)
            warm.append(again)
    alone = Runs(empty).median
    for case, times, limit in (("first time", cold, MOST_COLD), ("again", warm, MOST_WARM)):
        seconds = Runs(times).median
        note = f" ({seconds:.2f} s)"
        yield at_most(PROMISE, f"{case}, ratio to an empty app", seconds / alone, limit, " times", digits=2, note=note)
    yield Measurement(PROMISE, "empty app", Runs(empty).milliseconds())


def _until(bench: Workbench, path: Path, home: str, marker: bytes) -> float:
    with bench.inspector(path, home) as terminal:
        seconds = terminal.wait_for(marker).time - terminal.started
        terminal.settle()
        return seconds
