"""Human-readable folder report: totals, distribution of savings, and the sessions a plan helps most and least.

Markdown, HTML and terminal text are written from the same content.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.cache_misses import CauseTotal
from inspector.replay.analysis.compactions import WorkStretch
from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.quantity import Output, quantities, quantity
from inspector.report.catalogue import FigureSet, Saving, legend, totals_shown
from inspector.report.folder import Distribution, FolderPlan, MissGroupFacts, SessionMissFacts
from inspector.report.layout import HEADING, LABEL, LEFT, LOSS, RIGHT, WIDTH, Page, capitalized, plain
from inspector.report.numbers import IN_TEXT, MINUS
from inspector.report.pages.model import Chart, Line, PageContent, Part, Section, Tile, note_line
from inspector.report.recovery_words import net_of, recovery_words, refetches_of
from inspector.report.sentences import REPLAY_CAVEAT, UNCERTAIN_ANSWERS, describe_uncertain_saving
from inspector.report.tables import NAME_WIDTH, Cell, FigureCells, Step, Table, marks_in, name_cell, plan_letter, word
from inspector.report.text import CAUSE_COLUMNS, cause_name, dollars, lifetime_label
from inspector.safe_text import clip_cells
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.folder import FolderLifetimeFacts, FolderReport, SessionRow

MOST_AND_LEAST = 10
"""Sessions listed at each end."""

ABOUT = "Cost of these agent sessions, and the effect of a plan. Every session was replayed separately."

TEXT_NAME_WIDTH = 26
"""Cells of a session's name in text, so that a plan's effect fits into 80 columns."""

GROUP_COLUMNS = ("calls", "tokens", "extra_usd")
"""Table columns of misses with a common property: figures of `MissGroupFacts`."""

SUBAGENT_MARK = "↳"
"""Precedes the file of a session that another one started."""

SESSION = "session"

MEDIANS = "medians"
AFTERMATH = ("until the next edit or finished step", "after a compaction", "elsewhere")

OF_PLANS = ("saved.usd", "saved.percent", "saved.tokens", "helped", "worse", "unchanged")
"""Rows of a plan in the totals: paths in `FolderPlan`."""


NEEDED = ("calls", "repeats_anyway", "recoveries_usd", "saved_at_least_usd", "break_even_recoveries")
"""Rows of cut text that was needed later: figures of `NeededLater`."""


def folder_content(report: FolderReport) -> PageContent:
    figures = FigureCells(report)
    plans = [section for index in range(len(report.plans)) for section in _plan_sections(report, figures, index)]
    return PageContent(
        title=plain(f"{sessions_counted(report)} in {report.path}"),
        about=ABOUT,
        lead=_lead(report, figures),
        tiles=_tiles(report, figures),
        sections=(
            _totals(report, figures),
            *_side_requests(report),
            *_misses(report, figures),
            *_compactions(report, figures),
            *plans,
            _sessions(report, figures),
            *_notes(report),
        ),
    )


def sessions_counted(report: FolderReport) -> str:
    """Return the number of sessions, and of subagents that they started."""
    own = IN_TEXT.plural(len(report.sessions) - report.subagents, "session")
    return f"{own} and {IN_TEXT.plural(report.subagents, 'subagent')}" if report.subagents else own


def _lead(report: FolderReport, figures: FigureCells) -> tuple[Line, ...]:
    if not report.plans:
        cost = figures.cell("baseline", "cost_usd")
        return (Line.of("These sessions cost ", cost, ". No plan was tried."),)
    lines = []
    for index, plan in enumerate(report.plans):
        steps = ("plans", index, "saved")
        amount = figures.cell(*steps, "tokens") if plan.saved.usd is None else figures.cell(*steps, "usd")
        unit = " prompt tokens" if plan.saved.usd is None else ""
        spread = (
            f"it saves on {plan.helped:,} of them, costs more on {plan.worse:,} and makes no difference to "
            f"{plan.unchanged:,}."
        )
        name = f"Plan {plan_letter(index)} ({plain(display_name(plan.name))})"
        share = figures.cell(*steps, "percent")
        word, more = "saves", ""
        if (amount.value or 0) < 0:
            amount, share = (replace(cell, text=cell.text.removeprefix(MINUS)) for cell in (amount, share))
            word, more = "costs", " more"
        lines.append(
            Line.of(
                f"{name} {word} ", amount, f"{more}{unit} (", share, f") over all sessions: {spread}", *_needed(plan)
            )
        )
    return tuple(lines)


def _needed(plan: FolderPlan) -> tuple[Cell, ...]:
    """Return a plan's figures on text needed later, and its net saving."""
    found = plan.needed_later
    if found is None:
        return ()
    saving = (plan.saved.usd, net_of(found))
    words = recovery_words(refetches_of(found), found.calls, saving, found.break_even_recoveries, IN_TEXT)
    return (Cell(f" {capitalized(words)}."),)


