"""Pages on several sessions, in Markdown, HTML and terminal text: a folder, and the comparison of two sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs
from rich.text import Text

from inspector.replay.analysis.cache_misses import CauseTotal
from inspector.replay.analysis.compactions import WorkStretch
from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.quantity import Output, quantities, quantity
from inspector.report.before_after import NOT_NAMED, SETS, OtherModelFacts, SessionSetFacts, headline, written
from inspector.report.catalogue import LOWER_BOUND, FigureSet, Saving, legend, totals_shown
from inspector.report.folder import Distribution, FolderPlan, MissGroupFacts, SessionMissFacts
from inspector.report.layout import HEADING, LABEL, LEFT, LOSS, RIGHT, WIDTH, Page, capitalized, plain
from inspector.report.numbers import IN_TEXT, MINUS, NOTHING
from inspector.report.pages.model import Chart, Line, PageContent, Part, Section, Tile, note_line
from inspector.report.pages.session_sections import misses_line
from inspector.report.recovery_words import net_of, recovery_words, refetches_of
from inspector.report.sentences import REPLAY_CAVEAT, UNCERTAIN_ANSWERS, describe_uncertain_saving
from inspector.report.tables import (
    NAME_WIDTH,
    Cell,
    FigureCells,
    Step,
    Table,
    marks_in,
    name_cell,
    plan_letter,
    pointer,
    word,
)
from inspector.report.text import CAUSE_COLUMNS, cause_name, dollars, lifetime_label
from inspector.safe_text import clip_cells
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.before_after import BeforeAfterReport, ComparedGroupFacts, MeasureFacts, SetName
    from inspector.report.folder import FolderLifetimeFacts, FolderReport, SessionRow


MOST_AND_LEAST = 10
"""Sessions listed at each end."""

ABOUT_FOLDER = "Cost of these agent sessions, and the effect of a plan. Every session was replayed separately."

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
        about=ABOUT_FOLDER,
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
    parts: list[Part] = [misses_line(found, figures, "tokens rewritten to cache")]
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


ABOUT_SETS = "Cost per call and per session of two sets of sessions, and the confidence that they differ."

TOTALS = ("calls", "cost_usd")
"""Main figures of a set: fields of `FigureSet`."""

OTHER_TOTALS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "uncached_tokens", "output_tokens")
"""Figures of a set that are folded away."""

COUNTS = ("misses", "compactions", "rereads")
"""Counts of a set: fields of `SessionSetFacts`."""

MOST_MODELS = 5
"""Maximum rows of models on the sheet, costliest first; tables of all models are folded away."""

FEW_MODELS = 3
"""Maximum rows of models that only one set has."""

ON_A_SCREEN = ("cost_per_session", "median_cost_of_session", "calls_per_session", "median_calls_of_session")
"""Per-session measures on a terminal. The others also exist per call, and the other formats show them."""

DIVISIONS = {"call": "Per call", "session": "Per session"}

WHOLE_PERCENT = 999.5
"""Percentages from here on are written without decimals."""

MOST_NAMED_FILES = 3
"""Maximum number of files named, of those left out and of those given as a set."""

MORE = "every figure, also by model and session: --format html, md, json or csv"

OBSERVATION = (
    "This is an observation, not an experiment: the tasks and the tokens they need are unknown, and the sets may "
    "differ in other ways than the tested change"
)

METHOD = (
    "A figure per call is a sum over all calls of a set divided by their number; a figure per session is the mean or "
    "the median. The intervals cover the difference in 95 of 100 cases, or in 92 to 93 if a few sessions dominate the "
    "cost: sessions, not calls, are resampled from both sets, 4,000 times. With this many rows, one falls outside by "
    "chance now and then: the cost per call answers the question, the other rows explain it. Both sets are priced at "
    "the same list prices. Subagents with separate files are not included."
)


def before_after_content(report: BeforeAfterReport) -> PageContent:
    """Build the page: a single printed sheet, followed by folded sections."""
    figures = FigureCells(report)
    return PageContent(
        title=_title(report),
        about=ABOUT_SETS,
        lead=tuple(Line.of(f"{capitalized(line)}.") for line in _answers(report)),
        tiles=_tiles_of_sets(report),
        sections=(
            _compared(report),
            *_models(report, figures),
            _sets(report, figures),
            *_folded(report, figures),
            *_missing(report),
            _method(report),
        ),
        is_sheet=True,
    )


def _title(report: BeforeAfterReport) -> str:
    counts = f"{IN_TEXT.plural(report.before.sessions, 'session')} before, {report.after.sessions:,} after"
    return f"{counts} {_date(report.at)}" if report.at else counts


def _date(time: str) -> str:
    day, _, rest = time.partition("T")
    return f"{day} (UTC)" if rest == "00:00:00Z" else f"{day} {rest.removesuffix('Z')} (UTC)"


def _answers(report: BeforeAfterReport) -> list[str]:
    """Return the conclusions on cost per call and per session, and other possible causes."""
    session = next(each for each in report.overall.measures if each.name == "cost_per_session")
    if session.told == report.overall.measures[0].told == "too few":
        return [report.answer]  # with too few sessions both answers are the same
    answers = [report.answer, headline(session.told, session.answer, session.per)]
    respects = [each.partition(" differ")[0] for each in report.differs]
    if respects:
        answers.append(f"the sets also differ in other ways, a possible cause: {', '.join(respects)}; see below")
    return answers


def _tiles_of_sets(report: BeforeAfterReport) -> tuple[Tile, ...]:
    cost, steps = report.overall.measures[0], ("overall", "measures", 0)
    found = [Tile(f"cost per call {name}", _value(cost, steps, name)) for name in SETS]
    if cost.told in ("less", "more"):
        found.append(Tile("change in cost per call", _change(cost, steps)))
    return tuple(tile for tile in found if tile.cell.value is not None)


def _value(measure: MeasureFacts, steps: Sequence[Step], name: str) -> Cell:
    value: float | None = getattr(measure, name)
    return Cell(
        written(value, measure.unit) if value is not None else NOTHING,
        pointer(*steps, name),
        value,
        measure.known.get(name, ""),
        is_lower_bound=name in measure.at_least,
    )


def _change(measure: MeasureFacts, steps: Sequence[Step]) -> Cell:
    """Format the change with its interval: in percent of before, in points for a share, otherwise in its unit."""
    name = "change" if measure.percent_low is None else "percent"
    value: float | None = getattr(measure, name)
    costs_more = measure.unit == "$" and measure.told == "more"
    text = _signed(value, measure, is_percent=name == "percent", with_unit=True)
    return Cell(text, pointer(*steps, name), value, measure.known.get(name, ""), is_loss=costs_more)


def _signed(value: float | None, measure: MeasureFacts, *, is_percent: bool, with_unit: bool) -> str:
    if value is None:
        return NOTHING
    if is_percent or measure.unit == "share":
        unit = " %" if is_percent else " points"
        percent = value if is_percent else 100 * value
        text = IN_TEXT.whole(percent) if abs(percent) >= WHOLE_PERCENT else IN_TEXT.percent(percent).removesuffix(" %")
        text += unit * with_unit
    else:
        text = written(value, measure.unit)
    return f"+{text}" if value > 0 else text


def _interval(measure: MeasureFacts) -> str:
    is_percent = measure.percent_low is not None
    low, high = (measure.percent_low, measure.percent_high) if is_percent else (measure.change_low, measure.change_high)
    if low is None or high is None:
        return NOTHING
    ends = [_signed(end, measure, is_percent=is_percent, with_unit=False) for end in (low, high)]
    return f"{' to '.join(ends)}{' %' if is_percent else ''}"


def _verdict(measure: MeasureFacts) -> str:
    """Return the verdict in one or two words."""
    match measure.told:
        case "less" | "more" | "too few":
            return measure.told
        case "small" if measure.change_low == measure.change_high == 0:
            return "equal"
        case "small":
            return "too small"
        case _:
            return f"{measure.more_sessions:,} more each" if measure.more_sessions else "unclear"


HEAD = ("before", "after", "change", "95 % interval", "verdict")


def _cells(measure: MeasureFacts, steps: tuple[Step, ...]) -> tuple[Cell, ...]:
    return (
        _value(measure, steps, "before"),
        _value(measure, steps, "after"),
        _change(measure, steps),
        Cell(_interval(measure)),
        Cell(_verdict(measure)),
    )


def _tables(group: ComparedGroupFacts, steps: tuple[Step, ...]) -> list[Table]:
    found = []
    for per, title in DIVISIONS.items():
        rows = tuple(
            (Cell(measure.label), *_cells(measure, (*steps, "measures", at)))
            for at, measure in enumerate(group.measures)
            if measure.per == per
        )
        found.append(Table(title, ("", *HEAD), rows, numbers=4))
    return found


def _compared(report: BeforeAfterReport) -> Section:
    parts: list[Part] = [*_tables(report.overall, ("overall",))]
    if about := _about_verdict(report):
        parts.append(Line.of(f"{about}."))
    return Section("compared", "Before and after", tuple(parts))


def _about_verdict(report: BeforeAfterReport) -> str:
    """Explain the verdicts that are used; empty for words that explain themselves."""
    wanted = f"{report.effect_percent:g} % ({report.effect_percent:g} points for a share)"
    by_name = {
        "too small": f"Too small: below {wanted}",
        "more each": (f"N more each: additional sessions per set to detect {wanted} four times in five"),
    }
    used = {_verdict(each) for group in (report.overall, *report.models) for each in group.measures}
    return ". ".join(text for words, text in by_name.items() if any(each.endswith(words) for each in used))


def _sets(report: BeforeAfterReport, figures: FigureCells) -> Section:
    rows = [
        (Cell("sessions"), *(figures.cell(name, "sessions") for name in SETS)),
        (Cell("first session began"), *(Cell(_time_text(_set(report, name).first)) for name in SETS)),
        (Cell("last session began"), *(Cell(_time_text(_set(report, name).last)) for name in SETS)),
    ]
    rows += _totals_of_sets(figures, TOTALS)
    parts: list[Part] = [Table("All sessions of each set", ("", *SETS), tuple(rows))]
    if not report.at:
        named = (f"{name}: {_few(_set(report, name).paths)}" for name in SETS)
        parts += [Line.of(plain(line), is_item=True) for line in named]
    phrases = (f"{capitalized(plain(each))}." for each in (*report.differs, OBSERVATION))
    parts += [Line.of(each, is_item=True) for each in phrases]
    return Section("sets", "The sets and their other differences", tuple(parts))


def _few(paths: Sequence[str]) -> str:
    """Name the first few paths; a pattern may match hundreds, which are listed in the table of sessions."""
    more = len(paths) - MOST_NAMED_FILES
    return ", ".join(paths[:MOST_NAMED_FILES]) + (f", and {more:,} more" if more > 0 else "")


def _totals_of_sets(figures: FigureCells, names: Sequence[str]) -> list[tuple[Cell, ...]]:
    return [
        (Cell(quantity(FigureSet, each).label), *(figures.cell(name, "figures", each) for name in SETS))
        for each in names
    ]


def _set(report: BeforeAfterReport, name: SetName) -> SessionSetFacts:
    return report.before if name == "before" else report.after


def _time_text(time: str) -> str:
    """Format a time to the minute in UTC."""
    return time.replace("T", " ")[:16] or "unknown"


def _has_models(report: BeforeAfterReport) -> bool:
    """Return True if a table per model differs from the overall one: there are several models."""
    return len(report.models) + len(report.other_models) > 1


def _models(report: BeforeAfterReport, figures: FigureCells) -> list[Section]:
    """Build the section of cost per call by model; a model in only one set has its calls and cost."""
    rows = tuple((name_cell(group.model or NOT_NAMED), *cells) for group, cells in _rows_by_model(report))
    parts: list[Part] = [Table("Cost per call", ("model", *HEAD), rows[:MOST_MODELS], numbers=4)] if rows else []
    if report.other_models:
        parts.append(_other_models(report, figures, FEW_MODELS))
    parts += _more_models(len(rows) - MOST_MODELS, "models in both sets")
    parts += _more_models(len(report.other_models) - FEW_MODELS, "models in one set only")
    return [Section("models", "By model", tuple(parts))] if parts else []


def _more_models(more: int, which: str) -> list[Part]:
    return [Line.of(f"{more:,} more {which} are listed under “Every figure by model”.")] if more > 0 else []


def _rows_by_model(report: BeforeAfterReport) -> list[tuple[ComparedGroupFacts, tuple[Cell, ...]]]:
    """Return models that both sets have, costliest first, with the verdict on their cost per call."""
    groups = report.models if _has_models(report) else ()
    return [(group, _cells(group.measures[0], ("models", at, "measures", 0))) for at, group in enumerate(groups)]


def _other_models(report: BeforeAfterReport, figures: FigureCells, most: int | None = None) -> Table:
    names = ("sessions", "calls", "cost_usd")
    rows = tuple(
        (
            name_cell(each.model or NOT_NAMED),
            Cell(each.set),
            *(figures.cell("other_models", at, name) for name in names),
        )
        for at, each in enumerate(report.other_models[:most])
    )
    head = ("model", "set", *(quantity(OtherModelFacts, name).label for name in names))
    return Table("Models in one set only", head, rows, words=2)


def _folded(report: BeforeAfterReport, figures: FigureCells) -> list[Section]:
    found = []
    tables: list[Part] = []
    for at, group in enumerate(report.models if _has_models(report) else ()):
        tables.append(Line.of(f"{plain(group.model or NOT_NAMED)}: {_counts(group)}."))
        tables += _tables(group, ("models", at))
    if len(report.other_models) > FEW_MODELS:
        tables.append(_other_models(report, figures))
    if tables:
        found.append(Section("every-model", "Every figure by model", tuple(tables), folded=True))
    mixes = tuple(
        Table(
            f"{capitalized(mix.what)}, share of {mix.of}",
            (mix.what, *SETS),
            tuple(
                (name_cell(row.name), *(figures.cell("mixes", at, "rows", index, name) for name in SETS))
                for index, row in enumerate(mix.rows)
            ),
        )
        for at, mix in enumerate(report.mixes)
    )
    counts = [
        (Cell(quantity(SessionSetFacts, each).label), *(figures.cell(name, each) for name in SETS)) for each in COUNTS
    ]
    totals = Table("Totals", ("", *SETS), (*_totals_of_sets(figures, OTHER_TOTALS), *counts))
    found.append(Section("mixes", "Composition of the sets", (totals, *mixes), folded=True))
    rows = tuple(
        (
            name_cell(each.path),
            Cell(each.set),
            Cell(_time_text(each.began)),
            word(" ".join(part.model or NOT_NAMED for part in each.parts)),
            *(figures.cell("sessions", at, "figures", name) for name in ("calls", "cost_usd")),
        )
        for at, each in enumerate(report.sessions)
    )
    head = ("session", "set", "began", "models", *(quantity(FigureSet, name).label for name in ("calls", "cost_usd")))
    found.append(Section("sessions", "Every session", (Table("Every session", head, rows, words=4),), folded=True))
    return found


def _counts(group: ComparedGroupFacts) -> str:
    before = f"{IN_TEXT.plural(group.before_sessions, 'session')} ({IN_TEXT.plural(group.before_calls, 'call')}) before"
    return f"{before}, {group.after_sessions:,} ({group.after_calls:,}) after"


def _method(report: BeforeAfterReport) -> Section:
    parts: list[Part] = [Line.of(f"Worth knowing: {warning}.") for warning in report.warnings]
    if missing := len(report.left_out) + len(report.unread):
        files = "one file is" if missing == 1 else f"{missing:,} files are"
        parts.append(Line.of(f"Worth knowing: {files} in neither set; see “Left out” below."))
    parts.append(Line.of(f"{METHOD} Written by inspector {report.inspector}, schema {report.schema}."))
    return Section("method", "How reliable this is", tuple(parts))


def _missing(report: BeforeAfterReport) -> list[Section]:
    """Build the section on sessions in neither set, with reasons."""
    listed = (("Left out", report.left_out), ("Unreadable files", report.unread))
    parts = tuple(
        Table(title, ("file", "why"), tuple((name_cell(each.path), word(each.problem)) for each in files), words=2)
        for title, files in listed
        if files
    )
    return [Section("left-out", "Left out", parts, folded=True)] if parts else []


def before_after_text(report: BeforeAfterReport, width: int = WIDTH, *, color: bool = False) -> str:
    """Format the most important figures for a terminal; only a single model gets its own table."""
    page = Page(width, color=color)
    page.line(_title(report), HEADING)
    for line in _answers(report):
        page.line(f"{capitalized(line)}.", indent=2)
    for table in _tables(_on_a_screen(report.overall), ("overall",)):
        page.line()
        _table(page, (table.caption, *table.head[1:]), table.rows)
    if about := _about_verdict(report):
        page.line(f"{about}.", LABEL, indent=2)
    if rows := _rows_by_model(report):
        page.line()
        shown = [(name_cell(group.model or NOT_NAMED), *cells[:3], cells[-1]) for group, cells in rows[:MOST_MODELS]]
        _table(page, ("cost per call with", *HEAD[:3], HEAD[-1]), shown)
    if report.other_models:
        page.line()
        others = _other_models(report, FigureCells(report), FEW_MODELS)
        page.line(others.caption, indent=2)
        _table(page, others.head, others.rows, others.words)
    if more := max(len(rows) - MOST_MODELS, 0) + max(len(report.other_models) - FEW_MODELS, 0):
        page.line(f"and {IN_TEXT.plural(more, 'more model')}, listed in the other formats", indent=4)
    _footer(page, report)
    return page.text()


def _on_a_screen(group: ComparedGroupFacts) -> ComparedGroupFacts:
    shown = [each for each in group.measures if each.per == "call" or each.name in ON_A_SCREEN]
    return structs.replace(group, measures=shown)


def _footer(page: Page, report: BeforeAfterReport) -> None:
    page.line()
    for line in (*report.differs, OBSERVATION):
        page.line(f"{capitalized(line)}.", indent=2)
    for warning in report.warnings:
        page.line(f"Worth knowing: {warning}.", indent=2)
    files = (*report.left_out, *report.unread)
    for each in files[:MOST_NAMED_FILES]:
        page.line(f"{each.path}: {each.problem}", indent=4)
    if len(files) > MOST_NAMED_FILES:
        page.line(f"and {len(files) - MOST_NAMED_FILES:,} more, listed in the other formats", indent=4)
    known = {how for each in report.overall.measures for how in each.known.values()}
    least = {LOWER_BOUND for each in report.overall.measures if each.at_least}
    page.line(MORE, LABEL, indent=2)
    if marks := legend(known | least):
        page.line(marks, LABEL, indent=2)


def _table(page: Page, head: Sequence[str], rows: Sequence[Sequence[Cell]], words: int = 1) -> None:
    """Write a table of figures before and after; the verdict is left-aligned like the words."""
    shown = [
        [Text(clip_cells(cell.shown, TEXT_NAME_WIDTH), LOSS if cell.is_loss else "") for cell in row] for row in rows
    ]
    is_compared = head[-1] == HEAD[-1]
    numbers = len(head) - words - is_compared
    page.table(head, shown, LEFT * words + RIGHT * numbers + LEFT * is_compared)
