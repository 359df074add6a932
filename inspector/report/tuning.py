"""Tuning result as data: `inspector tune --format json`.

`docs/tune-report.schema.json` is generated from these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

import inspector
from inspector.replay.analysis.forecast import widened
from inspector.replay.analysis.recoveries import (
    BEYOND,
    CALLS_PER_REFETCH,
    TOO_MANY_REFETCHES,
    EvidenceReason,
    Rate,
    recoveries_to_break_even,
)
from inspector.replay.figure import HowKnown
from inspector.replay.quantity import DOLLAR_DIGITS, PERCENT_DIGITS, Count, How, Known, Unit, about, figure
from inspector.replay.sessions import StartedTotals
from inspector.replay.tuning.search import LEAST_CALLS, LEAST_SESSIONS, UNTRIED, Verdict, best_untried, curves_through
from inspector.replay.tuning.trials import PER, WORSE_OF, Constraints, TrialTable, pareto_front
from inspector.report.catalogue import ExpectedRefetches
from inspector.report.compaction_tuning import CompactionGroup, Configuration
from inspector.report.export import TARGETS, Exported, ExportError, export_plan
from inspector.report.folder import UnreadSession  # noqa: TC001  needed at run time for the schema
from inspector.report.numbers import IN_TEXT, rounded
from inspector.report.secret_redaction import shown_path, without_secrets
from inspector.report.sentences import REPLAY_CAVEAT
from inspector.session.registry import format_named
from inspector.strategies.registry import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.tuning.search import LimitCurve, TunedGroup
    from inspector.strategies.plan import Plan

MODELS_NAMED = 3

MOST_ON_FRONT = 40
"""Maximum points of the front in a report."""


class TuneReport(Struct, frozen=True, kw_only=True):
    """The best plan for the sessions of each agent and model: its saving, confidence, and risk."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    paths: Annotated[
        list[str], about("Paths as given, with the home folder as `~`; empty for the agents' own folders.")
    ]
    asked: Annotated[TuningTerms, about("Constraints on the plans.")]
    groups: Annotated[list[TunedGroupFacts], about("Sessions of one agent and model each, costliest first.")]
    unread: Annotated[list[UnreadSession], about("Unreadable files, by path; not part of any figure.")]
    warnings: Annotated[list[str], about("Caveats on the figures, one sentence each.")]
    belief: Annotated[str, about("Uncertainty of savings, in a sentence.")] = REPLAY_CAVEAT
    compaction: Annotated[
        list[CompactionGroup],
        about("Best compaction threshold of each group, costliest first; empty unless requested."),
    ] = field(default_factory=list)


class TuningTerms(Struct, frozen=True, kw_only=True):
    """Constraints on the plans; null for none."""

    max_needed: Annotated[float | None, about("Maximum expected re-fetches per 100 calls.")]
    max_risk: Annotated[float | None, about("Maximum cost of expected re-fetches, in percent of the saving.")]
    budget_calls: Annotated[float | None, about("Maximum additional calls per 100.")]
    keep: Annotated[list[str], about("Tools with unchanged results.")]
    may_forget: Annotated[bool, about("True if plans may cut user and assistant texts.")]
    model_uncertainty: Annotated[bool, about("True if bands include the uncertainty of the model's answers.")] = False
    beyond: Annotated[bool, about("True if plans may go beyond what has been tried in public.")] = False


class TunedGroupFacts(Struct, frozen=True, kw_only=True):
    """Sessions of one kind of agent and one model, or of several models that have too few sessions each."""

    name: Annotated[str, about("Description of the sessions.")]
    agent: Annotated[str, about("The agent.")]
    models: Annotated[list[str], about("Models of the sessions.")]
    sessions: Annotated[Count, figure("sessions", Unit.COUNT, "Sessions of the group.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls of the sessions.")]
    cost_usd: Annotated[float, figure("cost", Unit.DOLLARS, "Dollars with nothing cut.")]
    verdict: Annotated[
        Literal[
            "recommended",
            "unsure",
            "nothing saves",
            "too few",
            "untried",
            "incomplete",
            "beyond",
            "re-fetches",
            "thin",
            "mixed",
        ],
        about("Verdict on these sessions; `answer` has it in a sentence."),
    ]
    answer: Annotated[str, about("Verdict in a sentence.")]
    tried: Annotated[Count, figure("plans tried", Unit.COUNT, "Plans replayed on every session.")]
    searched: Annotated[Count, figure("plans searched", Unit.COUNT, "Plans tried in the search for these.")]
    sampled: Annotated[Count, figure("sessions searched", Unit.COUNT, "Sessions used in the search.")]
    is_complete: Annotated[bool, about("True if the search was complete.")]
    left: Annotated[list[str], about("Parts of the search that were not reached; empty if it was complete.")]
    plan: Annotated[TunedPlan | None, about("The best plan; null if none saves, or with too little data.")]
    front: Annotated[
        list[FrontPoint], about("Plans on the Pareto front: no other saves more with as few expected re-fetches.")
    ]
    curves: Annotated[list[CurveFacts], about("Effect of each limit of the plan, largest first.")]
    rows: Annotated[list[TunedSession], about("The sessions, by path.")]
    known: Known
    started: Annotated[StartedTotals, about("Subagents of the sessions, in no figure of the group.")] = field(
        default_factory=StartedTotals
    )
    beyond: Annotated[
        list[BeyondPlan],
        about("Best plans beyond what has been tried in public, by net saving; never recommended by default."),
    ] = field(default_factory=list)


