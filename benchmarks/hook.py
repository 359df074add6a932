"""Latency of the hook after a tool call, compared with an idle Python start."""

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

PROMISE = "hook call"
RUNS = 25
PYTHON_SECONDS = 0.02
"""Python's start time on the machine where the limit of 50 ms was set: a ratio is portable."""
HOW = """An empty Python program, the hook on a result of 200 characters and the hook on one of 60,000 are started in
turn, each in a separate process. The plan was compiled for the tool beforehand, as at installation. The large result
is cut, its original stored and a line of telemetry written."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the medians and their ratios."""
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
    for name, runs in (("unchanged result", small), ("shortened result", large)):
        ratio = Runs(runs).median / Runs(nothing).median
        yield at_most(PROMISE, f"{name}, ratio to Python start-up", ratio, most, " times", digits=2)
        yield Measurement(PROMISE, name, Runs(runs).milliseconds())
    yield Measurement(PROMISE, "Python start-up", Runs(nothing).milliseconds())


def _event(characters: int) -> bytes:
    output = {"stdout": "x" * characters, "stderr": "", "interrupted": False, "isImage": False}
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1", "session_id": "s"}
    return json.dumps({**event, "tool_response": output}).encode()


def _seconds(words: list[str], data: bytes, folder: str) -> float:
    environment = {**os.environ, "XDG_STATE_HOME": folder}
    begun = time.perf_counter()
    subprocess.run(words, input=data, capture_output=True, check=True, env=environment)
    return time.perf_counter() - begun
