"""`inspector report`: what a session costs, and what each plan would make of it."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.console import encodes_everything, wants_color, write
from inspector.cli.exits import ExitCode
from inspector.cli.plans import add_plan_arguments, plan_of
from inspector.cli.reading import read_session
from inspector.cli.saving import check_target, save

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.report.document import Report

FORMATS = ("text", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """What to report on, under which plans, in which form."""
    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    add_plan_arguments(parser, "each is a plan of its own, compared side by side")
    parser.add_argument("--format", choices=FORMATS, default="text", help="text for people (default), or json")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE; never over a session")
    parser.add_argument("--model", metavar="NAME", help="price every call as this model")
    parser.add_argument(
        "--runs-per-day", metavar="N", type=_runs, help="project savings to N runs like this one a day, and a month"
    )


def run(options: Namespace) -> int:
    """Print or save the report."""
    from inspector.cli.replaying import replay_inputs
    from inspector.report.summary import report_of

    for request in options.plans:
        plan_of(request)  # a wrong plan is told before a big file is read
    if options.output is not None:
        check_target(options.output, options.path)
    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    report = report_of(replay_inputs(session, options.model), plans, options.runs_per_day)
    if options.output is None:
        color = wants_color(sys.stdout)
        write(_formatted(report, options.format, color=color, ascii_only=not encodes_everything(sys.stdout)))
    else:
        save(options.output, _formatted(report, options.format, color=False, ascii_only=False))
    return ExitCode.FINE


def _runs(text: str) -> float:
    try:
        runs = float(text)
    except ValueError:
        runs = math.nan
    if not 0 <= runs < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of runs; give 0 or more")
    return runs


def _formatted(report: Report, form: str, *, color: bool, ascii_only: bool) -> str:
    if form == "json":
        import msgspec

        from inspector.report.json_text import to_json

        return to_json(msgspec.to_builtins(report), ascii_only=ascii_only)
    from inspector.report.text import report_text

    return report_text(report, color=color)