class TuneEvidence(ExpectedRefetches, frozen=True, kw_only=True):
    """Expected re-fetches of a plan, and the public evidence for its settings."""

    evidence: Annotated[
        Literal["tried", "beyond"],
        about("`tried` if settings like these have been tried in public on such sessions, otherwise `beyond`."),
    ] = "tried"
    evidence_reason: EvidenceReason = ""


class TunedPlan(TuneEvidence, frozen=True, kw_only=True):
    """The best plan of a group."""

    strategies: Annotated[list[str], about("Its strategies in their one-line form, in order.")]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved without re-fetches.", saves=True)]
    needed: Annotated[
        Count, figure("needed later", Unit.COUNT, "Later calls that used cut text: places to check, without a price.")
    ]
    needed_per_100: Annotated[float, about("Later calls that used cut text, per 100 calls.")]
    refetches_per_100: Annotated[
        float | None, about("Expected additional calls for re-fetches per 100 calls; null if not measured.")
    ] = None
    recovery_usd: Annotated[
        float, figure("cost of re-fetches", Unit.DOLLARS, "Dollars of the expected re-fetches, at the estimate.")
    ]
    recovery_each_usd: Annotated[
        float | None, figure("one re-fetch", Unit.DOLLARS, "Dollars per re-fetch; null if none is expected.")
    ]
    break_even: Annotated[
        Count | None,
        figure(
            "break-even",
            Unit.COUNT,
            "Smallest number of re-fetches that cost as much as the plan saves; null if none is expected.",
        ),
    ]
    requests: Annotated[
        Count, figure("calls added", Unit.CALLS, "Requests by the plan, and calls of the expected re-fetches.")
    ]
    net_usd: Annotated[
        float,
        figure(
            "saved after re-fetches",
            Unit.DOLLARS,
            "Dollars saved minus the cost of the expected re-fetches.",
            saves=True,
        ),
    ]
    net_percent: Annotated[
        float, figure("of the cost", Unit.PERCENT, "Net saving in percent of the cost with nothing cut.", saves=True)
    ]
    low_percent: Annotated[
        float,
        figure(
            "5th percentile", Unit.PERCENT, "The 5th percentile of the net saving over resampled sessions.", saves=True
        ),
    ]
    high_percent: Annotated[
        float,
        figure(
            "95th percentile",
            Unit.PERCENT,
            "The 95th percentile of the net saving over resampled sessions.",
            saves=True,
        ),
    ]
    chosen_again_percent: Annotated[
        float, figure("best in resamples", Unit.PERCENT, "Share of resamples in which no other plan is better.")
    ]
    left_out_usd: Annotated[
        float,
        figure(
            "cross-validated",
            Unit.DOLLARS,
            "Net dollars saved on each session by the plan chosen from the other sessions, summed over all.",
            saves=True,
        ),
    ]
    left_out_percent: Annotated[
        float, figure("of the cost", Unit.PERCENT, "The same in percent of the cost with nothing cut.", saves=True)
    ]
    regret_usd: Annotated[
        float,
        figure(
            "regret",
            Unit.DOLLARS,
            "Additional dollars saved by each session's own best plan, in hindsight.",
        ),
    ]
    regret_percent: Annotated[float, figure("of the cost", Unit.PERCENT, "The same in percent of the cost.")]
    helped: Annotated[Count, figure("sessions it helps", Unit.COUNT, "Sessions with a net saving.")]
    worse: Annotated[Count, figure("sessions that cost more", Unit.COUNT, "Sessions with a net loss.")]
    targets: Annotated[list[str], about("Systems with a configuration for it: names for `inspector export`.")]
    configuration: Annotated[Configuration | None, about("The system's own configuration, if requested.")]
    known: Known


