"""A file of 100 MB: rows, exact counts, memory, and the same file opened again."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.tiktoken_alone import tiktoken_alone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.workbench import Workbench

OPENED, REOPENED, MEMORY = "opening a 100 MB Claude Code file", "reopening that file", "memory for a 100 MB file"
RUNS = 5
EXACT = re.compile(rb"compacts at")
HOW = """A synthetic Claude Code session of 100 MB, a fifth of it counted text, is opened in a pty. All rows are
present when the header shows the number of all messages. Counts are exact when the header names the tokenizer or
calls tokens calibrated; their time starts at the rows. The baseline is a process that loads the tokenizer and
encodes the same texts with tiktoken, one by one. The program loads its tokenizer while a subprocess reads the file,
mostly before the rows. Every run has its own cache folder and reopens the file from it. Memory is the resident
memory when counts are shown, and its maximum until then; the reader process has ended by then and is listed
separately."""


class Opening(NamedTuple):
    """Seconds from process start, and MB."""

    first_rows: float
    all_rows: float
    exact: float
    memory: float
    most_memory: float


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Every figure, medians of several runs."""
    path = bench.large_session()
    count = count_messages(path)
    cold, again, alone = [], [], []
    for run in range(bench.runs(RUNS)):
        cold.append(_open(bench, path, count, f"large {run}"))
        alone.append(sum(tiktoken_alone(path)))
        again.append(_open(bench, path, count, f"large {run}"))
    rows = Runs([opening.all_rows for opening in cold])
    counting = Runs([opening.exact - opening.all_rows for opening in cold])
    ratio = counting.median / Runs(alone).median
    yield at_most(OPENED, "all rows, with estimated sizes", rows.median, 1.0, " s", digits=2)
    yield Measurement(OPENED, "first rows", f"{Runs([opening.first_rows for opening in cold]).median:.2f} s")
    yield at_most(OPENED, "exact counts, ratio to tiktoken alone", ratio, 1.5, "x", digits=2)
    yield Measurement(OPENED, "exact counts, after the rows", f"{counting.median:.2f} s")
    yield Measurement(OPENED, "tiktoken alone, with loading", f"{Runs(alone).median:.2f} s")
    exact = Runs([opening.exact for opening in again])
    yield at_most(REOPENED, "all rows and exact counts", exact.median, 1.0, " s", digits=2)
    yield Measurement(REOPENED, "all rows", f"{Runs([opening.all_rows for opening in again]).median:.2f} s")
    yield at_most(MEMORY, "with exact counts", Runs([opening.memory for opening in cold]).median, 250, " MB")
    yield at_most(MEMORY, "maximum until then", Runs([opening.most_memory for opening in cold]).median, 250, " MB")
    yield at_most(MEMORY, "reopened, maximum", Runs([opening.most_memory for opening in again]).median, 250, " MB")
    yield Measurement(MEMORY, "reader process, maximum", f"{_memory_of_reading(path):.0f} MB")


def _open(bench: Workbench, path: Path, messages: int, home: str) -> Opening:
    all_messages = f"{messages:,} messages".encode()
    with bench.inspector(path, home) as terminal:
        first = terminal.wait_for(re.compile(rb"[0-9,]+ messages"))
        rows = first if first.text == all_messages else terminal.wait_for(all_messages)
        exact = terminal.wait_for(EXACT, 120)
        terminal.settle()
        started = terminal.started
        return Opening(first.time - started, rows.time - started, exact.time - started, *terminal.memory())


def _memory_of_reading(path: Path) -> float:
    """Return the peak memory, in MB, of a process that reads a session and sends it."""
    from inspector.session.reading_process import command

    with subprocess.Popen(command(path), stdout=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return usage.ru_maxrss / 1024


def count_messages(path: Path) -> int:
    """Messages of a session."""
    from inspector.session.open import open_session

    return len(open_session(path).messages)
