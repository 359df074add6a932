"""`inspector compare`: every strategy on one session, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.arguments import add_report_arguments
from inspector.cli.output import check_output, deliver
from inspector.cli.reading import priced_inputs, read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


ORDERS = ("saved", "at-least", "tokens", "peak", "cost", "breaks", "fires", "risks", "name")
"""Names of `inspector.report.comparison.ORDERS`, the default first."""


def add_arguments(parser: ArgumentParser) -> None:
    """What to compare strategies on, and in which form."""
    add_report_arguments(parser)
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        choices=ORDERS,
        default="saved",
        help=f"what rows are sorted by, the best first: {', '.join(ORDERS)}",
    )


def run(options: Namespace) -> int:
    """Print or save the comparison."""
    from functools import partial

    import msgspec

    from inspector.replay.analysis.comparison import plans_to_compare
    from inspector.report.comparison import comparison_text, in_order
    from inspector.report.options import ReportOptions
    from inspector.report.session_report import report_of

    check_output(options)
    session = read_session(options.path)
    asked = ReportOptions(
        options.runs_per_day,
        options.next_calls,
        details=False,
        days_per_month=options.days_per_month,
        model_uncertainty=options.model_uncertainty,
    )
    report = report_of(priced_inputs(session, options), plans_to_compare(session), asked)
    report = msgspec.structs.replace(report, plans=in_order(report.plans, options.sort))
    return deliver(report, options, partial(comparison_text, sort=options.sort))
