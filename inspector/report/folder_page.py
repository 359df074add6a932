"""A folder of sessions as a page: totals, how savings are spread, and the sessions a plan helps most and least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.charts.palette import config
from inspector.report.figures_table import plan_letter
from inspector.report.layout import plain
from inspector.report.numbers import dollars, percent, plural
from inspector.report.pages.figures import Figures, name_cell, word
from inspector.report.pages.model import Cell, Chart, Line, PageContent, Section, Table
from inspector.report.pages.totals import TOTALS

if TYPE_CHECKING:
    from inspector.report.charts.palette import Palette
    from inspector.report.folder_document import FolderReport
    from inspector.report.pages.model import Part

MOST_AND_LEAST = 10
"""Sessions listed at each end."""

ABOUT = "What these agent sessions cost, and what a plan would change. Every session was replayed by itself."

STEPS = 20
"""Bars of the histogram, at most."""


def folder_content(report: FolderReport) -> PageContent:
    """The whole page."""
    figures = Figures(report)
    plans = [section for index in range(len(report.plans)) for section in _plan_sections(report, figures, index)]
    return PageContent(
        title=plain(f"{plural(len(report.sessions), 'session')} in {report.path}"),
        about=ABOUT,
        lead=_lead(report, figures),
        figures=_large(report, figures),
        sections=(_totals(report, figures), *plans, _sessions(report, figures), *_notes(report)),
    )


def folder_charts(report: FolderReport, palette: Palette) -> dict[str, dict[str, Any]]:
    """A histogram a plan: how many sessions save how much."""
    return {
        f"spread-{index + 1}": _histogram(report, index, palette)
        for index, plan in enumerate(report.plans)
        if plan.percent is not None
    }


def _lead(report: FolderReport, figures: Figures) -> tuple[Line, ...]:
    if not report.plans:
        cost = figures.cell(dollars, "baseline", "cost_usd")
        return (Line((Cell("These sessions cost "), cost, Cell(". No plan was tried on them."))),)
    lines = []
    for index, plan in enumerate(report.plans):
        steps = ("plans", index, "saved")
        amount = figures.count(*steps, "tokens") if plan.saved.usd is None else figures.saved_money(*steps, "usd")
        unit = " prompt tokens" if plan.saved.usd is None else ""
        spread = f"it helps {plan.helped:,}, costs more on {plan.worse:,} and changes nothing on {plan.unchanged:,}."
        name = f"Plan {plan_letter(index)}"
        share = figures.percentage(*steps, "percent")
        known = f", {amount.known}" if amount.known else ""
        lines.append(
            Line(
                (
                    Cell(f"{name} saves "),
                    amount,
                    Cell(f"{unit} ("),
                    share,
                    Cell(f"{known}) over all sessions: {spread}"),
                )
            )
        )
    return tuple(lines)


def _large(report: FolderReport, figures: Figures) -> tuple[tuple[str, Cell], ...]:
    found = [("cost without a plan", figures.money("baseline", "cost_usd"))]
    if report.plans:
        found += [
            (
                "saved with plan A" if len(report.plans) > 1 else "saved",
                figures.saved_money("plans", 0, "saved", "usd"),
            ),
            ("of the total", figures.percentage("plans", 0, "saved", "percent")),
            ("sessions it costs more on", figures.count("plans", 0, "worse")),
        ]
    return tuple((title, cell) for title, cell in found if cell.value is not None)


def _totals(report: FolderReport, figures: Figures) -> Section:
    places: list[tuple[str, tuple[str | int, ...]]] = [("baseline", ("baseline",))]
    places += [(f"plan {plan_letter(index)}", ("plans", index, "figures")) for index in range(len(report.plans))]
    rows = [(Cell(label), *(figures.count(*place, name) for _, place in places)) for label, name in TOTALS]
    rows.append((Cell("cost"), *(figures.money(*place, "cost_usd") for _, place in places)))
    if report.plans:
        plans = range(len(report.plans))
        rows += [
            (Cell("saved"), Cell(""), *(figures.saved_money("plans", index, "saved", "usd") for index in plans)),
            (
                Cell("saved, of the total"),
                Cell(""),
                *(figures.percentage("plans", i, "saved", "percent") for i in plans),
            ),
            (
                Cell("saved tokens"),
                Cell(""),
                *(figures.saved_count("plans", index, "saved", "tokens") for index in plans),
            ),
            (Cell("sessions it helps"), Cell(""), *(figures.count("plans", index, "helped") for index in plans)),
            (Cell("sessions it costs more on"), Cell(""), *(figures.count("plans", index, "worse") for index in plans)),
            (
                Cell("sessions it leaves alone"),
                Cell(""),
                *(figures.count("plans", index, "unchanged") for index in plans),
            ),
        ]
    head = ("figure", *(title for title, _ in places))
    return Section(
        "totals", "Totals", (Table("Totals over all sessions", head, tuple(rows), frozenset(range(1, len(head)))),)
    )


def _plan_sections(report: FolderReport, figures: Figures, index: int) -> list[Section]:
    plan = report.plans[index]
    parts: list[Part] = [Line((Cell(plain(plan.name), is_code=True),), is_item=True)]
    if plan.percent is not None:
        alternative = (
            f"Bars: how many sessions save how much. Half of them save more than {percent(plan.percent.middle)}, a "
            f"quarter more than {percent(plan.percent.three_quarters)}, a quarter less than "
            f"{percent(plan.percent.quarter)}; the least is {percent(plan.percent.least)}, the most "
            f"{percent(plan.percent.most)}."
        )
        parts.append(Chart(f"spread-{index + 1}", alternative))
        names = (
            ("least", "least"),
            ("a quarter saves less than", "quarter"),
            ("half save less than", "middle"),
            ("a quarter saves more than", "three_quarters"),
            ("most", "most"),
        )
        rows = tuple((Cell(label), figures.percentage("plans", index, "percent", name)) for label, name in names)
        parts.append(Table("How savings are spread", ("", "saved"), rows, frozenset({1})))
    ends = min(MOST_AND_LEAST, len(plan.order))
    parts.append(_listed(figures, report, index, plan.order[:ends], "Sessions it helps most"))
    if len(plan.order) > 1:
        parts.append(
            _listed(figures, report, index, plan.order[::-1][:ends], "Sessions it helps least, or costs more on")
        )
    return [Section(f"plan-{index + 1}", f"Plan {plan_letter(index)}", tuple(parts))]


def _listed(figures: Figures, report: FolderReport, index: int, order: list[int], caption: str) -> Table:
    rows = tuple(
        (
            _name(report, report.sessions[at].path),
            figures.saved_money("sessions", at, "plans", index, "saved", "usd"),
            figures.percentage("sessions", at, "plans", index, "saved", "percent"),
            figures.saved_count("sessions", at, "plans", index, "saved", "tokens"),
            figures.money("sessions", at, "baseline", "cost_usd"),
            figures.count("sessions", at, "calls"),
            figures.count("sessions", at, "plans", index, "hazards"),
        )
        for at in order
    )
    head = ("session", "saved", "of it", "saved tokens", "cost without", "calls", "hazards")
    return Table(caption, head, rows, frozenset(range(1, len(head))))


def _name(report: FolderReport, path: str) -> Cell:
    """A session's file within the folder."""
    return name_cell(path.removeprefix(report.path).lstrip("/") or path)


