"""Many sessions: processes beside a cluster of dask, what a worker holds in memory, and ten thousand sessions."""

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

PROMISE = "many sessions at once"
RUNS = 3
MEGABYTES = 300
SESSIONS = 10_000
NEW = 10
"""So many sessions come between the second and the third report."""

CALLS = 42
"""Of a made session, about 470 KB."""

WAYS = {
    "in one process": ("--processes", "0"),
    "two processes": ("--processes", "2"),
    "a cluster of two workers": ("--workers", "2"),
}
HOW = f"""A folder report under tiered-stale, nothing kept, on {MEGABYTES} MB of copies of the real Claude Code sessions
beside the checkout, in one process, in two, and in a local cluster of dask with two workers: started in turn, {RUNS}
times each, timed from start to end. A worker's memory is the largest proportional share (PSS) and resident size (RSS)
that a process below the program's own reaches, looked at every 50 ms; the cluster's scheduler lives in the program's
own. Ten thousand made sessions of {CALLS} calls, all texts different, are reported on once for the first time, once
again, and once more after {NEW} others came."""


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
        told = f"{len(paths) / wall:,.1f} sessions a second ({wall:.2f} s, {processors:.2f} s of processors)"
        yield Measurement(PROMISE, case, told)
        yield Measurement(PROMISE, f"{case}, a worker's memory", str(most[way]))
    yield from _ten_thousand(bench)


def _ten_thousand(bench: Workbench) -> Iterator[Measurement]:
    folder = bench.folder / "thousands" / "projects" / "-home-sam-project"
    folder.mkdir(parents=True)
    sessions, new = (20, 2) if bench.is_quick else (SESSIONS, NEW)
    _write(folder, range(sessions))
    case = f"{sessions:,} made sessions, {sum(path.stat().st_size for path in folder.iterdir()) / 1e6:,.0f} MB"
    for when in ("for the first time", "again", f"again, {new} new ones among them"):
        if "new" in when:
            _write(folder, range(sessions, sessions + new))
        memory = _Memory()
        with memory:
            wall, processors = _report(bench, folder, "thousands")
        yield Measurement(PROMISE, f"{case}, {when}", f"{wall:,.1f} s, {processors:,.1f} s of processors")
        yield Measurement(PROMISE, f"{case}, {when}, the program's own memory", memory.own)


def _write(folder: Path, numbers: range) -> None:
    for number in numbers:
        with (folder / f"{number:08x}-0000-4000-8000-000000000000.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(SessionWriter(seed=number + 1).lines(CALLS))


def _report(bench: Workbench, path: Path, home: str, *options: str) -> Taken:
    command = (*INSPECTOR, "report", str(path), "--format", "json", *PLAN, *options)
    return taken(command, bench.environment(home))


class _Memory:
    """The most that the program, and any process below it, holds while this is entered; Linux alone tells it."""

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
            return f"{self.own}, the program's own"
        return f"{self._shared / 1e3:,.0f} MB (RSS {self._resident / 1e3:,.0f} MB)"

    @property
    def own(self) -> str:
        """What the program's own process holds at most, as PSS."""
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
    """Its child processes; none where that cannot be told, as of one that has ended."""
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