def _tiles(report: FolderReport, figures: FigureCells) -> tuple[Tile, ...]:
    sessions = sessions_counted(report)
    of_all = (Cell(f"of {sessions}, at list price"),)
    found = [Tile("cost without a plan", figures.cell("baseline", "cost_usd"), note=of_all)]
    if report.plans:
        plan, share = report.plans[0], figures.cell("plans", 0, "saved", "percent")
        of = " of the cost" if plan.saved.percent_of == "cost_usd" else " of all prompt tokens"
        found += [
            Tile("saved with plan A", figures.cell("plans", 0, "saved", "usd"), note=(share, Cell(of))),
            Tile("plan A costs more on", figures.cell("plans", 0, "worse"), f"of {sessions}"),
        ]
    return tuple(tile for tile in found if tile.cell.value is not None)


def _totals(report: FolderReport, figures: FigureCells) -> Section:
    """Build the totals: the baseline and every plan in columns, one row per figure."""
    plans = range(len(report.plans))
    places: list[tuple[Step, ...]] = [("baseline",), *(("plans", index, "figures") for index in plans)]
    rows = [
        (Cell(each.label), *(_total(report, figures, place, each.name) for place in places))
        for each in totals_shown(Output.PAGE)
    ]
    for path in OF_PLANS if report.plans else ():
        cells = (figures.cell("plans", index, *path.split(".")) for index in plans)
        label = "saved, of the total" if path == "saved.percent" else quantity(FolderPlan, path).label
        rows.append((Cell(label), Cell(""), *cells))
    for name in NEEDED if any(plan.needed_later is not None for plan in report.plans) else ():
        found = [_needed_total(report, figures, index, name) for index in plans]
        label = "needed later" if name == "calls" else quantity(NeededLater, name).label
        rows.append((Cell(label), Cell(""), *found))
    head = ("figure", "baseline", *(f"plan {plan_letter(index)}" for index in plans))
    title = "Totals over all sessions"
    return Section("totals", title, (Table(title, head, tuple(rows)),))


def _total(report: FolderReport, figures: FigureCells, place: tuple[Step, ...], name: str) -> Cell:
    """Format a total; a plan's cost and its saving add up to the baseline cost as written."""
    if name != "cost_usd" or place == ("baseline",):
        return figures.cell(*place, name)
    return figures.cost_with_plan(report.baseline.cost_usd, *place, name)


def _needed_total(report: FolderReport, figures: FigureCells, index: int, name: str) -> Cell:
    """Format a figure on text needed later and on expected re-fetches."""
    plan, steps = report.plans[index], ("plans", index, "needed_later", name)
    if plan.needed_later is None:
        return Cell("-")
    return figures.cell(*steps)


