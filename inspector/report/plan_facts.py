"""What a report says of one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from inspector.replay.analysis.breakdown import Breakdown, cuts_by_tool
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.comparison import ComparedPlan, compared
from inspector.replay.analysis.forecast import project_runs, project_session
from inspector.replay.analysis.plan_outcome import outcome_of
from inspector.replay.analysis.reuse import ReuseEvidence, needed_later
from inspector.replay.explain.plan import outcome_explanations
from inspector.replay.figure import HowKnown
from inspector.report.detail_facts import (
    SHARE_DIGITS,
    carried_facts,
    carried_known,
    compaction_facts,
    count,
    dollars,
    explanation_facts,
    next_calls_facts,
    outcome_facts,
)
from inspector.report.details import NoticeFacts, ToolCutFacts
from inspector.report.document import PlanFacts, ProjectionFacts, TierFacts
from inspector.report.figure_sets import figure_set
from inspector.report.numbers import DOLLAR_DIGITS, rounded
from inspector.report.savings import saving

if TYPE_CHECKING:
    from inspector.replay.analysis.breakdown import BreakdownRow, ToolCuts
    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.report.details import ExplanationFacts, NextCallsFacts
    from inspector.report.wanted import Wanted


def plan_facts(planned: Replay, baseline: Replay, uses: ReuseEvidence | None, wanted: Wanted) -> PlanFacts:
    """A plan's part of a report.

    Args:
        planned: The session replayed under the plan.
        baseline: The session with nothing cut.
        uses: What the session used again of earlier results; None not to say.
        wanted: What to say beside the totals.
    """
    found = compared(baseline, planned)
    outcome = outcome_of(baseline, planned) if wanted.details or wanted.explain else None
    missed = None if uses is None else needed_later(planned, uses)
    tallies = Breakdown(baseline, planned) if wanted.details else None
    tiers = {} if tallies is None else tallies.by_tier()
    projection = _projected(planned, baseline, wanted)
    forecasts = compaction_forecasts(planned) if wanted.details else ()
    return PlanFacts(
        name=planned.plan.name,
        strategies=planned.plan.to_specs(),
        figures=figure_set(found.figures),
        saved=saving(found.savings),
        break_even_call=found.break_even_call,
        first_firing=None if found.first_firing is None else found.first_firing + 1,
        edits=found.edits,
        tiers=[_tier(planned, group, tiers.get((group.entry, group.group))) for group in planned.groups],
        hazards=_hazards(found),
        needed_later=None
        if missed is None
        else {"calls": len(missed.calls), "results": len(missed.blocks), "words": missed.words},
        projection=None if projection is None else _projection_facts(projection),
        known={
            # Never is known as well as a call is, where there is a price to know it by.
            **({} if found.savings.usd.value is None else {"break_even_call": found.savings.usd.known.value}),
            "first_firing": found.figures.prompt_tokens.known.value,
            "edits": found.figures.prompt_tokens.known.value,
            "hazards": found.figures.prompt_tokens.known.value,
            # That texts share words is evidence of use, not a record of it.
            **({} if missed is None else {"needed_later": HowKnown.ESTIMATED.value}),
        },
        outcome=None if outcome is None else outcome_facts(outcome),
        carried=[] if tallies is None else [carried_facts(row) for row in tallies.by_kind()],
        compactions=[compaction_facts(forecast) for forecast in forecasts],
        tools=[] if tallies is None else [_tool(row) for row in cuts_by_tool(tallies)],
        notices=_notices(planned) if wanted.details else [],
        next_calls=_next_calls(planned, baseline, wanted.next_calls),
        explain=_explained_plan(planned, baseline, outcome, projection) if wanted.explain and outcome else None,
    )


def _explained_plan(
    planned: Replay, baseline: Replay, outcome: PlanOutcome, projection: RunProjection | None
) -> dict[str, ExplanationFacts]:
    return explanation_facts(outcome_explanations(baseline, planned, outcome, projection))


def _tier(planned: Replay, group: GroupEffect, tally: BreakdownRow | None) -> TierFacts:
    facts = TierFacts(
        strategy=planned.plan.entries[group.entry].strategy.name,
        tier=group.group,
        results=group.results,
        touched=group.touched,
        tokens_cut=group.tokens_cut,
        known={"tokens_cut": HowKnown.ESTIMATED.value},
    )
    if tally is None:
        return facts
    return structs.replace(
        facts,
        carried_tokens=count(tally.carried),
        sent_tokens=count(tally.sent),
        cut_tokens=count(tally.cut),
        share=rounded(tally.share.value, SHARE_DIGITS),
        usd=dollars(tally.cost),
        saved_usd=dollars(tally.saved),
        known={**facts.known, **carried_known(tally)},
    )


def _tool(row: ToolCuts) -> ToolCutFacts:
    return ToolCutFacts(
        tool=row.tool,
        results=row.results,
        original_tokens=row.original,
        sent_tokens=row.sent,
        saved_tokens=row.saved,
        # The first two are our own count, not brought to the provider's scale.
        known={
            **dict.fromkeys(("original_tokens", "sent_tokens"), HowKnown.ESTIMATED.value),
            "saved_tokens": row.known.value,
        },
    )


def _notices(planned: Replay) -> list[NoticeFacts]:
    entries = planned.plan.entries
    return [
        NoticeFacts(strategy=entries[notice.entry].strategy.name, call=notice.call + 1, text=notice.text)
        for notice in planned.changes.notices
    ]


def _hazards(found: ComparedPlan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for hazard in found.hazards:
        counts[hazard.kind.value] = counts.get(hazard.kind.value, 0) + hazard.count
    return counts


def _projected(planned: Replay, baseline: Replay, wanted: Wanted) -> RunProjection | None:
    if wanted.runs_per_day is None:
        return None
    return project_runs(baseline.ledger.cost, planned.ledger.cost, wanted.runs_per_day, wanted.days_per_month)


def _projection_facts(projected: RunProjection) -> ProjectionFacts:
    month = projected.per_month.saving
    names = ("usd_per_day", "usd_per_month", "usd_per_month_low", "usd_per_month_high")
    return ProjectionFacts(
        runs_per_day=projected.runs_per_day,
        days_per_month=projected.days_per_month,
        usd_per_day=round(projected.per_day.saving.middle, DOLLAR_DIGITS),
        usd_per_month=round(month.middle, DOLLAR_DIGITS),
        usd_per_month_low=round(month.low, DOLLAR_DIGITS),
        usd_per_month_high=round(month.high, DOLLAR_DIGITS),
        known=dict.fromkeys(names, HowKnown.PROJECTED.value),
    )


def _next_calls(planned: Replay, baseline: Replay, calls: int | None) -> NextCallsFacts | None:
    projected = None if calls is None else project_session(baseline, planned, calls)
    return None if projected is None else next_calls_facts(projected)
