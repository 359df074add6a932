"""A folder of sessions for people: totals, how savings are spread, and the sessions a plan helps most and least.

One content, which Markdown, HTML and the plain text of a terminal write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.figures_table import MARKS, plan_letter
from inspector.report.layout import HEADING, LEFT, LOSS, RIGHT, WIDTH, Page, plain
from inspector.report.numbers import dollars, percent, plural
from inspector.report.pages.model import Cell, Chart, FigureCells, Line, PageContent, Section, Table, name_cell, word
from inspector.report.pages.session_sections import TOTALS
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from inspector.report.folder import FolderReport
    from inspector.report.pages.model import Part

MOST_AND_LEAST = 10
"""Sessions listed at each end."""

ABOUT = "What these agent sessions cost, and what a plan would change. Every session was replayed by itself."

TEXT_NAME_WIDTH = 28


def folder_content(report: FolderReport) -> PageContent:
    """The whole page."""
    figures = FigureCells(report)
    plans = [section for index in range(len(report.plans)) for section in _plan_sections(report, figures, index)]
    return PageContent(
        title=plain(f"{plural(len(report.sessions), 'session')} in {report.path}"),
        about=ABOUT,
        lead=_lead(report, figures),
        figures=_large(report, figures),
        sections=(_totals(report, figures), *plans, _sessions(report, figures), *_notes(report)),
    )


def _lead(report: FolderReport, figures: FigureCells) -> tuple[Line, ...]:
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


def _large(report: FolderReport, figures: FigureCells) -> tuple[tuple[str, Cell], ...]:
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


def _totals(report: FolderReport, figures: FigureCells) -> Section:
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


def _plan_sections(report: FolderReport, figures: FigureCells, index: int) -> list[Section]:
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


def _listed(figures: FigureCells, report: FolderReport, index: int, order: list[int], caption: str) -> Table:
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


def _sessions(report: FolderReport, figures: FigureCells) -> Section:
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


def folder_text(report: FolderReport, width: int = WIDTH, *, color: bool = False) -> str:
    """The same tables as the page's, in plain characters."""
    from rich.text import Text

    content = folder_content(report)
    page = Page(width, color=color)

    def shown(cell: Cell) -> Text:
        return Text(f"{cell.text} {MARKS.get(cell.known, '')}".rstrip(), LOSS if cell.is_loss else "")

    page.line(content.title, HEADING)
    for line in content.lead:
        page.line("".join(cell.text for cell in line.cells), indent=2)
    for section in content.sections:
        page.line()
        page.line(section.title, HEADING)
        for part in section.parts:
            if isinstance(part, Line):
                page.line("".join(cell.text for cell in part.cells), indent=2)
            elif isinstance(part, Table) and part.rows:
                page.line(part.caption, indent=2)
                columns = "".join(RIGHT if at in part.right else LEFT for at in range(len(part.head)))
                rows = [[Text(clip_cells(row[0].text, TEXT_NAME_WIDTH)), *map(shown, row[1:])] for row in part.rows]
                page.table(part.head, rows, columns)
    return page.text()