def _side_requests(report: FolderReport) -> list[Section]:
    """Build the section on requests outside the conversations, by purpose; empty if there are none."""
    if not report.beside:
        return []
    rows = tuple(
        (
            Cell(each.purpose),
            Cell(IN_TEXT.whole(each.calls)),
            Cell(IN_TEXT.whole(each.prompt_tokens)),
            Cell(IN_TEXT.whole(each.output_tokens)),
            Cell(IN_TEXT.dollars(each.cost_usd)),
        )
        for each in report.beside
    )
    head = ("purpose", "calls", "prompt tokens", "output", "cost")
    return [Section("beside", "Side requests", (Table("Not included in any other figure", head, rows),))]


def _misses(report: FolderReport, figures: FigureCells) -> list[Section]:
    """Build the sections on cache misses: by cause, model, hour and preceding pause, and the costliest ones."""
    found = report.cache_misses
    if not found.causes:
        return []
    parts: list[Part] = [_all_misses(report, figures)]
    rows = [(Cell(cause_name(row)), *_miss_cells(figures, "causes", index)) for index, row in enumerate(found.causes)]
    labels = [quantity(CauseTotal, name).label for name in CAUSE_COLUMNS]
    parts.append(Table("Causes", ("cause", *labels), tuple(rows)))
    parts += note_line(found.extra_usd, (row.extra_usd for row in found.causes if not row.expected))
    prevented = (row for row in found.causes if row.prevention)
    parts += [Line.of(f"To prevent {row.short}: {row.prevention}.", is_item=True) for row in prevented]
    parts += [Line.of(_lifetime(each), is_item=True) for each in found.lifetimes]
    labels = [quantity(MissGroupFacts, name).short_label for name in GROUP_COLUMNS]
    for name, title, by, groups in (
        ("models", "model", "model", found.models),
        ("gaps", "pause before", "time since the previous call", found.gaps),
        ("hours", "hour", "hour of the day, in UTC", found.hours),
    ):
        if groups:
            rows = [
                (name_cell(row.name), *_miss_cells(figures, name, index, GROUP_COLUMNS))
                for index, row in enumerate(groups)
            ]
            parts.append(Table(f"Cache misses by {by}", (title, *labels), tuple(rows)))
            parts += note_line(found.extra_usd, (row.extra_usd for row in groups))
    if found.dearest:
        parts.append(_dearest_misses(report, figures))
    return [Section("cache-misses", "Causes of cache misses", tuple(parts))]


def _all_misses(report: FolderReport, figures: FigureCells) -> Line:
    found, at = report.cache_misses, "cache_misses"
    words = "cache miss" if found.calls == 1 else "cache misses"
    parts = [
        figures.cell(at, "calls"),
        Cell(f" {words}: "),
        figures.cell(at, "tokens"),
        Cell(" tokens rewritten to cache"),
    ]
    if found.extra_usd is not None:
        parts += [Cell(" for "), figures.cell(at, "extra_usd"), Cell(" more than cache reads")]
    if found.share is not None:
        parts += [Cell(", "), figures.cell(at, "share"), Cell(" of the bill")]
    return Line.of(*parts, ".")


def _miss_cells(
    figures: FigureCells, name: str, index: int, columns: Sequence[str] = CAUSE_COLUMNS
) -> tuple[Cell, ...]:
    return tuple(figures.cell("cache_misses", name, index, column) for column in columns)


def _dearest_misses(report: FolderReport, figures: FigureCells) -> Table:
    rows = []
    for each in report.cache_misses.dearest:
        row = report.sessions[each.session]
        miss = row.misses[each.miss]
        steps = ("sessions", each.session, "misses", each.miss)
        cells = (figures.cell(*steps, name) for name in ("extra_usd", "tokens"))
        rows.append((_name(report, row), Cell(f"{miss.call:,}"), *cells, Cell(MissCause(miss.cause).short)))
    extra = quantity(SessionMissFacts, "extra_usd").label
    head = (SESSION, "call", extra, "tokens", "cause")
    return Table("The costliest cache misses", head, tuple(rows), numbers=3)


