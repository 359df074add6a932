"""`inspector demo`: the screen on the bundled samples, one of them growing like a live session."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fake_agent import FakeAgent
from inspector.cli.output import leave_terminal, write
from inspector.cli.screen import open_screen, require_terminal
from inspector.session.files import is_file, is_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable

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
        return open_screen([shown], listed=others)


def play(sample: BundledSample, speed: float) -> int:
    """Open a sample and play the tour on it.

    Args:
        sample: The sample; a growing one grows quickly.
        speed: Speed relative to a reading pace.
    """
    from inspector.ui.tour import STEPS, TouringApp

    with ExitStack() as stack:
        shown = sample.path
        if sample.grows:
            shown = stack.enter_context(FakeAgent(sample.path, TOUR_BEGINNING, TOUR_SECONDS / speed)).path
        app = TouringApp(shown, STEPS, speed=speed)
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
    """One bundled session.

    Attributes:
        name: Name on the command line: its file's or folder's name up to the first dot.
        path: Its location.
    """

    name: str
    path: Path

    @property
    def grows(self) -> bool:
        """True if it can be replayed line by line, like a file that an agent appends to."""
        return is_file(self.path) and self.path.suffix == ".jsonl"


def sample_folder() -> Path:
    """Return the folder of the samples.

    Raises:
        CommandError: It is neither in the package nor in the checkout.
    """
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
    """Return the sample of that name.

    Raises:
        CommandError: It does not exist; the message lists the others.
    """
    found = samples()
    for sample in found:
        if name in (sample.name, sample.path.name):
            return sample
    raise CommandError(f"{name}: no such sample; use one of {_listed(found)}", ExitCode.WRONG_USAGE)


def _listed(found: Iterable[BundledSample]) -> str:
    return ", ".join(sample.name for sample in found)
