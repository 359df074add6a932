"""Many sessions: processes and a dask cluster, memory of a worker, and ten thousand sessions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.folder import PLAN, Taken, copies, taken
from benchmarks.generate import SessionWriter
from benchmarks.promises import Measurement
from benchmarks.statistics_of_runs import Runs
from benchmarks.workbench import INSPECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.workbench import Workbench

PROMISE = "parallel reports"
RUNS = 3
MEGABYTES = 300
SESSIONS = 10_000
NEW = 10
"""Sessions added between the second and the third report."""

CALLS = 42
"""Calls of a generated session of about 470 KB."""

WAYS = {
    "one process": ("--processes", "0"),
    "two processes": ("--processes", "2"),
    "dask, two workers": ("--workers", "2"),
}
HOW = f"""A folder report under tiered-stale without caches, on {MEGABYTES} MB of copies of the real Claude Code
sessions next to the checkout, in one process, in two, and on a local dask cluster of two workers: in turn, {RUNS}
times each, timed from start to end. Memory per worker is the largest PSS and RSS of a child process, sampled every
50 ms; the scheduler of the cluster runs in the main process. Then {SESSIONS:,} synthetic sessions of {CALLS} calls,
all texts different, are reported on: a first run, a second one, and a third after {NEW} sessions were added."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Sessions a second and a worker's memory of every way to work, then ten thousand sessions."""
    home = bench.folder / "fleet"
    paths = copies(home, 1 if bench.is_quick else MEGABYTES)
    took: dict[str, list[Taken]] = {way: [] for way in WAYS}
    most: dict[str, _Memory] = {way: _Memory() for way in WAYS}
    for run in range(bench.runs(RUNS)):
        for way, options in WAYS.items():
            with most[way]:
                took[way].append(_report(bench, home, f"fleet {way} {run}", *options, "--no-kept-results"))
    size = sum(path.stat().st_size for path in paths) / 1e6
    for way, runs in took.items():
        wall, processors = (Runs([*column]).median for column in zip(*runs, strict=True))
        case = f"{len(paths)} sessions, {size:,.0f} MB, {way}"
        told = f"{len(paths) / wall:,.1f} sessions/s ({wall:.2f} s, {processors:.2f} s CPU)"
        yield Measurement(PROMISE, case, told)
        yield Measurement(PROMISE, f"{case}, memory per worker", str(most[way]))
    yield from _ten_thousand(bench)


def _ten_thousand(bench: Workbench) -> Iterator[Measurement]:
    folder = bench.folder / "thousands" / "projects" / "-home-sam-project"
    folder.mkdir(parents=True)
    sessions, new = (20, 2) if bench.is_quick else (SESSIONS, NEW)
    _write(folder, range(sessions))
    case = f"{sessions:,} synthetic sessions, {sum(path.stat().st_size for path in folder.iterdir()) / 1e6:,.0f} MB"
    for when in ("first run", "again", f"again, with {new} new sessions"):
        if "new" in when:
            _write(folder, range(sessions, sessions + new))
        memory = _Memory()
        with memory:
            wall, processors = _report(bench, folder, "thousands")
        yield Measurement(PROMISE, f"{case}, {when}", f"{wall:,.1f} s, {processors:,.1f} s CPU")
        yield Measurement(PROMISE, f"{case}, {when}, memory of the main process", memory.own)


def _write(folder: Path, numbers: range) -> None:
    for number in numbers:
        with (folder / f"{number:08x}-0000-4000-8000-000000000000.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(SessionWriter(seed=number + 1).lines(CALLS))


def _report(bench: Workbench, path: Path, home: str, *options: str) -> Taken:
    command = (*INSPECTOR, "report", str(path), "--format", "json", *PLAN, *options)
    return taken(command, bench.environment(home))


class _Memory:
    """Peak memory of the program and its child processes during the block; Linux only."""

    def __init__(self) -> None:
        self._own = self._shared = self._resident = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self._ended.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def __str__(self) -> str:
        if not self._shared:
            return f"{self.own}, main process"
        return f"{self._shared / 1e3:,.0f} MB (RSS {self._resident / 1e3:,.0f} MB)"

    @property
    def own(self) -> str:
        """Peak memory of the program's main process, as PSS."""
        return f"{self._own / 1e3:,.0f} MB" if self._own else "not known here"

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            # Below this process: the one that measures, the program, its workers.
            for starter in _children(Path("/proc/self")):
                for program in _children(starter):
                    self._own = max(self._own, _kilobytes(program, "Pss:"))
                    for worker in _below(program):
                        self._shared = max(self._shared, _kilobytes(worker, "Pss:"))
                        self._resident = max(self._resident, _kilobytes(worker, "Rss:"))


def _below(process: Path) -> Iterator[Path]:
    for child in _children(process):
        yield child
        yield from _below(child)


def _children(process: Path) -> Sequence[Path]:
    """Return the child processes; none if unavailable, as for a process that has ended."""
    try:
        threads = [*(process / "task").iterdir()]
        return [Path("/proc", child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return ()


def _kilobytes(process: Path, name: str) -> int:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
