"""Human-readable tuning result: settings, saving, confidence, and risk.

Plain text has one screen per group of sessions; Markdown and HTML add the front, the curves and every session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.replay.analysis.recoveries import BEYOND
from inspector.replay.quantity import quantity
from inspector.report.catalogue import legend
from inspector.report.compaction_tuning import (
    CompactedRow,
    CompactionTermsFacts,
    EffectiveFacts,
    ThresholdFacts,
    ThresholdPoint,
)
from inspector.report.layout import (
    HEADING,
    LABEL,
    LOSS,
    RIGHT,
    WARNING,
    WIDTH,
    WRAPPED,
    Page,
    broken_after_commas,
    capitalized,
    plain,
)
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Code, Line, PageContent, Part, Section, Tile, note_line
from inspector.report.recovery_words import needed_words, net_of, net_words, refetch_range, refetch_words, refetches_of
from inspector.report.sentences import EXPERIMENTS, REPLAY_CAVEAT, UNCERTAIN_ANSWERS, describe_turn_range
from inspector.report.tables import Cell, FigureCells, Step, Table, name_cell, word
from inspector.report.tuning import BeyondPlan, CurvePoint, FrontPoint, TunedSession, missing_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from msgspec import Struct

    from inspector.report.compaction_tuning import CompactionGroup
    from inspector.report.tuning import CurveFacts, TunedGroupFacts, TunedPlan, TuneReport


WHEN_TO_COMPACT = "When to compact"
ABOUT_COMPACTION = "The best compaction threshold, where compactions fired, and their effect."

POINTS_IN_TEXT = 6
"""Thresholds of the curve that fit on a terminal."""

LATE_IN_TEXT = 3
"""Late-compacting sessions that fit on a terminal."""

PROJECTION = (
    "Projected: compactions at other thresholds did not happen. They are assumed to leave as many tokens as recorded "
    "ones, to cost the same, and to cause as many repeated file reads; the calls stay as recorded. Further losses by "
    "summaries are not counted, so of all thresholds within 1 % of the lowest cost the highest one is chosen."
)

OF_THRESHOLD = (
    *("tokens", "saved_usd", "saved_percent", "low_percent", "high_percent", "left_out_usd", "compactions"),
    "against_usd",
)
OF_POINT = ("tokens", "cost_usd", "per_session_usd", "compactions", "summaries_usd", "recovery_usd")


def compaction_sections(report: TuneReport, figures: FigureCells) -> list[Section]:
    """Build two sections per group: the threshold to set, and every session."""
    return [section for at in range(len(report.compaction)) for section in _sections(report, figures, at)]


def compaction_lead(report: TuneReport, figures: FigureCells) -> list[Line]:
    """Summarize every group in one line."""
    lines = []
    for at, group in enumerate(report.compaction):
        cost = figures.cell("compaction", at, "cost_usd")
        lines.append(Line.of(f"{plain(group.name)}, ", cost, f": {group.answer}."))
    return lines


def _sections(report: TuneReport, figures: FigureCells, at: int) -> list[Section]:
    group, steps = report.compaction[at], ("compaction", at)
    parts: list[Part] = [Line.of(f"{capitalized(group.answer)}.")]
    if group.threshold is not None:
        parts.append(_facts(figures, (*steps, "threshold"), ThresholdFacts, OF_THRESHOLD, "The best threshold"))
        parts.append(Line.of(f"The percentiles are taken {_drawn(report)}."))
        configuration = group.threshold.configuration
        if configuration is not None:
            parts += [Code(configuration.text, configuration.language)] if configuration.text else []
            parts += [Line.of(plain(note), is_item=True) for note in configuration.notes]
    if group.effective is not None:
        names = ("count", "median", "least", "most")
        parts.append(_facts(figures, (*steps, "effective"), EffectiveFacts, names, "Where compactions fired"))
    phrases = [f"set to {_configured(group)}"] if group.configured is not None else []
    parts += [Line.of(f"{capitalized(each)}.") for each in (*phrases, *_late(group))]
    if group.compaction is not None:
        names = ("kept", "cached", "summary", "rereads")
        parts.append(_facts(figures, (*steps, "compaction"), CompactionTermsFacts, names, "Effect of a compaction"))
    if group.idle is not None:
        parts.append(Line.of(f"{capitalized(group.idle.answer)}."))
    parts.append(Line.of(PROJECTION))
    if group.curve:
        rows = tuple(
            (
                Cell("best" if point.is_chosen else "fired at" if point.is_effective else ""),
                *_point(group, figures, (*steps, "curve", index), index),
            )
            for index, point in enumerate(group.curve)
        )
        head = ("", *(quantity(ThresholdPoint, name).label for name in OF_POINT))
        alternative = f"A line: dollars over all sessions at thresholds from {_range(group)} tokens."
        parts += [Chart(f"threshold-{at + 1}", alternative), Table("Cost at every threshold", head, rows)]
    found = [Section(f"compaction-{at + 1}", plain(group.name), tuple(parts))]
    return [*found, _rows(group, figures, at)]


def _point(group: CompactionGroup, figures: FigureCells, steps: tuple[Step, ...], index: int) -> list[Cell]:
    """Format a threshold's figures; the best one's cost and saving add up to the recorded cost as written."""
    cells = [figures.cell(*steps, name) for name in OF_POINT]
    if group.threshold is not None and group.curve[index].is_chosen:
        at = OF_POINT.index("cost_usd")
        cells[at] = figures.cost_with_plan(group.threshold.against_usd, *steps, "cost_usd")
    return cells


def _rows(group: CompactionGroup, figures: FigureCells, at: int) -> Section:
    names = ("calls", "cost_usd", "saved_usd", "compactions", "configured")
    rows = tuple(
        (
            name_cell(row.path),
            word(row.model or "-"),
            word("-" if row.effective is None else _fired(row.effective)),
            *(figures.cell("compaction", at, "rows", index, name) for name in names),
        )
        for index, row in enumerate(group.rows)
    )
    head = ("session", "model", "fired at", *(quantity(CompactedRow, name).label for name in names))
    table = Table("Every session", head, rows, words=3)
    parts: tuple[Part, ...] = (table, *note_line(group.cost_usd, (row.cost_usd for row in group.rows)))
    return Section(f"compacted-{at + 1}", "Every session", parts, level=3, folded=True)


def _facts(
    figures: FigureCells, steps: tuple[Step, ...], kind: type[Struct], names: Sequence[str], title: str
) -> Table:
    rows = [(Cell(quantity(kind, name).label), figures.cell(*steps, name)) for name in names]
    return Table(title, ("", "figure"), tuple(rows))


def compaction_text(page: Page, report: TuneReport, figures: FigureCells) -> None:
    """Write every group, about one screen each."""
    for at, group in enumerate(report.compaction):
        if at:
            page.line()
        cost = figures.cell("compaction", at, "cost_usd").shown
        page.line(f"{plain(group.name)}: {IN_TEXT.plural(group.calls, 'call')}, {cost}", HEADING)
        if group.verdict != "recommended":
            page.line(f"{capitalized(group.answer)}.", WARNING, indent=2)
        page.pairs(_compaction_pairs(report, group, figures, at))
        configuration = None if group.threshold is None else group.threshold.configuration
        if configuration is not None:
            page.line(f"configuration for {configuration.target}", LABEL, indent=2)
            for line in configuration.text.splitlines():
                page.line(line, indent=4)
            for note in configuration.notes:
                page.line(note, indent=2)
    page.line()
    page.line(PROJECTION, LABEL, indent=2)


def _compaction_pairs(
    report: TuneReport, group: CompactionGroup, figures: FigureCells, at: int
) -> list[tuple[str, str]]:
    def shown(name: str) -> str:
        return figures.cell("compaction", at, "threshold", name).shown

    pairs: list[tuple[str, str]] = []
    if group.threshold is not None and group.verdict != "nothing saves":
        label = "compact at" if group.verdict == "recommended" else "cheapest"
        pairs += [
            (label, f"{shown('tokens')} tokens, {shown('compactions')} compactions"),
            ("saves", f"{shown('saved_usd')} ({shown('saved_percent')}) of {shown('against_usd')} recorded"),
            (
                "confidence",
                f"{shown('low_percent')} to {shown('high_percent')} of the cost, {_drawn(report)}",
            ),
            ("", f"{shown('left_out_usd')} in cross-validation"),
        ]
    if group.effective is not None:
        pairs.append(("fired at", f"{_fired(group.effective)}, {IN_TEXT.plural(group.effective.count, 'compaction')}"))
    pairs += [
        ("" if index else "set to", each) for index, each in enumerate((_configured(group), *_late(group))) if each
    ]
    found = group.compaction
    if found is not None:
        leaves = (
            f"leaves {found.kept:,} tokens beyond the first prompt, with {found.cached:,} of its prompt still cached"
        )
        pairs.append(("each", f"{leaves}; a summary of {found.summary:,}; {found.rereads:g} files read again"))
    if group.curve:
        pairs.append(("costs", _curve(group)))
    if group.idle is not None:
        pairs.append(("when idle", group.idle.answer))
    return pairs


def _curve(group: CompactionGroup) -> str:
    points = [point for point in group.curve if point.cost_usd is not None]
    against = None if group.threshold is None else group.threshold.against_usd
    costs = [IN_TEXT.cost_with_plan(against, each.cost_usd) if each.is_chosen else each.cost_usd for each in points]
    places = {round(at * (len(points) - 1) / (POINTS_IN_TEXT - 1)) for at in range(POINTS_IN_TEXT)}
    places |= {at for at, point in enumerate(points) if point.is_chosen or point.is_effective}
    parts = [
        f"{points[at].tokens:,} {IN_TEXT.qualified(IN_TEXT.dollars(costs[at]), 'projected')}" for at in sorted(places)
    ]
    return ", ".join(parts)


def _fired(found: EffectiveFacts) -> str:
    middle = f"{found.median:,} tokens"
    return middle if found.least == found.most else f"median {middle}, {found.least:,} to {found.most:,}"


def _configured(group: CompactionGroup) -> str:
    """Describe the configured threshold; empty if unknown."""
    if group.configured is None:
        return ""
    window = "" if group.window is None else f" in a window of {group.window:,}"
    return f"{group.configured:,} tokens {group.configured_from}{window}"


def _late(group: CompactionGroup) -> list[str]:
    """Describe sessions with compactions that fired well above the configured threshold."""
    late = [row for row in group.rows if row.is_late and row.effective is not None]
    parts = [
        f"set to {row.configured:,}, fired at {_fired(row.effective)}: {plain(row.path)}"
        for row in late[:LATE_IN_TEXT]
        if row.effective is not None
    ]
    return (
        [*parts, f"and {len(late) - LATE_IN_TEXT:,} more sessions that fired late"]
        if len(late) > LATE_IN_TEXT
        else parts
    )


def _range(group: CompactionGroup) -> str:
    return f"{group.curve[0].tokens:,} to {group.curve[-1].tokens:,}"


TITLE = "The best limits for your sessions"
ABOUT_PAGE = "Settings for the sessions of each agent and model: saving, confidence, and risk."

FRONT_IN_TEXT = 3
"""Plans of the front that fit on a terminal."""
FRONT_WIDTH = 48
"""Characters per line of such a plan; longer lines break after a comma."""

VALUES_IN_TEXT = 5
"""Values of a curve on one line."""

REFETCHES = "expected re-fetches"
"""Heading of the column with a range of expected re-fetches."""

RISK_FIGURES = ("saved_usd", "saved_at_least_usd", "saved_at_most_usd", "needed")
"""Columns of a plan in a table, next to its expected re-fetches."""

NOT_TRIED = "Not reached before the time limit"

SPEC_WIDTH = 120
"""Characters of a plan's one-line form in a row; a longer plan is shown by its strategies' names."""

RECOVERIES = (
    "Re-fetches are expected by rates measured on recorded cuts; net savings are given at both ends of their 95 % "
    "interval. Needed later counts calls that used cut text: places to check, without a price."
)

BEYOND_IN_TEXT = 2
"""Plans beyond what has been tried that fit on a terminal without a recommended one."""


def tune_content(report: TuneReport, plan_file: str = "") -> PageContent:
    """Build the page, with instructions that depend on whether the plan was written to a file."""
    figures = FigureCells(report)
    return PageContent(
        title=WHEN_TO_COMPACT if report.compaction else TITLE,
        about=ABOUT_COMPACTION if report.compaction else ABOUT_PAGE,
        lead=(
            *(Line(_lead(report, figures, at)) for at in range(len(report.groups))),
            *compaction_lead(report, figures),
        ),
        tiles=_tiles(report, figures),
        sections=(
            *(
                section
                for at in range(len(report.groups))
                for section in _group_sections(report, figures, at, plan_file)
            ),
            *compaction_sections(report, figures),
            _method(report),
        ),
    )


def _lead(report: TuneReport, figures: FigureCells, at: int) -> tuple[Cell, ...]:
    group = report.groups[at]
    cost = figures.cell("groups", at, "cost_usd")
    if group.plan is None:
        return (Cell(f"{plain(group.name)}, "), cost, Cell(f": {group.answer}."))
    steps = ("groups", at, "plan")
    return (
        Cell(f"{plain(group.name)}, "),
        cost,
        Cell(f": {group.answer}. "),
        Cell(plain(" + ".join(group.plan.strategies)), is_code=True),
        Cell(" saves "),
        figures.cell(*steps, "saved_at_least_usd"),
        Cell(" to "),
        figures.cell(*steps, "saved_at_most_usd"),
        Cell(f" net, after {refetch_words(refetches_of(group.plan), IN_TEXT)}."),
    )


def _tiles(report: TuneReport, figures: FigureCells) -> tuple[Tile, ...]:
    """Return the tiles of a single plan; several plans get a line each in the lead."""
    with_plans = [at for at, group in enumerate(report.groups) if group.plan is not None]
    if len(with_plans) != 1:
        return ()
    (at,) = with_plans
    steps = ("groups", at, "plan")
    return (
        Tile("cost without a plan", figures.cell("groups", at, "cost_usd"), note=(Cell("at list price"),)),
        Tile(
            "saved after re-fetches",
            figures.cell(*steps, "net_usd"),
            note=(
                figures.cell(*steps, "saved_at_least_usd"),
                Cell(" to "),
                figures.cell(*steps, "saved_at_most_usd"),
                Cell(", minus the expected cost of fetching cut results again"),
            ),
        ),
        Tile("needed later", figures.cell(*steps, "needed"), "calls", (Cell("that used text cut by the plan"),)),
    )


def _group_sections(report: TuneReport, figures: FigureCells, at: int, plan_file: str) -> list[Section]:
    group, number = report.groups[at], at + 1
    parts: list[Part] = [Line.of(f"{capitalized(group.answer)}{_tried(group)}.")]
    if group.left:
        parts.append(Line.of(f"{NOT_TRIED}: {_left(group)}."))
    if group.plan is not None:
        parts += [Line((Cell(plain(spec), is_code=True),), is_item=True) for spec in group.plan.strategies]
        parts.append(Line.of(f"Expected: {refetch_words(refetches_of(group.plan), IN_TEXT)}."))
        if group.plan.evidence_reason:
            parts.append(Line.of(plain(f"Untested: {group.plan.evidence_reason}.")))
        parts.append(_plan_table(group.plan, figures, at))
        if report.asked.model_uncertainty:
            parts.append(Line.of(f"The percentiles are taken {_drawn(report)}."))
        parts += [Line.of(plain(line), is_item=True) for line in _to_use(group.plan, plan_file)]
        configuration = group.plan.configuration
        if configuration is not None:
            parts += [Code(configuration.text, configuration.language)] if configuration.text else []
            parts += [Line.of(plain(note), is_item=True) for note in configuration.notes]
    found = [Section(f"group-{number}", plain(group.name), tuple(parts))]
    if group.front:
        found.append(_front_section(group, figures, at))
    if group.beyond:
        found.append(_beyond_section(group, figures, at))
    if group.curves:
        found.append(_curve_section(group, figures, at))
    if group.rows:
        found.append(_sessions_section(group, figures, at))
    return found


PLAN_FIGURES = (
    ("saved_usd", "saved, without re-fetches"),
    ("recovery_each_usd", "cost of one re-fetch"),
    ("recovery_usd", "cost of all expected re-fetches"),
    ("break_even", "break-even re-fetches"),
    ("net_usd", "saved after re-fetches"),
    ("saved_at_least_usd", "saved at the upper end of expected re-fetches"),
    ("saved_at_most_usd", "saved at the lower end"),
    ("net_percent", "saved after re-fetches, of the cost"),
    ("needed", "needed later: calls that used cut text"),
    ("low_percent", "5th percentile over resampled sessions"),
    ("high_percent", "95th percentile"),
    ("chosen_again_percent", "resamples in which no plan is better"),
    ("left_out_usd", "saved in cross-validation"),
    ("left_out_percent", "saved in cross-validation, of the cost"),
    ("regret_usd", "additional saving of each session's own best plan, in hindsight"),
    ("regret_percent", "additional saving in hindsight, of the cost"),
    ("helped", "sessions it helps"),
    ("worse", "sessions that cost more"),
    ("requests", "calls added"),
)
"""Rows of a plan on the page: fields of `TunedPlan` with their labels."""


def _plan_table(plan: TunedPlan, figures: FigureCells, at: int) -> Table:
    steps = ("groups", at, "plan")
    cells = {name: figures.cell(*steps, name) for name, _ in PLAN_FIGURES}
    # The saving minus re-fetches equals the net saving, also as written.
    cells["recovery_usd"] = figures.cost_with_plan(plan.saved_usd, *steps, "recovery_usd")
    rows = [(Cell(label), cells[name]) for name, label in PLAN_FIGURES]
    rows = [row for row in rows if row[1].value is not None]
    return Table("Saving, confidence, and risk", ("figure", ""), tuple(rows))


def _front_section(group: TunedGroupFacts, figures: FigureCells, at: int) -> Section:
    steps = ("groups", at, "front")
    rows = tuple(
        (
            Cell(plain(" + ".join(point.strategies)), is_code=True),
            Cell("recommended" if point.is_chosen and group.verdict == "recommended" else ""),
            Cell(refetch_range(refetches_of(point), IN_TEXT)),
            *(figures.cell(*steps, index, name) for name in RISK_FIGURES),
        )
        for index, point in enumerate(group.front)
    )
    head = ("plan", "", REFETCHES, *(quantity(FrontPoint, name).label for name in RISK_FIGURES))
    most = group.front[-1]
    alternative = (
        f"A line of {IN_TEXT.plural(len(group.front), 'plan')}: saving against expected re-fetches, from "
        f"{IN_TEXT.dollars(group.front[0].saved_usd)} at {refetch_range(refetches_of(group.front[0]), IN_TEXT)} to "
        f"{IN_TEXT.dollars(most.saved_usd)} at {refetch_range(refetches_of(most), IN_TEXT)}."
    )
    text = "Each plan here saves more than all others with as few expected re-fetches."
    is_recommended = group.verdict == "recommended" and any(point.is_chosen for point in group.front)
    about = Line.of(f"{text}{' The large point is the recommended one.' if is_recommended else ''}")
    table = Table("Saving against re-fetches", head, rows, words=3)
    return Section(
        f"front-{at + 1}", "Saving against re-fetches", (about, Chart(f"front-{at + 1}", alternative), table), level=3
    )


def _beyond_section(group: TunedGroupFacts, figures: FigureCells, at: int) -> Section:
    """List plans that save with settings that have not been tried in public, and the nearest tried settings."""
    rows = tuple(
        (
            Cell(plain(" + ".join(each.strategies)), is_code=True),
            Cell(plain(each.evidence_reason)),
            Cell(refetch_range(refetches_of(each), IN_TEXT)),
            *(figures.cell("groups", at, "beyond", index, name) for name in RISK_FIGURES),
        )
        for index, each in enumerate(group.beyond)
    )
    head = ("plan", "untested", REFETCHES, *(quantity(BeyondPlan, name).label for name in RISK_FIGURES))
    about = Line.of("These plans are not recommended: their savings and re-fetches are untested. --beyond adds them.")
    title = BEYOND.capitalize()
    return Section(f"beyond-{at + 1}", title, (about, Table(title, head, rows, words=3)), level=3)


def _curve_section(group: TunedGroupFacts, figures: FigureCells, at: int) -> Section:
    parts: list[Part] = []
    for index, curve in enumerate(group.curves):
        steps: tuple[Step, ...] = ("groups", at, "curves", index, "points")
        rows = tuple(
            (
                Cell(_value(point.value)),
                Cell(refetch_range(refetches_of(point), IN_TEXT)),
                Cell(point.evidence),
                *(figures.cell(*steps, each, name) for name in RISK_FIGURES),
            )
            for each, point in enumerate(curve.points)
        )
        alternative = (
            f"Two lines: saving at each {curve.limit}, before and after re-fetches; the plan sets it to "
            f"{_value(curve.value)}."
        )
        title = plain(f"{curve.strategy}: {curve.limit}")
        head = (curve.limit, REFETCHES, "evidence", *(quantity(CurvePoint, name).label for name in RISK_FIGURES))
        parts += [Chart(f"curve-{at + 1}-{index + 1}", alternative), Table(title, head, rows, words=3)]
    return Section(f"curves-{at + 1}", "Effect of the limits", tuple(parts), level=3)


def _sessions_section(group: TunedGroupFacts, figures: FigureCells, at: int) -> Section:
    names = ("calls", "cost_usd", "saved_at_least_usd", "saved_at_most_usd", "needed", "left_out_usd", "best_usd")
    rows = tuple(
        (
            name_cell(row.path),
            word(row.model or "-"),
            Cell("" if row.net_usd is None else refetch_range(refetches_of(row), IN_TEXT)),
            *(figures.cell("groups", at, "rows", index, name) for name in names),
        )
        for index, row in enumerate(group.rows)
    )
    head = ("session", "model", REFETCHES, *(quantity(TunedSession, name).label for name in names))
    parts: tuple[Part, ...] = (
        Table("Every session", head, rows, words=3),
        *note_line(group.cost_usd, (row.cost_usd for row in group.rows)),
    )
    return Section(f"sessions-{at + 1}", "Every session", parts, level=3, folded=True)


def _method(report: TuneReport) -> Section:
    parts: list[Part] = [Line.of(f"Worth knowing: {warning}.") for warning in report.warnings]
    if report.unread:
        rows = tuple((name_cell(each.path), word(each.problem)) for each in report.unread)
        parts.append(Table("Unreadable files", ("file", "why"), rows, words=2))
    parts.append(Line.of(f"{REPLAY_CAVEAT}. {EXPERIMENTS}"))
    parts += [Line.of(RECOVERIES)] if report.groups else []
    parts.append(Line.of(f"Written by inspector {report.inspector}, schema {report.schema}."))
    return Section("method", "How reliable this is", tuple(parts))


def tune_text(report: TuneReport, width: int = WIDTH, *, color: bool = False, plan_file: str = "") -> str:
    """Write one screen per group, in plain characters."""
    page, figures = Page(width, color=color), FigureCells(report)
    small = [at for at, group in enumerate(report.groups) if group.verdict == "too few"]
    # A single small group gets its own advice; many would repeat it, so they are combined.
    places = small if len(small) > 1 else []
    gathered = [report.groups[at] for at in places]
    for at, group in enumerate(report.groups):
        if at in places:
            continue
        if at:
            page.line()
        cost = figures.cell("groups", at, "cost_usd").shown
        page.line(f"{plain(group.name)}: {IN_TEXT.plural(group.calls, 'call')}, {cost}{_tried(group)}", HEADING)
        if group.plan is None:
            page.line(f"{capitalized(group.answer)}.", indent=2)
            if group.left:
                page.line(f"{NOT_TRIED}: {_left(group)}.", indent=2)
            _beyond_text(page, group)
            continue
        if group.verdict != "recommended":
            page.line(f"{capitalized(group.answer)}.", WARNING, indent=2)
        to_use = [("to apply", line) for line in _to_use(group.plan, plan_file)[:1]]
        page.pairs([*_pairs(report, group, group.plan, figures, at), *to_use])
        _front_text(page, group, figures, at)
        _configuration_text(page, group.plan)
    if report.compaction:
        compaction_text(page, report, figures)
    if gathered:
        _gathered_text(page, gathered, [figures.cell("groups", at, "cost_usd").shown for at in places])
    _footer(page, report)
    return page.text()


def _gathered_text(page: Page, groups: Sequence[TunedGroupFacts], costs: Sequence[str]) -> None:
    """Write groups with too few sessions or calls, and how many more they need."""
    page.line()
    page.line("Not enough data for a recommendation", HEADING)
    for group, cost in zip(groups, costs, strict=True):
        more = missing_amount(group.sessions, group.calls)
        page.line(f"{plain(group.name)}: {IN_TEXT.plural(group.calls, 'call')}, {cost}; {more} more needed", indent=2)
    page.line("For a single session: inspector compare FILE.", indent=2)


def _tried(group: TunedGroupFacts) -> str:
    """Describe the number of plans tried, and of sessions if not all were used."""
    if not group.searched:
        return ""
    some = f" on {group.sampled:,} of them" if group.sampled < group.sessions else ""
    return f"; {IN_TEXT.plural(group.searched, 'plan')} tried{some}"


def _left(group: TunedGroupFacts) -> str:
    """Describe the part of the search that was not reached before its time limit."""
    return "; ".join(group.left)


def _drawn(report: TuneReport) -> str:
    """Describe the samples behind the saving's confidence band."""
    others = f", and {UNCERTAIN_ANSWERS}: {describe_turn_range()} turns" if report.asked.model_uncertainty else ""
    return f"over resampled sessions{others}"


