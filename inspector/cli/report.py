"""`inspector report`: what a session costs, and what each plan would make of it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from inspector.cli.plans import add_plan_arguments, plan_of
from inspector.cli.reading import read_session
from inspector.cli.reporting import add_report_arguments, check_output, deliver

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


MOST_CALLS = 10_000
"""So many calls more can be projected; nothing is known of what comes after."""


def add_arguments(parser: ArgumentParser) -> None:
    """What to report on, under which plans, in which form."""
    add_plan_arguments(parser, "each is a plan of its own, compared side by side")
    add_report_arguments(parser)
    parser.add_argument(
        "--next-calls", metavar="N", type=_calls, help="project the session to N calls more, going on as it went"
    )
    parser.add_argument(
        "--explain", action="store_true", help="say how every figure came about: formula, inputs, source"
    )


def run(options: Namespace) -> int:
    """Print or save the report."""
    from inspector.cli.replaying import priced_inputs
    from inspector.report.summary import report_of
    from inspector.report.text import report_text
    from inspector.report.wanted import Wanted

    for request in options.plans:
        plan_of(request)  # a wrong plan is told before a big file is read
    check_output(options)
    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    wanted = Wanted(options.runs_per_day, options.next_calls, options.explain)
    report = report_of(priced_inputs(session, options), plans, wanted)
    return deliver(report, options, report_text)


def _calls(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_CALLS:
        raise ArgumentTypeError(f"{text!r} is no number of calls; give 1 to {MOST_CALLS:,}")
    return int(text)
