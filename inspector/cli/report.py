"""`inspector report`: the cost of a session, and of the same session under each plan."""

from __future__ import annotations

import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.cli.arguments import (
    FORMS,
    add_as_model_argument,
    add_beyond_argument,
    add_fleet_arguments,
    add_last_argument,
    add_plan_arguments,
    add_report_arguments,
    add_switch_arguments,
    check_as_model,
    check_switch,
    execution_of,
    fleet_errors,
    kept_results,
    plan_of,
    refuse_fleet_options,
    session_terms,
    switch_call,
)
from inspector.cli.output import (
    CommandError,
    ExitCode,
    ProgressLine,
    check_detector,
    check_output,
    hand_over,
    is_ascii_only,
    is_colored,
    narrate,
    print_or_save_report,
    text_of,
)
from inspector.cli.reading import is_list, newest, priced_inputs, read_session
from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.session.files import is_folder
from inspector.tokens.counter import shared_counter

if TYPE_CHECKING:
    from inspector.cli.output import TextWriter
    from inspector.replay.sessions import SubagentReader
    from inspector.report.document import Report
    from inspector.session.model import Session


SINGLE_SESSION_OPTIONS = ("ledger", "compare", "explain", "include_text", "next_calls", "runs_per_day")
"""Options that only the report on one session supports."""

DRAWS_CHARTS = "vl-convert-python"
"""Library that affects a page's appearance, in addition to the libraries that affect figures."""


def add_arguments(parser: ArgumentParser) -> None:
    add_plan_arguments(parser, "repeat it for more plans, compared side by side")
    add_report_arguments(parser, FORMS, needs_path=False)
    add_last_argument(parser)
    parser.add_argument(
        "--rows",
        choices=("calls", "blocks"),
        default="calls",
        help="contents of csv rows: one call each (default) or one block",
    )
    parser.add_argument(
        "--compare",
        action=BooleanOptionalAction,
        help=(
            "add a row for every strategy on its own, the default of html; --no-compare builds the page of a long "
            "session in a fraction of the time"
        ),
    )
    add_switch_arguments(parser)
    add_as_model_argument(parser)
    add_beyond_argument(parser)
    parser.add_argument("--ledger", action="store_true", help="add every call and block to the JSON")
    parser.add_argument(
        "--explain", action="store_true", help="explain how every figure is calculated: formula, inputs, source"
    )
    parser.add_argument(
        "--no-script",
        action="store_true",
        help="html without interactive charts: a tenth of the size, for email",
    )
    parser.add_argument(
        "--include-text",
        action="store_true",
        help="include text with secrets masked: the title or first prompt, and the start of the largest results",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help=(
            "for a folder without a plan: count responses recorded as placeholders with the tokenizer, as a report on "
            "one session does (default: estimate them from characters, which is faster)"
        ),
    )
    add_fleet_arguments(parser)


def run(options: Namespace) -> int:
    for request in options.plans:
        plan_of(request)  # report an invalid plan before reading a big file
    if options.last:
        options.path = newest(options.path).path
        narrate(f"the newest session: {options.path}")
    elif options.path is None:
        message = "pass a session or a folder as PATH, or --last for the newest; see: inspector report --help"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    check_output(options)
    check_switch(options)
    check_as_model(options)
    if options.include_text:
        check_detector()
    if is_folder(options.path) and is_list(options.path):
        if options.switch or options.as_model or options.beyond:
            name = "--switch" if options.switch else "--as-model" if options.as_model else "--beyond"
            message = f"{options.path} contains many sessions, but {name} needs one: pass its file"
            raise CommandError(message, ExitCode.WRONG_USAGE)
        return _report_on_folder(options)
    refuse_fleet_options(options, allowed=("no_kept_results",))
    return hand_over(_text_on_session(options), options)


def _text_on_session(options: Namespace) -> str:
    """Write the report on one session."""
    # Help does not need these slow imports.
    from inspector.fleet.result_cache import version_of

    form = (options.format, options.rows, options.no_script, version_of(DRAWS_CHARTS))

    def write(report: Report, *, color: bool) -> str:
        from inspector.report.forms import written

        return written(
            report, color=color, form=options.format, rows=options.rows, is_interactive=not options.no_script
        )

    return session_text("text", options, _report_options(options), write, form=form, work="comparing strategies")


