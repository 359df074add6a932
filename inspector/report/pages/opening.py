"""Opening of a session page: the session, figures in large type, and the main results in sentences.

It must make sense to readers who have never seen the program, so technical terms are explained in place.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from inspector.replay.analysis.breakdown import BreakdownRow, part_label
from inspector.replay.analysis.recoveries import BEYOND, NeededLater
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.quantity import quantity
from inspector.report.build_report import plan_of_facts
from inspector.report.catalogue import LOWER_BOUND, CostParts, PlanFacts, ProjectionFacts, legend
from inspector.report.export import answer_for
from inspector.report.layout import plain
from inspector.report.numbers import ABOUT, IN_TEXT, MINUS, window_size
from inspector.report.pages.model import Chart, Line, PageContent, Part, Section, Tile
from inspector.report.pages.plan_sections import (
    comparison_section,
    deploy_sections,
    explanation_sections,
    method_section,
    plan_sections,
    reproduce_section,
    risks_section,
)
from inspector.report.pages.session_sections import (
    as_model_section,
    bill_section,
    calls_sections,
    composition_section,
    cost_section,
    facts_table,
    heaviest_section,
    misses_section,
    plan_name,
    projection_section,
    strategies_of,
    totals_section,
)
from inspector.report.recovery_words import net_of, net_words, recovery_words, refetch_words, refetches_of, saving_of
from inspector.report.sentences import (
    HOLDS,
    about,
    as_loss,
    at_best,
    bands_of,
    between,
    daily_saving,
    monthly_saving,
    runs_a_day,
    runs_of,
    subagents_text,
)
from inspector.report.tables import Cell, FigureCells, Step, cost_parts, plan_letter, session_heading
from inspector.report.text import models_named, when_text
from inspector.safe_text import clip_cells
from inspector.strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.figure import Band
    from inspector.report.document import Report, SavingPlanFacts


MOST_DESCRIBED: Final = 2
"""Strategies of a plan described in the lead."""

MOST_TILES: Final = 3

LONGEST_NAME: Final = 32
"""Cells of a plan's name in a tile."""

LIST_PRICE: Final = "at list price"

CAPTIONS: Final = {
    "bill": "Cost of each call by kind of token. The costliest cache misses are named.",
    "context": "Tokens of every prompt. Triangles mark compactions.",
}
"""Captions of the chart above the tiles."""

_MEANS: Final = {
    "cache_read_usd": (
        "text that was sent before and is sent again with every call, at the provider's lower price for it"
    ),
    "cache_write_usd": "text that is sent for the first time, or again after it left the provider's cache",
    "uncached_usd": "text that is sent without the provider's prompt cache",
    "output_usd": "the model's responses",
}
"""Purpose of each cost component, after its name."""


def identity(report: Report) -> str:
    """Identify the session: id, agent, models, and time."""
    session = report.session
    recorded_by = f"recorded by {session.agent}" if session.agent else f"format {session.format}"
    models = models_named(report) if session.models else ""
    parts = (f"Session {session.id}", recorded_by, models, when_text(session))
    return plain(" · ".join(filter(None, parts)))


def lead(report: Report, figures: FigureCells) -> tuple[Line, ...]:
    """Return the main results, a line each: cost, content, a plan (first if the user's) and its risk."""
    spent = (_spent(report, figures), *_subagents(report), *_costliest_part(report, figures))
    plans = [line for index in range(len(report.plans)) for line in _plan_lines(report, figures, index)]
    if plans and not is_suggested(report):
        return (*plans, *spent)
    return (*spent, *(plans or _best_plan_lines(report, figures)))


def is_suggested(report: Report) -> bool:
    """Return True if the user chose none of the report's plans, so the session's cost comes first."""
    return any(plan.is_suggestion for plan in report.plans)


def _spent(report: Report, figures: FigureCells) -> Line:
    """Describe the largest component of the cost, and the prompt tokens."""
    if not report.session.calls:
        return Line.of("The session contains no call to a model: there is nothing to replay.")
    calls = IN_TEXT.plural(report.session.calls, "call")
    tokens, peak = (figures.cell("baseline", name) for name in ("prompt_tokens", "peak_prompt_tokens"))
    sent = (
        Cell(f"Its {calls} to the model sent "),
        tokens,
        Cell(" prompt tokens in total, the largest prompt "),
        peak,
        Cell(f" tokens{_of_window(report)}."),
    )
    made_of = _most_of_the_cost(report)
    return Line((*([Cell(f"{made_of}. ")] if made_of else []), *sent))