class FrontPoint(TuneEvidence, frozen=True, kw_only=True):
    """A plan on the Pareto front: every plan that saves more also has more expected re-fetches."""

    strategies: Annotated[list[str], about("Its strategies in their one-line form, in order.")]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved without re-fetches.", saves=True)]
    needed: Annotated[Count, figure("needed later", Unit.COUNT, "Later calls that used cut text.")]
    net_usd: Annotated[
        float,
        figure(
            "after re-fetches", Unit.DOLLARS, "Dollars saved minus the cost of the expected re-fetches.", saves=True
        ),
    ]
    is_chosen: Annotated[bool, about("True for the recommended plan.")]
    known: Known


class BeyondPlan(TuneEvidence, frozen=True, kw_only=True):
    """A plan that saves, with settings that have not been tried in public."""

    strategies: Annotated[list[str], about("Its strategies in their one-line form, in order.")]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved without re-fetches.", saves=True)]
    needed: Annotated[Count, figure("needed later", Unit.COUNT, "Later calls that used cut text.")]
    known: Known


class CurveFacts(Struct, frozen=True, kw_only=True):
    """Effect of one limit of the plan, with everything else unchanged."""

    strategy: Annotated[str, about("Strategy of the limit.")]
    limit: Annotated[str, about("Name of the limit.")]
    unit: Annotated[str, about("Unit; empty for a plain number.")]
    value: Annotated[float, about("Value in the plan.")]
    points: Annotated[list[CurvePoint], about("Values tried, ascending.")]


class CurvePoint(TuneEvidence, frozen=True, kw_only=True):
    """The plan at one value of a limit."""

    is_allowed: Annotated[bool, about("True if the plan meets the constraints at this value.")]
    value: Annotated[float, figure("value", Unit.FREE, "The limit's value.")]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved without re-fetches.", saves=True)]
    needed: Annotated[Count, figure("needed later", Unit.COUNT, "Later calls that used cut text.")]
    net_usd: Annotated[
        float,
        figure(
            "after re-fetches", Unit.DOLLARS, "Dollars saved minus the cost of the expected re-fetches.", saves=True
        ),
    ]
    known: Known


class TunedSession(ExpectedRefetches, frozen=True, kw_only=True):
    """One session under the plan of its group."""

    path: Annotated[str, about("File of the session, with the home folder as `~`.")]
    model: Annotated[str, about("Model of most of its calls.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls of the session.")]
    cost_usd: Annotated[float, figure("cost", Unit.DOLLARS, "Dollars with nothing cut.")]
    net_usd: Annotated[
        float | None, figure("saved", Unit.DOLLARS, "Net saving of the plan on this session.", saves=True)
    ]
    needed: Annotated[Count | None, figure("needed later", Unit.COUNT, "Later calls that used text cut by the plan.")]
    left_out_usd: Annotated[
        float,
        figure("cross-validated", Unit.DOLLARS, "Net saving of the plan chosen from the other sessions.", saves=True),
    ]
    best_usd: Annotated[
        float, figure("own best plan", Unit.DOLLARS, "Net saving of the session's own best plan, in hindsight.")
    ]
    best: Annotated[list[str], about("Strategies of that plan; empty for none.")]
    known: Known


def tune_report(
    paths: Sequence[str],
    asked: TuningTerms,
    groups: Sequence[TunedGroup],
    unread: Sequence[UnreadSession],
    warnings: Sequence[str],
    target: str = "",
    compaction: Sequence[CompactionGroup] = (),
) -> TuneReport:
    """Build the report of a tuning run; an empty `target` writes no configuration."""
    report = TuneReport(
        schema=1,
        inspector=inspector.__version__,
        paths=list(paths),
        asked=asked,
        groups=[_group(group, asked, target) for group in groups],
        unread=sorted(unread, key=lambda each: each.path),
        warnings=list(warnings),
        compaction=list(compaction),
    )
    return without_secrets(report)


def constraints_of(asked: TuningTerms) -> Constraints:
    return Constraints(asked.max_needed, asked.max_risk, asked.budget_calls)


