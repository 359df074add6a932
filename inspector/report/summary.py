"""The one place where a report's figures come from: a session replayed under every plan, as a `Report`."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import inspector
from inspector.replay.comparison import Compared, compared
from inspector.replay.ledger import HowKnown
from inspector.replay.projection import project_runs
from inspector.replay.replay import replay
from inspector.replay.uses import Uses, find_uses, needed_later
from inspector.report.caveats import caveats
from inspector.report.document import (
    SCHEMA_VERSION,
    CalibrationFacts,
    FigureSet,
    PlanFacts,
    ProjectionFacts,
    Report,
    SessionFacts,
    TierFacts,
    TokenFacts,
)
from inspector.report.numbers import DOLLAR_DIGITS, rounded
from inspector.report.recorded import recorded_figures
from inspector.report.savings import saving
from inspector.session.model import BlockKind
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.ledger import Figure, Figures
    from inspector.replay.replay import Replay
    from inspector.report.document import How
    from inspector.session.model import Session


def report_of(inputs: ReplayInputs, plans: Sequence[Plan] = (), runs_per_day: float | None = None) -> Report:
    """Replay a session under an empty plan and every given one, and say what came of it.

    Args:
        inputs: The session, its token counts and prices.
        plans: What to replay it under.
        runs_per_day: Where given, savings are projected to so many runs like this session a day.
    """
    session = inputs.history.session
    baseline = replay(inputs, Plan())
    recorded = recorded_figures(inputs)
    uses = find_uses(inputs.history) if plans else None
    return Report(
        schema=SCHEMA_VERSION,
        inspector=inspector.__version__,
        session=_session(session),
        tokens=_tokens(inputs),
        recorded=None if recorded is None else figure_set(recorded),
        baseline=figure_set(baseline.figures),
        plans=[_plan(replay(inputs, plan), baseline, uses, runs_per_day) for plan in plans],
        warnings=caveats(inputs),
    )


def figure_set(figures: Figures) -> FigureSet:
    """Figures as the report writes them: values, and apart from them how each is known."""
    known: dict[str, How] = {}

    def tokens(name: str) -> int | None:
        value = amount(name)
        return None if value is None else int(value)

    def amount(name: str) -> float | None:
        figure: Figure = getattr(figures, name)
        if figure.value is not None:
            known[name] = figure.known.value
        return figure.value

    return FigureSet(
        calls=tokens("calls"),
        prompt_tokens=tokens("prompt_tokens"),
        peak_prompt_tokens=tokens("peak_prompt_tokens"),
        cache_read_tokens=tokens("cache_read_tokens"),
        cache_write_tokens=tokens("cache_write_tokens"),
        uncached_tokens=tokens("uncached_tokens"),
        output_tokens=tokens("output_tokens"),
        cache_breaks=tokens("cache_breaks"),
        cost_usd=rounded(amount("cost_usd"), DOLLAR_DIGITS),
        known=known,
    )


def _session(session: Session) -> SessionFacts:
    models = list(session.models)
    return SessionFacts(
        path=os.fsencode(session.path).decode("utf-8", "replace"),
        format=session.format,
        id=session.identifier,
        title=session.title,
        agent=session.agent,
        model=next((call.model for call in reversed(session.calls) if call.model), None),
        models=models,
        messages=len(session.messages),
        blocks=len(session.blocks),
        tool_results=sum(block.kind is BlockKind.TOOL_RESULT for block in session.blocks),
        calls=len(session.calls),
        compactions=len(session.compactions),
        skipped_records=session.skipped_records,
    )


def _tokens(inputs: ReplayInputs) -> TokenFacts:
    fit = inputs.scale.calibration
    calibration = CalibrationFacts(
        ratio=round(fit.ratio, 6),
        overhead=round(fit.overhead, 1),
        residual=None if math.isnan(fit.residual) else round(fit.residual, 6),
        calls=fit.calls,
    )
    calibrated = inputs.scale.known is HowKnown.CALIBRATED
    return TokenFacts(method=inputs.table.counter.name, calibration=calibration if calibrated else None)


def _plan(planned: Replay, baseline: Replay, uses: Uses | None, runs_per_day: float | None) -> PlanFacts:
    entries = planned.plan.entries
    found = compared(baseline, planned)
    missed = None if uses is None else needed_later(planned, uses)
    return PlanFacts(
        name=planned.plan.name,
        strategies=planned.plan.to_specs(),
        figures=figure_set(found.figures),
        saved=saving(found.savings),
        break_even_call=found.break_even_call,
        first_firing=None if found.first_firing is None else found.first_firing + 1,
        edits=found.edits,
        tiers=[
            TierFacts(
                strategy=entries[group.entry].strategy.name,
                tier=group.group,
                results=group.results,
                touched=group.touched,
                tokens_cut=group.tokens_cut,
            )
            for group in planned.groups
        ],
        hazards=_hazards(found),
        needed_later=None
        if missed is None
        else {"calls": len(missed.calls), "results": len(missed.blocks), "words": missed.words},
        projection=_projection(planned, baseline, runs_per_day),
    )


def _hazards(found: Compared) -> dict[str, int]:
    counts: dict[str, int] = {}
    for hazard in found.hazards:
        counts[hazard.kind.value] = counts.get(hazard.kind.value, 0) + hazard.count
    return counts


def _projection(planned: Replay, baseline: Replay, runs_per_day: float | None) -> ProjectionFacts | None:
    if runs_per_day is None:
        return None
    projected = project_runs(baseline.ledger.cost, planned.ledger.cost, runs_per_day)
    if projected is None:
        return None
    month = projected.per_month.saving
    return ProjectionFacts(
        runs_per_day=runs_per_day,
        usd_per_day=round(projected.per_day.saving.middle, DOLLAR_DIGITS),
        usd_per_month=round(month.middle, DOLLAR_DIGITS),
        usd_per_month_low=round(month.low, DOLLAR_DIGITS),
        usd_per_month_high=round(month.high, DOLLAR_DIGITS),
    )
