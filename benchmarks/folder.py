"""Report on a folder of sessions, compared with the field's counter without a plan and with tiktoken with one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.tiktoken_alone import tiktoken_alone
from benchmarks.workbench import INSPECTOR, ROOT, NotMeasuredError, largest_reference_session, reference_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.workbench import Workbench

FOLDER, ONE = "report on a folder", "report on an 18 MB session under a plan"
RUNS = 3
MEGABYTES = 300
MOST_OF_ONE = 20
"""One session in so many is the largest; the others are those below it."""

PLAN = ("--strategy", "tiered-stale")
COUNTER = "INSPECTOR_CCUSAGE"
HOW = """Copies of the real Claude Code sessions next to the checkout, 300 MB in total, with new ids for messages,
requests, tool calls and sessions and a copy number before every text; every twentieth is the largest. The counter
is ccusage, found by name or at INSPECTOR_CCUSAGE, with totals by session, offline. It, the report without a plan
and caches, and the same report from kept results run in turn. The report's two processes run in parallel if two
processors are free, so processor time is listed too. With a plan (tiered-stale), tiktoken encodes the same texts in
two processes, each with half of the bytes, without loading and reading; the report is timed completely, then
repeated with its caches."""

_IDENTIFIER = re.compile(
    rb"(msg_|req_|toolu_)([A-Za-z0-9]{4})|([0-9a-f]{8})(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)
_TEXT = re.compile(rb'("(?:content|text|thinking)":")(?=.)')


class Taken(NamedTuple):
    """Seconds from start to end, and of processors, those of child processes included."""

    wall: float
    processors: float


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the ratios and their parts."""
    home = bench.folder / "claude"
    paths = copies(home, 1 if bench.is_quick else MEGABYTES)
    own, own_again, counted, planned, again, alone = [], [], [], [], [], []
    counter = _counter()
    _report(bench, home, "folder kept")
    for run in range(bench.runs(RUNS)):
        own.append(_report(bench, home, f"folder {run}", "--no-kept-results"))
        own_again.append(_report(bench, home, "folder kept"))
        if counter:
            environment = bench.environment("counter") | {"CLAUDE_CONFIG_DIR": str(home)}
            counted.append(taken((*counter, "session", "--offline", "--json"), environment))
        planned.append(_report(bench, home, f"folder planned {run}", *PLAN))
        alone.append(_tiktoken_on_two(paths))
        again.append(_report(bench, home, f"folder planned {run}", *PLAN))
    walls = [Runs([each.wall for each in runs]) for runs in (own, planned, again)]
    if counted:
        ratio = walls[0].median / Runs([each.wall for each in counted]).median
        yield at_most(FOLDER, "without a plan, ratio to ccusage", ratio, 2.5, "x", digits=2)
        ratio = Runs([each.wall for each in own_again]).median / Runs([each.wall for each in counted]).median
        yield at_most(FOLDER, "without a plan, again, ratio to ccusage", ratio, 1.0, "x", digits=2)
        ratio = Runs([each.processors for each in own]).median / Runs([each.processors for each in counted]).median
        yield Measurement(FOLDER, "without a plan, processor time, ratio to ccusage", f"{ratio:.2f}x")
        yield Measurement(FOLDER, "ccusage", _text_of(counted))
    yield Measurement(FOLDER, "without a plan", _text_of(own))
    yield Measurement(FOLDER, "without a plan, again", _text_of(own_again))
    ratio = walls[1].median / Runs(alone).median
    yield at_most(FOLDER, "with a plan, ratio to tiktoken on two processes", ratio, 1.2, "x", digits=2)
    yield Measurement(FOLDER, "tiktoken on two processes", f"{Runs(alone).median:.2f} s")
    yield Measurement(FOLDER, "with a plan", _text_of(planned))
    yield at_most(FOLDER, "with a plan, again", walls[2].median, 4.0, " s", digits=2)
    yield from _one_session(bench)


def _one_session(bench: Workbench) -> Iterator[Measurement]:
    path = largest_reference_session()
    if path is None:
        return
    cold, warm = [], []
    for run in range(bench.runs(RUNS)):
        cold.append(_report(bench, path, f"one {run}", *PLAN).wall)
        warm.append(_report(bench, path, f"one {run}", *PLAN).wall)
    yield at_most(ONE, "first time", Runs(cold).median, 1.5, " s", digits=2)
    yield at_most(ONE, "again", Runs(warm).median, 0.6, " s", digits=2)


def copies(home: Path, megabytes: float) -> list[Path]:
    """Copy real sessions into a home of Claude Code.

    Raises:
        NotMeasuredError: There are no real sessions.
    """
    sources = sorted((reference_sessions() / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    if not sources:
        raise NotMeasuredError("no real sessions of Claude Code next to the checkout")
    written: list[Path] = []
    size = 0
    for number in count():
        if size >= megabytes * 1_000_000:
            return written
        takes_largest = number % MOST_OF_ONE == MOST_OF_ONE - 1
        source = sources[-1] if takes_largest else sources[number % max(len(sources) - 1, 1)]
        data = _TEXT.sub(lambda match: match[1] + b"%d " % number, _renamed(source.read_bytes(), number))  # noqa: B023  used at once
        name = _renamed(source.stem.encode(), number).decode()
        path = home / "projects" / f"-home-sam-project-{number % 9}" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
        size += len(data)
    return written


def _renamed(data: bytes, number: int) -> bytes:
    def other(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return b"%s%04d%s" % (match[1], number, match[2])
        return b"%08x%s" % ((int(match[3], 16) + number * 2_654_435_761) & 0xFFFFFFFF, match[4])

    return _IDENTIFIER.sub(other, data)


def _counter() -> tuple[str, ...]:
    """Return the command of the counter; empty if it is missing."""
    named = os.environ.get(COUNTER) or shutil.which("ccusage")
    if not named:
        print("folder: ccusage not found; no comparison with it", file=sys.stderr)
        return ()
    return ("node", named) if named.endswith(".js") else (named,)


def _report(bench: Workbench, path: Path, home: str, *options: str) -> Taken:
    return taken((*INSPECTOR, "report", str(path), "--format", "json", *options), bench.environment(home))


def taken(command: Sequence[str], environment: dict[str, str]) -> Taken:
    """Measure the resources of a program.

    Raises:
        NotMeasuredError: It fails.
    """
    measured = (
        "import os, subprocess, sys, time\n"
        "began = time.perf_counter()\n"
        "code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "spent = os.times()\n"
        "print(code, time.perf_counter() - began, spent.children_user + spent.children_system)"
    )
    done = subprocess.run(
        (sys.executable, "-c", measured, *command),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    code, wall, processors = done.stdout.split()
    if int(code):
        raise NotMeasuredError(f"{Path(command[0]).name} ended with {code}")
    return Taken(float(wall), float(processors))


def _tiktoken_on_two(paths: Sequence[Path]) -> float:
    """Seconds until the later of two processes has encoded the texts of its half of the sessions."""
    halves: tuple[list[Path], list[Path]] = ([], [])
    sizes = [0, 0]
    for path in sorted(paths, key=lambda path: -path.stat().st_size):
        half = sizes.index(min(sizes))
        halves[half].append(path)
        sizes[half] += path.stat().st_size
    with ThreadPoolExecutor(2) as pool:
        return max(each.encoding for each in pool.map(lambda half: tiktoken_alone(*half), halves))


def _text_of(runs: Sequence[Taken]) -> str:
    wall, processors = (Runs([*column]).median for column in zip(*runs, strict=True))
    return f"{wall:.2f} s, {processors:.2f} s CPU"