def _lifetime(each: FolderLifetimeFacts) -> str:
    """Describe the effect of the other lifetime on the sessions that used one."""
    who = f"With the {lifetime_label(each)}, {IN_TEXT.plural(each.sessions, 'session')}"
    if each.saved_usd is None:
        return f"{who} would have cost an unknown amount, because there is no price."
    word = "saved" if each.saved_usd >= 0 else "cost"
    more = "" if each.saved_usd >= 0 else " more"
    amount = dollars(abs(each.saved_usd), each.known, "saved_usd")
    return f"{who} would have {word} {amount}{more} in total; it helps {each.helped:,} of them."


def _compactions(report: FolderReport, figures: FigureCells) -> list[Section]:
    """Build the section on calls after compactions, compared with equally long windows of the same sessions."""
    found, at = report.compactions, "compactions"
    if found is None:
        return []
    names = [figures.cell(at, name) for name in ("compactions", "rereads", "reads", "compared", "windows")]
    count, rereads, reads, compared, windows = names
    parts: list[Part] = [
        Line.of(
            count,
            " compactions: until the next edit or finished step after them, ",
            rereads,
            " of ",
            reads,
            " reads were of files that had been read or written before.",
        )
    ]
    if found.after is not None and found.elsewhere is not None:
        rows = tuple(
            (word(entry.label), figures.cell(at, "after", name), figures.cell(at, "elsewhere", name))
            for name, entry in quantities(WorkStretch).items()
        )
        parts.append(Table(f"After a compaction, and elsewhere in the same session ({MEDIANS})", AFTERMATH, rows))
        parts.append(
            Line.of(
                "Medians over ",
                compared,
                " compactions, and over ",
                windows,
                " windows of equal length in the same sessions; actions are counted until the next edit.",
            )
        )
    return [Section("compactions", "Effect of recorded compactions", tuple(parts))]


def _plan_sections(report: FolderReport, figures: FigureCells, index: int) -> list[Section]:
    plan = report.plans[index]
    parts: list[Part] = [Line((Cell(plain(display_name(plan.name)), is_code=True),), is_item=True)]
    if plan.uncertainty is not None:
        parts.append(Line.of(f"With {UNCERTAIN_ANSWERS}: {describe_uncertain_saving(plan.uncertainty)}."))
    if plan.percent is not None:
        spread = plan.percent
        least, quarter, middle, most_quarter, most = (
            IN_TEXT.percent(each)
            for each in (spread.least, spread.quarter, spread.middle, spread.three_quarters, spread.most)
        )
        alternative = (
            f"Bars: number of sessions by saving. Half of them save more than {middle}, a quarter more than "
            f"{most_quarter}, a quarter less than {quarter}; the smallest saving is {least}, the largest {most}."
        )
        parts.append(Chart(f"spread-{index + 1}", alternative))
        rows = tuple(
            (Cell(each.label), figures.cell("plans", index, "percent", name))
            for name, each in quantities(Distribution).items()
        )
        parts.append(Table("Distribution of savings", ("", "saved"), rows))
    if len(plan.order) <= 2 * MOST_AND_LEAST:
        parts.append(_listed(figures, report, index, plan.order, "Sessions, largest saving first"))
    else:
        last = plan.order[: -MOST_AND_LEAST - 1 : -1]
        parts.append(_listed(figures, report, index, plan.order[:MOST_AND_LEAST], "Sessions with the largest saving"))
        parts.append(_listed(figures, report, index, last, "Sessions with the smallest saving"))
    return [Section(f"plan-{index + 1}", f"Plan {plan_letter(index)}", tuple(parts))]


def _listed(figures: FigureCells, report: FolderReport, index: int, order: list[int], caption: str) -> Table:
    paths: tuple[tuple[str, tuple[Step, ...]], ...] = (
        (quantity(Saving, "usd").label, ("plans", index, "saved", "usd")),
        ("share", ("plans", index, "saved", "percent")),
        (quantity(Saving, "tokens").label, ("plans", index, "saved", "tokens")),
        ("cost without plan", ("baseline", "cost_usd")),
        ("calls", ("calls",)),
        ("risks", ("plans", index, "hazards")),
    )
    rows = (
        (_name(report, report.sessions[at]), *(figures.cell("sessions", at, *steps) for _, steps in paths))
        for at in order
    )
    return Table(caption, (SESSION, *(title for title, _ in paths)), tuple(rows))


