"""Output formats of reports, for the command line and the screen."""

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
    "html": "a self-contained page",
    "md": "Markdown for pull requests and wikis",
    "csv": "for spreadsheets, one row per call or block",
}
"""Formats with their purpose."""


def written(
    report: Report,
    form: str,
    *,
    rows: str = "calls",
    color: bool = False,
    is_interactive: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  no-op default
) -> str:
    """Write the report on one session in a format. A page notes if its charts could not be drawn.

    Args:
        report: The report; csv needs its ledger, html needs ledger and comparison for all charts.
        form: A name of `FORMS`.
        rows: Rows of csv: `calls` or `blocks`.
        color: Color the plain text, for a terminal.
        is_interactive: Make the page's charts interactive, which is most of its size.
        progress: Called with the number of drawn charts and their total.
    """
    match form:
        case "csv":
            from inspector.report.csv_text import blocks_csv, calls_csv

            return blocks_csv(report) if rows == "blocks" else calls_csv(report)
        case "json":
            from inspector.report.json_document import document_json

            return document_json(report)
        case "md":
            from inspector.report.pages.markdown import markdown
            from inspector.report.pages.opening import page_content

            return markdown(page_content(report))
        case "html":
            from inspector.report.charts.specifications import PAGE, report_charts
            from inspector.report.pages.html import html
            from inspector.report.pages.opening import page_content

            charts = report_charts(report, PAGE)
            return html(page_content(report), charts, is_interactive=is_interactive, progress=progress)
        case _:
            from inspector.report.text import report_text

            return report_text(report, color=color)


def folder_written(report: FolderReport, form: str, *, color: bool = False, is_interactive: bool = True) -> str:
    """Write the report on a folder of sessions in a format; see `written` for the arguments."""
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
            from inspector.report.charts.specifications import PAGE, folder_charts
            from inspector.report.pages.html import html

            charts = folder_charts(report, PAGE)
            return html(folder_page.folder_content(report), charts, is_interactive=is_interactive)
        case _:
            return folder_page.folder_text(report, color=color)


def tune_written(
    report: TuneReport, form: str, *, color: bool = False, is_interactive: bool = True, plan_file: str = ""
) -> str:
    """Write the tuning result in a format.

    Args:
        report: The result.
        form: One of `FORMS`.
        color: Color the plain text.
        is_interactive: Make the page's charts interactive with a script.
        plan_file: The file the plan is written to; empty if it is not.
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
            from inspector.report.charts.specifications import PAGE, tuning_charts
            from inspector.report.pages.html import html

            content = tuning_page.tune_content(report, plan_file)
            return html(content, tuning_charts(report, PAGE), is_interactive=is_interactive)
        case _:
            return tuning_page.tune_text(report, color=color, plan_file=plan_file)


def before_after_written(report: BeforeAfterReport, form: str, *, color: bool = False) -> str:
    """Write the comparison of two sets of sessions in a format; see `written` for the arguments."""
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
