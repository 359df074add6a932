"""`inspector demo`: the screen on the bundled samples, one of them growing like a live session."""

from __future__ import annotations

import random
import re
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from inspector.cli.output import CommandError, ExitCode, leave_terminal, write
from inspector.cli.screen import open_screen, require_terminal
from inspector.session.files import is_file, is_folder, temporary_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable
    from types import TracebackType


BEGINNING = 0.4
"""Share of the lines that exist from the start: enough to look at, with most still to come."""

SECONDS = 90.0
"""Approximate seconds until the rest has arrived."""

LONGEST_PAUSE = 2.0

_TIME = re.compile(rb'"timestamp": ?(?:"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)Z"|(\d{10}(?:\.\d+)?)(?=[,}]))')
"""A record's timestamp, in the two formats of the samples. In texts within records the quotation marks are escaped."""


def shift_timestamps(lines: list[bytes], now: datetime) -> list[bytes]:
    """Shift the timestamps of records so that the last is `now`, a time with time zone; intervals are unchanged."""
    made = [found for line in lines for found in _TIME.finditer(line)]
    if not made:
        return lines
    later = now - max(map(_time, made))

    def moved(found: re.Match[bytes]) -> bytes:
        time = _time(found) + later
        if found[1] is None:
            return found[0].replace(found[2], str(time.timestamp()).encode())
        return found[0].replace(
            found[1], time.astimezone(UTC).replace(tzinfo=None).isoformat("T", "milliseconds").encode()
        )

    return [_TIME.sub(moved, line) for line in lines]


def _time(found: re.Match[bytes]) -> datetime:
    if found[1] is None:
        return datetime.fromtimestamp(float(found[2]), UTC)
    return datetime.fromisoformat(found[1].decode()).replace(tzinfo=UTC)


class FakeAgent:
    """Thread that copies a file line by line to a temporary folder. Leaving the context removes the folder.

    Args:
        source: The file to copy.
        beginning: Share of its lines copied before the context is entered.
        seconds: Approximate seconds for the other lines.
        seed: Random seed of the pauses.
        restamps: Set each record's timestamp to the time it is written, and shift those of the initial records
            accordingly; otherwise timestamps are unchanged.
    """

    def __init__(
        self,
        source: Path,
        beginning: float = BEGINNING,
        seconds: float = SECONDS,
        seed: int = 1,
        *,
        restamps: bool = False,
    ) -> None:
        self._lines = source.read_bytes().splitlines(keepends=True)
        self._first = max(1, round(len(self._lines) * beginning))
        self._pauses = random.Random(seed)  # noqa: S311  not security relevant
        self._mean = seconds / max(1, len(self._lines) - self._first)
        self._source = source
        self._recreates = restamps
        self._folder = ExitStack()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._grow, name="growing sample", daemon=True)
        self.path = source
        """The copy, once the context is entered."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            # A session without a recorded project has the name of its folder.
            folder = stack.enter_context(temporary_folder()) / self._source.name.partition(".")[0]
            folder.mkdir()
            self.path = folder / self._source.name
            self.path.write_bytes(b"".join(self._written(self._lines[: self._first])))
            self._folder = stack.pop_all()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._folder.close()

    def _written(self, lines: list[bytes]) -> list[bytes]:
        return shift_timestamps(lines, datetime.now(UTC)) if self._recreates else lines

    def _grow(self) -> None:
        try:
            with self.path.open("ab", buffering=0) as copy:
                for line in self._lines[self._first :]:
                    if self._stop.wait(min(self._pauses.expovariate(1 / self._mean), LONGEST_PAUSE)):
                        return
                    copy.write(b"".join(self._written([line])))
        except OSError:
            return  # the folder was removed, so stop growing


BESIDES = (("coding-agent", 0.5), ("mail-and-jobs", 0.6))
"""Samples that grow next to the first one, each with the share of its lines that exist from the start."""

TOUR_BEGINNING = 0.4
"""Share of a tour's session that exists from the start, so that its compaction comes soon."""

TOUR_SECONDS = 18.0
"""Seconds in which a tour's session fills up: it must be compacted on screen, and complete before plans are compared.
"""

