"""From the start of the program to a list of ten thousand sessions."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING

from benchmarks.generate import LEAN, write_session
from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.terminal import Terminal
from benchmarks.workbench import INSPECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.workbench import Workbench

PROMISE = "listing 10,000 sessions"
SESSIONS = 10_000
PROJECTS = 200
RUNS = 7
FIRST_PAINT = b"ilter by project"
"""Behind its first letter, which the cursor is on."""

HOW = """Ten thousand copies of a session of 20 messages, a quarter of them subagents, in 200 folders of a home of
Claude Code, in a pty. The time runs from the first paint of the empty list to the last byte of the frame that shows
the number of sessions and the newest of them; sessions are then read in the background."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the list from its first paint, and from the start of the program."""
    count = SESSIONS // 50 if bench.is_quick else SESSIONS
    _fill(bench.home("list") / ".claude" / "projects", bench.folder / "copied.jsonl", count)
    after_paint, after_start = [], []
    told = re.compile(rf"of {count:,} sessions".encode())
    for _ in range(bench.runs(RUNS)):
        with Terminal(INSPECTOR, bench.environment("list"), bench.folder) as terminal:
            painted = terminal.wait_for(FIRST_PAINT).time
            listed = terminal.wait_for(told).time
            after_paint.append(listed - painted)
            after_start.append(listed - terminal.started)
    runs = Runs(after_paint)
    note = f" (p95 {runs.p95:.2f}, n {len(after_paint)})"
    yield at_most(PROMISE, "after the first paint", runs.median, 1.0, " s", digits=2, note=note)
    yield Measurement(PROMISE, "after the start of the program", f"{Runs(after_start).median:.2f} s")


def _fill(projects: Path, source: Path, count: int) -> None:
    if projects.exists():
        return
    data = write_session(source, messages=20, shape=LEAN).read_bytes()
    for number in range(count):
        folder = projects / f"-home-user-project-{number % PROJECTS}"
        name = str(uuid.UUID(int=number // 4 * 4 + 1))
        path = folder / f"{name}.jsonl"
        if number % 4 == 3:
            path = folder / name / "subagents" / f"agent-{number:x}.jsonl"
        elif number % 4:
            path = folder / f"{uuid.UUID(int=number + 10**9)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1_780_000_000 - number, 1_780_000_000 - number))
