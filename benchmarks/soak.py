"""`python -m benchmarks.soak [--quick] [PART ...]`: check that a program that is left open for long does not degrade.

A day's work in a few minutes: eight hours of an agent's output arrive as fast as they are shown, with a user's keys in
between. Timers of the program are sped up by the same factor. Three parts: `hours`, `burst` and `tabs`; each prints a
table of measurements.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.generate import LEAN, SessionWriter
from benchmarks.statistics_of_runs import Runs
from benchmarks.terminal import KEYS, NotShownError, Terminal
from benchmarks.workbench import Workbench
from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

HOURS = 8
CALLS_AN_HOUR = 450
"""One every eight seconds."""
LINES_AT_ONCE = 20
FASTER = 100
"""Approximate speedup of an hour; periodic work of the program runs more often by this factor."""
FAST = f"""
import sys
import inspector.ui.performance.memory as memory
memory.SECONDS_BETWEEN_FULL /= {FASTER}
from inspector.cli import main
sys.exit(main(sys.argv[1:]))
"""
SECONDS_OF_ABSENCE = 7.0
"""At the end of each hour, after which the program has collected all garbage."""
SECONDS_OF_KEY = 0.3
"""Escape and a key right after it would be another key."""
PROBES = 11
LINES_A_SECOND, SECONDS_OF_BURST = 1_000, 60
TABS = 50
HABITS = (b"1", b"1", b"c", b"\x1b", b"t", b"\x1b", b"v", b"\x1b", b"?", b"\x1b", b"[", b"]", b"0", b"+", b"\x1b")
"""Keys of every hour: a strategy on and off, the studies, help, another call and back, a dialog."""
COUNTED = re.compile(rb"compacts at")


class Taken(NamedTuple):
    """Resources of the program at a moment.

    Attributes:
        when: The moment.
        megabytes: Resident memory.
        descriptors: Open files, sockets and pipes.
        shown: Time from an appended line until it is shown.
    """

    when: str
    megabytes: float
    descriptors: int
    shown: Runs

    def __str__(self) -> str:
        return f"{self.when:<34} {self.megabytes:>7.0f} MB {self.descriptors:>4} open   {self.shown.milliseconds()}"


class Growing:
    """A session that is written while the program shows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._needles = 0
        self.begin()

    def begin(self) -> None:
        """Rewrite the file: the agent begins another session in it."""
        self._writer = SessionWriter()
        self.path.unlink(missing_ok=True)
        self._file: TextIO = self.path.open("a", encoding="utf-8")
        self.write(self._writer.lines(20))

    def write(self, lines: Iterator[str]) -> int:
        """Append lines; return their number."""
        count = 0
        for line in lines:
            self._file.write(line)
            count += 1
        self._file.flush()
        return count

    def hour(self, terminal: Terminal, calls: int) -> None:
        """Append an hour of an agent's output, as fast as the program follows, and use the program."""
        lines, habits = self._writer.lines(calls), [*HABITS]
        while self.write(islice(lines, LINES_AT_ONCE)):
            terminal.settle(0.02, 2)
            terminal.drop()
            if habits:
                terminal.send(habits.pop(0))
                terminal.pause(SECONDS_OF_KEY)
        terminal.send(KEYS["end"])

    def probe(self, terminal: Terminal) -> float:
        """Append a line that can be found again; return the seconds until it is shown."""
        self._needles += 1
        needle = f"needle {self._needles:05}"
        terminal.forget()
        self.write(iter([self._writer.question(f"{needle} of the soak")]))
        at = time.perf_counter()
        seen = terminal.wait_for(needle.encode(), 60)
        terminal.settle(0.3)
        terminal.drop()
        return seen.time - at

    def taken(self, terminal: Terminal, what: str) -> Taken:
        """Measure the program's resources after a pause for cleanup."""
        terminal.settle(0.5)
        shown = Runs([self.probe(terminal) for _ in range(PROBES)])
        terminal.pause(SECONDS_OF_ABSENCE)
        terminal.drop()
        return Taken(what, terminal.memory()[0], terminal.descriptors(), shown)


def started(bench: Workbench, home: str, *paths: Path) -> Terminal:
    """Start the program on sessions, with its clock sped up."""
    command = (sys.executable, "-c", FAST, *map(str, paths))
    return Terminal(command, bench.environment(home), bench.folder)


