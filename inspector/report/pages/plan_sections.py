"""Page sections on each plan: effect on tiers, tools and the prompt cache, and risks."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.breakdown import BreakdownRow
from inspector.replay.analysis.hazards import hazard_label
from inspector.replay.analysis.recoveries import Exclusion, NeededLater
from inspector.replay.assumptions import DAYS_PER_MONTH
from inspector.replay.quantity import quantity
from inspector.report.build_report import plan_of_facts
from inspector.report.catalogue import HOW_KNOWN, PlanFacts, TierFacts, legend
from inspector.report.export import APPLY_METHODS, TITLES, ExportError, export_plan
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT, NOTHING
from inspector.report.pages.model import Chart, Code, Line, Section
from inspector.report.pages.session_sections import plan_name, plan_title
from inspector.report.recovery_words import net_after_words, net_of, refetches_of
from inspector.report.sentences import REPLAY_CAVEAT
from inspector.report.tables import Cell, FigureCells, Table, marks_used, name_cell, plan_letter, pointer, word
from inspector.report.text import compaction_rows, input_text, uncertainty_rows
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.report.catalogue import ExplanationFacts
    from inspector.report.document import Report, SavingPlanFacts
    from inspector.report.pages.model import Part
    from inspector.report.tables import Step
    from inspector.strategies.plan import Plan


BEST_OF = "the largest net saving among tried plans that retain every user and assistant message"

COMPARED = ("saved.usd", "saved.percent", "figures.prompt_tokens", "figures.peak_prompt_tokens")
"""Columns of the strategy comparison, in addition to cost and the number and first call of edits."""

NEEDED = ("calls", "exact_text", "fault", "anchor", "citation", "repeats_anyway")
"""Rows of cut text that was needed later, by kind of evidence."""

NEEDED_COST = ("calls", "cost_each_usd", "saved_at_least_usd", "break_even_recoveries")
"""Rows of the recovery cost."""

ABOUT_RISKS = (
    "A risk is a possible problem of a plan on this session. Needed later counts cut text that a later part of the "
    "session used: text worth checking, not a proof that it would have been missed. The net saving is the plan's "
    "saving minus the cost of the re-fetches expected by rates measured on recorded cuts of tool results; for other "
    "cut text nothing is measured."
)


def plan_sections(report: Report, figures: FigureCells) -> tuple[Section, ...]:
    return tuple(
        Section(f"plan-{index + 1}", plan_title(report, index), _parts(report.plans[index], index, figures))
        for index in range(len(report.plans))
    )


def _parts(plan: PlanFacts, index: int, figures: FigureCells) -> tuple[Part, ...]:
    parts: list[Part] = [Line((Cell(plain(spec), is_code=True),), is_item=True) for spec in plan.strategies]
    if not plan.strategies:
        parts.append(Line.of("No strategy: the same as the baseline."))
    tiers = _tiers(plan, index, figures)
    parts += [tiers] if tiers.rows else []
    tools = _tools(plan, index, figures)
    parts += [tools] if tools.rows else []
    parts += _cache(plan, index, figures)
    parts += [Line.of(f"Recorded {label}: {text}.") for label, text in compaction_rows(plan)]
    parts += [Line.of(f"With {label}: {text}.") for label, text in uncertainty_rows(plan)]
    return tuple(parts)


def _tiers(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    return figures.table(
        "By tier of each strategy",
        ("tier",),
        (
            ((word(f"{tier.strategy} {tier.tier}".rstrip()),), ("plans", index, "tiers", at))
            for at, tier in enumerate(plan.tiers)
            if tier.results
        ),
        TierFacts,
        *("results", "touched", "tokens_cut", "cut_tokens", "saved_usd"),
    )


def _tools(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    return figures.table(
        "By tool, over all calls",
        ("tool",),
        (((name_cell(row.tool),), ("plans", index, "carried", at)) for at, row in enumerate(plan.carried) if row.tool),
        BreakdownRow,
        *("blocks", "sent_tokens", "cut_tokens", "usd", "saved_usd"),
        titles={"blocks": "results"},
    )


def _cache(plan: PlanFacts, index: int, figures: FigureCells) -> list[Part]:
    outcome = plan.outcome
    if outcome is None:
        return []
    steps = ("plans", index, "outcome")
    lines: list[Part] = []
    if outcome.cache_read_share is not None:
        share = figures.cell(*steps, "cache_read_share")
        lines.append(Line.of("Of its prompt tokens, ", share, " were read from the prompt cache."))
    if outcome.plan_breaks and outcome.resent_tokens:
        cells = [
            Cell("Its own changes cause cache misses at "),
            figures.cell(*steps, "plan_breaks"),
            Cell(" calls: "),
            figures.cell(*steps, "resent_tokens"),
            Cell(" tokens are rewritten to cache"),
        ]
        if outcome.rebuild_usd is not None and outcome.break_usd is not None:
            cells += [
                Cell(" for "),
                figures.cell(*steps, "rebuild_usd"),
                Cell(" ("),
                figures.cell(*steps, "break_usd"),
                Cell(" more than cache reads)"),
            ]
        lines.append(Line.of(*cells, "."))
    return lines


def risks_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on hazards and text needed later of every plan."""
    rows = []
    for index, plan in enumerate(report.plans):
        rows += [
            (
                word(plan_title(report, index)),
                word(hazard_label(name)),
                replace(figures.cell("plans", index, "hazards", name), known=plan.known.get("hazards", "")),
            )
            for name, count in (plan.hazards or {}).items()
            if count
        ]
    if not report.plans:
        return None
    parts: list[Part] = [Line.of(ABOUT_RISKS)]
    if rows:
        parts.append(Table("Risks by number", ("plan", "kind", "times"), tuple(rows), words=2))
    counted = [
        ((word(plan_title(report, index)),), ("plans", index, "needed_later"))
        for index, plan in enumerate(report.plans)
        if (found := plan.needed_later) is not None and (found.calls or found.repeats_anyway or found.refetches)
    ]
    if counted:
        # A combined table would not fit the page.
        tables = (("Needed later", NEEDED), ("Net saving after expected re-fetches", NEEDED_COST))
        parts += [figures.table(title, ("plan",), counted, NeededLater, *names) for title, names in tables]
    return Section("risks", "Risks", (*parts, *(() if parts[1:] else (Line.of("None found."),))))