def _limits_of(asked: TuningTerms) -> Constraints:
    """Return the constraints on a plan that can be recommended."""
    return constraints_of(asked).defensible(beyond=asked.beyond)


def agent_name(agent: str) -> str:
    """Return the display name of an agent: `Claude Code`."""
    name, comma, rest = agent.partition(",")
    known = format_named(name)
    return f"{known.title if known is not None else name}{comma}{rest}"


def group_name(agent: str, models: Sequence[str], sessions: int) -> str:
    """Name a group by its sessions: `8 sessions of Claude Code with claude-opus-4-6`."""
    names = [name or "an unnamed model" for name in models]
    named = f"{len(names)} models" if len(names) > MODELS_NAMED else " and ".join(names)
    return f"{IN_TEXT.plural(sessions, 'session')} of {agent_name(agent)} with {named}"


def chosen_plan(tuned: TunedGroup) -> Plan | None:
    """Return the recommended plan; None if there is none."""
    at = tuned.choice.plan
    return tuned.table.plans[at] if at is not None and tuned.choice.verdict is Verdict.RECOMMENDED else None


def _group(tuned: TunedGroup, asked: TuningTerms, target: str) -> TunedGroupFacts:
    group, table, choice = tuned.group, tuned.table, tuned.choice
    tells = choice.verdict is not Verdict.TOO_FEW
    cost = float(table.cost.sum())
    chosen = choice.plan if tells else None
    started = StartedTotals.summed(session.started for session in group.sessions)
    return TunedGroupFacts(
        name=group_name(group.agent, group.models, len(group.sessions)),
        agent=agent_name(group.agent),
        models=list(group.models),
        sessions=len(group.sessions),
        calls=int(table.calls.sum()),
        cost_usd=round(cost, DOLLAR_DIGITS),
        verdict=choice.verdict.value,
        answer=_answer(tuned),
        tried=len(table.plans),
        searched=tuned.searched,
        sampled=tuned.sampled,
        is_complete=tuned.is_complete,
        left=list(tuned.left),
        plan=None if chosen is None else _plan(tuned, asked, chosen, target),
        front=_front(tuned, asked) if tells else [],
        curves=[] if chosen is None else _curves(tuned, asked, chosen),
        rows=_rows(tuned) if tells else [],
        known={"cost_usd": group.known.value},
        started=replace(started, cost_usd=rounded(started.cost_usd, DOLLAR_DIGITS)),
        beyond=[_beyond(tuned, at) for at in best_untried(table, UNTRIED)] if tells else [],
    )


def missing_amount(sessions: int, calls: int) -> str:
    """Return the missing amount for a recommendation: `4 sessions and 84 calls`; empty if there is enough."""
    wanted = ((LEAST_SESSIONS - sessions, "session"), (LEAST_CALLS - calls, "call"))
    return " and ".join(IN_TEXT.plural(count, noun) for count, noun in wanted if count > 0)


_REFUSALS: Final = {
    Verdict.BEYOND: f"only plans {BEYOND} in public save",
    Verdict.REFETCHES: f"every plan that saves has {TOO_MANY_REFETCHES}",
    Verdict.THIN: "no plan saves at twice the expected re-fetches",
    Verdict.MIXED: f"every plan that saves costs more on over one session in {WORSE_OF}",
}
_ANSWERS: Final = {
    Verdict.UNTRIED: "no plan was tried on all sessions before the time limit; raise it with --minutes",
    Verdict.NOTHING_SAVES: "no permitted plan saves 1 % of the cost after re-fetches; leave the settings unchanged",
    Verdict.UNSURE: (
        "a plan saves on these sessions, but might not on others: not recommended. More sessions may help"
    ),
    Verdict.INCOMPLETE: "a plan saves, but the search ended early: not recommended. Raise its time with --minutes",
    Verdict.RECOMMENDED: "the plan below saves, and probably will on the next session",
}


def _answer(tuned: TunedGroup) -> str:
    verdict = tuned.choice.verdict
    if verdict is Verdict.TOO_FEW:
        lacks = missing_amount(len(tuned.group.sessions), int(tuned.table.calls.sum()))
        return (
            f"not enough data for a recommendation: {lacks} more needed. For a single session: inspector compare FILE"
        )
    if verdict is Verdict.NOTHING_SAVES and tuned.left:
        return "no plan tried so far saves 1 % of the cost after re-fetches, but the search is incomplete"
    if verdict in _REFUSALS:
        return f"{'so far, ' if tuned.left else ''}{_REFUSALS[verdict]}: not recommended"
    return _ANSWERS[verdict]


