"""Replay of a session under every plan as a `Report`: the single source of a report's figures."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

import inspector
from inspector.replay.analysis.alternatives import model_switch
from inspector.replay.analysis.best_plan import (
    BestPlan,
    BestPlanSearch,
    as_model,
    plans_to_compare,
    priced_baseline,
    replays_of,
)
from inspector.replay.analysis.breakdown import Breakdown, ResentBlock
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.analysis.compactions import compaction_totals
from inspector.replay.analysis.context_blocks import system_tokens
from inspector.replay.analysis.costs import cost_with_side_requests, model_costs, recorded_costs, side_spending
from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan, find_reuse
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.explain.explanation import overhead_explanation, replay_explanations
from inspector.replay.figure import HowKnown
from inspector.replay.quantity import DOLLAR_DIGITS, rounded_result, utc_time
from inspector.report.build_report import (
    best_plan_facts,
    cache_misses_facts,
    cost_parts,
    explanation_facts,
    figure_set,
    hour_facts,
    ledger_facts,
    plan_facts,
    price_facts,
    recorded_figures,
    shown_spending,
)
from inspector.report.document import (
    SCHEMA_VERSION,
    CalibrationFacts,
    Report,
    ReportOptions,
    SessionFacts,
    TokenFacts,
)
from inspector.report.numbers import IN_TEXT, NumberFormat, rounded
from inspector.report.secret_redaction import (
    SecretRedactor,
    excerpt,
    shown_name,
    shown_path,
    without_secrets,
)
from inspector.report.sentences import without_texts
from inspector.session.model import BlockKind, Session, session_name
from inspector.session.unknown_parts import unknown_parts
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.analysis.best_plan import AsModel
    from inspector.replay.analysis.costs import RecordedCost
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.sessions import SubagentCosts
    from inspector.report.catalogue import ExplanationFacts, PlanFacts

HEAVIEST = 5
"""Number of the costliest tool results to list."""

LONGEST_NAME = 120
"""Maximum characters of a session's name: a first prompt can be a page."""

LISTED_DIAGNOSTICS = 100
"""Maximum diagnostics listed per session; there may be more."""


def report_of(
    inputs: ReplayInputs,
    plans: Sequence[Plan] = (),
    options: ReportOptions | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  no-op default
    best: BestPlan | None = None,
    subagents: SubagentCosts | None = None,
) -> Report:
    """Replay a session under an empty plan and every given one, and report the result.

    Args:
        options: Contents in addition to the totals; defaults to every detail and no projection.
        progress: Called with the number of strategies compared, or of plans tried, and their total.
        best: Result of trying all plans, if it exists already.
        subagents: Costs of the sessions that this one started; None if they were not read.

    Raises:
        DetectorMissingError: Texts are included, and the secret detector is not installed.
    """
    options = options or ReportOptions()
    redactor = SecretRedactor() if options.texts else None
    baseline = replay(inputs, Plan())
    recorded = recorded_figures(inputs)
    uses = find_reuse(inputs.history) if plans or options.comparison or options.as_model else None
    breakdown = Breakdown(baseline, baseline) if options.details else None
    planned = list(replays_of(inputs, plans)) if options.skips_failed else [replay(inputs, plan) for plan in plans]
    heaviest = [] if breakdown is None else _heaviest(breakdown, redactor)
    session = _session_facts(inputs, redactor)
    wanted = options.details or options.ledger or options.switch_to
    misses = cache_misses(baseline) if wanted else None
    spent = side_spending(inputs.history.session, inputs.pricing)
    agent_costs = recorded_costs(baseline, None if subagents is None else subagents.cost_usd)
    if options.best_plan and best is None:
        best = _best_plan(baseline, options, progress) or BestPlan(None, None, 0, is_complete=False)
    switches = [model_switch(misses, options.switch_at, model) for model in options.switch_to] if misses else []
    compacted = compaction_totals(baseline, misses) if options.details and misses else None
    report = Report(
        schema=SCHEMA_VERSION,
        inspector=inspector.__version__,
        session=session,
        tokens=_token_facts(inputs),
        recorded=None if recorded is None else figure_set(recorded),
        baseline=figure_set(baseline.figures),
        plans=[plan_facts(each, baseline, uses, options) for each in planned],
        warnings=[
            *caveats(inputs),
            *recorded_cost_words(agent_costs, IN_TEXT),
            *([] if redactor is None else [_about_masks(redactor)]),
        ],
        beside=[shown_spending(each) for each in spent],
        altogether_usd=rounded(
            cost_with_side_requests(None if recorded is None else recorded.cost_usd.value, spent), DOLLAR_DIGITS
        ),
        subagents=without_texts(subagents, partial(_title, redactor)) if subagents else None,
        with_subagents_usd=None
        if subagents is None
        else rounded(subagents.with_session(baseline.figures.cost_usd.value, spent), DOLLAR_DIGITS),
        recorded_costs=[
            replace(
                each, recorded_usd=round(each.recorded_usd, 6), computed_usd=rounded(each.computed_usd, DOLLAR_DIGITS)
            )
            for each in agent_costs
        ],
        prices=price_facts(inputs),
        carried=[] if breakdown is None else [rounded_result(row) for row in breakdown.by_kind()],
        heaviest=heaviest,
        explain=_explained(baseline) if options.explain else None,
        comparison=_comparison(baseline, uses, progress) if options.comparison else [],
        masked=None if redactor is None else dict(redactor.masked),
        ledger=ledger_facts(baseline, planned, misses, uses) if options.ledger and misses else None,
        cost=cost_parts(baseline) if options.details else None,
        model_costs=[rounded_result(each) for each in model_costs(baseline)] if options.details else [],
        cache_misses=cache_misses_facts(misses) if options.details and misses else None,
        compacted=None if compacted is None else rounded_result(compacted),
        best_plan=None if best is None else best_plan_facts(best),
        hours=hour_facts(misses) if options.details and misses else [],
        model_switches=[rounded_result(each) for each in switches if each is not None],
        as_model=None if uses is None else _as_model(baseline, options, plans, best, uses, progress),
    )
    return without_secrets(report)