def _pairs(
    report: TuneReport, group: TunedGroupFacts, plan: TunedPlan, figures: FigureCells, at: int
) -> list[tuple[str, str]]:
    def shown(name: str) -> str:
        return figures.cell("groups", at, "plan", name).shown

    pairs = [("set" if group.verdict == "recommended" else "best", " + ".join(plan.strategies))]
    pairs.append(
        ("saves", f"{net_words(net_of(plan), IN_TEXT)} after expected re-fetches, {shown('saved_usd')} before")
    )
    pairs += [("untested", plan.evidence_reason)] if plan.evidence_reason else []
    pairs += [
        ("confidence", f"{shown('low_percent')} to {shown('high_percent')} of the cost, {_drawn(report)}"),
        ("", f"{shown('left_out_usd')} ({shown('left_out_percent')}) in cross-validation"),
        ("", f"{shown('regret_usd')} more with each session's own best plan, in hindsight"),
        *(("risks" if not index else "", line) for index, line in enumerate(_risks(plan, shown))),
    ]
    if group.curves:
        pairs.append(("limits", _curve_text(group.curves[0])))
    if group.beyond:
        most = net_words(net_of(group.beyond[0]), IN_TEXT)
        pairs.append(("untested", f"plans {BEYOND}: up to {most} (--beyond)"))
    if group.left:
        pairs.append(("not tried", _left(group)))
    return pairs