def _subagents(report: Report) -> tuple[Line, ...]:
    """Describe the calls of subagents, which the cost does not include."""
    if not report.subagents:
        return ()
    text = subagents_text(report.subagents, IN_TEXT, report.with_subagents_usd)
    return (Line.of(f"{plain(text)}."),)


def _of_window(report: Report) -> str:
    """Return `, of the model's 200k window`; empty if the window is unknown."""
    window = report.session.window
    return f", of the model's {window_size(window)} window" if window else ""


def _billed_before(report: Report) -> str:
    """Describe the part of the cost billed in an earlier session; empty if there is none."""
    copied, calls = report.session.copied_calls, report.session.calls
    if not copied:
        return ""
    if copied == calls:
        return ", all of it billed in an earlier session from which it was copied"
    return f", including {IN_TEXT.plural(copied, 'call')} already billed in an earlier session"


def _most_of_the_cost(report: Report) -> str:
    """Return `65 % of that is cache reads: what was sent before …`; empty if unknown."""
    parts = cost_parts(report) if report.baseline.cost_usd else []
    if not parts:
        return ""
    name, share = max(parts, key=lambda part: getattr(report.cost, part[0]))
    means = f": {_MEANS[name]}" if name in _MEANS else ""
    return f"{share} of the cost is {quantity(CostParts, name).label}{means}"


def _costliest_part(report: Report, figures: FigureCells) -> Iterator[Line]:
    """Describe the two parts of the context with the highest resend cost, or token count without prices."""
    rows = report.carried
    order = sorted(range(len(rows)), key=lambda at: (-(rows[at].usd or 0), -(rows[at].sent_tokens or 0)))[:2]
    cells: list[Cell] = []
    for at in order:
        named = _part_words(rows[at])
        cells.append(Cell(f"then {named}, " if cells else f"Most expensive to resend: {named}, "))
        if rows[at].usd is not None:
            cells += [figures.cell("carried", at, "usd"), Cell(" and ")]
        of = " of all prompt tokens" if at == order[0] else ""
        cells += [figures.cell("carried", at, "share"), Cell(of), Cell("; ")]
    if cells:
        yield Line.of(*cells[:-1], ".")


def _part_words(row: BreakdownRow) -> str:
    """Name a part of the context in a sentence: `Read results`, `tool calls`."""
    if row.tool:
        return plain(f"{row.tool} results")
    label = plain(part_label(row.kind, ""))
    return f"{label}s" if label in ("tool call", "tool result") else label


def _tried(report: Report) -> str:
    """Explain why the page has no plan."""
    found = report.best_plan
    if found is None:
        return "No plan was tried."
    if not found.is_complete:
        return "It would take too long to try every plan on this session, so none is recommended."
    return f"None of {found.tried:,} plans saves reliably."


def _plan_lines(report: Report, figures: FigureCells, index: int) -> Iterator[Line]:
    """Describe a plan of the report: saving, effect, cut text needed later, and monthly saving."""
    plan, letter = report.plans[index], plan_letter(index)
    name = plan_name(plan)
    text = f"Plan {letter} ({name})" if name else f"Plan {letter}"
    if plan.is_suggestion:
        text = f"The best plan found, plan {letter} ({name}),"
    if not report.session.calls:
        return
    if plan.edits == 0 and not plan.saved.tokens:
        yield Line.of(f"{text.removesuffix(',')} changes nothing in this session.")
    else:
        yield _saving(plan, text, figures, ("plans", index))
    if plan.edits and plan.needed_later is not None:
        yield _risk(plan.needed_later, plan.saved.usd)
    monthly = _monthly_saving(plan)
    if monthly is not None:
        yield monthly
    if plan.edits and (chosen := plan_of_facts(plan)) is not None:
        yield Line.of(answer_for(report.session.format, chosen).sentence)


def _best_plan_lines(report: Report, figures: FigureCells) -> Iterator[Line]:
    """Describe the best plan found, if the report has no plan."""
    if not report.session.calls:
        return
    found = None if report.best_plan is None else report.best_plan.best
    if found is None:
        yield Line.of(_tried(report))
        return
    yield _saving(found, f"The best plan found, {plan_name(found)},", figures, ("best_plan", "best"))
    yield _risk(found.needed_later, found.saved.usd)


def _risk(needed: NeededLater, saved: float | None) -> Line:
    """Describe a plan's risk: expected re-fetches, and what they leave of the saving."""
    words = recovery_words(
        refetches_of(needed), needed.calls, (saved, net_of(needed)), needed.break_even_recoveries, IN_TEXT
    )
    beyond = f" {BEYOND.capitalize()}: {needed.evidence_reason}." if needed.evidence_reason else ""
    return Line.of(f"Risk: {words}.{beyond}")


