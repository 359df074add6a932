"""Conversion of replays to report types: rounded figures, and the certainty of each."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from inspector.replay.analysis.alternatives import BreakpointPrice, breakpoint_prices, lifetime_change, next_call_cost
from inspector.replay.analysis.best_plan import BestPlan, ComparedPlan, SavingPlan, compared, is_worthwhile
from inspector.replay.analysis.breakdown import Breakdown, BreakdownRow, ResendCost, cuts_by_tool, resend_cost
from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses, describe_evidence, sum_of
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.costs import SideSpending, priced_under
from inspector.replay.analysis.forecast import CacheSpread, project_runs, project_session, run_seconds
from inspector.replay.analysis.plan_outcome import Savings, plan_outcome
from inspector.replay.analysis.recoveries import NO_RECOVERIES, Recoveries, recoveries
from inspector.replay.engine.edits import RECORDED
from inspector.replay.engine.ledger import Figures
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.explain.cost_sheet import outcome_explanations
from inspector.replay.explain.explanation import Explanation, cost_part_explanations, overhead_explanation
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.quantity import DOLLAR_DIGITS, quantities, rounded_result, utc_time
from inspector.report.cache_document import (
    CacheMissesFacts,
    CacheMissFacts,
    HourFacts,
    MissEvidenceFacts,
    cache_settings,
)
from inspector.report.catalogue import (
    CostParts,
    ExplanationFacts,
    FigureSet,
    InputFacts,
    NoticeFacts,
    PlanFacts,
    ProjectionFacts,
    Saving,
    TierFacts,
)
from inspector.report.document import (
    BaselineCall,
    BestPlanFacts,
    BlockFacts,
    CallFacts,
    CallFigures,
    Ledger,
    PlannedBlock,
    PlannedCall,
    PriceFacts,
    SavingPlanFacts,
)
from inspector.report.numbers import rounded
from inspector.report.secret_redaction import shown_name
from inspector.report.sentences import uncertain_saving
from inspector.session.model import ContextCause
from inspector.strategies.core.operations import Action
from inspector.strategies.plan import Plan, PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.forecast import NextCallsProjection, RunProjection
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.report.document import ReportOptions
    from inspector.strategies.history.history import History


def plan_of_facts(facts: PlanFacts | SavingPlanFacts) -> Plan | None:
    """Rebuild the plan; None if it has no strategy, or comes from another version of the program."""
    try:
        return Plan.from_specs(facts.strategies) if facts.strategies else None
    except PlanError:
        return None


def plan_facts(planned: Replay, baseline: Replay, uses: ReuseEvidence | None, options: ReportOptions) -> PlanFacts:
    """Report one plan; without `uses` (None), later uses of earlier results are omitted."""
    found = compared(baseline, planned)
    outcome = plan_outcome(baseline, planned) if options.details or options.explain else None
    missed = None if uses is None else recoveries(baseline, planned, uses)
    tallies = Breakdown(baseline, planned) if options.details else None
    tiers = {} if tallies is None else tallies.by_tier()
    recovery_cost = None if missed is None else missed.cost_at
    saves = None if missed is None else SavingPlan(planned.plan, found.savings, missed)
    projection = _projected(planned, baseline, options, missed)
    forecasts = compaction_forecasts(planned) if options.details else ()
    return PlanFacts(
        name=planned.plan.name,
        is_suggestion=options.suggests,
        strategies=planned.plan.to_specs(),
        figures=figure_set(found.figures),
        saved=saving(found.savings),
        break_even_call=found.break_even_call,
        first_firing=None if found.first_firing is None else found.first_firing + 1,
        edits=found.edits,
        tiers=[_tier_facts(planned, group, tiers.get((group.entry, group.group))) for group in planned.groups],
        hazards=_hazards(found),
        needed_later=None if missed is None else rounded_result(missed.later),
        is_recommendable=None if saves is None else is_worthwhile(saves, planned, beyond=options.beyond),
        projection=None if projection is None else _projection_facts(projection),
        known={
            # "Never" is as certain as a call number, if there is a price to compute it from.
            **({} if found.savings.usd.value is None else {"break_even_call": found.savings.usd.known.value}),
            "first_firing": found.figures.prompt_tokens.known.value,
            "edits": found.figures.prompt_tokens.known.value,
            "hazards": found.figures.prompt_tokens.known.value,
            # Shared words are evidence of use, not a record of it.
            **({} if missed is None else {"needed_later": HowKnown.ESTIMATED.value}),
        },
        outcome=None if outcome is None else rounded_result(outcome.cache),
        carried=[] if tallies is None else [rounded_result(row) for row in tallies.by_kind()],
        compactions=[rounded_result(forecast) for _, forecast in forecasts],
        tools=[] if tallies is None else [rounded_result(row) for row in cuts_by_tool(tallies)],
        notices=_notices(planned) if options.details else [],
        next_calls=_next_calls(planned, baseline, options, recovery_cost),
        breakpoints=breakpoint_facts(planned, options),
        uncertainty=uncertain_saving(found.savings.usd.value, found.figures.cost_usd.value)
        if options.model_uncertainty
        else None,
        explain=explanation_facts(outcome_explanations(baseline, planned, outcome, projection))
        if options.explain and outcome
        else None,
    )


def _tier_facts(planned: Replay, group: GroupEffect, row: BreakdownRow | None) -> TierFacts:
    facts = TierFacts(
        strategy=planned.plan.entries[group.entry].strategy.name,
        tier=group.group,
        results=group.results,
        touched=group.touched,
        tokens_cut=group.tokens_cut,
        known={"tokens_cut": planned.inputs.scale.known.value},
    )
    if row is None:
        return facts
    names = ("carried_tokens", "sent_tokens", "cut_tokens", "share", "usd", "saved_usd")
    return structs.replace(
        facts, **{name: getattr(rounded_result(row), name) for name in names}, known={**facts.known, **row.known}
    )


def _notices(planned: Replay) -> list[NoticeFacts]:
    entries = planned.plan.entries
    return [
        NoticeFacts(strategy=entries[notice.entry].strategy.name, call=notice.call + 1, text=notice.text)
        for notice in planned.edits.notices
    ]


def _hazards(found: ComparedPlan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for hazard in found.hazards:
        counts[hazard.kind.value] = counts.get(hazard.kind.value, 0) + hazard.count
    return counts


def _projected(
    planned: Replay, baseline: Replay, options: ReportOptions, missed: Recoveries | None
) -> RunProjection | None:
    if options.runs_per_day is None:
        return None
    costs = baseline.ledger.cost, planned.ledger.cost
    found = project_runs(
        *costs,
        options.runs_per_day,
        options.days_per_month,
        None if missed is None else missed.cost_at,
        CacheSpread.between(baseline, planned),
        0.0 if missed is None else missed.cost_at_worst,
        run_seconds(baseline.history.session),
    )
    return replace(found, per_run=found.per_run.widened()) if found and options.model_uncertainty else found


def _projection_facts(projected: RunProjection) -> ProjectionFacts:
    month = projected.per_month.saving
    names = ("usd_per_day", "usd_per_month", "usd_per_month_low", "usd_per_month_high")
    return ProjectionFacts(
        runs_per_day=projected.runs.number,
        runs_are_assumed=projected.runs.is_assumed,
        days_per_month=projected.days_per_month,
        usd_per_day=round(projected.per_day.saving.middle, DOLLAR_DIGITS),
        usd_per_month=round(month.middle, DOLLAR_DIGITS),
        usd_per_month_low=round(month.low, DOLLAR_DIGITS),
        usd_per_month_high=round(month.high, DOLLAR_DIGITS),
        known=dict.fromkeys(names, HowKnown.PROJECTED.value),
    )


def _next_calls(
    planned: Replay, baseline: Replay, options: ReportOptions, recovery_cost: Mapping[int, float] | None
) -> NextCallsProjection | None:
    if options.next_calls is None:
        return None
    projected = project_session(baseline, planned, options.next_calls, recovery_cost)
    if projected is None:
        return None
    return (projected.widened() if options.model_uncertainty else projected).rounded(DOLLAR_DIGITS)


def figure_set(found: Figures) -> FigureSet:
    return rounded_result(FigureSet.of(**{name: getattr(found, name) for name in quantities(FigureSet)}))


def saving(saved: Savings) -> Saving:
    found = Saving.of(tokens=saved.tokens, usd=saved.usd, percent=saved.share, percent_of=saved.share_of)
    return rounded_result(found)


def recorded_figures(inputs: ReplayInputs) -> Figures | None:
    """Sum the usage of calls that reported it, None if there are none. Cache misses are not reported."""
    mine = inputs.reported
    if not mine.any():
        return None
    usage, responses = inputs.recorded, recorded_calls(inputs.history)
    shares = inputs.output_apportioned
    answered = np.where(shares, inputs.output, responses.output)
    cost = inputs.rates.cost(usage, answered)[mine]
    # A stream's initial output count is a placeholder: the response was longer.
    is_lower_bound = inputs.lacks_usage or bool((responses.is_placeholder & ~shares)[mine].any())
    output = HowKnown.ESTIMATED if is_lower_bound else HowKnown.EXACT

    def recorded(value: float | None) -> Figure:
        return Figure(value, inputs.recorded_known)

    return Figures(
        calls=Figure(int(mine.sum()), HowKnown.EXACT),
        prompt_tokens=Figure(int(usage.prompt[mine].sum()), inputs.recorded_known, inputs.lacks_usage),
        peak_prompt_tokens=recorded(int(usage.prompt[mine].max())),
        cache_read_tokens=recorded(int(usage.cache_read[mine].sum())),
        cache_write_tokens=recorded(int(usage.cache_write[mine].sum())),
        uncached_tokens=recorded(int(usage.uncached[mine].sum())),
        output_tokens=Figure(int(answered[mine].sum()), output, is_lower_bound),
        cache_breaks=recorded(None),
        cost_usd=Figure(None if np.isnan(cost).any() else float(cost.sum()), output, is_lower_bound),
    )


def shown_spending(spent: SideSpending) -> SideSpending:
    return structs.replace(spent, purpose=shown_name(spent.purpose), cost_usd=rounded(spent.cost_usd, DOLLAR_DIGITS))


def price_facts(inputs: ReplayInputs) -> PriceFacts:
    return PriceFacts(
        source=inputs.pricing.source,
        factor=inputs.pricing.factor,
        priced_as=priced_under(inputs),
        caches={model: cache.title for model, cache in inputs.cache_models.items()},
        cache=inputs.cache,
    )


def cost_parts(replay: Replay) -> CostParts:
    """Break down a session's cost, and the overhead of every prompt that is not in the file."""
    found = {**cost_part_explanations(replay), "overhead": overhead_explanation(replay.inputs)}
    figures = {name: Figure(each.value, each.known, each.is_lower_bound) for name, each in found.items()}
    return rounded_result(CostParts.of(**{name: figures.get(name) for name in quantities(CostParts)}))