def comparison_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the comparison of every strategy alone, largest saving first."""
    if not report.comparison:
        return None
    order = sorted(range(len(report.comparison)), key=lambda index: -(report.comparison[index].saved.percent or 0))
    rows = [_compared(report, index, figures) for index in order]
    head = [quantity(PlanFacts, path).label for path in (*COMPARED, "figures.cost_usd")]
    table = Table(
        "Every strategy and built-in plan alone, with default limits for this session",
        (
            "plan",
            *head,
            quantity(PlanFacts, "figures.cache_breaks").short_label,
            "first applied at call",
            "risks",
        ),
        tuple(rows),
    )
    missed = [index for index in order if (found := report.comparison[index].needed_later) and found.calls]
    needed = figures.table(
        "Plans that cut text needed later",
        ("plan",),
        [((word(plan_name(report.comparison[index])),), ("comparison", index, "needed_later")) for index in missed],
        NeededLater,
        *NEEDED_COST,
    )
    alternative = (
        f"Bars: saving of each of {len(rows):,} {'plan' if len(rows) == 1 else 'plans'} alone"
        f"{', and of the plan of this page' if report.plans else ''}. {_best(report, report.comparison[order[0]])}"
    )
    tables = (table, needed) if missed else (table,)
    return Section("strategies", "Comparison of plans", (Chart("comparison", alternative), *tables))


def _best(report: Report, most: PlanFacts) -> str:
    """Name the strategy of the best plan with its risks, and the one that saves most if it differs."""
    found = None if report.best_plan is None else report.best_plan.best
    best = next((each for each in report.comparison if found is not None and each.name == found.name), None)
    if found is None or best is None:
        needed = "Only a page's own plan is checked for text needed later."
        return f"The largest saving is {_saves(most)}. {_risks_of(most)} {needed}"
    needed = net_after_words(net_of(found.needed_later), refetches_of(found.needed_later), IN_TEXT)
    text = f"The best plan saves {_saves(best)}, {BEST_OF}: {needed}. {_risks_of(best)}"
    if best is most:
        return text
    return f"{text} The largest saving is {_saves(most)}, but {_why_not(report, found, most)}."


def _saves(plan: PlanFacts) -> str:
    return f"{IN_TEXT.percent(plan.saved.percent)} with {plan_name(plan)}"


def _risks_of(plan: PlanFacts) -> str:
    risks = [f"{hazard_label(name)} ({count:,})" for name, count in (plan.hazards or {}).items() if count]
    return f"Risks: {'; '.join(risks)}." if risks else "No known risks."


def _why_not(report: Report, best: SavingPlanFacts, most: PlanFacts) -> str:
    """Explain why the plan that saves most is not the best one."""
    found = None if report.best_plan is None else report.best_plan.most
    if found is not None and found.name == most.name:
        net, of_best = (each.needed_later.saved_at_least_usd for each in (found, best))
        if net is not None and of_best is not None and net <= of_best:
            return "its net saving is smaller"
        if found.needed_later.evidence_reason:
            return Exclusion.UNTESTED.in_full(found.needed_later.evidence_reason)
    return f"{Exclusion.DROPS_TEXT.long}, or {Exclusion.REJECTED.long}"


def _compared(report: Report, index: int, figures: FigureCells) -> tuple[Cell, ...]:
    plan, steps = report.comparison[index], ("comparison", index)
    risks = sum((plan.hazards or {}).values())
    return (
        word(plan_name(plan)),
        *(figures.cell(*steps, *path.split(".")) for path in COMPARED),
        figures.cost_with_plan(report.baseline.cost_usd, *steps, "figures", "cost_usd"),
        figures.cell(*steps, "figures", "cache_breaks"),
        figures.cell(*steps, "first_firing"),
        Cell(f"{risks:,}" if risks else NOTHING),
    )


REPLAYED = (
    "Every call of the session was replayed unchanged: this is the baseline, which also has figures that the file does "
    "not report."
)
REPLAYED_WITH_PLANS = (
    "Every call of the session was replayed twice: with its original prompt, and as the plan would have sent it. The "
    "baseline is the session with an empty plan. A saving is the baseline's cost minus the plan's, including cache "
    "misses; if it is negative, the plan costs more."
)

UNMARKED = "Figures without a mark are reported, or calibrated to reported usage."

PREVIEW_LINES = 24
"""Lines shown of a configuration."""


def method_section(report: Report) -> Section:
    """Build the section on counting and pricing, with all caveats."""
    tokens, prices = report.tokens, report.prices
    fit = tokens.calibration
    if fit is None and tokens.borrowed:
        counted = (
            f"Tokens were counted with {plain(tokens.method)} and {plain(tokens.borrowed)}: this session reports too "
            "little usage for a calibration."
        )
    elif fit is None:
        counted = (
            f"Tokens were counted with {plain(tokens.method)}, uncalibrated: the session reports too little usage."
        )
    else:
        error = (
            "" if fit.residual is None else f" Half of the prompts are within {IN_TEXT.percent(100 * fit.residual)}."
        )
        counted = (
            f"Tokens were counted with {plain(tokens.method)} and calibrated to the usage reported for "
            f"{IN_TEXT.whole(fit.calls)} calls: the newest prompt is {IN_TEXT.whole(fit.overhead)} + {fit.ratio:.3f} x "
            f"the local count.{error}"
        )
    sentences = [REPLAYED_WITH_PLANS if report.plans else REPLAYED, counted]
    if prices is not None:
        factor = "" if prices.factor == 1 else f" Every price was multiplied by {prices.factor:g}."
        caches = "; ".join(dict.fromkeys(plain(each) for each in prices.caches.values()))
        sentences.append(f"Prices: {plain(prices.source)}.{factor}" + (f" Prompt cache: {caches}." if caches else ""))
    parts: list[Part] = [Line.of(sentence) for sentence in sentences]
    used = marks_used(report)
    marks = f" {legend(used)}." if legend(used) else ""
    parts.append(Line.of(f"{UNMARKED}{marks}"))
    parts += [Line.of(f"{how}: {HOW_KNOWN[how]}.", is_item=True) for how in HOW_KNOWN if how in used]
    parts += [Line.of("Worth knowing: " + plain(warning)) for warning in report.warnings]
    parts.append(Line.of(f"{REPLAY_CAVEAT}."))
    parts.append(Line.of(f"Written by inspector {report.inspector}, report schema {report.schema}."))
    return Section("method", "Methods", tuple(parts), folded=True)


def reproduce_section(report: Report) -> Section:
    """Build the section with the command that reproduces this report, and every plan as a file."""
    parts: list[Part] = [Code(command_line(report) + "\n", "sh")]
    for index, plan in enumerate(report.plans):
        written = plan_of_facts(plan)
        if written is not None:
            parts.append(Line.of(f"{plan_title(report, index)}, as a file for --plan:"))
            parts.append(Code(safe_text(written.to_toml()), "toml"))
    return Section("reproduce", "Reproduce these figures", tuple(parts), folded=True)


def command_line(report: Report) -> str:
    """Return the command that prints this report."""
    words = ["inspector report", _path_word(report.session.path)]
    chosen = [" + ".join(plan.strategies) for plan in report.plans if plan.strategies]
    words += [f"--strategy {shlex.quote(plain(specs))}" for specs in chosen]
    runs = next((plan.projection.runs_per_day for plan in report.plans if plan.projection is not None), None)
    words += [] if runs is None else [f"--runs-per-day {runs:g}"]
    days = next(
        (plan.projection.days_per_month for plan in report.plans if plan.projection is not None), DAYS_PER_MONTH
    )
    words += [] if days == DAYS_PER_MONTH else [f"--days-per-month {days:g}"]
    words += ["--model-uncertainty"] if any(plan.uncertainty for plan in report.plans) else []
    words += [] if report.as_model is None else [f"--as-model {shlex.quote(plain(report.as_model.model))}"]
    prices = report.prices
    if prices is not None:
        words += [] if prices.factor == 1 else [f"--factor {prices.factor:g}"]
        words += [] if prices.cache is None else [f"--cache {shlex.quote(prices.cache)}"]
    return " \\\n  ".join(words)


def _path_word(path: str) -> str:
    shown = plain(path)
    # A quoted tilde is not expanded to the home folder.
    return f"~/{shlex.quote(shown[2:])}" if shown.startswith("~/") else shlex.quote(shown)


def deploy_sections(report: Report) -> tuple[Section, ...]:
    """Build a section per plan with its code, its hook, and the settings of systems with its strategies."""
    sections = []
    for index, plan in enumerate(report.plans):
        written = plan_of_facts(plan)
        parts = [] if written is None else list(_previews(written, plan.strategies))
        if parts:
            which = f"plan {plan_letter(index)}" if len(report.plans) > 1 else "it"
            sections.append(Section(f"deploy-{index + 1}", f"Deploy {which}", tuple(parts), folded=True))
    return tuple(sections)


def _previews(plan: Plan, specs: Sequence[str]) -> Iterator[Part]:
    chosen = shlex.quote(plain(" + ".join(specs)))
    for name, title in TITLES.items():
        try:
            exported = export_plan(plan, name)
        except ExportError:
            continue
        yield Line.of(f"{'As' if name in APPLY_METHODS else 'For'} {title}: {exported.where}")
        lines = safe_text(exported.text).splitlines()
        yield Code("".join(f"{line}\n" for line in lines[:PREVIEW_LINES]), exported.language)
        if len(lines) > PREVIEW_LINES:
            yield Line.of(f"The first {PREVIEW_LINES} of {len(lines)} lines; the command writes all of them.")
        yield from (Line.of(f"Left out: {plain(each)}.", is_item=True) for each in exported.left_out)
        yield Code(f"inspector export --strategy {chosen} --to {name}\n", "sh")


def explanation_sections(report: Report, figures: FigureCells) -> tuple[Section, ...]:
    """Build a table for the baseline and one per plan; empty if explanations were not requested."""
    places: list[tuple[str, tuple[Step, ...], Mapping[str, ExplanationFacts] | None]] = [
        ("the baseline", ("explain",), report.explain)
    ]
    places += [
        (f"plan {plan_letter(index)}", ("plans", index, "explain"), plan.explain)
        for index, plan in enumerate(report.plans)
    ]
    tables = [_explanation_table(name, steps, explained, figures) for name, steps, explained in places if explained]
    return (Section("explained", "Calculation of the figures", tuple(tables), folded=True),) if tables else ()


def _explanation_table(
    name: str, steps: tuple[Step, ...], explained: Mapping[str, ExplanationFacts], figures: FigureCells
) -> Table:
    rows = []
    for figure, each in explained.items():
        at = (*steps, figure, "value")
        inputs = "; ".join(f"{given.label}: {input_text(given)}" for given in each.inputs)
        value = Cell(IN_TEXT.quantity(each.value, each.unit), pointer(*at), figures.value(*at), each.known)
        rows.append((word(figure), value, word(each.formula), word(inputs), word(each.source)))
    head = ("figure", "value", "calculation", "from", "source")
    return Table(f"Figures of {name}", head, tuple(rows), numbers=1)
