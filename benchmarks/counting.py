"""Reading and counting of a large file in this process: the parts of the figures on the screen."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.tiktoken_alone import tiktoken_alone
from benchmarks.workbench import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench

PROMISE = "opening a 100 MB Claude Code file"
RUNS = 5
HOW = """Without a screen, in a separate process per run: the file is read, then each text is read again and counted.
The tokenizer is loaded before the clock starts, for the program and for the tiktoken baseline."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the ratio and its parts."""
    path = bench.large_session()
    read, counted, alone = [], [], []
    for _ in range(bench.runs(RUNS)):
        command = (sys.executable, "-m", "benchmarks.counting", str(path), str(bench.folder))
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        reading, counting = map(float, done.stdout.split())
        read.append(reading)
        counted.append(counting)
        alone.append(tiktoken_alone(path).encoding)
    ratio = Runs(counted).median / Runs(alone).median
    case = "exact counts without a screen, ratio to tiktoken alone, both loaded"
    yield at_most(PROMISE, case, ratio, 1.5, "x", digits=2)
    yield Measurement(PROMISE, "reading without a screen", f"{Runs(read).median:.2f} s")
    yield Measurement(PROMISE, "counting without a screen", f"{Runs(counted).median:.2f} s")


def main() -> None:
    """Measure one run and print the seconds of reading and of counting."""
    from pathlib import Path

    from inspector.session.open import open_session
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import CountCache, count_session

    path, folder = map(Path, sys.argv[1:])
    start = perf_counter()
    session = open_session(path)
    read = perf_counter()
    counter = load_counter()
    counter.prepare()
    prepared = perf_counter()
    for _ in count_session(session, counter, cache=CountCache(folder / "never written", room_bytes=0)):
        pass
    print(read - start, perf_counter() - prepared)


if __name__ == "__main__":
    main()
