"""`inspector compare`: every strategy on one session, one row each; or two sets of sessions, before and after."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from pathlib import Path

from inspector.cli.arguments import (
    FORMATS,
    FORMS,
    add_as_model_argument,
    add_beyond_argument,
    add_fleet_arguments,
    add_report_arguments,
    check_as_model,
    execution_of,
    fleet_errors,
    refuse_fleet_options,
    session_terms,
)
from inspector.cli.output import (
    CommandError,
    ExitCode,
    ProgressLine,
    check_output,
    check_target,
    narrate,
    print_or_save_report,
)
from inspector.cli.reading import is_list, priced_inputs, read_session

ORDERS = ("saved", "net", "tokens", "peak", "cost", "changed", "applied", "risks", "name")
"""Names of `inspector.report.comparison.ORDERS`, the default first."""
FORMER_ORDERS = {"at-least": "net", "breaks": "changed", "fires": "applied"}
"""Former names that scripts may still use."""

SINGLE_SESSION_OPTIONS = ("sort", "runs_per_day", "next_calls", "model_uncertainty", "as_model", "beyond")
"""Options of the strategy comparison on one session only."""

MOST_EFFECT = 10.0
"""Largest accepted size of difference, as a share of before."""


def add_arguments(parser: ArgumentParser) -> None:
    forms = dict(FORMS, csv="for spreadsheets, one row per session; html, md and csv: only for two sets of sessions")
    add_report_arguments(parser, forms, needs_path=False)
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        choices=(*ORDERS, *FORMER_ORDERS),
        help=f"sort order of rows, best first: {', '.join(ORDERS)} (default: {ORDERS[0]})",
    )
    add_as_model_argument(parser)
    add_beyond_argument(parser)
    sets = parser.add_argument_group("two sets of sessions, before and after a change")
    for name in ("before", "after"):
        sets.add_argument(
            f"--{name}",
            metavar="PATH",
            type=Path,
            action="append",
            default=[],
            help=f"a session, or a folder of sessions, from {name} the change; repeatable",
        )
    sets.add_argument(
        "--at",
        metavar="DATE",
        type=_date,
        help=(
            "divide the sessions of the folder PATH by their start: 2026-11-01, or with a time; in UTC unless it has "
            "a time zone"
        ),
    )
    sets.add_argument(
        "--effect",
        metavar="PERCENT",
        type=_effect,
        help="difference to detect (default: 10%%); the report states how many more sessions that takes",
    )
    add_fleet_arguments(parser)


def run(options: Namespace) -> int:
    if options.before or options.after or options.at is not None:
        return _compare_sets(options)
    if options.path is None:
        message = "pass a session to compare strategies on, or two sets of sessions: --before PATH --after PATH"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    if options.effect is not None:
        raise CommandError("--effect requires two sets of sessions: --before PATH --after PATH", ExitCode.WRONG_USAGE)
    if options.format not in FORMATS:
        message = f"--format {options.format} requires two sets of sessions; inspector report --compare writes a page"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    return _compare_strategies(options)


def _compare_strategies(options: Namespace) -> int:
    from functools import partial

    import msgspec

    from inspector.replay.analysis.best_plan import plans_to_compare
    from inspector.report.comparison import comparison_text, in_order
    from inspector.report.document import ReportOptions
    from inspector.report.session_report import report_of
    from inspector.strategies.registry import PLUG_INS

    refuse_fleet_options(options)
    check_output(options)
    check_as_model(options)
    session = read_session(options.path)
    asked = ReportOptions(
        options.runs_per_day,
        options.next_calls,
        details=False,
        days_per_month=options.days_per_month,
        model_uncertainty=options.model_uncertainty,
        as_model=options.as_model,
        beyond=options.beyond,
        skips_failed=True,
    )
    sort = FORMER_ORDERS.get(options.sort, options.sort) or ORDERS[0]
    report = report_of(priced_inputs(session, options), plans_to_compare(session), asked)
    for problem in PLUG_INS.problems():
        narrate(problem)
    report = msgspec.structs.replace(report, plans=in_order(report.plans, sort))
    return print_or_save_report(report, options, partial(comparison_text, sort=sort, beyond=options.beyond))


def _compare_sets(options: Namespace) -> int:
    from functools import partial

    from inspector.fleet.reports import EFFECT, compare_sets
    from inspector.report.forms import before_after_written

    _check_sets(options)
    before, after = (options.before, options.after) if options.at is None else ([options.path], [])
    for path in (*before, *after):
        is_list(path)  # report a missing path before anything is read
    with fleet_errors():
        report, missing = compare_sets(
            before,
            after,
            options.at,
            session_terms(options),
            execution_of(options),
            partial(ProgressLine, estimates=True),
            effect=EFFECT if options.effect is None else options.effect,
        )
    if missing:
        narrate(missing)
    print_or_save_report(report, options, partial(before_after_written, form=options.format))
    return ExitCode.INTERRUPTED if missing else ExitCode.FINE


def _check_sets(options: Namespace) -> None:
    problem = ""
    if options.at is None and not (options.before and options.after):
        lacks = "--after" if options.before else "--before"
        problem = f"a comparison needs two sets: add {lacks} PATH, or divide one folder with --at DATE"
    elif options.at is None and options.path is not None:
        problem = f"{options.path} is in neither set: pass it to --before or --after"
    elif options.at is not None and (options.before or options.after):
        problem = "use either --at, which divides one folder, or --before and --after"
    elif options.at is not None and options.path is None:
        problem = "--at divides a folder of sessions: add the folder"
    for name in SINGLE_SESSION_OPTIONS:
        if getattr(options, name) not in {None, False, ""}:
            problem = problem or f"--{name.replace('_', '-')} is for one session, not for two sets of sessions"
    if problem:
        raise CommandError(problem, ExitCode.WRONG_USAGE)
    if options.output is not None:
        for source in (*options.before, *options.after, *([] if options.path is None else [options.path])):
            check_target(options.output, source)


def _date(text: str) -> float:
    """Parse a date or a time to seconds since the epoch."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is not a date; use the form 2026-11-01 or 2026-11-01T09:30+01:00") from None


def _effect(text: str) -> float:
    """Parse a size of difference in percent to a share."""
    try:
        value = float(text.removesuffix("%").rstrip()) / 100
    except ValueError:
        value = math.nan
    if not 0 < value <= MOST_EFFECT:
        raise ArgumentTypeError(f"{text!r} is not a size of difference; use percent of before, such as 10%")
    return value
