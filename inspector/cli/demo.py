"""`inspector demo`: the screen on the bundled samples, the first of them growing as if an agent were at work."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from inspector.cli.console import write
from inspector.cli.exits import ExitCode
from inspector.cli.growing import GrowingCopy
from inspector.cli.samples import sample_named, samples
from inspector.cli.screen import open_screen, require_terminal

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.cli.samples import Sample

TOUR_BEGINNING = 0.12
TOUR_SECONDS = 22.0
"""A tour's session has to fill and be compacted while people look on."""

SLOWEST, FASTEST = 0.1, 20.0


def add_arguments(parser: ArgumentParser) -> None:
    """Which sample, or a list of them."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="open this sample first; see --list")
    parser.add_argument("--play", action="store_true", help="show by itself what there is to see; any key takes over")
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="N", help="how much faster the tour goes than for reading"
    )
    parser.add_argument("--list", action="store_true", help="print the samples' names and files, and nothing else")


def run(options: Namespace) -> int:
    """Open the samples, or list them."""
    if options.list:
        write("".join(f"{sample.name:<24}{sample.path}\n" for sample in samples()))
        return ExitCode.FINE
    first = sample_named(options.name) if options.name else next(sample for sample in samples() if sample.grows)
    require_terminal(f"inspector report {first.path}")
    if options.play:
        return play(first, options.speed)
    others = [sample.path for sample in samples() if sample != first]
    with ExitStack() as stack:
        shown = stack.enter_context(GrowingCopy(first.path)).path if first.grows else first.path
        return open_screen([shown], listed=others)


def play(sample: Sample, speed: float) -> int:
    """Open a sample and play the tour on it.

    Args:
        sample: What is opened; it grows quickly if it grows at all.
        speed: How much faster than for reading.
    """
    from inspector.ui.tour.player import TouringApp
    from inspector.ui.tour.steps import STEPS

    with ExitStack() as stack:
        shown = sample.path
        if sample.grows:
            shown = stack.enter_context(GrowingCopy(sample.path, TOUR_BEGINNING, TOUR_SECONDS / speed)).path
        app = TouringApp(shown, STEPS, speed=speed)
        app.run()
        return app.return_code or ExitCode.FINE


def _speed(text: str) -> float:
    speed = float(text)
    if not SLOWEST <= speed <= FASTEST:
        raise ValueError(text)
    return speed
