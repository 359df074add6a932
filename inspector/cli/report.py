"""`inspector report`: what a session costs, and what each plan would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.plans import add_plan_arguments, plan_of
from inspector.cli.reading import read_session
from inspector.cli.reporting import add_report_arguments, check_output, deliver

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """What to report on, under which plans, in which form."""
    add_plan_arguments(parser, "each is a plan of its own, compared side by side")
    add_report_arguments(parser)


def run(options: Namespace) -> int:
    """Print or save the report."""
    from inspector.cli.replaying import replay_inputs
    from inspector.report.summary import report_of
    from inspector.report.text import report_text

    for request in options.plans:
        plan_of(request)  # a wrong plan is told before a big file is read
    check_output(options)
    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    report = report_of(replay_inputs(session, options.model), plans, options.runs_per_day)
    return deliver(report, options, report_text)