def breakpoint_facts(planned: Replay, options: ReportOptions) -> list[BreakpointPrice]:
    """Return the cost of a plan by breakpoint rule, the assumed rule first; empty if the rules hardly matter."""
    found = breakpoint_prices(planned) if options.breakpoint_prices or options.details else None
    if found is None or not (options.breakpoint_prices or found.is_relevant):
        return []
    return [rounded_result(each) for each in found.prices]


def best_plan_facts(found: BestPlan | None) -> BestPlanFacts:
    """Convert the result of trying every plan; a canceled search counts as not tried."""
    if found is None:
        return BestPlanFacts(best=None, most=None, tried=0, is_complete=False)
    best, most, applicable = (
        None
        if each is None
        else SavingPlanFacts(
            name=each.plan.name,
            strategies=each.plan.to_specs(),
            saved=saving(each.savings),
            needed_later=rounded_result(each.recoveries.later),
        )
        for each in (found.best, found.most, found.applicable)
    )
    return BestPlanFacts(
        best=best,
        most=most,
        tried=found.tried,
        is_complete=found.is_complete,
        applicable=applicable,
        beyond=found.beyond,
    )


def explanation_facts(explanations: Mapping[str, Explanation]) -> dict[str, ExplanationFacts]:
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


def ledger_facts(
    baseline: Replay, planned: Sequence[Replay], misses: CacheMisses, uses: ReuseEvidence | None
) -> Ledger:
    """Build the ledger: every call and every block, without a plan (`uses` is None) and under each."""
    return Ledger(
        window=baseline.inputs.window.size,
        calls=_calls(baseline, planned, misses, uses),
        blocks=_blocks(baseline, planned),
    )


