"""Human-readable compaction thresholds: the best one, where compactions fired, their effect, and the cost curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.quantity import quantity
from inspector.report.compaction_tuning import (
    CompactedRow,
    CompactionTermsFacts,
    EffectiveFacts,
    ThresholdFacts,
    ThresholdPoint,
)
from inspector.report.layout import HEADING, LABEL, WARNING, capitalized, plain
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Code, Line, Section, note_line
from inspector.report.tables import Cell, Table, name_cell, word
from inspector.report.uncertainty import UNCERTAIN_ANSWERS, describe_turn_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from inspector.report.compaction_tuning import CompactionGroup
    from inspector.report.layout import Page
    from inspector.report.pages.model import Part
    from inspector.report.tables import FigureCells, Step
    from inspector.report.tuning import TuneReport

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
        lines.append(Line((Cell(f"{plain(group.name)}, "), cost, Cell(f": {group.answer}."))))
    return lines


def _sections(report: TuneReport, figures: FigureCells, at: int) -> list[Section]:
    group, steps = report.compaction[at], ("compaction", at)
    parts: list[Part] = [Line((Cell(f"{capitalized(group.answer)}."),))]
    if group.threshold is not None:
        parts.append(_facts(figures, (*steps, "threshold"), ThresholdFacts, OF_THRESHOLD, "The best threshold"))
        parts.append(Line((Cell(f"The percentiles are taken {_drawn(report)}."),)))
        configuration = group.threshold.configuration
        if configuration is not None:
            parts += [Code(configuration.text, configuration.language)] if configuration.text else []
            parts += [Line((Cell(plain(note)),), is_item=True) for note in configuration.notes]
    if group.effective is not None:
        names = ("count", "median", "least", "most")
        parts.append(_facts(figures, (*steps, "effective"), EffectiveFacts, names, "Where compactions fired"))
    phrases = [f"set to {_configured(group)}"] if group.configured is not None else []
    parts += [Line((Cell(f"{capitalized(each)}."),)) for each in (*phrases, *_late(group))]
    if group.compaction is not None:
        names = ("kept", "cached", "summary", "rereads")
        parts.append(_facts(figures, (*steps, "compaction"), CompactionTermsFacts, names, "Effect of a compaction"))
    if group.idle is not None:
        parts.append(Line((Cell(f"{capitalized(group.idle.answer)}."),)))
    parts.append(Line((Cell(PROJECTION),)))
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
        page.pairs(_pairs(report, group, figures, at))
        configuration = None if group.threshold is None else group.threshold.configuration
        if configuration is not None:
            page.line(f"configuration for {configuration.target}", LABEL, indent=2)
            for line in configuration.text.splitlines():
                page.line(line, indent=4)
            for note in configuration.notes:
                page.line(note, indent=2)
    page.line()
    page.line(PROJECTION, LABEL, indent=2)


def _pairs(report: TuneReport, group: CompactionGroup, figures: FigureCells, at: int) -> list[tuple[str, str]]:
    def shown(name: str) -> str:
        return figures.cell("compaction", at, "threshold", name).shown

    pairs: list[tuple[str, str]] = []
    if group.threshold is not None and group.verdict != "nothing saves":
        label = "compact at" if group.verdict == "recommended" else "cheapest"
        pairs += [
            (label, f"{shown('tokens')} tokens, {shown('compactions')} compactions"),
            ("saves", f"{shown('saved_usd')} ({shown('saved_percent')}) of {shown('against_usd')} recorded"),
            ("confidence", f"{shown('low_percent')} to {shown('high_percent')} of the cost, {_drawn(report)}"),
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
    """Format some thresholds with their costs."""
    points = [point for point in group.curve if point.cost_usd is not None]
    against = None if group.threshold is None else group.threshold.against_usd
    costs = [IN_TEXT.cost_with_plan(against, each.cost_usd) if each.is_chosen else each.cost_usd for each in points]
    places = {round(at * (len(points) - 1) / (POINTS_IN_TEXT - 1)) for at in range(POINTS_IN_TEXT)}
    places |= {at for at, point in enumerate(points) if point.is_chosen or point.is_effective}
    parts = [
        f"{points[at].tokens:,} {IN_TEXT.qualified(IN_TEXT.dollars(costs[at]), 'projected')}" for at in sorted(places)
    ]
    return ", ".join(parts)


def _drawn(report: TuneReport) -> str:
    others = f", and {UNCERTAIN_ANSWERS}: {describe_turn_range()} turns" if report.asked.model_uncertainty else ""
    return f"over resampled sessions{others}"


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