def hours(bench: Workbench) -> Iterator[str]:
    """Follow one session for eight hours; then a file in which another session begins every hour."""
    calls = CALLS_AN_HOUR // (50 if bench.is_quick else 1)
    for restarts in (False, True):
        session = Growing(bench.folder / f"soak-{restarts}.jsonl")
        samples = []
        with started(bench, "soak", session.path) as terminal:
            terminal.wait_for(COUNTED, 60)
            terminal.send(KEYS["end"])
            for hour in range(1, bench.runs(HOURS) + 1):
                if restarts and hour > 1:
                    session.begin()
                session.hour(terminal, calls)
                samples.append(session.taken(terminal, f"hour {hour}, {session.path.stat().st_size / 1e6:.0f} MB"))
                yield str(samples[-1])
        if restarts:
            first, last = samples[1], samples[-1]
            yield f"another session every hour: memory {last.megabytes / first.megabytes - 1:+.0%} since hour 2"
        else:
            with started(bench, "fresh", session.path) as terminal:
                terminal.wait_for(COUNTED, 120)
                terminal.send(KEYS["end"])
                yield str(session.taken(terminal, "same file, newly opened"))
                # The analysis screens stay in memory, as for a user who opened them an hour ago.
                for key in HABITS:
                    terminal.send(key)
                    terminal.settle(SECONDS_OF_KEY)
                    terminal.drop()
                terminal.send(KEYS["end"])
                yield str(session.taken(terminal, "same, after the keys of one hour"))


def burst(bench: Workbench) -> Iterator[str]:
    """Append a thousand lines a second for a minute."""
    path = bench.folder / "burst.jsonl"
    writer, seconds = SessionWriter(LEAN), bench.runs(SECONDS_OF_BURST)
    answers = []
    with path.open("w", encoding="utf-8") as file:
        file.writelines(writer.lines(20))
        file.flush()
        with started(bench, "burst", path) as terminal:
            terminal.wait_for(COUNTED, 60)
            terminal.send(KEYS["end"])
            lines, began = writer.lines(LINES_A_SECOND * seconds), time.perf_counter()
            for second in range(seconds):
                for part in range(10):
                    file.writelines(islice(lines, LINES_A_SECOND // 10))
                    file.flush()
                    terminal.pause(max(began + second + (part + 1) / 10 - time.perf_counter(), 0.001))
                terminal.forget()
                at = terminal.send(b"?")
                answers.append(terminal.wait_for(b"finds any command", 60).time - at)
                terminal.send(b"\x1b")
                terminal.drop()
            wrote = time.perf_counter() - began
            terminal.forget()
            file.write(writer.question("the needle at the end"))
            file.flush()
            at = time.perf_counter()
            seen = terminal.wait_for(b"the needle at the end", 120)
            yield f"{LINES_A_SECOND * seconds:,} lines in {wrote:.1f} s; one more appears after {seen.time - at:.2f} s"
            yield f"response to a key meanwhile: {Runs(answers).milliseconds()}"
            terminal.pause(SECONDS_OF_ABSENCE)
            yield f"{terminal.memory()[0]:.0f} MB, at most {terminal.memory()[1]:.0f}; {terminal.descriptors()} open"


def tabs(bench: Workbench) -> Iterator[str]:
    """Open fifty sessions at once, then close all but one."""
    folder = bench.folder / "tabs"
    folder.mkdir()
    sessions = [Growing(folder / f"session-{number:02}.jsonl") for number in range(bench.runs(TABS))]
    with started(bench, "tabs", folder) as terminal:
        terminal.wait_for(b"type to filter", 60)
        for place, session in enumerate(sessions):
            if place:
                terminal.send(b"o")
                terminal.wait_for(b"type to filter", 60)
            terminal.settle(0.3)
            terminal.send(session.path.stem.encode())
            terminal.settle(0.3)
            terminal.forget()
            terminal.send(b"\r")
            terminal.wait_for(COUNTED, 60)
            terminal.send(KEYS["end"])
            if place in (0, 9, len(sessions) - 1):
                yield str(session.taken(terminal, f"{ON_SCREEN.plural(place + 1, 'session')} open"))
        switched = []
        for _ in range(PROBES):
            terminal.settle(0.5)
            terminal.forget()
            at = terminal.send(b"\x1b[5;5~")
            switched.append(terminal.wait_for(b"Timeline", 60).time - at)
        yield f"time to switch tabs: {Runs(switched).milliseconds()}"
        for _ in sessions[1:]:
            terminal.send(b"wc")
            terminal.settle(0.3)
        # Back from the last one so often, which was closed first, then those after it and around.
        left = sessions[(len(sessions) - 2 - PROBES) % len(sessions)]
        yield str(left.taken(terminal, "all but one closed again"))


PARTS = {"hours": hours, "burst": burst, "tabs": tabs}


def main() -> int:
    """Run the parts, and print measurements as they arrive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Measure a program left open.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run (all): {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="only show that it works; the figures mean nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    with Workbench.open(is_quick=options.quick) as bench:
        for name in options.parts or PARTS:
            print(f"{name}: {PARTS[name].__doc__}", flush=True)
            try:
                for line in PARTS[name](bench):
                    print(f"  {line}", flush=True)
            except NotShownError as error:
                print(f"  {error}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