def _calls(
    baseline: Replay, planned: Sequence[Replay], misses: CacheMisses, uses: ReuseEvidence | None
) -> list[CallFacts]:
    inputs, session = baseline.inputs, baseline.history.session
    usage, output = inputs.recorded, recorded_calls(inputs.history).output
    columns = (usage.prompt, usage.cache_read, usage.cache_write, usage.uncached, output)
    reported = _figures([HowKnown.EXACT] * len(session.calls), *columns, inputs.rates.cost(usage, output))
    before = _baseline(baseline, misses)
    under = [_planned(each, NO_RECOVERIES if uses is None else recoveries(baseline, each, uses)) for each in planned]
    begun: set[int] = set()
    rows = []
    for index, call in enumerate(session.calls):
        cause = session.contexts[call.context].cause
        compacted = cause is ContextCause.COMPACTION and call.context not in begun
        begun.add(call.context)
        rows.append(
            CallFacts(
                call=index + 1,
                message=call.response + 1,
                time=utc_time(call.time),
                model=call.model,
                compacted=compacted,
                recorded=CallFigures(**reported[index]) if inputs.reported[index] else None,
                baseline=before[index],
                plans=[each[index] for each in under],
            )
        )
    return rows


def _figures(known: Sequence[HowKnown], *columns: NDArray[Any]) -> list[dict[str, Any]]:
    """Return the fields of `CallFigures` per call from its columns in the order of the fields."""
    *counts, cost = (column.tolist() for column in columns)
    rows = zip(*counts, map(_dollars, cost), (how.value for how in known), strict=True)
    return [dict(zip(CallFigures.__struct_fields__, row, strict=True)) for row in rows]


