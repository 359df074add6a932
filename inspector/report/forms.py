"""Output formats of reports, for the command line and the screen.

CSV reports: one row per call or block of a session, or one row per session of a set.

Column names match the JSON report. Text that a spreadsheet would evaluate as a formula is quoted with an
apostrophe, as OWASP recommends against CSV injection; numbers, including negative ones, are unchanged.
"""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, Any

from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.quantity import quantities
from inspector.report.before_after import BeforeAfterReport, SessionPart
from inspector.report.catalogue import FigureSet
from inspector.report.charts.specifications import PAGE, folder_charts, report_charts, tuning_charts
from inspector.report.document import BaselineCall, CallFigures, PlannedBlock, PlannedCall, Report
from inspector.report.folder import FolderReport, folder_misses
from inspector.report.json_document import document_json
from inspector.report.layout import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.report.pages.model import PageContent
    from inspector.report.tuning import TuneReport


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
        form: `text`, `html`, `md` or `csv`.
        rows: Rows of csv: `calls` or `blocks`.
        is_interactive: Make the page's charts interactive, which is most of its size.
        progress: Called with the number of drawn charts and their total.
    """
    match form:
        case "csv":
            return blocks_csv(report) if rows == "blocks" else calls_csv(report)
        case "json":
            return document_json(report)
        case "md" | "html":
            from inspector.report.pages.opening import page_content

            content = page_content(report)
            return _page(content, form, lambda: report_charts(report, PAGE), is_interactive, progress)
        case _:
            from inspector.report.text import report_text

            return report_text(report, color=color)


def folder_written(report: FolderReport, form: str, *, color: bool = False, is_interactive: bool = True) -> str:
    """Write the report on a folder of sessions in a format; see `written` for the arguments."""
    from inspector.report.sessions_page import folder_content, folder_text

    match form:
        case "csv":
            return folder_csv(report)
        case "json":
            return document_json(report)
        case "md" | "html":
            return _page(folder_content(report), form, lambda: folder_charts(report, PAGE), is_interactive)
        case _:
            return folder_text(report, color=color)


def tune_written(
    report: TuneReport, form: str, *, color: bool = False, is_interactive: bool = True, plan_file: str = ""
) -> str:
    """Write the tuning result as `text`, `html`, `md` or `csv`; `plan_file` is empty if no plan was written."""
    from inspector.report.tuning_page import tune_content, tune_text

    match form:
        case "csv":
            return tune_csv(report)
        case "json":
            return document_json(report)
        case "md" | "html":
            return _page(tune_content(report, plan_file), form, lambda: tuning_charts(report, PAGE), is_interactive)
        case _:
            return tune_text(report, color=color, plan_file=plan_file)


def before_after_written(report: BeforeAfterReport, form: str, *, color: bool = False) -> str:
    """Write the comparison of two sets of sessions in a format; see `written` for the arguments."""
    from inspector.report.sessions_page import before_after_content, before_after_text

    match form:
        case "csv":
            return before_after_csv(report)
        case "json":
            return document_json(report)
        case "md" | "html":
            return _page(before_after_content(report), form)
        case _:
            return before_after_text(report, color=color)


def _page(
    content: PageContent,
    form: str,
    charts: Callable[[], dict[str, dict[str, Any]]] = dict,
    is_interactive: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  no-op default
) -> str:
    from inspector.report.pages.writers import html, markdown

    if form == "md":
        return markdown(content)
    return html(content, charts(), is_interactive=is_interactive, progress=progress)


FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}")

_CALL = ("call", "message", "time", "model", "compacted")

_FIGURES = tuple(CallFigures.__struct_fields__)

_BASELINE = tuple(BaselineCall.__struct_fields__)

_PLANNED = tuple(PlannedCall.__struct_fields__)

_BLOCK = ("block", "message", "kind", "tool", "tokens", "calls", "sent_tokens", "usd", "known")

_PLANNED_BLOCK = tuple(PlannedBlock.__struct_fields__)

_TOTALS = tuple(name for name in FigureSet.__struct_fields__ if name not in ("calls", "known", "at_least"))

_OF_PLANS = ("saved_tokens", "saved_usd", "saved_percent", "edits", "hazards")

_NEEDED = tuple(name for name in NeededLater.__struct_fields__ if name != "known")


def calls_csv(report: Report) -> str:
    """Write one row per call: recorded and under every plan; raise `ValueError` without a ledger."""
    if report.ledger is None:
        raise ValueError("the report holds no ledger")
    plans = _plan_names(len(report.plans))
    head = [
        *_CALL,
        *(f"recorded_{name}" for name in _FIGURES),
        *(f"baseline_{name}" for name in _BASELINE),
        *(f"{plan}_{name}" for plan in plans for name in _PLANNED),
    ]
    return _sheet(
        head,
        (
            [
                *_values(call, _CALL),
                *_values(call.recorded, _FIGURES),
                *_values(call.baseline, _BASELINE),
                *(value for each in call.plans for value in _values(each, _PLANNED)),
            ]
            for call in report.ledger.calls
        ),
    )


def blocks_csv(report: Report) -> str:
    """Write one row per block: its resend cost, and its rendition by plan; raise `ValueError` without a ledger."""
    if report.ledger is None:
        raise ValueError("the report holds no ledger")
    plans = _plan_names(len(report.plans))
    return _sheet(
        [*_BLOCK, *(f"{plan}_{name}" for plan in plans for name in _PLANNED_BLOCK)],
        (
            [*_values(block, _BLOCK), *(value for each in block.plans for value in _values(each, _PLANNED_BLOCK))]
            for block in report.ledger.blocks
        ),
    )


def folder_csv(report: FolderReport) -> str:
    """Write one row per session of a folder."""
    plans = range(len(report.plans))
    head = ["path", "format", "id", "model", "messages", "calls"]
    head += [f"baseline_{name}" for name in _TOTALS]
    head += ["cache_misses", "recached_tokens", "recached_usd", "extra_usd"]
    for index in plans:
        head += [f"plan_{index + 1}_{name}" for name in _TOTALS]
        head += [f"plan_{index + 1}_{name}" for name in _OF_PLANS]
        head += [f"plan_{index + 1}_needed_later_{name}" for name in _NEEDED]
    rows = []
    for row in report.sessions:
        cells: list[object] = [row.path, row.format, row.id, row.model, row.messages, row.calls]
        cells += [getattr(row.baseline, name) for name in _TOTALS]
        missed = folder_misses([row.misses], [row.lifetime], row.baseline.cost_usd)
        cells += [missed.calls, missed.tokens, missed.usd, missed.extra_usd]
        for each in row.plans:
            cells += [getattr(each.figures, name) for name in _TOTALS]
            cells += [each.saved.tokens, each.saved.usd, each.saved.percent, each.edits, each.hazards]
            cells += _values(each.needed_later, _NEEDED)
        rows.append(cells)
    return _sheet(head, rows)


def tune_csv(report: TuneReport) -> str:
    """Write one row per session, with the plan of its group."""
    figures = (
        *("calls", "cost_usd", "net_usd", "saved_at_least_usd", "saved_at_most_usd"),
        *("refetches", "refetches_low", "refetches_high", "needed", "left_out_usd", "best_usd"),
    )
    head = ["agent", "models", "verdict", "plan", "path", "model", *figures, "best"]
    rows: list[list[object]] = []
    for group in report.groups:
        plan = "" if group.plan is None else " + ".join(group.plan.strategies)
        of_group = [group.agent, " ".join(group.models), group.verdict, plan]
        rows += [[*of_group, row.path, row.model, *_values(row, figures), " + ".join(row.best)] for row in group.rows]
    return _compaction_csv(report) if report.compaction else _sheet(head, rows)


def _compaction_csv(report: TuneReport) -> str:
    """Write one row per session, with the compaction threshold of its group."""
    figures = ("calls", "cost_usd", "saved_usd", "compactions", "configured")
    fired = ("count", "median", "least", "most")
    head = ["agent", "models", "verdict", "compact_at", "path", "model", *figures, *(f"fired_{each}" for each in fired)]
    rows: list[list[object]] = []
    for group in report.compaction:
        tokens = None if group.threshold is None else group.threshold.tokens
        of_group = [group.agent, " ".join(group.models), group.verdict, tokens]
        rows += [
            [*of_group, row.path, row.model, *_values(row, figures), *_values(row.effective, fired)]
            for row in group.rows
        ]
    return _sheet(head, rows)


def before_after_csv(report: BeforeAfterReport) -> str:
    """Write one row for each session and model of both sets."""
    own = ("set", "path", "agent", "version", "began", "subagents")
    part = ("model", *quantities(SessionPart))
    rows = [[*_values(each, own), *_values(one, part)] for each in report.sessions for one in each.parts]
    return _sheet([*own, *part], rows)


def _sheet(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a CSV sheet with a header; every cell is safe in a spreadsheet."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\r\n")  # required by RFC 4180
    writer.writerow(head)
    writer.writerows([cell_text(value) for value in row] for row in rows)
    return file.getvalue()


def cell_text(value: object) -> str:
    """Format a cell: numbers in full, empty for unknown values, text safe in a spreadsheet."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            text = plain(str(value))
            return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def _plan_names(count: int) -> list[str]:
    return [f"plan_{index + 1}" for index in range(count)]


def _values(row: object, names: Sequence[str]) -> list[object]:
    return [None if row is None else getattr(row, name) for name in names]
