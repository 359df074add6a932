"""`inspector why`: an explanation of a session's cost on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import (
    FORMATS,
    add_as_model_argument,
    add_beyond_argument,
    add_format_argument,
    add_last_argument,
    add_output_argument,
    add_price_arguments,
    add_switch_arguments,
    check_as_model,
    check_switch,
    switch_call,
)
from inspector.cli.output import CommandError, ExitCode, ProgressLine, check_output, narrate, print_or_save_report
from inspector.cli.reading import newest, priced_inputs, read_session
from inspector.tokens.counter import shared_counter

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", metavar="PATH", type=Path, help="a session file or folder")
    add_last_argument(parser)
    add_format_argument(parser, FORMATS)
    add_switch_arguments(parser)
    add_as_model_argument(parser)
    add_beyond_argument(parser)
    add_output_argument(parser)
    add_price_arguments(parser)


def run(options: Namespace) -> int:
    from inspector.replay.sessions import SubagentReader
    from inspector.report.document import ReportOptions
    from inspector.report.session_report import report_of
    from inspector.report.why import why_text

    options.path = _session(options)
    check_output(options)
    check_switch(options)
    check_as_model(options)
    session = read_session(options.path)
    inputs = priced_inputs(session, options)
    subagents = SubagentReader().read(session, inputs.pricing, cache=inputs.cache, counter=shared_counter())
    at = switch_call(inputs, options)
    wanted = ReportOptions(
        best_plan=True,
        switch_to=tuple(dict.fromkeys(options.switch)),
        switch_at=at,
        breakpoint_prices=options.format == "json",
        as_model=options.as_model,
        beyond=options.beyond,
    )
    with ProgressLine("trying plans") as progress:
        report = report_of(inputs, (), wanted, progress, subagents=subagents)
    return print_or_save_report(report, options, why_text)


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
