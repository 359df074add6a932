"""From replays to the types of a report: figures rounded, and apart from them how each is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from inspector.replay.analysis.breakdown import Breakdown, cuts_by_tool
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.comparison import ComparedPlan, compared
from inspector.replay.analysis.forecast import project_runs, project_session
from inspector.replay.analysis.plan_outcome import outcome_of
from inspector.replay.analysis.reuse import ReuseEvidence, needed_later
from inspector.replay.engine.ledger import Figures
from inspector.replay.explain.plan import outcome_explanations
from inspector.replay.figure import Figure, HowKnown
from inspector.report.document import (
    BandFacts,
    CarriedBlockFacts,
    CarriedFacts,
    CompactionFacts,
    ExplanationFacts,
    FigureSet,
    InputFacts,
    NextCallsFacts,
    NoticeFacts,
    OutcomeFacts,
    PlanFacts,
    PriceFacts,
    ProjectionFacts,
    Saving,
    TierFacts,
    ToolCutFacts,
)
from inspector.report.numbers import DOLLAR_DIGITS, PERCENT_DIGITS, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.analysis.bootstrap import Band
    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock, ToolCuts
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.forecast import NextCallsProjection, RunProjection
    from inspector.replay.analysis.plan_outcome import PlanOutcome, Savings
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.replay.explain.explanation import Explanation
    from inspector.report.document import How
    from inspector.report.options import ReportOptions
    from inspector.session.model import Session

SHARE_DIGITS = 6


def plan_facts(planned: Replay, baseline: Replay, uses: ReuseEvidence | None, options: ReportOptions) -> PlanFacts:
    """A plan's part of a report.

    Args:
        planned: The session replayed under the plan.
        baseline: The session with nothing cut.
        uses: What the session used again of earlier results; None not to say.
        options: What to say beside the totals.
    """
    found = compared(baseline, planned)
    outcome = outcome_of(baseline, planned) if options.details or options.explain else None
    missed = None if uses is None else needed_later(planned, uses)
    tallies = Breakdown(baseline, planned) if options.details else None
    tiers = {} if tallies is None else tallies.by_tier()
    projection = _projected(planned, baseline, options)
    forecasts = compaction_forecasts(planned) if options.details else ()
    return PlanFacts(
        name=planned.plan.name,
        strategies=planned.plan.to_specs(),
        figures=figure_set(found.figures),
        saved=saving(found.savings),
        break_even_call=found.break_even_call,
        first_firing=None if found.first_firing is None else found.first_firing + 1,
        edits=found.edits,
        tiers=[_tier_facts(planned, group, tiers.get((group.entry, group.group))) for group in planned.groups],
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
        tools=[] if tallies is None else [_tool_facts(row) for row in cuts_by_tool(tallies)],
        notices=_notices(planned) if options.details else [],
        next_calls=_next_calls(planned, baseline, options.next_calls),
        explain=explanation_facts(outcome_explanations(baseline, planned, outcome, projection))
        if options.explain and outcome
        else None,
    )


def _tier_facts(planned: Replay, group: GroupEffect, tally: BreakdownRow | None) -> TierFacts:
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
        carried_tokens=count_fact(tally.carried),
        sent_tokens=count_fact(tally.sent),
        cut_tokens=count_fact(tally.cut),
        share=rounded(tally.share.value, SHARE_DIGITS),
        usd=dollar_fact(tally.cost),
        saved_usd=dollar_fact(tally.saved),
        known={**facts.known, **carried_known(tally)},
    )


def _tool_facts(row: ToolCuts) -> ToolCutFacts:
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


def _projected(planned: Replay, baseline: Replay, options: ReportOptions) -> RunProjection | None:
    if options.runs_per_day is None:
        return None
    return project_runs(baseline.ledger.cost, planned.ledger.cost, options.runs_per_day, options.days_per_month)


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


def recorded_figures(inputs: ReplayInputs) -> Figures | None:
    """Totals over the calls whose usage was reported; None where none was.

    How often the provider's cache missed is not among what providers report.
    """
    mine = inputs.reported
    if not mine.any():
        return None
    usage = inputs.recorded
    cost = inputs.rates.cost(
        usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, inputs.output
    )[mine]
    output = HowKnown.EXACT if inputs.output_known else HowKnown.ESTIMATED

    def exact(value: float | None) -> Figure:
        return Figure(value, HowKnown.EXACT)

    return Figures(
        calls=exact(int(mine.sum())),
        prompt_tokens=exact(int(usage.prompt[mine].sum())),
        peak_prompt_tokens=exact(int(usage.prompt[mine].max())),
        cache_read_tokens=exact(int(usage.cache_read[mine].sum())),
        cache_write_tokens=exact(int(usage.cache_write[mine].sum())),
        uncached_tokens=exact(int(usage.uncached[mine].sum())),
        output_tokens=Figure(int(inputs.output[mine].sum()), output),
        cache_breaks=exact(None),
        cost_usd=Figure(None if np.isnan(cost).any() else float(cost.sum()), output),
    )


def saving(saved: Savings) -> Saving:
    """The figures with as many digits as anybody needs; percentages instead of shares."""
    percent = None if saved.share.value is None else 100 * saved.share.value
    return Saving(
        tokens=None if saved.tokens.value is None else int(saved.tokens.value),
        usd=rounded(saved.usd.value, DOLLAR_DIGITS),
        percent=rounded(percent, PERCENT_DIGITS),
        percent_of=saved.share_of,
        known={
            name: figure.known.value
            for name, figure in (("tokens", saved.tokens), ("usd", saved.usd), ("percent", saved.share))
            if figure.value is not None
        },
    )


def known_of(**figures: Figure) -> dict[str, How]:
    """How every figure is known that has a value, by name."""
    return {name: figure.known.value for name, figure in figures.items() if figure.value is not None}


def count_fact(figure: Figure) -> int | None:
    """A figure that counts something."""
    return None if figure.value is None else round(figure.value)


def dollar_fact(figure: Figure) -> float | None:
    """A figure in dollars."""
    return rounded(figure.value, DOLLAR_DIGITS)


def price_facts(inputs: ReplayInputs) -> PriceFacts:
    """What calls were priced with."""
    return PriceFacts(
        source=inputs.pricing.source,
        factor=inputs.pricing.factor,
        caches={model: cache.title for model, cache in inputs.cache_models.items()},
        cache=inputs.cache,
    )


def carried_facts(row: BreakdownRow) -> CarriedFacts:
    """What some blocks take up of the prompts."""
    return CarriedFacts(
        kind=row.name,
        tool=row.part,
        blocks=row.blocks,
        carried_tokens=count_fact(row.carried),
        sent_tokens=count_fact(row.sent),
        cut_tokens=count_fact(row.cut),
        share=rounded(row.share.value, SHARE_DIGITS),
        usd=dollar_fact(row.cost),
        saved_usd=dollar_fact(row.saved),
        known=carried_known(row),
    )


def carried_known(row: BreakdownRow) -> dict[str, How]:
    """How the figures of a row are known."""
    return known_of(
        carried_tokens=row.carried,
        sent_tokens=row.sent,
        cut_tokens=row.cut,
        share=row.share,
        usd=row.cost,
        saved_usd=row.saved,
    )


def block_facts(row: ResentBlock, session: Session, message: int, text: str = "") -> CarriedBlockFacts:
    """What one block cost to carry, and how it begins where that may be said."""
    return CarriedBlockFacts(
        tool=session.blocks[row.block].tool_name,
        message=message + 1,
        tokens=count_fact(row.tokens),
        calls=row.calls,
        sent_tokens=count_fact(row.sent),
        usd=dollar_fact(row.cost),
        known=known_of(tokens=row.tokens, sent_tokens=row.sent, usd=row.cost),
        text=text,
    )


def outcome_facts(outcome: PlanOutcome) -> OutcomeFacts:
    """What a plan does to the prompt cache."""
    return OutcomeFacts(
        cache_read_share=rounded(outcome.cache_read_share.value, SHARE_DIGITS),
        plan_breaks=count_fact(outcome.breaks),
        resent_tokens=count_fact(outcome.resent_tokens),
        rebuild_usd=dollar_fact(outcome.rebuild_usd),
        break_usd=dollar_fact(outcome.break_usd),
        known=known_of(
            cache_read_share=outcome.cache_read_share,
            plan_breaks=outcome.breaks,
            resent_tokens=outcome.resent_tokens,
            rebuild_usd=outcome.rebuild_usd,
            break_usd=outcome.break_usd,
        ),
    )


def compaction_facts(forecast: CompactionForecast) -> CompactionFacts:
    """What a plan would have made of a recorded compaction."""
    reached = Figure(None if forecast.reached_at is None else forecast.reached_at + 1, HowKnown.PROJECTED)
    return CompactionFacts(
        call=forecast.call + 1,
        trigger_tokens=count_fact(forecast.trigger_tokens),
        asked_for=forecast.asked_for,
        prompt_tokens=count_fact(forecast.prompt_tokens),
        reached_call=count_fact(reached),
        until_call=None if forecast.until is None else forecast.until + 1,
        avoided=forecast.avoided,
        saved_tokens=count_fact(forecast.saved_tokens),
        calls_usd=dollar_fact(forecast.calls_usd),
        requests_usd=dollar_fact(forecast.requests_usd),
        saved_usd=dollar_fact(forecast.saved_usd),
        known=known_of(
            trigger_tokens=forecast.trigger_tokens,
            prompt_tokens=forecast.prompt_tokens,
            reached_call=reached,
            saved_tokens=forecast.saved_tokens,
            calls_usd=forecast.calls_usd,
            requests_usd=forecast.requests_usd,
            saved_usd=forecast.saved_usd,
        ),
    )


def next_calls_facts(projection: NextCallsProjection) -> NextCallsFacts:
    """The session going on as it went."""
    names = ("baseline_usd", "plan_usd", "saved_usd", "baseline_prompt_tokens", "plan_prompt_tokens")
    return NextCallsFacts(
        calls=projection.calls,
        baseline_usd=_band_facts(projection.cost.baseline),
        plan_usd=_band_facts(projection.cost.plan),
        saved_usd=_band_facts(projection.cost.saving),
        baseline_prompt_tokens=_band_facts(projection.baseline_prompt_tokens),
        plan_prompt_tokens=_band_facts(projection.plan_prompt_tokens),
        reaches_window=projection.reaches_window,
        known=dict.fromkeys(names, HowKnown.PROJECTED.value),
    )


def explanation_facts(explanations: Mapping[str, Explanation]) -> dict[str, ExplanationFacts]:
    """How figures came about."""
    return {
        name: ExplanationFacts(
            value=rounded(each.value, DOLLAR_DIGITS),
            unit=each.unit,
            known=each.known.value,
            formula=each.formula,
            inputs=[
                InputFacts(
                    label=given.label,
                    value=given.value if isinstance(given.value, str) else rounded(given.value, DOLLAR_DIGITS),
                    unit=given.unit,
                )
                for given in each.inputs
            ],
            source=each.source,
        )
        for name, each in explanations.items()
    }


def _band_facts(band: Band) -> BandFacts:
    return BandFacts(
        low=round(band.low, DOLLAR_DIGITS),
        middle=round(band.middle, DOLLAR_DIGITS),
        high=round(band.high, DOLLAR_DIGITS),
    )
