"""How long an agent waits for the hook after a tool call, against Python starting and doing nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench

PROMISE = "an answer of the hook"
RUNS = 25
PYTHON_SECONDS = 0.02
"""What starting Python takes where the promise of 50 ms beyond it was made: a ratio says the same elsewhere."""
HOW = """Python doing nothing, and the hook on a result of 200 characters and on one of 60,000, are started in turn,
each in a process of its own. The plan was asked about the tool before, as it is when it is installed. The large result
is cut, its original kept and a line of telemetry written."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """The ratios of the medians, and the medians."""
    nothing, small, large = [], [], []
    with TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.toml"
        plan.write_text('[[strategies]]\nname = "trim-at-insertion"\n', encoding="utf-8")
        words = [sys.executable, "-m", "inspector", "hook", "--agent", "claude-code", "--plan", str(plan)]
        for run in range(bench.runs(RUNS) + 1):
            times = (
                _seconds([sys.executable, "-c", "pass"], b"", folder),
                _seconds(words, _event(200), folder),
                _seconds(words, _event(60_000), folder),
            )
            if run:
                for runs, seconds in zip((nothing, small, large), times, strict=True):
                    runs.append(seconds)
    most = 1 + 0.05 / PYTHON_SECONDS
    for name, runs in (("a result left as it is", small), ("a result cut", large)):
        ratio = Runs(runs).median / Runs(nothing).median
        yield at_most(PROMISE, f"{name}, ratio to Python's start", ratio, most, " times", digits=2)
        yield Measurement(PROMISE, name, Runs(runs).milliseconds())
    yield Measurement(PROMISE, "Python's start", Runs(nothing).milliseconds())


def _event(characters: int) -> bytes:
    output = {"stdout": "x" * characters, "stderr": "", "interrupted": False, "isImage": False}
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1", "session_id": "s"}
    return json.dumps({**event, "tool_response": output}).encode()


def _seconds(words: list[str], data: bytes, folder: str) -> float:
    environment = {**os.environ, "XDG_STATE_HOME": folder}
    begun = time.perf_counter()
    subprocess.run(words, input=data, capture_output=True, check=True, env=environment)
    return time.perf_counter() - begun