def _monthly_saving(plan: PlanFacts) -> Line | None:
    """Describe a plan's monthly saving as a range with an explanation of its ends; None if not requested."""
    found = plan.projection
    if found is None:
        return None
    day, month = bands_of(found)
    text = f"{daily_saving(day, IN_TEXT)}, {monthly_saving(month, IN_TEXT)}"
    return Line.of(f"At {runs_a_day(runs_of(found))}, it {text}: {HOLDS}.{_about_ends(plan, month)}")


def _about_ends(plan: PlanFacts, month: Band) -> str:
    """Explain the ends of a monthly range; empty if only chance separates them."""
    if plan.needed_later is None or not plan.needed_later.refetches_high:
        return ""
    return (
        f" The best case, {at_best(month, IN_TEXT)}, assumes no re-fetches; the middle and the worst case include "
        "their cost."
    )


def _saving(plan: PlanFacts | SavingPlanFacts, text: str, figures: FigureCells, steps: tuple[Step, ...]) -> Line:
    """Describe a plan's saving and effect; `text` is the subject, `steps` the plan's path in the report."""
    name = "tokens" if plan.saved.usd is None else "usd"
    amount, share = (figures.cell(*steps, "saved", each) for each in (name, "percent"))
    unit = " prompt tokens" if name == "tokens" else ""
    share = replace(share, text=share.text.removeprefix(MINUS), is_loss=False)
    word, more = "saves", ""
    if (amount.value or 0) < 0:
        amount = replace(amount, text=amount.text.removeprefix(MINUS), is_loss=True)
        word, more = "costs", " more"
    of = Cell(f" {_of_what(plan)}).{_does(plan)}")
    return Line.of(f"{text} {word} ", amount, f"{more}{unit} (", share, of)


def _of_what(plan: PlanFacts | SavingPlanFacts) -> str:
    """Name the total of which a saving is a share."""
    return "of the cost" if plan.saved.percent_of == "cost_usd" else "of all prompt tokens"


def _does(plan: PlanFacts | SavingPlanFacts) -> str:
    """Describe a plan's effect on the context in the words of its strategies; empty for unknown strategies."""
    known = [STRATEGIES[name].summary for name in strategies_of(plan) if name in STRATEGIES]
    text = "; then ".join(f"{words[:1].lower()}{words[1:].removesuffix('.')}" for words in known[:MOST_DESCRIBED])
    more = len(known) - MOST_DESCRIBED
    return f" Effect: {text}{f'; and {more} more' if more > 0 else ''}." if text else ""


def finding(report: Report, figures: FigureCells) -> str:
    """Return the page's title: the cost of the session and how much of it was avoidable, or the saving of its plan."""
    if not report.session.calls:
        return "This session contains no call to a model"
    cost = figures.cell("baseline", "cost_usd")
    if cost.value is None:
        return f"This session sent {IN_TEXT.short(report.baseline.prompt_tokens)} prompt tokens"
    if report.plans and not is_suggested(report):
        plan = report.plans[0]
        amount = saving_of(plan).amount(IN_TEXT)
        if (plan.saved.usd or 0) < 0:
            loss = IN_TEXT.dollars(-(plan.saved.usd or 0))
            return f"Plan A would have cost {loss} more than this session's {cost.shown}"
        return f"Plan A would have saved {amount} of this session's {cost.shown}"
    avoidable = _avoidable(report)
    if avoidable is None or avoidable.usd is None:
        return f"This session cost {cost.shown}"
    amount = avoidable.cell.shown if avoidable.calls else "none"
    return f"This session cost {cost.shown}; {amount} of it was avoidable"


class _Avoidable(NamedTuple):
    """Extra cost of misses that can be prevented, and the prevention of the costliest cause."""

    calls: int
    tokens: int
    usd: float | None
    known: str
    prevention: str

    @property
    def cell(self) -> Cell:
        text = IN_TEXT.whole(self.tokens) if self.usd is None else IN_TEXT.dollars(self.usd)
        return Cell(text, value=self.tokens if self.usd is None else self.usd, known=self.known)


