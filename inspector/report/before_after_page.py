"""Human-readable comparison of two sets of sessions: page content for Markdown and HTML, and terminal text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text

from inspector.replay.quantity import quantity
from inspector.report.before_after import NOT_NAMED, SETS, OtherModelFacts, SessionSetFacts, headline, written
from inspector.report.catalogue import LOWER_BOUND, FigureSet, legend
from inspector.report.layout import HEADING, LABEL, LEFT, LOSS, RIGHT, WIDTH, Page, capitalized, plain
from inspector.report.numbers import IN_TEXT, NOTHING
from inspector.report.pages.model import Line, PageContent, Part, Section, Tile
from inspector.report.tables import Cell, FigureCells, Step, Table, name_cell, pointer, word
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.before_after import BeforeAfterReport, ComparedGroupFacts, MeasureFacts, SetName

ABOUT = "Cost per call and per session of two sets of sessions, and the confidence that they differ."

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

TEXT_NAME_WIDTH = 26

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
        about=ABOUT,
        lead=tuple(Line.of(f"{capitalized(line)}.") for line in _answers(report)),
        tiles=_tiles(report),
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


def _tiles(report: BeforeAfterReport) -> tuple[Tile, ...]:
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
    rows += _totals(figures, TOTALS)
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


def _totals(figures: FigureCells, names: Sequence[str]) -> list[tuple[Cell, ...]]:
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
    totals = Table("Totals", ("", *SETS), (*_totals(figures, OTHER_TOTALS), *counts))
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
    return replace(group, measures=shown)


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