def _replayed(replay: Replay, known: Sequence[HowKnown]) -> list[dict[str, Any]]:
    ledger = replay.ledger
    columns = (ledger.prompt_tokens, ledger.cache_read, ledger.cache_write, ledger.uncached, ledger.output)
    return _figures(known, *columns, ledger.cost)


def _baseline(replay: Replay, misses: CacheMisses) -> list[BaselineCall]:
    known = [replay.inputs.prompt_known(call) for call in range(len(replay.inputs.reported))]
    dollars = call_dollars(replay)
    parts = zip(*(map(_dollars, column.tolist()) for column in dollars.values()), strict=True)
    found = []
    for call, (each, part) in enumerate(zip(_replayed(replay, known), parts, strict=True)):
        miss = misses.at(call)
        found.append(
            BaselineCall(
                **each,
                **dict(zip(dollars, part, strict=True)),
                miss_cause="" if miss is None else miss.cause.value,
                recached_tokens=0 if miss is None else miss.tokens,
                extra_usd=0.0 if miss is None else rounded(miss.extra_usd.value, DOLLAR_DIGITS),
            )
        )
    return found


def call_dollars(replay: Replay) -> dict[str, NDArray[np.float64]]:
    """Return the dollars per call of each kind of token by its name in `CostParts`; NaN without a price."""
    ledger = replay.ledger
    rates = replay.inputs.rates.of_prompts(ledger.prompt_tokens)
    written = (
        ledger.cache_write_5m * rates[:, RateColumn.CACHE_WRITE_5M]
        + ledger.cache_write_1h * rates[:, RateColumn.CACHE_WRITE_1H]
    )
    return {
        "cache_read_usd": ledger.cache_read * rates[:, RateColumn.CACHE_READ],
        "cache_write_usd": written,
        "uncached_usd": ledger.uncached * rates[:, RateColumn.UNCACHED],
        "output_usd": ledger.output * rates[:, RateColumn.OUTPUT],
    }


def _planned(replay: Replay, found: Recoveries) -> list[PlannedCall]:
    ledger, needed, costs = replay.ledger, Counter(need.call for need in found.needs), found.cost_at
    figures = _replayed(replay, [replay.figures.prompt_tokens.known] * len(ledger.cost))
    columns = (ledger.removed_tokens, ledger.edits, ledger.is_break)
    return [
        PlannedCall(
            **each,
            cut_tokens=cut,
            edits=edits,
            breaks=breaks,
            results_needed=needed[call],
            recoveries_usd=None if each["cost_usd"] is None else _dollars(costs.get(call, 0.0)),
        )
        for call, (each, cut, edits, breaks) in enumerate(
            zip(figures, *(column.tolist() for column in columns), strict=True)
        )
    ]


def _blocks(baseline: Replay, planned: Sequence[Replay]) -> list[BlockFacts]:
    inputs, history = baseline.inputs, baseline.history
    before = resend_cost(baseline)
    under = [_planned_blocks(each, before) for each in planned]
    tokens = inputs.block_tokens.tolist()
    sent, calls, cost = np.rint(before.tokens).astype(np.int64).tolist(), before.calls.tolist(), before.cost.tolist()
    message = history.message.tolist()
    return [
        BlockFacts(
            block=index + 1,
            message=message[index] + 1,
            kind=block.kind.label,
            tool=block.tool_name,
            tokens=tokens[index],
            calls=calls[index],
            sent_tokens=sent[index],
            usd=_dollars(cost[index]),
            known=inputs.scale.known.value,
            plans=[each[index] for each in under],
        )
        for index, block in enumerate(history.session.blocks)
    ]