def _risks(plan: TunedPlan, shown: Callable[[str], str]) -> list[str]:
    worse = f"costs more on {plan.worse:,} of {IN_TEXT.plural(plan.worse + plan.helped, 'session')}"
    risks = [refetch_words(refetches_of(plan), IN_TEXT)]
    if plan.refetches_per_100 and plan.recovery_each_usd is not None:
        each = f"{shown('recovery_each_usd')} each, break-even: {shown('break_even')}"
        risks = [f"{risks[0]}, {plan.refetches_per_100:.1f} per 100 calls, {each}"]
    return [*risks, f"{needed_words(plan.needed, IN_TEXT)}; {worse}" if plan.needed else worse]


def _curve_text(curve: CurveFacts) -> str:
    """Format some values of a limit that can be recommended, with their net savings."""
    points = [point for point in curve.points if point.is_allowed]
    chosen = next((at for at, point in enumerate(points) if point.value == curve.value), 0)
    step = max(len(points) // VALUES_IN_TEXT, 1)
    places = sorted({*range(chosen % step, len(points), step), chosen})
    parts = [
        f"{_value(points[at].value)} {IN_TEXT.qualified(IN_TEXT.dollars(points[at].net_usd), 'estimated')}"
        for at in places
    ]
    unit = f" ({curve.unit})" if curve.unit else ""
    return f"{curve.limit}{unit}: {', '.join(parts)}"


def _front_text(page: Page, group: TunedGroupFacts, figures: FigureCells, at: int) -> None:
    """Write plans that save less with fewer re-fetches."""
    others = [index for index, point in enumerate(group.front) if not point.is_chosen]
    if not others:
        return
    step = max(len(others) / FRONT_IN_TEXT, 1)
    chosen = sorted({others[min(int(at * step), len(others) - 1)] for at in range(FRONT_IN_TEXT)})
    page.line("other plans: saving before re-fetches, and expected re-fetches", LABEL, indent=2)
    rows: list[list[str | Text]] = []
    for index in chosen:
        saved = figures.cell("groups", at, "front", index, "saved_usd")
        point = group.front[index]
        rows.append(
            [
                Text(saved.shown, LOSS if saved.is_loss else ""),
                refetch_range(refetches_of(point), IN_TEXT),
                Text("\n".join(broken_after_commas(plain(_short(point.strategies)), FRONT_WIDTH))),
            ]
        )
    page.table(None, rows, RIGHT + RIGHT + WRAPPED)


def _beyond_text(page: Page, group: TunedGroupFacts) -> None:
    """Write the best plans that are untested, with the nearest tried setting."""
    if not group.beyond:
        return
    page.line(f"{BEYOND} in public, so not recommended (--beyond)", LABEL, indent=2)
    for each in group.beyond[:BEYOND_IN_TEXT]:
        page.line(f"{_short(each.strategies)}: {net_words(net_of(each), IN_TEXT)}; {each.evidence_reason}", indent=4)


def _configuration_text(page: Page, plan: TunedPlan) -> None:
    configuration = plan.configuration
    if configuration is None:
        return
    page.line(f"configuration for {configuration.target}", LABEL, indent=2)
    for line in configuration.text.splitlines():
        page.line(line, indent=4)
    for note in configuration.notes:
        page.line(note, indent=2)


def _short(strategies: Sequence[str]) -> str:
    """Return a plan's one-line form, or the names of its strategies if that is too long."""
    whole = " + ".join(strategies)
    return whole if len(whole) <= SPEC_WIDTH else " + ".join(f"{spec.partition(':')[0]}:…" for spec in strategies)


def _to_use(plan: TunedPlan, plan_file: str) -> list[str]:
    """Return the commands to run next."""
    text = f"the plan is in {plan_file}" if plan_file else "write the plan with -o tuned.toml"
    lines = [text]
    if plan.targets:
        file = plan_file or "tuned.toml"
        lines[0] += f"; its configuration with inspector export --plan {file} --to {plan.targets[0]}"
    return lines


def _footer(page: Page, report: TuneReport) -> None:
    page.line()
    for warning in report.warnings:
        page.line(f"{capitalized(warning)}.", indent=2)
    for each in report.unread[:3]:
        page.line(f"Unreadable: {each.path}: {each.problem}", indent=2)
    if len(report.unread) > 3:
        page.line(f"Unreadable: {len(report.unread) - 3:,} more.", indent=2)
    marks = legend({"estimated"} if report.groups else {"projected"})
    page.line(f"{REPLAY_CAVEAT}; {marks}", LABEL, indent=2)


def _value(value: float) -> str:
    return IN_TEXT.whole(value) if value == round(value) else f"{value:g}"
