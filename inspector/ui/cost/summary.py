"""The cost line: cost, avoidable cost and possible savings of a session, or the cost and savings of a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.figure import Figure
from inspector.report.export import NONE_RECOMMENDED, AgentSupport, answer_for
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import (
    NOTHING_WORTHWHILE,
    needed_words,
    net_after_words,
    net_words,
    plan_saving,
)
from inspector.report.sentences import cost_words, unread_words
from inspector.safe_text import one_line
from inspector.strategies.presets import display_name
from inspector.ui.miss_glyphs import dollars, no_misses_text

if TYPE_CHECKING:
    from inspector.replay.analysis.best_plan import BestPlan
    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.analysis.recoveries import Exclusion, Recoveries
    from inspector.replay.sessions import SubagentCosts
    from inspector.report.recovery_words import PlanSaving
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.results import Risks

HOW_TO_PRICE = "z m prices it as another model"


def billed_before(copied: int, calls: int) -> str:
    """Describe calls that were billed in the session they were copied from; empty if none.

    Args:
        copied: Number of copied calls.
        calls: Number of calls in the session.
    """
    of_all = "" if copied == calls else f"{ON_SCREEN.plural(copied, 'call')} "
    return f"{of_all}billed in an earlier session" if copied else ""


def priced_as_words(model: str, recorded: Figure) -> str:
    """Return `as claude-opus-5-5, $9.51 as recorded`.

    Args:
        model: Model that prices every call.
        recorded: Cost at the recorded models.
    """
    if recorded.value is None:
        return f"as {one_line(model)}"
    return f"as {one_line(model)}, {ON_SCREEN.qualified(ON_SCREEN.dollars(recorded.value), recorded.known)} as recorded"


@dataclass(frozen=True, slots=True)
class CostUntil:
    """Costs up to and including a call.

    Attributes:
        call: Number of the call, counted from 1.
        recorded: Recorded cost, dollars.
        planned: Cost under the plan, dollars.
        saved: Saving of the plan up to the call, dollars; negative if it cost more.
    """

    call: int
    recorded: Figure
    planned: Figure
    saved: Figure


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One session under one plan.

    Attributes:
        recorded: Recorded cost of the session, dollars.
        planned: Cost under the plan, dollars.
        saved: Saving of the plan, dollars; negative if it costs more.
        saved_share: Saving as a share of `recorded`; None if that is zero or unknown.
        saved_tokens: Prompt tokens not sent over all calls; negative if more are sent.
        rewrite_usd: Cost of cache rewrites caused by the plan, dollars; None without a price.
        pays_off: Number of the first call after which the plan is cheaper in total; None if there is none.
        is_idle: True if the plan changes nothing.
        is_on: True if a strategy of the plan is on.
        copied: Text about calls billed in an earlier session; empty if none.
        advice: Advice about a model without a price; empty if it has one. May hold session text.
        until: Costs up to the selected call; None at the present.
        recoveries: Cut text that was needed later, priced; of the plan's previous values until computed, None before.
        is_settled: True if `recoveries` is of these values.
        exclusion: Why the plan is never recommended; None if it may be, and until computed.
        priced_as: Model that prices every call although others answered; empty for the recorded models.
        as_recorded: Cost at the recorded models, dollars; None if these price the calls.
    """

    recorded: Figure
    planned: Figure
    saved: Figure
    saved_share: float | None
    saved_tokens: Figure
    rewrite_usd: float | None
    pays_off: int | None
    is_idle: bool = False
    is_on: bool = False
    copied: str = ""
    advice: str = ""
    until: CostUntil | None = None
    recoveries: Recoveries | None = None
    is_settled: bool = False
    exclusion: Exclusion | None = None
    priced_as: str = ""
    as_recorded: Figure | None = None


