"""`python -m tests.monkey [--runs N] [--seed S] [--terminal]`: monkey testing of the application.

Every run opens one to three generated sessions and performs up to a few hundred random actions at full speed: keys,
chords, clicks, drags, wheel turns, pasted texts, terminal sizes, suspending and resuming, a session that grows, is
rewritten or becomes shorter. Every run checks that no part of the screen fails, that the application never computes for
two seconds without reading its input, that the idle screen equals a full repaint, and that its figures belong to the
displayed plan. With `--terminal` the program runs as a subprocess in a real terminal: `tests/monkey_terminal.py`.

A failure is reported with its seed and its traceback; `--seed S --runs 1` repeats it, except for thread timing.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from unittest import mock

from inspector.ui.all_actions import BY_NAME
from tests.ui.facade import Running
from tests.ui.recordings import Recording, recording

SMALLEST, LARGEST = (20, 5), (300, 100)
SIZES: Final = {(80, 24): 24, (120, 36): 8, (200, 60): 2, SMALLEST: 4, LARGEST: 1}
SECONDS_OF_HANG = 2.0
MOST_DEEDS, DEEDS_OF_SHORT = 150, 45
SHARE_OF_LONG_RUNS: Final = 0.2
SHARE_PAINTED: Final = 0.2
FRAMES_A_PAINTED_ONE: Final = 8
SECONDS_OF_RUN = 3600
SECONDS_TO_REST, SECONDS_OF_WORK = 120.0, 10.0
COLLECTED_AFTER: Final = (1_000_000, 10, 10)
"""Thresholds of the garbage collector: the end of a process does more for less."""
RUNS_OF_PROCESS: Final = 6
"""Each leaves some 30 MB behind."""
MORE_THAN_CORES: Final = 2
"""Runs at once beyond one a core: each waits for threads and timers a third of its time."""
FRAMES_TOLD: Final = -2
RUNS_TOLD: Final = 50

STARTS: Final = tuple(SIZES)[:3]
"""Sizes of the terminal a run begins with."""
LEAVES: Final = frozenset({"q", "ctrl+q", "ctrl+c"})
"""Keys that may end the application: a run is to go on for a while."""
OPENS: Final = ("plus", "O", "s", "e", "P", "c", "t", "v", "dollar_sign", "E", "question_mark", "ctrl+p", "i", "o", "A")
"""Keys that open something."""
ANSWERS: Final = ("enter", "enter", "escape", "tab", "space", "down", "up", "left", "right", "y", "ctrl+s")
"""Keys that answer it."""
TEXTS: Final = (
    "trim",
    "stale",
    "3",
    "0",
    "-1",
    "1e9",
    "who:result",
    "é漢字🙂",
    "[/b]",
    "../x",
    "~nobody/x",
    "\x1b[2J",
    "",
)
PASTED: Final = ("many words\nin lines\n", "x" * 5_000, "[bold]", "12")


OFTEN: Final = {
    "open": 16,
    "answer": 24,
    "key": 20,
    "chord": 8,
    "type": 4,
    "click": 16,
    "drag": 4,
    "wheel": 4,
    "paste": 2,
    "resize": 3,
    "leave": 1,
    "suspend": 1,
    "grow": 2,
    "rewrite": 1,
    "shorten": 1,
    "wait": 2,
}
SHARE_THAT_LEAVES: Final = 0.1


class Deed(NamedTuple):
    kind: str
    given: tuple[object, ...] = ()


class Hands(Protocol):
    async def key(self, name: str) -> None:
        """Press a key."""

    async def click(self, x: float, y: float, times: int) -> None:
        """Press and let go of the mouse, so many times at once."""

    async def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Press the mouse at a place, move it to another one and let it go there."""

    async def wheel(self, x: float, y: float, turns: int) -> None:
        """Turn the wheel, down or up where it is negative."""

    async def paste(self, text: str) -> None:
        """Paste a text."""

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""

    async def leave(self) -> None:
        """Look at another window, and come back."""

    async def suspend(self) -> None:
        """Suspend and resume the program; without a terminal, only send it the events."""

    async def wait(self, seconds: float) -> None:
        """Look on."""


def keys() -> tuple[str, ...]:
    """Every key that does something anywhere, and some that are only typed; without those that leave."""
    bound = {key for action in BY_NAME.values() for key in action.each_key}
    return (*sorted(bound - LEAVES), *(key_of(character) for character in "abz059 "))


def chords() -> tuple[tuple[str, ...], ...]:
    return tuple(sorted({action.menu_keys for action in BY_NAME.values() if action.menu} - {()}))


