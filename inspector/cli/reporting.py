"""What commands that end in a report have in common: their arguments, and where the report goes."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from inspector.cli.console import encodes_everything, wants_color, write
from inspector.cli.exits import ExitCode
from inspector.cli.saving import check_target, save

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.report.document import Report

FORMATS = ("text", "json")


class TextWriter(Protocol):
    """Writes a report for people."""

    def __call__(self, report: Report, *, color: bool) -> str:
        """The report as text, with or without colours."""
        ...


def add_report_arguments(parser: ArgumentParser) -> None:
    """What to report on, at which prices, in which form, and where to."""
    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    parser.add_argument("--format", choices=FORMATS, default="text", help="text for people (default), or json")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE; never over a session")
    parser.add_argument("--model", metavar="NAME", help="price every call as this model")
    parser.add_argument(
        "--runs-per-day", metavar="N", type=_runs, help="project savings to N runs like this one a day, and a month"
    )


def check_output(options: Namespace) -> None:
    """Refuse an output file that must not be written, before anything is read.

    Raises:
        CommandError: It is a session, or a folder.
    """
    if options.output is not None:
        check_target(options.output, options.path)


def deliver(report: Report, options: Namespace, as_text: TextWriter) -> ExitCode:
    """Print the report, or save it where it was asked to go."""
    to_file = options.output is not None
    if options.format == "json":
        import msgspec

        from inspector.report.json_text import to_json

        text = to_json(msgspec.to_builtins(report), ascii_only=not to_file and not encodes_everything(sys.stdout))
    else:
        text = as_text(report, color=not to_file and wants_color(sys.stdout))
    if to_file:
        save(options.output, text)
    else:
        write(text)
    return ExitCode.FINE


def _runs(text: str) -> float:
    try:
        runs = float(text)
    except ValueError:
        runs = math.nan
    if not 0 <= runs < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of runs; give 0 or more")
    return runs
