"""`inspector why`: an explanation of a session's cost on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import (
    FORMATS,
    add_as_model_argument,
    add_beyond_argument,
    add_format_argument,
    add_kept_results_argument,
    add_last_argument,
    add_output_argument,
    add_price_arguments,
    add_switch_arguments,
    check_as_model,
    check_switch,
)
from inspector.cli.output import CommandError, ExitCode, check_output, hand_over, narrate
from inspector.cli.reading import newest
from inspector.cli.report import session_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.report.document import Report


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", metavar="PATH", type=Path, help="a session file or folder")
    add_last_argument(parser)
    add_format_argument(parser, FORMATS)
    add_switch_arguments(parser)
    add_as_model_argument(parser)
    add_beyond_argument(parser)
    add_output_argument(parser)
    add_kept_results_argument(parser)
    add_price_arguments(parser)


def run(options: Namespace) -> int:
    options.path = _session(options)
    check_output(options)
    check_switch(options)
    check_as_model(options)
    wanted = {
        "best_plan": True,
        "most_saving": options.format == "json",
        "switch_to": tuple(dict.fromkeys(options.switch)),
        "breakpoint_prices": options.format == "json",
        "as_model": options.as_model,
        "beyond": options.beyond,
    }
    return hand_over(session_text("why", options, wanted, _write, work="trying plans"), options)


def _write(report: Report, *, color: bool) -> str:
    # A kept text does not need this slow import.
    from inspector.report.why import why_text

    return why_text(report, color=color)


def _session(options: Namespace) -> Path:
    """Return the single session of the command line; raise `CommandError` if there is none."""
    path: Path | None = options.path
    if options.last:
        found = newest(path).path
        narrate(f"the newest session: {found}")
        return found
    if path is None:
        raise CommandError("pass a session, or --last for the newest; see: inspector why --help", ExitCode.WRONG_USAGE)
    return path