def _planned_blocks(replay: Replay, before: ResendCost) -> list[PlannedBlock]:
    after = resend_cost(replay)
    cut = np.rint(before.tokens - after.tokens).astype(np.int64).tolist()
    saved = (before.cost - after.cost).tolist()
    state = replay.state(replay.history.call_count)
    changes = replay.edits
    rows = []
    for index, row in enumerate(state.row.tolist()):
        reason = None if row < 0 else changes.reasons[int(changes.reason[row])]
        rows.append(
            PlannedBlock(
                action=Action(int(state.action[index])).label,
                strategy=_strategy(replay, None if reason is None else reason.entry),
                tier="" if reason is None else reason.decision.group,
                from_call=None if row < 0 else int(changes.call[row]) + 1,
                cut_tokens=cut[index],
                saved_usd=_dollars(saved[index]),
            )
        )
    return rows


def _strategy(replay: Replay, entry: int | None) -> str:
    if entry is None:
        return ""
    return "recorded" if entry == RECORDED else replay.plan.entries[entry].strategy.name


def _dollars(value: float) -> float | None:
    """Round to the digits of the totals; None without a price."""
    if math.isnan(value):  # no price
        return None
    return round(value, DOLLAR_DIGITS) + 0.0  # avoid negative zero


SECOND_DIGITS = 3


_UNREAD = ("unread_tokens", "new_tokens", "noise_tokens", "beyond_tokens", "uncompared_tokens")


def cache_misses_facts(found: CacheMisses) -> CacheMissesFacts:
    """Convert a session's cache misses, with the projections of another lifetime and the next call."""
    replay, total = found.replay, found.total
    known, cost = replay.figures.cache_read_tokens.known, replay.figures.cost_usd
    extra = total.figure("extra_usd")
    share = extra.value / cost.value if extra.value is not None and cost.value else None
    change = lifetime_change(found)
    facts = CacheMissesFacts.of(
        **{name: total.figure(name) for name in ("calls", "tokens", "usd", "extra_usd")},
        share=Figure(share, lowest_confidence(extra.known, cost.known)),
        **{name: Figure(getattr(found, name), known) for name in _UNREAD},
        causes=list(found.causes),
        misses=[miss_facts(miss, replay.history, known) for miss in found.all],
        lifetime=change,
        next_call=next_call_cost(replay),
        settings=cache_settings(found, change),
    )
    return rounded_result(facts)


def miss_facts(miss: CacheMiss, history: History, known: HowKnown) -> CacheMissFacts:
    """Convert one miss; `known` is the certainty of the cache reads."""
    call, reported = history.session.calls[miss.call], miss.reported
    facts = CacheMissFacts.of(
        call=miss.call + 1,
        time=utc_time(call.time),
        model=call.model,
        cause=miss.cause.value,
        cause_known=miss.known.value,
        derived=miss.derived.value,
        reported="" if reported is None else reported.reason,
        reported_tokens=None if reported is None else reported.tokens,
        expected=miss.cause.is_expected,
        evidence=_evidence_facts(miss, history),
        prevention=miss.cause.prevention,
        could_read_tokens=Figure(miss.could_read, known),
        read_tokens=Figure(miss.read, known),
        tokens=Figure(miss.tokens, known),
        usd=miss.usd,
        extra_usd=miss.extra_usd,
    )
    return rounded_result(facts)


def _evidence_facts(miss: CacheMiss, history: History) -> MissEvidenceFacts:
    shown = miss.evidence
    before, now = (int(history.message[each]) + 1 if each >= 0 else None for each in shown.blocks)
    return MissEvidenceFacts(
        text=describe_evidence(miss, history.session),
        previous_call=shown.previous + 1 if shown.previous >= 0 else None,
        gap_seconds=rounded(shown.gap_seconds, SECOND_DIGITS),
        lifetime_seconds=shown.lifetime,
        previous_model=shown.models[0],
        previous_message=before,
        message=now,
        rule=shown.rule,
    )


def hour_facts(found: CacheMisses) -> list[HourFacts]:
    """Sum cost and misses per hour, in order; calls without a time come last."""
    replay = found.replay
    known = replay.figures.cost_usd.known
    calls: dict[str, list[int]] = {}
    for call, each in enumerate(replay.history.session.calls):
        time = utc_time(each.time)
        calls.setdefault(f"{time[:13]}:00:00Z" if time else "", []).append(call)
    rows = []
    for hour in sorted(calls, key=lambda hour: (not hour, hour)):
        missed = [miss for miss in map(found.at, calls[hour]) if miss is not None and not miss.cause.is_expected]
        rows.append(
            HourFacts.of(
                hour=hour,
                calls=Figure(len(calls[hour]), HowKnown.EXACT),
                usd=Figure.of(float(replay.ledger.cost[calls[hour]].sum()), known),
                misses=Figure(len(missed), replay.figures.cache_read_tokens.known),
                extra_usd=sum_of(miss.extra_usd for miss in missed),
            )
        )
    return [rounded_result(each) for each in rows]