def _name(report: FolderReport, row: SessionRow) -> Cell:
    """Return a session's file relative to the folder; for a subagent in its parent's folder, relative to that."""
    path = row.path.removeprefix(report.path).lstrip("/") or row.path
    if row.parent is None:
        return name_cell(path)
    _, found, rest = path.rpartition(f"{row.parent}/")
    return name_cell(f"{SUBAGENT_MARK} {rest if found else path}")


def _sessions(report: FolderReport, figures: FigureCells) -> Section:
    plans = range(len(report.plans))
    rows = tuple(
        (
            _name(report, row),
            word(row.format),
            word(row.model or "-"),
            figures.cell("sessions", at, "calls"),
            figures.cell("sessions", at, "baseline", "prompt_tokens"),
            figures.cell("sessions", at, "baseline", "cost_usd"),
            *(figures.cell("sessions", at, "plans", index, "saved", "percent") for index in plans),
        )
        for at, row in enumerate(report.sessions)
    )
    head = (
        SESSION,
        "format",
        "model",
        *(quantity(FigureSet, name).label for name in ("calls", "prompt_tokens", "cost_usd")),
        *(f"plan {plan_letter(i)} saves" for i in plans),
    )
    note = note_line(report.baseline.cost_usd, (row.baseline.cost_usd for row in report.sessions))
    return Section("sessions", "Every session", (Table("Every session", head, rows, words=3), *note))


def _notes(report: FolderReport) -> list[Section]:
    parts: list[Part] = [Line.of(f"Worth knowing: {warning}.") for warning in report.warnings]
    if report.unread:
        rows = tuple((name_cell(each.path), word(each.problem)) for each in report.unread)
        parts.append(Table("Unreadable files", ("file", "why"), rows, words=2))
    plans = (part for plan in report.plans for part in (plan.figures, plan.saved, plan.needed_later))
    marks = legend(marks_in(report.baseline, report.cache_misses, *plans))
    parts.append(Line.of(f"{REPLAY_CAVEAT}.{f' {marks}.' if marks else ''}"))
    parts.append(
        Line.of(
            "Every figure of a session matches its own report (inspector report FILE). Calls in several "
            "sessions, copied by a resume or a fork, are counted once, in the session that ended first, "
            "those of a subagent in the session that started it. "
            f"A total has the weakest certainty of its parts. Written by inspector {report.inspector}, "
            f"schema {report.schema}."
        )
    )
    return [Section("method", "Methods", tuple(parts))]


def folder_text(report: FolderReport, width: int = WIDTH, *, color: bool = False) -> str:
    """Format the tables of the page as plain text."""
    from rich.text import Text

    content = folder_content(report)
    page = Page(width, color=color)

    def shown(cell: Cell) -> Text:
        return Text(cell.shown, LOSS if cell.is_loss else "")

    page.line(content.title, HEADING)
    for line in content.lead:
        page.line("".join(cell.shown for cell in line.cells), indent=2)
    for section in content.sections:
        page.line()
        page.line(section.title, HEADING)
        for part in section.parts:
            if isinstance(part, Line):
                page.line("".join(cell.shown for cell in part.cells), indent=2)
            elif isinstance(part, Table) and part.rows:
                if part.caption != section.title:
                    page.line(part.caption, LABEL, indent=2)
                columns = "".join(RIGHT if part.is_number(at) else LEFT for at in range(len(part.head)))
                most = TEXT_NAME_WIDTH if part.head[0] == SESSION else NAME_WIDTH
                rows = [[Text(clip_cells(row[0].text, most)), *map(shown, row[1:])] for row in part.rows]
                page.table(part.head, rows, columns)
    return page.text()
