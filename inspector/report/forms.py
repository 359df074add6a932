"""The forms a report is written in, for whoever writes one: the command line, and the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.before_after import BeforeAfterReport
    from inspector.report.document import Report
    from inspector.report.folder import FolderReport
    from inspector.report.tuning import TuneReport


FORMS = {
    "text": "for people",
    "json": "for programs",
    "html": "a page that loads nothing",
    "md": "Markdown for pull requests and wikis",
    "csv": "for sheets, a row a call or a block",
}
"""Names of forms and what they are for."""


def written(
    report: Report,
    form: str,
    *,
    rows: str = "calls",
    color: bool = False,
    answers_pointer: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  nobody looks
) -> str:
    """The report on one session in a form. A page says itself where nothing could draw its charts.

    Args:
        report: With its ledger where the form is csv; with it and the comparison, html has all its charts.
        form: A name of `FORMS`.
        rows: What csv has a row for: `calls` or `blocks`.
        color: Colour the plain text, for a terminal.
        answers_pointer: Let the page's charts answer the pointer: most of its size.
        progress: Told how many of a page's charts are drawn.
    """
    match form:
        case "csv":
            from inspector.report.csv_text import blocks_csv, calls_csv

            return blocks_csv(report) if rows == "blocks" else calls_csv(report)
        case "json":
            from inspector.report.json_document import document_json

            return document_json(report)
        case "md":
            from inspector.report.pages.content import page_content
            from inspector.report.pages.markdown import markdown

            return markdown(page_content(report))
        case "html":
            from inspector.report.charts.palette import PAGE
            from inspector.report.charts.specifications import report_charts
            from inspector.report.pages.content import page_content
            from inspector.report.pages.html import html

            charts = report_charts(report, PAGE)
            return html(page_content(report), charts, answers_pointer=answers_pointer, progress=progress)
        case _:
            from inspector.report.text import report_text

            return report_text(report, color=color)


def folder_written(report: FolderReport, form: str, *, color: bool = False, answers_pointer: bool = True) -> str:
    """The report on a folder of sessions in a form; the arguments are those of `written`."""
    from inspector.report import folder_page

    match form:
        case "csv":
            from inspector.report.csv_text import folder_csv

            return folder_csv(report)
        case "json":
            from inspector.report.json_document import document_json

            return document_json(report)
        case "md":
            from inspector.report.pages.markdown import markdown

            return markdown(folder_page.folder_content(report))
        case "html":
            from inspector.report.charts.palette import PAGE
            from inspector.report.charts.specifications import folder_charts
            from inspector.report.pages.html import html

            charts = folder_charts(report, PAGE)
            return html(folder_page.folder_content(report), charts, answers_pointer=answers_pointer)
        case _:
            return folder_page.folder_text(report, color=color)


def tune_written(
    report: TuneReport, form: str, *, color: bool = False, answers_pointer: bool = True, plan_file: str = ""
) -> str:
    """What tuning found in a form.

    Args:
        report: What was found.
        form: One of `FORMS`.
        color: Text is coloured.
        answers_pointer: A page answers the pointer, by a script of its own.
        plan_file: The file the plan is written to; empty where it is not.
    """
    from inspector.report import tuning_page

    match form:
        case "csv":
            from inspector.report.csv_text import tune_csv

            return tune_csv(report)
        case "json":
            from inspector.report.json_document import document_json

            return document_json(report)
        case "md":
            from inspector.report.pages.markdown import markdown

            return markdown(tuning_page.tune_content(report, plan_file))
        case "html":
            from inspector.report.charts.palette import PAGE
            from inspector.report.charts.tuning_charts import tuning_charts
            from inspector.report.pages.html import html

            content = tuning_page.tune_content(report, plan_file)
            return html(content, tuning_charts(report, PAGE), answers_pointer=answers_pointer)
        case _:
            return tuning_page.tune_text(report, color=color, plan_file=plan_file)


def before_after_written(report: BeforeAfterReport, form: str, *, color: bool = False) -> str:
    """Two sets of sessions compared, in a form; the arguments are those of `written`."""
    from inspector.report import before_after_page

    match form:
        case "csv":
            from inspector.report.csv_text import before_after_csv

            return before_after_csv(report)
        case "json":
            from inspector.report.json_document import document_json

            return document_json(report)
        case "md":
            from inspector.report.pages.markdown import markdown

            return markdown(before_after_page.before_after_content(report))
        case "html":
            from inspector.report.pages.html import html

            return html(before_after_page.before_after_content(report), {})
        case _:
            return before_after_page.before_after_text(report, color=color)