def _avoidable(report: Report) -> _Avoidable | None:
    """Sum the misses with a known prevention; None if the session's misses are unknown."""
    misses = report.cache_misses
    if misses is None or not report.session.calls:
        return None
    rows = [row for row in misses.causes if MissCause(row.cause).is_avoidable]
    rows.sort(key=lambda row: -(row.extra_usd or row.tokens or 0))
    usd = None if misses.extra_usd is None else math.fsum(row.extra_usd or 0.0 for row in rows)
    known = misses.known.get("extra_usd" if usd is not None else "tokens", "exact")
    calls, tokens = (sum(getattr(row, name) or 0 for row in rows) for name in ("calls", "tokens"))
    return _Avoidable(calls, tokens, usd, known, rows[0].prevention if rows else "")


def tiles(report: Report, figures: FigureCells) -> tuple[Tile, ...]:
    """Return the three figures: cost, avoidable cost and possible saving, or the results of the user's plan."""
    calls = IN_TEXT.plural(report.session.calls, "call")
    cost = Tile(
        "cost without a plan" if report.plans else "cost",
        figures.cell("baseline", "cost_usd"),
        note=(Cell(f"{calls} to the model, {LIST_PRICE}{_billed_before(report)}"),),
    )
    if cost.cell.value is None:
        cost = Tile("prompt tokens", figures.cell("baseline", "prompt_tokens"), "tokens", (Cell(f"in {calls}"),))
    shown = [cost, *_avoidable_tile(report)]
    if report.plans:
        of_plan = _plan_tiles(report, figures)
        shown = [*shown, *of_plan] if is_suggested(report) else [cost, *of_plan, *shown[1:]]
    else:
        shown += _best_tile(report, figures)
    return tuple(tile for tile in shown[:MOST_TILES] if tile.cell.value is not None)


def _avoidable_tile(report: Report) -> Iterator[Tile]:
    """Return the tile of the avoidable extra cost of cache misses, or of their tokens without a price."""
    found, misses = _avoidable(report), report.cache_misses
    if found is None or misses is None:
        return
    words = IN_TEXT.plural(misses.calls, "cache miss")
    count = words if found.calls == misses.calls else f"{found.calls} of {words}"
    note = f"{count}: {found.prevention}" if found.calls else f"none of {words} has a known prevention"
    note = note if misses.calls else "no call read less from the cache than it could have"
    if found.usd is not None or found.calls:
        yield Tile("avoidable", found.cell, "tokens" if found.usd is None else "", (Cell(note),))


def legend_of(shown: tuple[Tile, ...], lines: tuple[Line, ...]) -> str:
    """Explain the marks before the numbers, in one line; empty if there are none."""
    cells = [cell for tile in shown for cell in (tile.cell, *tile.note, *([tile.most] if tile.most else []))] + [
        cell for line in lines for cell in line.cells
    ]
    marks = {LOWER_BOUND if cell.is_lower_bound else cell.known for cell in cells if cell.mark}
    # Sentences contain estimates that are not cells.
    if any(ABOUT in cell.text for cell in cells):
        marks.add("estimated")
    return legend(marks)


def _best_tile(report: Report, figures: FigureCells) -> Iterator[Tile]:
    """Return the tile of the saving that the agent can apply, otherwise of the best plan's."""
    found = report.best_plan
    if found is None or not report.session.calls:
        return
    name = "best" if found.applicable is None else "applicable"
    plan = found.best if found.applicable is None else found.applicable
    if plan is None:
        yield Tile("can be saved", Cell("nothing", value=0.0), note=(Cell(_sentence_part(_tried(report))),))
        return
    more = ""
    if found.applicable is not None and found.best is not None and found.best.name != found.applicable.name:
        amount = saving_of(found.best).amount(IN_TEXT)
        more = f"; your own code could apply {plan_name(found.best)}: {amount}"
    yield _saved_tile(report, plan, figures, ("best_plan", name), more)


def _plan_tiles(report: Report, figures: FigureCells) -> Iterator[Tile]:
    """Return the tiles of the first plan: session saving and monthly saving."""
    plan = report.plans[0]
    yield _saved_tile(report, plan, figures, ("plans", 0))
    if plan.projection is not None:
        yield _month_tile(plan, plan.projection)