def summarize(
    outcome: Outcome, call: int | None = None, risks: Risks | None = None, *, is_settled: bool = False
) -> CostSummary:
    """Summarize a plan's figures next to the recorded ones.

    Args:
        outcome: Replay of the plan.
        call: The selected call; None for the next one, not yet made.
        risks: The plan's risks; None until computed.
        is_settled: `risks` are of this replay, not of an earlier value of a limit.
    """
    before, totals, inputs = outcome.baseline.figures, outcome.totals, outcome.inputs
    pays_off = totals.break_even_call.value
    session = outcome.replay.history.session
    models = (call.model for call in session.calls)
    return CostSummary(
        recorded=before.cost_usd,
        planned=totals.figures.cost_usd,
        saved=totals.savings.usd,
        saved_share=totals.savings.share.value if totals.savings.usd.value is not None else None,
        saved_tokens=totals.savings.tokens,
        rewrite_usd=totals.cache.break_usd,
        pays_off=None if pays_off is None else int(pays_off),
        is_idle=outcome.first_change is None,
        is_on=bool(outcome.plan.strategies),
        priced_as=inputs.other_model,
        as_recorded=outcome.as_recorded,
        copied=billed_before(session.copied_calls, len(session.calls)),
        until=_until(outcome, call),
        recoveries=None if risks is None else risks.needed,
        is_settled=is_settled,
        exclusion=None if risks is None or not outcome.is_planned else risks.exclusion,
        advice="" if before.cost_usd.value is not None else _advice(inputs.pricing.lacking(models)),
    )


def _until(outcome: Outcome, call: int | None) -> CostUntil | None:
    """Return the costs up to and including a call; None at the present or if a price is missing."""
    from math import isnan

    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    if call is None or call >= len(costs[0]):
        return None
    recorded, planned = (float(each[: call + 1].sum()) for each in costs)
    if isnan(recorded) or isnan(planned):
        return None
    figures = outcome.baseline.figures.cost_usd, outcome.totals.figures.cost_usd, outcome.totals.savings.usd
    amounts = (
        Figure(value, figure.known, figure.is_lower_bound)
        for value, figure in zip((recorded, planned, recorded - planned), figures, strict=True)
    )
    return CostUntil(call + 1, *amounts)


def _advice(reason: str) -> str:
    """Word the advice for a model without a price for the app, which has no command line options."""
    return f"{reason} · {HOW_TO_PRICE}" if reason else ""


KEY_OF_COMPARE: Final = "c"
"""Key of the comparison of plans."""
KEY_OF_TAKING: Final = "*"
"""Key that makes the best plan the current one."""
KEY_OF_MISSES: Final = "M"
"""Key of the screen with the avoidable cost."""

SEARCHING: Final = "looking for the best plan …"
EXPLAINING: Final = "explaining cache misses …"
UNSETTLED: Final = "net …"

_TITLE, _TEXT, _FIGURE, _SAVED = "cost--title", "cost--text", "cost--figure", "cost--saved"
_LOST, _ATTENTION = "cost--lost", "cost--attention"

Styled = tuple[tuple[str, str], ...]
"""Texts with the names of their styles."""


class LineText(NamedTuple):
    """A piece of the line.

    Attributes:
        text: Text.
        rank: On a narrow line the pieces of the highest rank are shortened or left out first; 0 for never.
        shorter: Shorter text, or a shorter piece with another rank; None to leave the piece out.
        right: Align at the right end.
    """

    text: Styled
    rank: int = 0
    shorter: Styled | LineText | None = None
    right: bool = False


Line = tuple[LineText, ...]

_ALL_FIGURES: Final = LineText((("$ ", _FIGURE), ("all figures", _TEXT)), 9, right=True)