def _sessions(report: FolderReport, figures: Figures) -> Section:
    plans = range(len(report.plans))
    rows = tuple(
        (
            _name(report, row.path),
            word(row.format),
            word(row.model or "-"),
            figures.count("sessions", at, "calls"),
            figures.count("sessions", at, "baseline", "prompt_tokens"),
            figures.money("sessions", at, "baseline", "cost_usd"),
            *(figures.percentage("sessions", at, "plans", index, "saved", "percent") for index in plans),
        )
        for at, row in enumerate(report.sessions)
    )
    head = (
        "session",
        "format",
        "model",
        "calls",
        "prompt tokens",
        "cost",
        *(f"plan {plan_letter(i)} saves" for i in plans),
    )
    return Section("sessions", "Every session", (Table("Every session", head, rows, frozenset(range(3, len(head)))),))


def _notes(report: FolderReport) -> list[Section]:
    parts: list[Part] = [Line((Cell(f"Worth knowing: {warning}."),)) for warning in report.warnings]
    if report.unread:
        rows = tuple((name_cell(each.path), word(each.problem)) for each in report.unread)
        parts.append(Table("What could not be read", ("file", "why"), rows, frozenset()))
    parts.append(
        Line(
            (
                Cell(
                    "Every figure of a session is that of the report on it alone: inspector report FILE. Calls that "
                    "several sessions hold, copied by a resume or a fork, count once, with the one that ended first. "
                    "A total is known as well as the least known of what it is made of. "
                    f"Written by inspector {report.inspector}, schema {report.schema}."
                ),
            )
        )
    )
    return [Section("method", "How this was worked out", tuple(parts))]


def _histogram(report: FolderReport, index: int, palette: Palette) -> dict[str, Any]:
    values = [
        {"percent": row.plans[index].saved.percent}
        for row in report.sessions
        if row.plans[index].saved.percent is not None
    ]
    field = {"field": "percent", "bin": {"maxbins": STEPS}, "type": "quantitative"}
    return {
        "data": {"values": values},
        "width": 720,
        "height": 200,
        "mark": {"type": "bar"},
        "encoding": {
            "x": {**field, "title": "percent saved; left of zero it costs more"},
            "y": {
                "aggregate": "count",
                "title": "sessions",
                "axis": {"format": ",~f", "labelExpr": "datum.value % 1 ? '' : datum.label"},
            },
            "color": {
                "condition": {"test": "datum.bin_maxbins_20_percent < 0", "value": palette.loss},
                "value": palette.plans[0],
            },
            "tooltip": [{**field, "title": "percent saved"}, {"aggregate": "count", "title": "sessions"}],
        },
        "config": config(palette),
    }
