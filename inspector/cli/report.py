"""`inspector report`: what a session costs, and what each plan would make of it."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.cli.arguments import FORMATS, add_report_arguments
from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine, check_output, deliver, require_drawing
from inspector.cli.plans import add_plan_arguments, plan_of
from inspector.cli.reading import priced_inputs, read_session
from inspector.cli.resolve_paths import is_list
from inspector.session.files import is_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from inspector.report.document import Report
    from inspector.report.folder import FolderReport
    from inspector.report.options import ReportOptions
    from inspector.report.pages.model import PageContent


REPORT_FORMATS = {
    **FORMATS,
    "html": "a page that loads nothing",
    "md": "Markdown for pull requests and wikis",
    "csv": "for sheets, a row a call or a block",
}


def add_arguments(parser: ArgumentParser) -> None:
    """What to report on, under which plans, in which form."""
    add_plan_arguments(parser, "each is a plan of its own, compared side by side")
    add_report_arguments(parser, REPORT_FORMATS)
    parser.add_argument(
        "--rows",
        choices=("calls", "blocks"),
        default="calls",
        help="what csv has a row for: every call (default) or block",
    )
    parser.add_argument(
        "--compare",
        action=BooleanOptionalAction,
        help="add every strategy alone, one row each; html does so unless --no-compare, which makes the page of a "
        "long session in a fraction of the time",
    )
    parser.add_argument("--ledger", action="store_true", help="add every call and block to the JSON")
    parser.add_argument(
        "--explain", action="store_true", help="say how every figure is calculated: formula, inputs, source"
    )
    parser.add_argument(
        "--no-script",
        action="store_true",
        help="html without the script that lets charts answer the pointer: a tenth of the size, for mail",
    )
    parser.add_argument(
        "--include-text",
        action="store_true",
        help="add what the session says, secrets masked: its title or first prompt, and how the heaviest results begin",
    )


def run(options: Namespace) -> int:
    """Print or save the report."""
    from inspector.report.session_report import report_of

    for request in options.plans:
        plan_of(request)  # a wrong plan is told before a big file is read
    check_output(options)
    if options.format == "html":
        require_drawing()
    if options.include_text:
        _check_detector()
    if is_folder(options.path) and is_list(options.path):
        return _report_on_folder(options)
    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    with ProgressLine("comparing strategies") as progress:
        report = report_of(priced_inputs(session, options), plans, _report_options(options), progress)
    return deliver(report, options, partial(_session_text, options=options))


def _report_on_folder(options: Namespace) -> int:
    from inspector.cli.folder_report import report_on_folder

    return deliver(report_on_folder(options), options, partial(_folder_text, options=options))


def _report_options(options: Namespace) -> ReportOptions:
    from inspector.report.options import ReportOptions

    return ReportOptions(
        options.runs_per_day,
        options.next_calls,
        options.explain,
        ledger=options.ledger or options.format in ("csv", "html"),
        comparison=options.format == "html" if options.compare is None else options.compare,
        texts=options.include_text,
        days_per_month=options.days_per_month,
    )


def _check_detector() -> None:
    """Tell what is not installed before a big file is read."""
    from inspector.report.secret_redaction import DetectorMissingError, SecretRedactor

    try:
        SecretRedactor()
    except DetectorMissingError as error:
        raise CommandError(str(error)) from None


def _session_text(report: Report, *, color: bool, options: Namespace) -> str:
    """The report on a session in the form that was asked for; colours are for the plain text of a terminal."""
    match options.format:
        case "csv":
            from inspector.report.csv_text import blocks_csv, calls_csv

            return blocks_csv(report) if options.rows == "blocks" else calls_csv(report)
        case "md":
            from inspector.report.pages.content import page_content
            from inspector.report.pages.markdown import markdown

            return markdown(page_content(report))
        case "html":
            from inspector.report.charts.palette import PAGE
            from inspector.report.charts.specifications import report_charts
            from inspector.report.pages.content import page_content

            return _html(page_content(report), report_charts(report, PAGE), options)
        case _:
            from inspector.report.text import report_text

            return report_text(report, color=color)


def _folder_text(report: FolderReport, *, color: bool, options: Namespace) -> str:
    """The report on a folder in the form that was asked for."""
    from inspector.report import folder_page

    match options.format:
        case "csv":
            from inspector.report.csv_text import folder_csv

            return folder_csv(report)
        case "md":
            from inspector.report.pages.markdown import markdown

            return markdown(folder_page.folder_content(report))
        case "html":
            from inspector.report.charts.palette import PAGE
            from inspector.report.charts.specifications import folder_charts

            return _html(folder_page.folder_content(report), folder_charts(report, PAGE), options)
        case _:
            return folder_page.folder_text(report, color=color)


def _html(content: PageContent, charts: Mapping[str, dict[str, Any]], options: Namespace) -> str:
    from inspector.report.charts.drawing import ChartsMissingError
    from inspector.report.pages.html import html

    try:
        return html(content, charts, answers_pointer=not options.no_script)
    except ChartsMissingError as error:
        raise CommandError(str(error)) from None
