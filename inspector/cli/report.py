"""`inspector report`: what a session costs, and what each plan would make of it."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from functools import partial
from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError
from inspector.cli.finding import is_list
from inspector.cli.plans import add_plan_arguments, plan_of
from inspector.cli.progress import Progress
from inspector.cli.reading import read_session
from inspector.cli.reporting import FORMATS, add_report_arguments, check_output, deliver
from inspector.session.files import is_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.cli.reporting import TextWriter
    from inspector.report.document import Report
    from inspector.report.folder_document import FolderReport
    from inspector.report.wanted import Wanted


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
        "--explain", action="store_true", help="say how every figure came about: formula, inputs, source"
    )
    parser.add_argument(
        "--no-script",
        action="store_true",
        help="html without the script that lets charts answer the pointer: a tenth of the size, for mail",
    )
    parser.add_argument(
        "--include-text",
        action="store_true",
        help="add what the session says, secrets masked: its title, and how the heaviest results begin",
    )


def run(options: Namespace) -> int:
    """Print or save the report."""
    from inspector.cli.replaying import priced_inputs
    from inspector.report.summary import report_of

    for request in options.plans:
        plan_of(request)  # a wrong plan is told before a big file is read
    check_output(options)
    if options.format == "html":
        _check_drawing()
    if options.include_text:
        _check_detector()
    if is_folder(options.path) and is_list(options.path):
        return _report_on_folder(options)
    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    with Progress("comparing strategies") as progress:
        report = report_of(priced_inputs(session, options), plans, _wanted(options), progress)
    return deliver(report, options, _writer(options))


def _report_on_folder(options: Namespace) -> int:
    from inspector.cli.folder_report import report_on_folder
    from inspector.report.folder_text import folder_csv, folder_text

    report = report_on_folder(options)
    if options.format in ("md", "html"):
        return deliver(
            report, options, partial(_folder_page, form=options.format, answers_pointer=not options.no_script)
        )
    return deliver(report, options, folder_csv if options.format == "csv" else folder_text)


def _folder_page(report: FolderReport, *, color: bool, form: str, answers_pointer: bool) -> str:  # noqa: ARG001  pages have their own colours
    from inspector.report.charts.palette import PAGE
    from inspector.report.folder_page import folder_charts, folder_content
    from inspector.report.pages.html import html
    from inspector.report.pages.markdown import markdown

    content = folder_content(report)
    if form == "md":
        return markdown(content)
    return html(content, folder_charts(report, PAGE), answers_pointer=answers_pointer)


def _wanted(options: Namespace) -> Wanted:
    from inspector.report.wanted import Wanted

    return Wanted(
        options.runs_per_day,
        options.next_calls,
        options.explain,
        ledger=options.ledger or options.format in ("csv", "html"),
        comparison=options.format == "html" if options.compare is None else options.compare,
        texts=options.include_text,
        days_per_month=options.days_per_month,
    )


def _check_drawing() -> None:
    """Tell what is not installed before a big file is read."""
    from inspector.report.charts.drawing import ChartsMissingError, load_drawing

    try:
        load_drawing()
    except ChartsMissingError as error:
        raise CommandError(str(error)) from None


def _check_detector() -> None:
    """Tell what is not installed before a big file is read."""
    from inspector.report.masking import DetectorMissingError, Masker

    try:
        Masker()
    except DetectorMissingError as error:
        raise CommandError(str(error)) from None


def _writer(options: Namespace) -> TextWriter[Report]:
    if options.format == "csv":
        return _csv_of_blocks if options.rows == "blocks" else _csv_of_calls
    if options.format == "md":
        return _markdown
    if options.format == "html":
        return partial(_html, answers_pointer=not options.no_script)
    from inspector.report.text import report_text

    return report_text


def _csv_of_calls(report: Report, *, color: bool) -> str:  # noqa: ARG001  a sheet has no colours
    from inspector.report.csv_text import calls_csv

    return calls_csv(report)


def _csv_of_blocks(report: Report, *, color: bool) -> str:  # noqa: ARG001  a sheet has no colours
    from inspector.report.csv_text import blocks_csv

    return blocks_csv(report)


def _markdown(report: Report, *, color: bool) -> str:  # noqa: ARG001  Markdown has no colours
    from inspector.report.pages.content import page_content
    from inspector.report.pages.markdown import markdown

    return markdown(page_content(report))


def _html(report: Report, *, color: bool, answers_pointer: bool) -> str:  # noqa: ARG001  the reader's settings decide on colours
    from inspector.report.charts import CHARTS, chart
    from inspector.report.charts.drawing import ChartsMissingError
    from inspector.report.charts.palette import PAGE
    from inspector.report.pages.content import page_content
    from inspector.report.pages.html import html

    charts = {name: chart(name, report, PAGE) for name in CHARTS}
    try:
        drawn = {name: each for name, each in charts.items() if each is not None}
        return html(page_content(report), drawn, answers_pointer=answers_pointer)
    except ChartsMissingError as error:
        raise CommandError(str(error)) from None