def recorded_line(
    summary: CostSummary,
    misses: CacheMisses | None,
    best: BestPlan | None,
    format_name: str,
    *,
    is_searching: bool,
    subagents: SubagentCosts | None = None,
) -> Line:
    """Build the line of a session without a plan: cost, avoidable cost, and what its agent can save.

    Args:
        summary: The session's cost.
        misses: The session's cache misses; None until computed.
        best: Result of the plan search; None until there is one.
        format_name: Format of the session.
        is_searching: True while plans are tried.
        subagents: Costs of the sessions that this one started; None until they are read.
    """
    if summary.advice:
        cost: Line = (LineText((("Cost ", _TITLE), ("unknown", _FIGURE)), 1),)
        return (*cost, LineText(((one_line(summary.advice), _ATTENTION),)), *_subagents(subagents))
    plans = _plans(best, format_name, is_searching=is_searching)
    return (*_cost(summary), *_subagents(subagents), *_avoidable(misses), *plans, _ALL_FIGURES)


def planned_line(summary: CostSummary, plan_name: str) -> Line:
    """Build the line of a plan: the cost with and without it, its net saving, and its price.

    Args:
        summary: The session under the plan.
        plan_name: Name of the plan in the line.
    """
    if summary.advice:
        return recorded_line(summary, None, None, "", is_searching=False)
    if summary.is_idle:
        about = LineText((("the plan cuts nothing here", _TEXT),), 2, (("cuts nothing", _TEXT),))
        return (*_cost(summary), about, _ALL_FIGURES)
    recorded, planned, saved = summary.recorded, summary.planned, summary.saved
    if summary.until is not None:
        recorded, planned, saved = summary.until.recorded, summary.until.planned, summary.until.saved
    amount = _dollars(cost_consistent_with_saving(recorded, planned))
    found = summary.recoveries
    # The exclusion needs the room of the word.
    words = f"{'' if summary.exclusion and (saved.value or 0) > 0 else 'with '}{plan_name} "
    return (
        *_cost(summary),
        LineText(((words, _TEXT), (amount, _FIGURE)), 3, LineText((("→ ", _TEXT), (amount, _FIGURE)), 2)),
        *_saving(summary, saved),
        *(() if summary.until is not None else _net(summary)),
        *_tokens(summary),
        *_rewrites(summary),
        *(() if found is None or not found.needed else _needed(found.needed)),
        _ALL_FIGURES,
    )


def _cost(summary: CostSummary) -> Line:
    """Describe the recorded cost, up to the selected call if it is an earlier one."""
    recorded, about = summary.recorded, "Cost "
    if summary.until is not None:
        recorded, about = summary.until.recorded, f"Cost up to call {ON_SCREEN.whole(summary.until.call)} "
    cost = ((about, _TITLE), (_dollars(recorded), _FIGURE))
    longer = cost if summary.until is None else (*cost, (f" of {_dollars(summary.recorded)}", _TEXT))
    pieces = [LineText(longer, 1, None if longer is cost else cost)]
    if summary.as_recorded is not None:
        pieces.append(LineText(((priced_as_words(summary.priced_as, summary.as_recorded), _ATTENTION),), 3))
    if summary.copied:
        pieces.append(LineText(((f"({summary.copied})", _ATTENTION),), 3))
    return tuple(pieces)


def _subagents(found: SubagentCosts | None) -> Line:
    """Describe the cost of subagents, which the total does not include; empty if there are none."""
    if not found:
        return ()
    if not found.sessions:
        return (LineText(((unread_words(found, ON_SCREEN), _ATTENTION),), 6),)
    cost = (f"+{cost_words(found, ON_SCREEN)}", _FIGURE)
    sessions, calls = ON_SCREEN.plural(len(found.sessions), "subagent"), ON_SCREEN.plural(found.calls, "call")
    unread = ((f", {len(found.unread)} not read", _ATTENTION),) if found.unread else ()
    longer = (cost, (f" for {sessions}, {calls}", _TEXT), *unread)
    return (LineText(longer, 5, (cost, (f" {sessions}", _TEXT))),)


