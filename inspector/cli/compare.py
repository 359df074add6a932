"""`inspector compare`: every strategy on one session, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.reading import read_session
from inspector.cli.reporting import add_report_arguments, check_output, deliver

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


ORDERS = ("saved", "tokens", "peak", "cost", "breaks", "fires", "risks", "name")
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

    from inspector.cli.replaying import priced_inputs
    from inspector.replay.analysis.comparison import plans_to_compare
    from inspector.report.comparison import comparison_text, in_order
    from inspector.report.summary import report_of
    from inspector.report.wanted import Wanted

    check_output(options)
    session = read_session(options.path)
    wanted = Wanted(options.runs_per_day, options.next_calls, details=False, days_per_month=options.days_per_month)
    report = report_of(priced_inputs(session, options), plans_to_compare(session), wanted)
    report = msgspec.structs.replace(report, plans=in_order(report.plans, options.sort))
    return deliver(report, options, partial(comparison_text, sort=options.sort))