SLOWEST, FASTEST = 0.1, 20.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="open this sample first; see --list")
    parser.add_argument("--play", action="store_true", help="play a tour of the screen; any key takes over")
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="N", help="speed of the tour; default: 1, a reading pace"
    )
    parser.add_argument("--list", action="store_true", help="print only the names and files of the samples")


def run(options: Namespace) -> int:
    if options.list:
        write("".join(f"{sample.name:<24}{sample.path}\n" for sample in samples()))
        return ExitCode.FINE
    first = sample_named(options.name or FIRST)
    require_terminal(f"inspector report {first.path}")
    if options.play:
        return play(first, options.speed)
    others = [sample.path for sample in samples() if sample != first]
    with ExitStack() as stack:
        # Old records would look like a finished session, which is not followed.
        growing = FakeAgent(first.path, restamps=True) if first.grows else None
        shown = first.path if growing is None else stack.enter_context(growing).path
        folders = [] if growing is None else [shown.parent, *grow_others(stack, first)]
        return open_screen([shown], listed=others, folders=folders or None)


def grow_others(stack: ExitStack, first: BundledSample) -> list[Path]:
    """Let further agents run until the stack is left, and return the folders of their sessions."""
    agents = [
        FakeAgent(sample_named(name).path, beginning, seed=place + 2, restamps=True)
        for place, (name, beginning) in enumerate(BESIDES)
        if name != first.name
    ]
    return [stack.enter_context(agent).path.parent for agent in agents]


def play(sample: BundledSample, speed: float) -> int:
    """Open a sample, growing quickly if it grows, and play the tour at a speed relative to a reading pace."""
    from inspector.ui.tour import STEPS, TouringApp

    with ExitStack() as stack:
        shown = sample.path
        folders = []
        if sample.grows:
            shown = stack.enter_context(FakeAgent(sample.path, TOUR_BEGINNING, TOUR_SECONDS / speed)).path
            # The recorded pauses of the session on the screen explain its cost; its copy runs at the present time.
            live = stack.enter_context(FakeAgent(sample.path, TOUR_BEGINNING, restamps=True))
            folders = [live.path.parent, *grow_others(stack, sample)]
        app = TouringApp(shown, STEPS, speed=speed, folders=folders or None)
        try:
            app.run()
        finally:
            leave_terminal()
        return app.return_code or ExitCode.FINE


def _speed(text: str) -> float:
    speed = float(text)
    if not SLOWEST <= speed <= FASTEST:
        raise ValueError(text)
    return speed


FOLDER = "sample_sessions"

FIRST = "security-agent"
"""Default sample: long enough for large savings that differ between plans."""

_NOT_SESSIONS = {".md", ".txt", ".toml", ".py"}


@dataclass(frozen=True, slots=True)
class BundledSample:
    """One bundled session, named by its file or folder up to the first dot."""

    name: str
    path: Path

    @property
    def grows(self) -> bool:
        """True if it can be replayed line by line, like a file that an agent appends to."""
        return is_file(self.path) and self.path.suffix == ".jsonl"


def sample_folder() -> Path:
    """Return the folder of the samples in the package or the checkout; raise `CommandError` without one."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / FOLDER, package.parent / FOLDER):
        if is_folder(folder):
            return folder
    raise CommandError(f"{package / FOLDER}: the sample sessions are missing; reinstall the program")


def samples() -> tuple[BundledSample, ...]:
    """Return all samples, sorted by name."""
    return tuple(
        BundledSample(path.name.partition(".")[0], path)
        for path in sorted(sample_folder().iterdir())
        if path.suffix not in _NOT_SESSIONS and not path.name.startswith((".", "_"))
    )


def sample_named(name: str) -> BundledSample:
    """Return the sample of that name; raise `CommandError`, which lists the others, if it does not exist."""
    found = samples()
    for sample in found:
        if name in (sample.name, sample.path.name):
            return sample
    raise CommandError(f"{name}: no such sample; use one of {_listed(found)}", ExitCode.WRONG_USAGE)


def _listed(found: Iterable[BundledSample]) -> str:
    return ", ".join(sample.name for sample in found)