def _avoidable(misses: CacheMisses | None) -> Line:
    """Describe the extra cost of avoidable cache misses."""
    if misses is None:
        return (LineText(((EXPLAINING, _TEXT),), 6),)
    if not misses.misses:
        return (LineText(((no_misses_text(misses), _TEXT),), 6),) if misses.has_cache else ()
    total, could = misses.total, misses.preventable
    amount = dollars(could.figure("extra_usd")) or f"{ON_SCREEN.short(could.tokens)} tokens"
    count, key = ON_SCREEN.plural(total.calls, "cache miss"), (KEY_OF_MISSES, _FIGURE)
    avoidable: Styled = (("nothing avoidable", _TEXT),)
    if could.calls:
        count = count if could.calls == total.calls else f"{could.calls} of {count}"
        avoidable = (("avoidable ", _TEXT), (amount, _FIGURE))
    return (LineText((*avoidable, (f" in {count} (", _TEXT), key, (")", _TEXT)), 4, LineText(avoidable, 2)),)


def _plans(best: BestPlan | None, format_name: str, *, is_searching: bool) -> Line:
    """Describe the net saving that the session's agent can have, otherwise that of the best plan."""
    if best is None:
        return (LineText(((SEARCHING, _TEXT),), 3),) if is_searching else ()
    keys = ((" (", _TEXT), (KEY_OF_TAKING, _FIGURE), (" ", _TEXT), (KEY_OF_COMPARE, _FIGURE), (")", _TEXT))
    recommended = recommended_words(best, format_name, is_searching=is_searching)
    if recommended is not None:
        saving = recommended.saving
        saves, name = (saving.amount(ON_SCREEN), _SAVED), (f" with {saving.name}", _TEXT)
        full, short, brief = (((f"{label} saves ", _TEXT), saves) for label in recommended.labels)
        # The name is dropped before the words that explain it.
        found = LineText(brief, 1)
        for form in (
            short,
            (*short, *keys),
            (*short, name),
            (*short, name, *keys),
            (*full, name),
            (*full, name, *keys),
        ):
            if sum(len(text) for text, _ in form) > sum(len(text) for text, _ in found.text):
                found = LineText(form, 3, found)
        if best.is_complete and recommended.answer.is_lacking:
            return (found, LineText(((recommended.answer.can_apply(NONE_RECOMMENDED), _TEXT),), 4))
        return (found,)
    if is_searching:
        return (LineText(((SEARCHING, _TEXT),), 3),)
    why = NOTHING_WORTHWHILE if best.is_complete else "session too long to try every plan"
    return (LineText(((f"{why} (", _TEXT), (KEY_OF_COMPARE, _FIGURE), (")", _TEXT)), 3),)


BEST_PLAN: Final = "best plan"


class Recommended(NamedTuple):
    """The recommended plan, for the cost line and the screen of cache misses.

    Attributes:
        labels: What it is, in decreasing length: `best plan OpenCode can apply`, `best plan for OpenCode`.
        saving: Its saving.
        answer: Whether the session's agent can apply it.
    """

    labels: tuple[str, str, str]
    saving: PlanSaving
    answer: AgentSupport

    def wordings(self) -> tuple[str, ...]:
        """Return `best plan OpenCode can apply saves net $2.44 to $2.63 with newest ten`, and shorter forms."""
        full, short, brief = self.labels
        saves = self.saving.in_short(ON_SCREEN)
        return f"{full} {saves}", f"{short} {saves}", f"{brief} saves {self.saving.amount(ON_SCREEN)}"


def recommended_words(best: BestPlan | None, format_name: str, *, is_searching: bool) -> Recommended | None:
    """Describe the recommended plan; None without any.

    Args:
        best: Result of the plan search; None until there is one.
        format_name: Format of the session.
        is_searching: True while plans are tried.
    """
    found = None if best is None else best.recommended
    if best is None or found is None:
        return None
    answer, name = answer_for(format_name, found.plan), display_name(found.plan.name, found.plan.to_specs())
    label, short, brief = (BEST_PLAN,) * 3
    if best.applicable is not None:
        label = f"{BEST_PLAN} {answer.can}"
        if best.best is not None and best.best.plan != found.plan:
            short, brief = f"{BEST_PLAN} for {answer.agent}", f"best for {answer.agent}"
    saving = plan_saving(one_line(name), found.savings, found.recoveries)
    return Recommended((f"{label} so far" if is_searching else label, short, brief), saving, answer)