def _refetched(count: Rate | None) -> dict[str, float | None]:
    low_to_high = (None, None, None) if count is None else (round(each, 1) for each in count)
    return dict(zip(("refetches", "refetches_low", "refetches_high"), low_to_high, strict=True))


def _evidence(table: TrialTable, plan: int) -> dict[str, Any]:
    """Return the fields of `TuneEvidence` for a plan over all sessions."""
    low, high = table.net_range(plan)
    reason = table.evidence_reason(plan)
    return {
        **_refetched(table.refetched(plan)),
        "saved_at_least_usd": round(low, DOLLAR_DIGITS),
        "saved_at_most_usd": round(high, DOLLAR_DIGITS),
        "evidence": "beyond" if reason else "tried",
        "evidence_reason": reason,
    }


_NET: Final = ("net_usd", "saved_at_least_usd", "saved_at_most_usd")


def _known(tuned: TunedGroup) -> dict[str, How]:
    return {"saved_usd": tuned.group.known.value, **dict.fromkeys(_NET, HowKnown.ESTIMATED.value)}


def _beyond(tuned: TunedGroup, at: int) -> BeyondPlan:
    table = tuned.table
    return BeyondPlan(
        strategies=table.plans[at].to_specs(),
        saved_usd=round(float(table.saved[at].sum()), DOLLAR_DIGITS),
        needed=int(table.needed[at].sum()),
        known=_known(tuned),
        **_evidence(table, at),
    )


def _plan(tuned: TunedGroup, asked: TuningTerms, chosen: int, target: str) -> TunedPlan:
    table, choice = tuned.table, tuned.choice
    plan = table.plans[chosen]
    cost, calls = float(table.cost.sum()), int(table.calls.sum())
    saved, recovery = float(table.saved[chosen].sum()), float(table.recovery[chosen].sum())
    needed = int(table.needed[chosen].sum())
    count = table.refetched(chosen)
    each = recovery / count.rate if count is not None and count.rate else None
    left_out, regret = float(choice.left_out.net.sum()), float(choice.regret.sum())
    net = table.net[chosen]
    band = widened(choice.net, cost - choice.net.middle) if asked.model_uncertainty else choice.net

    def percent(usd: float) -> float:
        return round(100 * usd / cost, PERCENT_DIGITS) if cost else 0.0

    return TunedPlan(
        strategies=plan.to_specs(),
        saved_usd=round(saved, DOLLAR_DIGITS),
        needed=needed,
        needed_per_100=round(PER * needed / max(calls, 1), PERCENT_DIGITS),
        refetches_per_100=None
        if count is None
        else round(PER * CALLS_PER_REFETCH * count.rate / max(calls, 1), PERCENT_DIGITS),
        recovery_usd=round(recovery, DOLLAR_DIGITS),
        recovery_each_usd=None if each is None else round(each, DOLLAR_DIGITS),
        break_even=recoveries_to_break_even(saved, each),
        requests=round(float(table.requests[chosen].sum())),
        net_usd=round(choice.net.middle, DOLLAR_DIGITS),
        net_percent=percent(choice.net.middle),
        low_percent=percent(band.low),
        high_percent=percent(band.high),
        chosen_again_percent=round(100 * choice.chosen_again, PERCENT_DIGITS),
        left_out_usd=round(left_out, DOLLAR_DIGITS),
        left_out_percent=percent(left_out),
        regret_usd=round(regret, DOLLAR_DIGITS),
        regret_percent=percent(regret),
        helped=int((net > 0).sum()),
        worse=int((net < 0).sum()),
        targets=_targets(plan),
        configuration=_configuration(plan, target) if target else None,
        known={
            "saved_usd": tuned.group.known.value,
            **dict.fromkeys(
                (
                    *("recovery_usd", "recovery_each_usd", "break_even", "net_percent", "left_out_usd"),
                    *("left_out_percent", "regret_usd", "regret_percent", *_NET),
                ),
                HowKnown.ESTIMATED.value,
            ),
            "low_percent": HowKnown.PROJECTED.value,
            "high_percent": HowKnown.PROJECTED.value,
        },
        **_evidence(table, chosen),
    )


def _targets(plan: Plan) -> list[str]:
    """Return the systems with every strategy of a plan, full support first."""
    names = {strategy.name for strategy in plan.strategies}
    able = [name for name in TARGETS if names <= set(SYSTEMS[name])]
    return sorted(able, key=lambda name: len(export_plan(plan, name).left_out))


