"""A report as a page: its sections in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.pages.cache_sections import as_model_section, bill_section, cost_section, misses_section
from inspector.report.pages.method_sections import (
    deploy_sections,
    explanation_sections,
    method_section,
    reproduce_section,
)
from inspector.report.pages.model import PageContent, Section
from inspector.report.pages.opening import identity, lead, legend_of, tiles
from inspector.report.pages.plan_sections import comparison_section, plan_sections, risks_section
from inspector.report.pages.session_sections import (
    calls_sections,
    composition_section,
    facts_table,
    heaviest_section,
    projection_section,
    totals_section,
)
from inspector.report.tables import FigureCells
from inspector.report.totals import session_heading

if TYPE_CHECKING:
    from inspector.report.document import Report


ABOUT = "Content of its context, and its cost."
ABOUT_PLANS = (
    "Content of its context, its cost, and the effect of a plan: rules that remove old parts of the conversation "
    "when it is sent again."
)


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
    return PageContent(
        title=session_heading(report.session),
        identity=identity(report),
        about=ABOUT_PLANS if report.plans else ABOUT,
        lead=reported,
        tiles=large,
        legend=legend_of(large, reported),
        sections=tuple(section for section in sections if section is not None),
    )
