"""From a line appended to the session's file to its row on the screen."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.generate import LEAN, SessionWriter
from benchmarks.pace import Pace
from benchmarks.plan_change import COUNTED, REPLAYED
from benchmarks.screen_parts import last_row_holds, row_count
from benchmarks.statistics_of_runs import Runs
from benchmarks.terminal import KEYS, NotShownError
from benchmarks.workbench import NotMeasuredError, reference_sessions

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from benchmarks.promises import Measurement
    from benchmarks.workbench import Workbench

PROMISE = "appending a line"
LENGTHS = (10_000, 100_000)
RUNS, RECORDED_LINES = 40, 60
MEDIAN_MS, P95_MS = 30, 100
PAUSE = 0.5
SECONDS_TO_SHOW = 1.5
HOW = """Lines are appended one at a time to the file of an open session in a pty, each half a second after the
screen is idle. The time runs from the end of the write to the last byte of the frame with the new row last in the
timeline (follow on), or with one more row in the status line (follow off). Lines continue a synthetic session, or a
real one recorded while it grew, from its first state. Lines without a visible row are not counted. An empty app's
key responses are timed before and after."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Both ways at both lengths, then the recorded growth."""
    for messages in LENGTHS:
        for follows in (True, False):
            path, lines = _growing(bench, messages)
            with Pace.interleaved(bench) as pace:
                runs = _append(bench, path, islice(lines, bench.runs(RUNS)), COUNTED, pace, follows=follows)
            yield from _measurements(f"follow {'on' if follows else 'off'}, {messages:,} messages", runs, pace)
            path.unlink()
    try:
        folder = reference_sessions() / "claude-code-growth" / "cc432c40"
    except NotMeasuredError:
        return
    for follows in (True, False):
        path = bench.folder / "recorded.jsonl"
        recorded = list(_recorded_growth(folder, path))
        # Too few calls at first to calibrate, and nothing to count for long.
        lines = recorded[: 10 if bench.is_quick else RECORDED_LINES]
        with Pace.interleaved(bench) as pace:
            runs = _append(bench, path, lines, REPLAYED, pace, follows=follows)
        yield from _measurements(f"follow {'on' if follows else 'off'}, a recorded session", runs, pace)


def _measurements(case: str, runs: Runs, pace: Pace) -> Iterator[Measurement]:
    yield pace.answer(PROMISE, case)
    count = f" (n {len(runs.values)})"
    yield pace.at_most(PROMISE, f"{case}: median", runs.median * 1e3, MEDIAN_MS, note=count)
    yield pace.at_most(PROMISE, f"{case}: p95", runs.p95 * 1e3, P95_MS, note="")


def _growing(bench: Workbench, messages: int) -> tuple[Path, Iterator[str]]:
    """Create a session in a separate file; return it and its next lines."""
    calls = messages // (100 if bench.is_quick else 2)
    writer = SessionWriter(LEAN)
    path = bench.folder / f"growing-{messages}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(writer.lines(calls))
    return path, writer.lines(bench.runs(RUNS))


def _recorded_growth(folder: Path, path: Path) -> Iterator[str]:
    """Write the first recorded state to `path`; the lines that the later ones add."""
    first, *later = sorted(folder.glob("snap*.jsonl"))
    written = first.read_bytes()
    path.write_bytes(written)
    for state in later:
        data = state.read_bytes()
        if not data.startswith(written):
            return
        yield from data[len(written) :].decode().splitlines(keepends=True)
        written = data


def _append(
    bench: Workbench, path: Path, lines: Iterable[str], ready: re.Pattern[bytes], pace: Pace, *, follows: bool
) -> Runs:
    seconds = []
    with bench.inspector(path, "append") as terminal, path.open("a", encoding="utf-8") as file:
        terminal.wait_for(ready, 180)
        terminal.settle(PAUSE)
        terminal.send(KEYS["end" if follows else "home"])
        terminal.settle(PAUSE)
        pace.take()
        watch = last_row_holds if follows else row_count
        for line in lines:
            with suppress(NotShownError):
                seconds.append(terminal.time(partial(_write, file, line), watch, PAUSE, SECONDS_TO_SHOW).seconds)
        pace.take()
    return Runs(seconds)


def _write(file: TextIO, line: str) -> float:
    file.write(line)
    file.flush()
    return perf_counter()