def _configuration(plan: Plan, target: str) -> Configuration:
    try:
        exported: Exported = export_plan(plan, target)
    except ExportError as error:
        return Configuration(target=target, text="", language="", notes=[str(error)])
    return Configuration.of(target, exported, left_out="omitted: ")


def _front(tuned: TunedGroup, asked: TuningTerms) -> list[FrontPoint]:
    table = tuned.table
    saved = np.where(table.allowed(_limits_of(asked)), table.saved.sum(axis=1), np.nan)
    points = pareto_front(saved, table.refetches_known)
    if len(points) > MOST_ON_FRONT:
        steps = np.linspace(0, len(points) - 1, MOST_ON_FRONT).round().astype(int)
        points = [points[at] for at in dict.fromkeys(steps.tolist())]
    return [
        FrontPoint(
            strategies=table.plans[at].to_specs(),
            saved_usd=round(float(table.saved[at].sum()), DOLLAR_DIGITS),
            needed=int(table.needed[at].sum()),
            net_usd=round(float(table.net[at].sum()), DOLLAR_DIGITS),
            is_chosen=at == tuned.choice.plan,
            known=_known(tuned),
            **_evidence(table, at),
        )
        for at in points
    ]


def _curves(tuned: TunedGroup, asked: TuningTerms, chosen: int) -> list[CurveFacts]:
    allowed = tuned.table.allowed(_limits_of(asked))
    return [_curve(tuned, curve, chosen, allowed) for curve in curves_through(tuned.table, chosen)]


def _curve(tuned: TunedGroup, curve: LimitCurve, chosen: int, allowed: NDArray[np.bool_]) -> CurveFacts:
    table, limit = tuned.table, curve.limit
    found = [
        (value, at)
        for value, at in zip(curve.values, curve.plans, strict=True)
        if table.counts[at].all() or table.is_beyond[at]
    ]
    return CurveFacts(
        strategy=limit.strategy,
        limit=limit.parameter.name,
        unit=limit.unit_in(table.plans[chosen]),
        value=limit.value_in(table.plans[chosen]),
        points=[
            CurvePoint(
                is_allowed=bool(allowed[at]),
                value=value,
                saved_usd=round(float(table.saved[at].sum()), DOLLAR_DIGITS),
                needed=int(table.needed[at].sum()),
                net_usd=round(float(table.net[at].sum()), DOLLAR_DIGITS),
                known=_known(tuned),
                **_evidence(table, at),
            )
            for value, at in found
        ],
    )


def _rows(tuned: TunedGroup) -> list[TunedSession]:
    table, choice = tuned.table, tuned.choice
    rows = []
    for at, session in enumerate(tuned.group.sessions):
        best, plan = int(choice.best[at]), choice.plan
        estimated: How = HowKnown.ESTIMATED.value
        rows.append(
            TunedSession(
                path=shown_path(session.path),
                model=session.model,
                calls=session.calls,
                cost_usd=round(session.cost, DOLLAR_DIGITS),
                net_usd=None if plan is None else round(float(table.net[plan, at]), DOLLAR_DIGITS),
                needed=None if plan is None else int(table.needed[plan, at]),
                left_out_usd=round(float(choice.left_out.net[at]), DOLLAR_DIGITS),
                best_usd=round(float(table.net[best, at]) if best >= 0 else 0.0, DOLLAR_DIGITS),
                best=table.plans[best].to_specs() if best >= 0 else [],
                known={
                    "cost_usd": session.known.value,
                    **dict.fromkeys(("left_out_usd", "best_usd", *_NET), estimated),
                },
                **({} if plan is None else _refetches_on(table, plan, at)),
            )
        )
    return rows


def _refetches_on(table: TrialTable, plan: int, session: int) -> dict[str, float | None]:
    """Return the fields of `ExpectedRefetches` for a plan on one session."""
    count = (table.refetches[plan, session], table.refetches_low[plan, session], table.refetches_high[plan, session])
    saved = float(table.saved[plan, session])
    return {
        **_refetched(None if np.isnan(count[0]) else Rate(*map(float, count))),
        "saved_at_least_usd": round(saved - float(table.recovery_high[plan, session]), DOLLAR_DIGITS),
        "saved_at_most_usd": round(saved - float(table.recovery_low[plan, session]), DOLLAR_DIGITS),
    }