def _title(redactor: SecretRedactor | None, title: str) -> str:
    return "" if redactor is None else _shortened(redactor(title))


def _session_facts(inputs: ReplayInputs, redactor: SecretRedactor | None) -> SessionFacts:
    session, window = inputs.history.session, inputs.window
    models = list(session.models)
    times = [call.time for call in session.calls if call.time is not None]
    return SessionFacts(
        path=shown_path(session.path),
        format=session.format,
        id=shown_name(session.identifier),
        title=_title(redactor, session_name(session)),
        agent=session.agent,
        model=session.main_model or None,
        models=models,
        messages=len(session.messages),
        blocks=len(session.blocks),
        tool_results=sum(block.kind is BlockKind.TOOL_RESULT for block in session.blocks),
        calls=len(session.calls),
        copied_calls=session.copied_calls,
        compactions=sum(not each.is_partial for each in session.compactions),
        skipped_records=session.skipped_records,
        window=window.size,
        window_source=window.source,
        window_known=None if window.size is None else window.tokens.known.value,
        started=utc_time(min(times, default=None)),
        ended=utc_time(max(times, default=None)),
    )


def _shortened(name: str) -> str:
    # Search the whole name for secrets: half of one would not be found.
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _token_facts(inputs: ReplayInputs) -> TokenFacts:
    fit = inputs.scale.calibration
    calibration = CalibrationFacts(
        ratio=round(fit.ratio, 6),
        overhead=float(system_tokens(inputs)),
        residual=None if math.isnan(fit.residual) else round(fit.residual, 6),
        calls=fit.calls,
    )
    calibrated = inputs.scale.known is HowKnown.CALIBRATED
    return TokenFacts(
        method=inputs.table.counter.name,
        calibration=calibration if calibrated else None,
        borrowed=inputs.scale.borrowed,
    )


def _comparison(baseline: Replay, uses: ReuseEvidence | None, progress: Callable[[int, int], None]) -> list[PlanFacts]:
    plans = plans_to_compare(baseline.history.session)
    totals = ReportOptions(details=False)
    found = []
    for done, planned in enumerate(replays_of(baseline.inputs, plans)):
        progress(done, len(plans))
        found.append(plan_facts(planned, baseline, uses, totals))
    return found


def _best_plan(baseline: Replay, options: ReportOptions, progress: Callable[[int, int], None]) -> BestPlan | None:
    from inspector.report.export import part_of  # slow to import, and only needed here

    own, uses = partial(part_of, baseline.history.session.format), ReuseScan(baseline.history)
    search = BestPlanSearch(baseline, uses, part_of=own, beyond=options.beyond)

    def run(*, with_most: bool) -> BestPlan | None:
        return search.run(lambda: False, lambda seconds: progress(search.tried, search.count), with_most=with_most)  # noqa: ARG005  no-op callback

    found = run(with_most=options.most_saving)
    return run(with_most=True) if found is not None and found.best is None else found


def _as_model(
    baseline: Replay,
    options: ReportOptions,
    plans: Sequence[Plan],
    best: BestPlan | None,
    uses: ReuseEvidence,
    progress: Callable[[int, int], None],
) -> AsModel | None:
    """Compare the given plans, otherwise the recommended ones, at another model's prices, if one was requested."""
    other = priced_baseline(baseline, options.as_model) if options.as_model else None
    if other is None:
        return None
    there = None if plans else _best_plan(other, options, progress)
    if not plans:
        best = best or _best_plan(baseline, options, progress)
        plans = [] if best is None else [each.plan for each in (best.applicable, best.best) if each is not None]
    found = as_model(
        baseline,
        other,
        plans,
        uses,
        None if there is None else there.recommended,
        is_searched=there is not None and there.is_complete,
    )
    return None if found is None else rounded_result(found)


