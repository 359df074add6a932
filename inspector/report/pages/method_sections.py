"""Page sections on methods: certainty and calculation of figures, reproduction, and export of the plan."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from inspector.replay.projection_terms import DAYS_PER_MONTH
from inspector.report.build_report import plan_of_facts
from inspector.report.catalogue import HOW_KNOWN, legend
from inspector.report.export import APPLY_METHODS, TITLES, ExportError, export_plan
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Code, Line, Section
from inspector.report.pages.session_sections import plan_title
from inspector.report.tables import Cell, FigureCells, Table, pointer, word
from inspector.report.text import input_text
from inspector.report.totals import marks_used, plan_letter
from inspector.report.uncertainty import REPLAY_CAVEAT
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.report.catalogue import ExplanationFacts
    from inspector.report.document import Report
    from inspector.report.pages.model import Part
    from inspector.report.tables import Step
    from inspector.strategies.plan import Plan


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
            f"{IN_TEXT.whole(fit.calls)} calls: a prompt is {IN_TEXT.whole(fit.overhead)} + {fit.ratio:.3f} x the "
            f"local count.{error}"
        )
    sentences = [REPLAYED_WITH_PLANS if report.plans else REPLAYED, counted]
    if prices is not None:
        factor = "" if prices.factor == 1 else f" Every price was multiplied by {prices.factor:g}."
        caches = "; ".join(dict.fromkeys(plain(each) for each in prices.caches.values()))
        sentences.append(f"Prices: {plain(prices.source)}.{factor}" + (f" Prompt cache: {caches}." if caches else ""))
    parts: list[Part] = [Line((Cell(sentence),)) for sentence in sentences]
    used = marks_used(report)
    marks = f" {legend(used)}." if legend(used) else ""
    parts.append(Line((Cell(f"{UNMARKED}{marks}"),)))
    parts += [Line((Cell(f"{how}: {HOW_KNOWN[how]}."),), is_item=True) for how in HOW_KNOWN if how in used]
    parts += [Line((Cell("Worth knowing: " + plain(warning)),)) for warning in report.warnings]
    parts.append(Line((Cell(f"{REPLAY_CAVEAT}."),)))
    parts.append(Line((Cell(f"Written by inspector {report.inspector}, report schema {report.schema}."),)))
    return Section("method", "Methods", tuple(parts), folded=True)


def reproduce_section(report: Report) -> Section:
    """Build the section with the command that reproduces this report, and every plan as a file."""
    parts: list[Part] = [Code(command_line(report) + "\n", "sh")]
    for index, plan in enumerate(report.plans):
        written = plan_of_facts(plan)
        if written is not None:
            parts.append(Line((Cell(f"{plan_title(report, index)}, as a file for --plan:"),)))
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
        yield Line((Cell(f"{'As' if name in APPLY_METHODS else 'For'} {title}: {exported.where}"),))
        lines = safe_text(exported.text).splitlines()
        yield Code("".join(f"{line}\n" for line in lines[:PREVIEW_LINES]), exported.language)
        if len(lines) > PREVIEW_LINES:
            yield Line((Cell(f"The first {PREVIEW_LINES} of {len(lines)} lines; the command writes all of them."),))
        yield from (Line((Cell(f"Left out: {plain(each)}."),), is_item=True) for each in exported.left_out)
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