def deeds(chance: random.Random, count: int) -> Iterator[Deed]:
    kinds = list(OFTEN)
    known = keys()
    there = [(0.5, 0.5)]
    for kind in chance.choices(kinds, [OFTEN[kind] for kind in kinds], k=count):
        yield from of_kind(kind, chance, known, there)
    if chance.random() < SHARE_THAT_LEAVES:
        yield Deed("key", (chance.choice(sorted(LEAVES)),))


def of_kind(kind: str, chance: random.Random, known: Sequence[str], there: list[tuple[float, float]]) -> Iterator[Deed]:
    match kind:
        case "open":
            yield Deed("key", (chance.choice(OPENS),))
        case "answer":
            yield from [Deed("key", (chance.choice(ANSWERS),))] * chance.choice((1, 1, 1, 2, 2, 3, 8))
        case "key":
            yield from [Deed("key", (chance.choice(known),))] * chance.choice((1, 1, 1, 1, 2, 5))
        case "chord":
            yield from (Deed("key", (key_of(key) if len(key) == 1 else key,)) for key in chance.choice(chords()))
        case "type":
            yield from (Deed("key", (key_of(character),)) for character in chance.choice(TEXTS))
        case "click":
            # Often at the last place: this causes double clicks on a screen that has changed.
            there.append(there[-1] if chance.random() < 0.4 else (chance.random(), chance.random()))
            yield Deed("click", (*there[-1], chance.choice((1, 1, 2, 2, 3))))
        case "drag" | "wheel":
            to = (chance.random(), chance.random()) if kind == "drag" else (chance.choice((-20, -3, -1, 1, 3, 20)),)
            yield Deed(kind, (chance.random(), chance.random(), *to))
        case "paste":
            yield Deed("paste", (chance.choice(PASTED),))
        case "resize":
            odd = (
                int(chance.triangular(SMALLEST[0], LARGEST[0], 80)),
                int(chance.triangular(SMALLEST[1], LARGEST[1], 24)),
            )
            yield Deed("resize", odd if chance.random() < 0.3 else size_of(chance, list(SIZES)))
        case _:
            yield Deed(kind, (chance.choice((0.0, 0.02, 0.1, 0.3)),) if kind == "wait" else ())