def _saving(summary: CostSummary, saved: Figure) -> Line:
    if saved.value is None:
        return ()
    of = " by then" if summary.until is not None else ""
    share = "" if of or summary.saved_share is None else f" ({ON_SCREEN.share(abs(summary.saved_share))})"
    amount = ON_SCREEN.qualified(ON_SCREEN.dollars(abs(saved.value)), saved.known)
    if saved.value < 0:
        return (LineText(((f"costs {amount} more{share}{of}", _LOST),), 0, ((f"costs {amount} more", _LOST),)),)
    if summary.exclusion is not None:
        mark = (f", {summary.exclusion.short}", _ATTENTION)
        return (LineText(((f"saves {amount}{share}{of}", _FIGURE), mark), 0, ((f"saves {amount}", _FIGURE), mark)),)
    # Green only if the plan saves at worst.
    is_sure = summary.is_settled and summary.recoveries is not None and summary.recoveries.is_sure
    style = _SAVED if is_sure else _FIGURE
    return (LineText(((f"saves {amount}{share}{of}", style),), 0, ((f"saves {amount}", style),)),)


def _net(summary: CostSummary) -> Line:
    """Describe the saving after re-fetches, or keep its place until it is known."""
    found = summary.recoveries
    if not summary.is_settled or found is None:
        return (LineText(((UNSETTLED, _TEXT),), 1),)
    longer, shorter = net_after_words(found.net, found.refetched, ON_SCREEN), net_words(found.net, ON_SCREEN)
    if found.refetched is None:
        return (LineText(((longer, _TEXT),), 2),)
    if not shorter or (found.saved or 0) <= 0:
        return ()
    style = _SAVED if found.is_sure else _LOST
    # The net saving stays longer than the cost with the plan, which follows from the saving.
    return (LineText(((longer, style),), 2, LineText(((shorter, style),), 1)),)


def _tokens(summary: CostSummary) -> Line:
    saved = summary.saved_tokens.value
    if saved is None:
        return ()
    word, style = ("fewer", _SAVED) if saved >= 0 else ("more", _LOST)
    amount = ON_SCREEN.qualified(ON_SCREEN.short(abs(saved)), summary.saved_tokens.known)
    return (LineText(((f"{amount} {word} tokens", style),), 6),)


def _rewrites(summary: CostSummary) -> Line:
    pieces = []
    if summary.rewrite_usd:
        cost = (ON_SCREEN.dollars(summary.rewrite_usd), _FIGURE)
        pieces.append(LineText((("cache rewrites cost ", _TEXT), cost), 5, (("cache rewrites ", _TEXT), cost)))
    if summary.pays_off is not None:
        call = (ON_SCREEN.whole(summary.pays_off), _FIGURE)
        pieces.append(LineText((("breaks even at call ", _TEXT), call), 7))
    elif summary.saved.value is not None:
        pieces.append(LineText((("never breaks even", _TEXT),), 4))
    return tuple(pieces)


def _needed(calls: int) -> Line:
    longer, shorter = f"! {needed_words(calls, ON_SCREEN)}", f"! needed later: {ON_SCREEN.whole(calls)}"
    return (LineText(((longer, _LOST),), 3, ((shorter, _LOST),)),)


def cost_consistent_with_saving(before: Figure, planned: Figure) -> Figure:
    """Round a plan's cost so that cost and saving, as displayed, add up to the cost before."""
    return replace(planned, value=ON_SCREEN.cost_with_plan(before.value, planned.value))


def _dollars(figure: Figure) -> str:
    """Format dollars with their qualifier (`~`, `≥`)."""
    return ON_SCREEN.qualified(
        ON_SCREEN.dollars(figure.value), figure.known.value, is_lower_bound=figure.is_lower_bound
    )
