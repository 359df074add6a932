"""`python -m benchmarks.live [--minutes M] [--agents N]`: watch agents of five formats that grow at once.

The agents run in their own process and report each call with its time. This process only watches: its CPU time and
memory are those of `LiveWatch`. A call is shown once a snapshot has its session with that prompt or a later one. A few
agents are also rotated (file replaced by a longer one), removed, and resumed in a new file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.agents import FIRST_PROMPT, GROWTH, KINDS, ClaudeCode, Codex, Pi, make_agent, prompt_of
from benchmarks.table import machine
from inspector.live.watch import LiveWatch

if TYPE_CHECKING:
    from benchmarks.agents import Agent
    from inspector.live.watch import LiveSnapshot

SECONDS_BETWEEN_CALLS = 1.0
"""Mean time between the calls of one agent."""

SECONDS_AFTER = 3.0
"""Time to show the last calls."""


def grow(folder: Path, count: int, seconds: float) -> None:
    """Let agents write for some time, and print every call as a line of JSON."""
    random.seed(1)
    agents = [make_agent(KINDS[number % len(KINDS)], folder, number) for number in range(count)]
    begin = time.monotonic()
    due = {id(agent): begin + random.random() for agent in agents}  # noqa: S311  not security relevant
    events = [(seconds * share, name) for share, name in ((0.3, "rotate"), (0.5, "remove"), (0.7, "resume"))]
    while (now := time.monotonic()) - begin < seconds:
        if events and now - begin >= events[0][0]:
            _disturb(agents, folder, events.pop(0)[1])
        agent = min(agents, key=lambda each: due.get(id(each), 0.0))
        if (wait := due.get(id(agent), 0.0) - now) > 0:
            time.sleep(min(wait, 0.05))
            continue
        due[id(agent)] = now + random.uniform(0.5, 1.5) * SECONDS_BETWEEN_CALLS  # noqa: S311
        _report("call", agent, agent.call())


def _disturb(agents: list[Agent], folder: Path, event: str) -> None:
    if event == "rotate":
        agent = next(each for each in agents if isinstance(each, Codex))
        new = agent.path.with_suffix(".new")
        new.write_bytes(agent.path.read_bytes())
        new.replace(agent.path)
    elif event == "remove":
        agent = next(each for each in agents if isinstance(each, Pi))
        agents.remove(agent)
        agent.path.unlink()
    else:
        before = next(each for each in agents if isinstance(each, ClaudeCode))
        agents.remove(before)
        agent = make_agent(ClaudeCode, folder, 1000)
        agents.append(agent)
        _report("end", before, 0)
    _report(event, agent, 0)


def _report(event: str, agent: Agent, number: int) -> None:
    print(json.dumps([event, str(agent.path), number, time.time()]), flush=True)


class Seen:
    """Calls reported by the agents, and when each was shown."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[tuple[int, float]]] = {}
        self.latencies: list[float] = []
        self.last: dict[str, int] = {}
        self.removed: set[str] = set()
        self.snapshots = 0

    def note_event(self, event: str, path: str, number: int, at: float) -> None:
        if event == "call":
            self.waiting.setdefault(path, []).append((number, at))
            self.last[path] = number
        elif event == "remove":
            self.removed.add(path)
            self.waiting.pop(path, None)

    def note_snapshot(self, snapshot: LiveSnapshot) -> None:
        self.snapshots += 1
        now = time.time()
        for row in snapshot.sessions:
            number = round(((row.prompt.value or 0) - FIRST_PROMPT) // GROWTH)
            waiting = self.waiting.get(str(row.path), [])
            while waiting and waiting[0][0] <= number:
                self.latencies.append(now - waiting.pop(0)[1])


async def watch(folder: Path, count: int, seconds: float) -> tuple[Seen, LiveSnapshot | None, float]:
    """Watch the agents; return the calls, the last snapshot and the seconds of CPU time."""
    seen, last, stop = Seen(), None, asyncio.Event()
    command = [sys.executable, "-m", "benchmarks.live", "--grow", str(folder)]
    command += ["--agents", str(count), "--minutes", str(seconds / 60)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)

    async def read_events() -> None:
        while process.stdout is not None and (line := await process.stdout.readline()):
            seen.note_event(*json.loads(line))
        await asyncio.sleep(SECONDS_AFTER)
        stop.set()

    reading = asyncio.create_task(read_events())
    before = time.process_time()
    async for snapshot in LiveWatch([folder]).snapshots(stop):
        last = snapshot
        seen.note_snapshot(snapshot)
    used = time.process_time() - before
    await reading
    await process.wait()
    return seen, last, used


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; return 1 if a row was lost or a change was shown late."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description="Watch growing agents.")
    parser.add_argument("--minutes", type=float, default=10.0, help="duration (10)")
    parser.add_argument("--agents", type=int, default=20, help="number of agents (20)")
    parser.add_argument("--grow", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    seconds = options.minutes * 60
    if options.grow is not None:
        grow(options.grow, options.agents, seconds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        seen, last, used = asyncio.run(watch(Path(folder), options.agents, seconds))
    rows = {} if last is None else {str(row.path): row for row in last.sessions}
    expected = set(seen.last) - seen.removed
    lost = [path for path in expected if path not in rows]
    behind = sum((rows[path].prompt.value or 0) < prompt_of(seen.last[path]) for path in expected if path in rows)
    latencies = sorted(seen.latencies) or [0.0]
    late = sum(latency > 1 for latency in latencies)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(machine())
    print(f"agents {options.agents}, {seconds:.0f} s, calls shown {len(seen.latencies)}, snapshots {seen.snapshots}")
    p95 = latencies[int(0.95 * (len(latencies) - 1))]
    print(f"latency: median {median(latencies):.2f} s, p95 {p95:.2f} s, max {latencies[-1]:.2f} s, above 1 s: {late}")
    print(
        f"CPU time: {used:.1f} s, {100 * used / (seconds + SECONDS_AFTER):.1f} % of one core; peak memory {peak:.0f} MB"
    )
    print(f"rows lost: {len(lost)}, rows behind their file: {behind}, calls never shown: {_unshown(seen)}")
    return int(bool(lost or behind or late))


def _unshown(seen: Seen) -> int:
    return sum(len(waiting) for path, waiting in seen.waiting.items() if path not in seen.removed)


if __name__ == "__main__":
    sys.exit(main())