def size_of(chance: random.Random, sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """One of some sizes in `SIZES`."""
    return chance.choices(sizes, [SIZES[size] for size in sizes])[0]


def length(chance: random.Random) -> int:
    most = MOST_DEEDS if chance.random() < SHARE_OF_LONG_RUNS else MOST_DEEDS // 3
    return chance.randint(min(20, most), most)


def key_of(character: str) -> str:
    from textual.keys import _character_to_key

    return _character_to_key(character)


class Files:
    def __init__(self, chance: random.Random, folder: Path) -> None:
        self._chance = chance
        self.folder = folder
        folder.mkdir()
        self._made = [
            recording(folder / f"{number}.jsonl", turns=chance.choice((1, 4, 4, 4, 12, 30)))
            for number in range(chance.choice((1, 1, 1, 2, 3)))
        ]

    @property
    def paths(self) -> list[Path]:
        """The sessions."""
        return [made.path for made in self._made]

    def change(self, kind: str) -> None:
        made = self._made[0]
        if kind == "grow":
            made.turn()
        elif kind == "rewrite":
            made.path.unlink()
            self._made[0] = recording(made.path, turns=self._chance.choice((0, 2, 20)))
        else:
            lines = made.path.read_bytes().splitlines(keepends=True)
            made.path.write_bytes(b"".join(lines[: self._chance.randint(0, len(lines))]))
            self._made[0] = Recording(made.path, turns=len(lines))


class PilotHands:
    """Does deeds in an application without a terminal, as fast as it takes them."""

    def __init__(self, run: Running) -> None:
        self._run = run

    async def key(self, name: str) -> None:
        """Press a key."""
        self._run.send(name)

    async def click(self, x: float, y: float, times: int) -> None:
        """Press and let go of the mouse, so many times at once."""
        for _ in range(times):
            self._run.send_mouse("down", x, y)
            self._run.send_mouse("up", x, y)

    async def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Press the mouse at a place, move it to another one and let it go there."""
        self._run.send_mouse("down", x, y)
        for step in range(1, 6):
            self._run.send_mouse("move", x + (to_x - x) * step / 5, y + (to_y - y) * step / 5)
        self._run.send_mouse("up", to_x, to_y)

    async def wheel(self, x: float, y: float, turns: int) -> None:
        """Turn the wheel."""
        for _ in range(abs(turns)):
            self._run.send_mouse("wheel down" if turns > 0 else "wheel up", x, y)

    async def paste(self, text: str) -> None:
        """Paste a text."""
        self._run.send_paste(text)

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self._run.send_size(width, height)

    async def leave(self) -> None:
        """Look at another window, and come back."""
        self._run.send_focus(is_here=False)
        self._run.send_focus(is_here=True)

    async def suspend(self) -> None:
        self._run.send_suspended()

    async def wait(self, seconds: float) -> None:
        """Look on."""
        await asyncio.sleep(seconds)


class Watch:
    """Measures how long the application computes without looking at anything else."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> Watch:
        self._watching = asyncio.create_task(self.watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()

    async def watch(self) -> None:
        """Measure, until this is cancelled."""
        before = time.thread_time()
        while True:
            await asyncio.sleep(0.005)
            now = time.thread_time()
            self.longest = max(self.longest, now - before)
            before = now


async def play(seed: str, folder: Path) -> int:
    from inspector.settings import Settings
    from tests.ui.facade import started
    from tests.ui.waiting import few_frames

    chance = random.Random(seed)  # noqa: S311  # nothing secret
    files = Files(chance, folder / "sessions")
    (folder / "here").mkdir()
    size = size_of(chance, STARTS)
    is_listed = chance.random() < 0.15
    options = {"settings": Settings(), "folders": [files.folder], "size": size, "ready": chance.random() < 0.6}
    paints = nullcontext() if chance.random() < SHARE_PAINTED else few_frames(FRAMES_A_PAINTED_ONE)
    with chdir(folder / "here"), paints:
        async with started([] if is_listed else files.paths, listing=is_listed, **options) as run:
            async with Watch() as watch:
                done = await do_all(PilotHands(run), files, deeds(chance, length(chance)), run)
                if not run.is_over:
                    await come_to_rest(run)
            assert watch.longest < SECONDS_OF_HANG, f"it computed for {watch.longest:.1f} s without a look at its input"
            if not run.is_over:
                # To end the watch took turns, in which something may have come.
                await come_to_rest(run)
                told = run.stale_lines()
                assert not told, "painted afresh the screen shows other lines:\n" + "\n".join(told)
                check_log()  # a part that has failed shows no figures
                run.check_figures()
    check_log()
    return done


async def come_to_rest(run: Running) -> None:
    """Wait until nothing is left to do.

    Raises:
        AssertionError: That never comes, for all of the processor that was to be had.
    """
    from textual.pilot import WaitForScreenTimeout

    began, before = time.monotonic(), time.process_time()
    while True:
        try:
            return await run.at_rest(SECONDS_TO_REST)
        except (AssertionError, WaitForScreenTimeout):
            if time.process_time() - before > SECONDS_OF_WORK or time.monotonic() - began > SECONDS_OF_RUN / 4:
                raise


def check_log() -> None:
    """Nothing failed in a part of the screen, with which the application would go on.

    Raises:
        AssertionError: Something did.
    """
    from inspector.ui.toolkit.failures import failures_log

    assert not failures_log().exists(), failures_log().read_text()


class Run(Protocol):
    """An application that is used."""

    @property
    def is_over(self) -> bool:
        """The program was left."""


async def do_all(hands: Hands, files: Files, todo: Iterator[Deed], run: Run) -> int:
    """Do one after another, for as long as the application runs; how many."""
    done = 0
    for done, deed in enumerate(todo, start=1):
        if run.is_over:
            break
        if deed.kind in ("grow", "rewrite", "shorten"):
            files.change(deed.kind)
        else:
            do: Callable[..., Awaitable[None]] = getattr(hands, deed.kind)
            await do(*deed.given)
        if done % 7 == 0:
            await asyncio.sleep(0)
    return done


@contextmanager
def own_home(folder: Path) -> Iterator[None]:
    names = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
    with mock.patch.dict(os.environ, {"HOME": str(folder), **names}):
        yield


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.monkey", description="Use the application hastily.")
    parser.add_argument("--runs", type=int, default=100, help="how many; 100 where not given")
    parser.add_argument("--seed", type=int, default=None, help="the first run's seed; the next ones count on from it")
    parser.add_argument(
        "--jobs", type=int, default=1, help="how many at once, each in a process; 0 for two more than cores"
    )
    parser.add_argument("--short", action="store_true", help="runs of few deeds, as in the suite")
    parser.add_argument(
        "--again", type=int, default=0, help="how often to repeat what failed, to fail only if it mostly does again"
    )
    parser.add_argument("--terminal", action="store_true", help="in a real terminal, as a process of its own")
    options = parser.parse_args(arguments)
    first = options.seed if options.seed is not None else random.randrange(1 << 32)  # noqa: S311  # nothing secret
    tell(f"seeds {first} to {first + options.runs - 1}")
    prepare(DEEDS_OF_SHORT if options.short else MOST_DEEDS)
    failed, runs, count, started = [], 0, 0, time.monotonic()
    seeds = range(first, first + options.runs)
    with suppress(KeyboardInterrupt):
        for played in in_processes(seeds, options.jobs or cores() + MORE_THAN_CORES, in_terminal=options.terminal):
            runs += 1
            count += played.deeds
            if played.failure:
                failed.append(played.seed)
                tell(f"seed {played.seed}\n{played.failure}")
            if runs % RUNS_TOLD == 0:
                tell(f"{runs} runs, {count:,} deeds, {len(failed)} failed, the last of seed {played.seed}")
    minutes = (time.monotonic() - started) / 60
    tell(
        f"{runs} runs, {count:,} deeds, {minutes:.1f} minutes, {len(failed)} failed{': ' if failed else ''}"
        f"{', '.join(map(str, failed))}"
    )
    if options.again:
        failed = [seed for seed in failed if fails_again(seed, options.again, in_terminal=options.terminal)]
    return int(bool(failed) or runs < options.runs)


def fails_again(seed: int, times: int, *, in_terminal: bool) -> bool:
    played = [each for _ in range(times) for each in in_processes([seed], 1, in_terminal=in_terminal)]
    count = sum(bool(each.failure) for each in played)
    tell(f"seed {seed} again: failed {count} of {times} times")
    return count > times / 2


class Played(NamedTuple):
    seed: int
    deeds: int
    failure: str = ""


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(seeds: Sequence[int], jobs: int, *, in_terminal: bool) -> Iterator[Played]:
    forking = multiprocessing.get_context("fork")
    parts: list[Sequence[int]] = [
        seeds[place : place + RUNS_OF_PROCESS] for place in reversed(range(0, len(seeds), RUNS_OF_PROCESS))
    ]
    at_work: dict[Connection, tuple[multiprocessing.process.BaseProcess, list[int]]] = {}
    try:
        while parts or at_work:
            while parts and len(at_work) < jobs:
                here, there = forking.Pipe(duplex=False)
                left = list(parts.pop())
                process = forking.Process(
                    target=play_part, args=(tuple(left), there), kwargs={"in_terminal": in_terminal}
                )
                process.start()
                there.close()
                at_work[here] = (process, left)
            for here in wait(list(at_work)):
                assert isinstance(here, Connection)
                process, left = at_work[here]
                try:
                    played: Played = here.recv()
                    left.remove(played.seed)
                    yield played
                except EOFError:
                    del at_work[here]
                    process.join()
                    if left:
                        yield Played(left[0], 0, f"its process ended with {process.exitcode}\n")
                        parts.extend([left[1:]] if left[1:] else [])
    finally:
        for process, _ in at_work.values():
            process.terminate()
            process.join()


def play_part(seeds: Sequence[int], there: Connection, *, in_terminal: bool) -> None:
    for seed in seeds:
        faulthandler.dump_traceback_later(SECONDS_OF_RUN, exit=True, file=sys.__stderr__)
        try:
            there.send(Played(seed, run_once(str(seed), in_terminal=in_terminal)))
        except KeyboardInterrupt:
            return
        except BaseException:  # noqa: BLE001  # any exception is a failure to report
            there.send(Played(seed, 0, traceback.format_exc(limit=FRAMES_TOLD)))
    faulthandler.cancel_dump_traceback_later()


def run_once(seed: str, *, in_terminal: bool = False) -> int:
    from tests.monkey_terminal import play_in_terminal

    with tempfile.TemporaryDirectory(prefix="inspector-monkey-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with own_home(folder):
            return asyncio.run((play_in_terminal if in_terminal else play)(seed, folder))


def prepare(most_deeds: int) -> None:
    from textual.app import App

    import inspector.tokens.counter
    from inspector.tokens.counter import load_counter
    from tests.ui.stylesheets import read_once
    from tests.ui.waiting import wait_for_idle

    global MOST_DEEDS  # noqa: PLW0603  # for all runs of this process and of those it begins
    MOST_DEEDS = most_deeds
    # The failure is reported below; rendering it with all its variables takes longer than a run.
    App._fatal_error = App._close_messages_no_wait  # type: ignore[method-assign]
    counter = load_counter()
    inspector.tokens.counter.load_counter = lambda: counter
    for module in ("textual.app", "textual.pilot"):
        with suppress(ImportError):
            __import__(module, fromlist=["wait_for_idle"]).wait_for_idle = wait_for_idle
    read_once().__enter__()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