def session_text(
    kind: str,
    options: Namespace,
    wanted: dict[str, Any],
    write: TextWriter[Report],
    *,
    work: str,
    form: tuple[object, ...] = (),
) -> str:
    """Write about one session, or return an earlier run's text if all its inputs are unchanged.

    Args:
        kind: Part of the key of the kept text.
        wanted: Values of `ReportOptions`.
        write: Writes every format but JSON.
        form: Further parts of the key: options and versions that affect the text.
    """
    from inspector.fleet.result_cache import source_of
    from inspector.fleet.session_tasks import SessionTask

    results, task = kept_results(options), SessionTask(options.path, session_terms(options))
    if results.is_on:
        key = task.key(kind, wanted, options.at, options.format, is_colored(options), is_ascii_only(options), form)
        if (kept := results.kept(options.path, key)) is not None:
            return kept.decode("utf-8", "surrogatepass")
    # A kept text does not need these slow imports.
    from inspector.replay.sessions import SubagentReader

    began = time.time_ns()
    session = read_session(options.path, keeps_texts=True)
    subagents = SubagentReader()
    report = _worked_out(session, options, wanted, subagents, work)
    text = text_of(report, options, write)
    # Session texts are not cached, nor results that more time would have improved.
    is_complete = report.best_plan is None or report.best_plan.is_complete
    is_complete &= report.as_model is None or report.as_model.is_searched or bool(report.plans)
    if results.is_on and not wanted.get("texts") and is_complete:
        source = source_of(session, began, task.terms.pricing.today, subagents.files())
        results.keep(options.path, key, text.encode("utf-8", "surrogatepass"), source)
        results.close()
    return text


def _worked_out(
    session: Session, options: Namespace, wanted: dict[str, Any], subagents: SubagentReader, work: str
) -> Report:
    from inspector.report.document import ReportOptions
    from inspector.report.session_report import report_of

    plans = [plan_of(request, session) for request in getattr(options, "plans", ())]
    inputs = priced_inputs(session, options)
    costs = subagents.read(session, inputs.pricing, cache=inputs.cache, counter=shared_counter())
    asked = ReportOptions(**wanted, switch_at=switch_call(inputs, options))
    with ProgressLine(work) as progress:
        return report_of(inputs, plans, asked, progress, subagents=costs)


def _report_on_folder(options: Namespace) -> int:
    from inspector.fleet.reports import report_on_folder
    from inspector.report.forms import folder_written

    for name in SINGLE_SESSION_OPTIONS:
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            message = f"{option} is for a single session; {options.path} is a folder of sessions"
            raise CommandError(message, ExitCode.WRONG_USAGE)
    form = partial(folder_written, form=options.format, is_interactive=not options.no_script)
    with fleet_errors():
        report, missing = report_on_folder(
            options.path,
            session_terms(options),
            execution_of(options),
            kept_results(options),
            partial(ProgressLine, estimates=True),
            model_uncertainty=options.model_uncertainty,
        )
    if missing:
        narrate(missing)
    print_or_save_report(report, options, form)
    return ExitCode.INTERRUPTED if missing else ExitCode.FINE


def _report_options(options: Namespace) -> dict[str, Any]:
    """Return the values of `ReportOptions`, which is slow to import for the key of a kept report."""
    is_page = options.format == "html"
    comparison = is_page if options.compare is None else options.compare
    runs = ASSUMED_RUNS if options.runs_per_day is None and is_page else options.runs_per_day
    return dict(  # noqa: C408  named like arguments
        runs_per_day=runs,
        next_calls=options.next_calls,
        explain=options.explain,
        ledger=options.ledger or is_page or options.format == "csv",
        comparison=comparison,
        # The page marks the best plan in its comparison.
        best_plan=comparison and is_page,
        texts=options.include_text,
        days_per_month=options.days_per_month,
        switch_to=tuple(dict.fromkeys(options.switch)),
        model_uncertainty=options.model_uncertainty,
        breakpoint_prices=options.format == "json",
        as_model=options.as_model,
        beyond=options.beyond,
    )
