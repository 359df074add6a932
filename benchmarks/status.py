"""Time of a status line, compared with Python's start."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.agents import ClaudeCode
from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs
from benchmarks.workbench import INSPECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench

PROMISE = "status line"
RUNS = 25
MOST = 3.5
CALLS = 40
HOW = """Processor time of an empty Python program and of each form of `inspector status`, in turn, each in a separate
process, on a session of 40 calls. Lines for tmux and Claude Code show the kept state; the process that refreshes it
after a change is not included. Text of a changed session is read first."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the medians and their ratios."""
    folder = bench.home("status")
    agent = ClaudeCode(folder / ".claude" / "projects" / "api" / "session.jsonl")
    for _ in range(CALLS):
        agent.call()
    path = agent.path
    report = {
        "transcript_path": str(path),
        "context_window": {"context_window_size": 200_000, "current_usage": {"cache_read_input_tokens": 120_000}},
        "prompt_cache": {"warm": True, "expires_at": time.time() + 200, "recache_tokens_if_cold": 120_000},
        "cost": {"total_cost_usd": 4.2},
    }
    forms: dict[str, tuple[list[str], bytes]] = {
        "text": (["--session", str(path)], b""),
        "tmux": (["--session", str(path), "--format", "tmux"], b""),
        "claude": (["--format", "claude"], json.dumps(report).encode()),
    }
    empty: list[float] = []
    unchanged: dict[str, list[float]] = {name: [] for name in forms}
    changed: dict[str, list[float]] = {name: [] for name in forms}
    environment = bench.environment("status")
    _seconds([*INSPECTOR, "status", *forms["text"][0]], b"", environment)
    for run in range(bench.runs(RUNS) + 1):
        for name, (words, data) in forms.items():
            agent.call()
            late = _seconds([*INSPECTOR, "status", *words], data, environment)
            while any(folder.rglob("*.lock")):  # refreshed in the background
                time.sleep(0.05)
            _seconds([*INSPECTOR, "status", *forms["text"][0]], b"", environment)
            soon = _seconds([*INSPECTOR, "status", *words], data, environment)
            nothing = _seconds([sys.executable, "-c", "pass"], b"", environment)
            if run:
                changed[name].append(late)
                unchanged[name].append(soon)
                empty.append(nothing)
    base = Runs(empty).median
    for name in forms:
        ratio = Runs(unchanged[name]).median / base
        yield at_most(PROMISE, f"{name}, ratio to Python start-up", ratio, MOST, "x", digits=2)
        if name != "text":
            ratio = Runs(changed[name]).median / base
            yield at_most(PROMISE, f"{name} after a change, ratio to Python start-up", ratio, MOST, "x", digits=2)
    yield Measurement(PROMISE, "text after a change", Runs(changed["text"]).milliseconds())
    yield Measurement(PROMISE, "Python start-up", Runs(empty).milliseconds())


def _seconds(words: list[str], data: bytes, environment: dict[str, str]) -> float:
    """Return the processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, input=data, capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