def _heaviest(breakdown: Breakdown, redactor: SecretRedactor | None) -> list[ResentBlock]:
    session = breakdown.planned.history.session
    return [
        rounded_result(row, text="" if redactor is None else excerpt(session, block, redactor))
        for block, row in breakdown.heaviest(HEAVIEST).items()
    ]


def _about_masks(redactor: SecretRedactor) -> str:
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(redactor.masked.items()))
    found = f"secrets masked in {IN_TEXT.plural(redactor.masked.total(), 'place')}" + (f" ({kinds})" if kinds else "")
    return (
        f"this report contains texts of the session: {found}; no detector finds every secret, so read it before sharing"
    )


def _explained(baseline: Replay) -> dict[str, ExplanationFacts]:
    return explanation_facts({**replay_explanations(baseline), "overhead": overhead_explanation(baseline.inputs)})


def caveats(inputs: ReplayInputs) -> list[str]:
    """Return one sentence per caveat on the figures, most serious first."""
    session = inputs.history.session
    found = [
        _no_calls(session),
        _inherited(session),
        _skipped(session),
        *unknown_parts(session).sentences(),
        _usage_caveat(inputs),
        _output(inputs),
        _billing(inputs),
        inputs.table.counter.advice,
        inputs.pricing.advice(call.model for call in session.calls),
    ]
    return [sentence for sentence in found if sentence]


def recorded_cost_words(costs: Sequence[RecordedCost], numbers: NumberFormat) -> list[str]:
    """Return a sentence per cost that the agent recorded and that differs from the computed one."""
    found = []
    for each in costs:
        if each.differs:
            scope = ", with subagents" if each.includes_subagents else ""
            cost = numbers.dollars(each.recorded_usd)
            known = numbers.dollars(each.computed_usd)
            found.append(f"the agent recorded a cost of {cost} ({each.source}{scope}); known requests cost {known}")
    return found


def _no_calls(session: Session) -> str:
    if session.calls:
        return ""
    return "the session contains no call to a model: there is nothing to replay"


def _inherited(session: Session) -> str:
    inherited = session.copied_calls
    if not inherited:
        return ""
    total = IN_TEXT.plural(len(session.calls), "call")
    return f"{inherited:,} of {total} were copied from an earlier session and billed there"


def _skipped(session: Session) -> str:
    # Unknown usage fields are named in another sentence.
    read_in_part = sum(not diagnostic.skipped for diagnostic in session.diagnostics) - len(session.ignored_usage)
    parts = (
        [f"{IN_TEXT.plural(session.skipped_records, 'record')} could not be read"] if session.skipped_records else []
    )
    some = " or more" if len(session.diagnostics) >= LISTED_DIAGNOSTICS else ""
    parts += [f"{IN_TEXT.plural(read_in_part, 'record')}{some} could only be read in part"] if read_in_part else []
    return f"{' and '.join(parts)}; details: inspector formats {shown_path(session.path)}" if parts else ""


def _usage_caveat(inputs: ReplayInputs) -> str:
    missing, shares = int((~inputs.reported).sum()), int(inputs.apportioned.sum())
    if not missing:
        return ""
    if shares == missing:
        return (
            "usage is recorded as totals of several calls: sums are exact; prompts and cache reads of "
            f"{IN_TEXT.plural(shares, 'call')} are shares of them"
        )
    if missing == len(inputs.reported):
        return (
            "the file reports no usage: prompts are local estimates of its content, without tools and hidden system "
            "prompts, and the prompt cache is simulated"
        )
    total = IN_TEXT.plural(len(inputs.reported), "call")
    return (
        f"no usage was reported for {missing:,} of {total}: their prompts are local estimates, their cache is simulated"
    )


def _billing(inputs: ReplayInputs) -> str:
    """Describe billing factors of calls other than model and tokens, and those without a price."""
    priced, unpriced = Counter[str](), Counter[str]()
    for number in inputs.rates.index.tolist():
        rates = inputs.rates.rates[number]
        if rates is not None and rates.terms:
            priced[rates.terms] += 1
            unpriced.update(rates.unpriced)
    if not priced:
        return ""
    text = "; ".join(f"{IN_TEXT.plural(count, 'call')}: {terms}" for terms, count in priced.items())
    lacks = f"; no price is available for {', '.join(unpriced)}: add it below [terms] in the price file"
    return f"billed by more than model and tokens: {text}{lacks if unpriced else ''}"


def _output(inputs: ReplayInputs) -> str:
    placeholders = sum(
        call.usage is not None and call.usage.output_is_placeholder for call in inputs.history.session.calls
    )
    if not placeholders:
        return ""
    calls = IN_TEXT.plural(placeholders, "call")
    if inputs.output_known:
        return f"the output of {calls} is only a stream's placeholder: a share of the recorded total, which is exact"
    unknown = int(inputs.output_is_least.sum())
    rest = f"; {unknown:,} of them have no text to estimate from: output and cost are lower bounds" if unknown else ""
    return f"the output of {calls} is only a stream's placeholder: estimated from the recorded text and thinking{rest}"