def _saved_tile(
    report: Report, plan: PlanFacts | SavingPlanFacts, figures: FigureCells, steps: tuple[Step, ...], more: str = ""
) -> Tile:
    """Build the tile of a plan's net saving; `steps` is its path in the report, `more` extends the note."""
    priced, needed = plan.saved.usd is not None, plan.needed_later
    amount, share = (figures.cell(*steps, "saved", each) for each in ("usd" if priced else "tokens", "percent"))
    # The suffix ", suggested as" is redundant here: the tile is the best plan's anyway.
    name = clip_cells(plan_name(plan).partition(", suggested as ")[0], LONGEST_NAME)
    is_loss = (amount.value or 0) < 0
    chosen = plan_of_facts(plan)
    answer = None if chosen is None or not plan.saved.tokens else answer_for(report.session.format, chosen)
    title = f"saved with {name or 'plan A'}"
    if answer is not None and answer.is_whole:
        title = f"{answer.agent} can save"
    elif answer is not None and answer.is_lacking:
        title = "your own code can save"
    if is_loss:
        title = f"costs more with {name or 'plan A'}"
    net = "" if needed is None or is_loss else net_words(net_of(needed), IN_TEXT)
    share = replace(share, text=share.text.removeprefix(MINUS), is_loss=False)
    note = [share, Cell(f" {_of_what(plan)}")]
    most = None
    if net and needed is not None:
        worst, best = (figures.cell(*steps, "needed_later", f"saved_at_{end}_usd") for end in ("least", "most"))
        amount, most = worst, best if best.value is not None and best.text != worst.text else None
        note = [Cell(f"net of {refetch_words(refetches_of(needed), IN_TEXT)}")]
    words = f", with {name}" if name and not is_loss else ""
    if answer is not None and answer.is_lacking:
        words += f"; {answer.agent} cannot apply it"
    unit = "" if priced else "tokens"
    if is_loss:
        amount = replace(amount, text=amount.text.removeprefix(MINUS))
    return Tile(title, amount, unit, (*note, Cell(f"{words}{more}")), most)


def _sentence_part(text: str) -> str:
    """Return a sentence as part of another."""
    return f"{text[:1].lower()}{text[1:].removesuffix('.')}"


def _month_tile(plan: PlanFacts, found: ProjectionFacts) -> Tile:
    """Build the tile of the monthly saving at a number of runs per day, with its range and their meaning."""
    _, month = bands_of(found)
    runs, is_loss = runs_a_day(runs_of(found)), month.high < 0
    by_month = between(as_loss(month) if is_loss else month, IN_TEXT)
    title = f"{'costs more' if is_loss else 'saved'} per month at {runs}"
    middle = f"about {about(as_loss(month) if is_loss else month, IN_TEXT)}"
    needed = plan.needed_later
    end = "lower" if is_loss else "upper"
    ends = f"{middle}; runs vary, and only the {end} end assumes no re-fetches"
    if needed is None:
        ends = middle
    elif not needed.refetches_high:
        ends = f"{middle}; {refetch_words(refetches_of(needed), IN_TEXT)}"
    cell = Cell(by_month, value=found.usd_per_month, known="projected", is_loss=is_loss)
    return Tile(title, cell, note=(Cell(ends),))


def page_content(report: Report) -> PageContent:
    figures = FigureCells(report)
    sections = (
        *calls_sections(report),
        bill_section(report),
        totals_section(report, figures),
        cost_section(report, figures),
        misses_section(report, figures),
        composition_section(report, figures),
        *plan_sections(report, figures),
        comparison_section(report, figures),
        risks_section(report, figures),
        projection_section(report, figures),
        as_model_section(report),
        heaviest_section(report, figures),
        Section("session", "The session", (facts_table(report, figures),), folded=True),
        reproduce_section(report),
        *deploy_sections(report),
        *explanation_sections(report, figures),
        method_section(report),
    )
    large, reported = tiles(report, figures), lead(report, figures)
    shown = [section for section in sections if section is not None]
    opening = next((part for section in shown for part in section.parts if _is_opening(part, report)), None)
    shown = [replace(section, parts=tuple(part for part in section.parts if part != opening)) for section in shown]
    return PageContent(
        title=finding(report, figures),
        identity=identity(report),
        about=_about(report),
        lead=reported,
        tiles=large,
        legend=legend_of(large, reported),
        sections=tuple(shown),
        chart=None if opening is None else Chart(opening.name, CAPTIONS[opening.name]),
        folds=True,
    )


def _about(report: Report) -> str:
    """Return the line under the title: the session, and the effect of the plan that the title names by its letter."""
    does = "" if not report.plans or is_suggested(report) else _does(report.plans[0]).replace(" Effect:", ". Plan A:")
    return f"{session_heading(report.session)}{does}"


def _is_opening(part: Part, report: Report) -> TypeGuard[Chart]:
    """Return True for the chart above the tiles: cost of each call, otherwise context over calls, or the plans'."""
    has_bill = report.baseline.cost_usd is not None and (not report.plans or is_suggested(report))
    return isinstance(part, Chart) and part.name == ("bill" if has_bill else "context")
