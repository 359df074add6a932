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


def add_arguments(parser: ArgumentParser) -> None:
    """Which sample, or a list of them."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="open this sample first; see --list")
    parser.add_argument("--list", action="store_true", help="print the samples' names and files, and nothing else")


def run(options: Namespace) -> int:
    """Open the samples, or list them."""
    if options.list:
        write("".join(f"{sample.name:<24}{sample.path}\n" for sample in samples()))
        return ExitCode.FINE
    first = sample_named(options.name) if options.name else next(sample for sample in samples() if sample.grows)
    require_terminal(f"inspector report {first.path}")
    others = [sample.path for sample in samples() if sample != first]
    with ExitStack() as stack:
        shown = stack.enter_context(GrowingCopy(first.path)).path if first.grows else first.path
        return open_screen([shown], listed=others)
