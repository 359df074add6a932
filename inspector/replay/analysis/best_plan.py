"""Find the plan with the highest savings after recovering everything needed later, by trying all plans.

Each plan is ranked by the lower end of its net savings: savings minus the price of expected re-fetches (`recoveries`).
Only plans inside the envelope of what has been tried in public can be best (`envelope`). No detector covers user or
assistant text, so plans that drop some of it (windows, summaries) are excluded regardless of their savings.

Plans that were best on other sessions are tried first, so most of the achievable savings are found early.

Compare many plans on one session: the rows of the table.

Compare plans on a session at the recorded models and at another model's prices.

A plan sends the same prompts at both, so its edits, risks and expected re-fetches are the same; only prices differ. The
cheaper a cache read is, the longer an edit of cached text takes to pay back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from threading import Lock
from time import thread_time
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Struct

from inspector.errors import InspectorError
from inspector.replay.analysis.hazards import Hazard, drops_text, hazards_of, kinds_left_out, orphaned_pairs
from inspector.replay.analysis.plan_outcome import Savings, break_even_call, savings_of
from inspector.replay.analysis.recoveries import Recoveries, envelope, net_share, recoveries
from inspector.replay.engine.edits import EditedSession, Edits
from inspector.replay.engine.inputs import ReplayInputs, as_other_model
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.replay.engine.replay import Replay, replay, replay_of_edits
from inspector.replay.engine.simulation import plan_edits
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.quantity import Count, FigureResult, How, Known, Unit, about, figure
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES, FailedPlugInError, strategy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan
    from inspector.replay.engine.ledger import Figures
    from inspector.session.model import BlockKind, Session


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """One plan's results on a session.

    Attributes:
        figures: Totals over all calls.
        savings: Savings compared with the session with nothing cut.
        break_even_call: First call, counted from 1, after which its cumulative cost stays lower; None if there is none.
        first_firing: Index of the first call it changes something at; the number of recorded calls for the next one,
            None if it changes nothing.
        edits: Number of rendition changes over all calls.
        hazards: Its hazards, including a strategy that never applies.
        drops_text: True if it removes or replaces user or assistant text.
        left_out: The kinds of blocks it removes or replaces.
    """

    plan: Plan
    figures: Figures
    savings: Savings
    break_even_call: int | None
    first_firing: int | None
    edits: int
    hazards: tuple[Hazard, ...]
    drops_text: bool = False
    left_out: tuple[BlockKind, ...] = ()


def plans_to_compare(session: Session) -> tuple[Plan, ...]:
    """Return every strategy as a single plan, with defaults for the session, and the presets that combine several."""
    alone = tuple(_alone(session))
    known = {plan.strategies for plan in alone} | {()}
    presets = (preset.plan(session) for preset in PRESETS.values())
    return (*alone, *(plan for plan in presets if plan.strategies not in known and plan.name not in STRATEGIES))


def _alone(session: Session) -> Iterator[Plan]:
    for name in STRATEGIES:
        with suppress(FailedPlugInError):  # listed by `inspector strategies`
            yield Plan.of(strategy_for(name, session), name=name)


def replays_of(inputs: ReplayInputs, plans: Iterable[Plan]) -> Iterator[Replay]:
    """Replay a session under each plan, leaving out those of plug-ins that fail."""
    for plan in plans:
        with suppress(FailedPlugInError):
            yield replay(inputs, plan)


def compared(baseline: Replay, planned: Replay) -> ComparedPlan:
    """Summarize a replay compared with the session with nothing cut."""
    return ComparedPlan(
        plan=planned.plan,
        figures=planned.figures,
        savings=savings_of(baseline.figures, planned.figures),
        break_even_call=break_even_call(baseline.ledger, planned.ledger),
        first_firing=first_firing(planned),
        edits=int(planned.ledger.edits.sum()),
        hazards=hazards_of(planned),
        drops_text=drops_text(planned),
        left_out=kinds_left_out(planned),
    )


def first_firing(planned: Replay) -> int | None:
    """Return the first call a plan changes something at; see `ComparedPlan.first_firing`."""
    calls = planned.edits.call[planned.edits.by_plan]
    return int(calls.min()) if len(calls) else None


class PlanAsModel(FigureResult, frozen=True, kw_only=True):
    """Net saving of a plan at the recorded models and at the other model, including expected re-fetches."""

    name: Annotated[str, about("Name of the plan; empty if it has none.")]
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    pays: Annotated[bool, about("True if it saves at both ends of the range at the other model.")]
    evidence: Annotated[str, about("`tried` if settings like these have been tried in public, otherwise `beyond`.")]
    recorded_at_least_usd: Annotated[
        float | None,
        figure("net as recorded, at worst", Unit.DOLLARS, "Net saving at the recorded models, lower end.", saves=True),
    ]
    recorded_at_most_usd: Annotated[
        float | None,
        figure("net as recorded, at best", Unit.DOLLARS, "Net saving at the recorded models, upper end.", saves=True),
    ]
    saved_at_least_usd: Annotated[
        float | None,
        figure(
            "net at the other model, at worst", Unit.DOLLARS, "Net saving at the other model, lower end.", saves=True
        ),
    ]
    saved_at_most_usd: Annotated[
        float | None,
        figure(
            "net at the other model, at best", Unit.DOLLARS, "Net saving at the other model, upper end.", saves=True
        ),
    ]
    known: Known

    @property
    def recorded(self) -> tuple[float | None, float | None]:
        return self.recorded_at_least_usd, self.recorded_at_most_usd

    @property
    def other(self) -> tuple[float | None, float | None]:
        return self.saved_at_least_usd, self.saved_at_most_usd


class AsModel(Struct, frozen=True, kw_only=True):
    """The session priced as if another model had answered every call, with unchanged prompts, at today's rates."""

    model: Annotated[str, about("The other model.")]
    input_usd: Annotated[float, about("Dollars per million input tokens, for short prompts.")]
    output_usd: Annotated[float, about("Dollars per million response tokens, for short prompts.")]
    cache_read_share: Annotated[float | None, about("Price of cache reads as a share of input; null if input is free.")]
    dearer_above: Annotated[list[Count], about("Prompt lengths above which the whole request costs more.")]
    recorded_usd: Annotated[float | None, figure("cost as recorded", Unit.DOLLARS, "Cost at the recorded models.")]
    usd: Annotated[float | None, figure("cost at the other model", Unit.DOLLARS, "Projected cost at the other model.")]
    window: Annotated[int | None, about("Context window of the other model in tokens; null if unknown.")]
    beyond_window: Annotated[Count, figure("prompts beyond its window", Unit.CALLS, "Prompts that exceed it.")]
    plans: Annotated[list[PlanAsModel], about("The given plans, otherwise the recommended ones.")]
    best: Annotated[
        PlanAsModel | None, about("The best plan at the other model; null if none is worthwhile, or not searched.")
    ] = None
    is_searched: Annotated[bool, about("True if every plan was tried at the other model.")] = False
    known: Known = msgspec.field(default_factory=dict)


def priced_baseline(baseline: Replay, model: str) -> Replay | None:
    """Replay a session without a plan at another model's prices; None if the model has no price."""
    inputs = as_other_model(baseline.inputs, model)
    return None if inputs.pricing.rates(model) is None else replay(inputs, Plan())


def as_model(
    baseline: Replay,
    other: Replay,
    plans: Sequence[Plan],
    uses: ReuseEvidence,
    best: SavingPlan | None = None,
    *,
    is_searched: bool = False,
) -> AsModel | None:
    """Compare plans at the recorded and another model's prices; `is_searched` if all were tried there."""
    pricing = other.inputs.pricing
    model = pricing.model or ""
    rates = pricing.rates(model)
    if rates is None:
        return None

    def at_both(plan: Plan) -> PlanAsModel:
        recorded, there = (recoveries(without, replay(without.inputs, plan), uses) for without in (baseline, other))
        names = ("recorded_at_least_usd", "recorded_at_most_usd", "saved_at_least_usd", "saved_at_most_usd")
        nets = (Figure(usd, HowKnown.PROJECTED) for usd in (*recorded.net, *there.net))
        return PlanAsModel.of(
            name=plan.name,
            strategies=plan.to_specs(),
            pays=there.net[0] is not None and there.net[0] > 0,
            evidence=recorded.envelope.evidence.value,
            **dict(zip(names, nets, strict=True)),
        )

    window, recorded_usd = pricing.own_window(model) or pricing.listed_window(model), baseline.figures.cost_usd
    projected: How = HowKnown.PROJECTED.value
    return AsModel(
        model=model,
        input_usd=rates.input,
        output_usd=rates.output,
        cache_read_share=rates.read_share,
        dearer_above=[row.above for row in rates.tiers],
        recorded_usd=recorded_usd.value,
        usd=other.figures.cost_usd.value,
        window=window,
        beyond_window=int((other.ledger.prompt_tokens > window).sum()) if window else 0,
        plans=[at_both(plan) for plan in dict.fromkeys(plans)],
        best=None if best is None else at_both(best.plan),
        is_searched=is_searched,
        known={"recorded_usd": recorded_usd.known.value, "usd": projected, "beyond_window": projected},
    )


MOST_SECONDS: Final = 20.0
"""Budget of CPU seconds; a session that would take longer is not searched."""
MOST_BLOCKS: Final = 30_000
"""Maximum number of blocks of a session to search."""
WORTHWHILE: Final = 0.01
"""Smallest share of savings that counts."""

FIRST: Final = (
    "newest-twenty-messages",
    "newest-ten",
    "hermes-proactive-prune",
    "last-observations",
    "gemini-mask",
    "cap-at-insertion",
    "cozempic-stale-reads",
)
"""Every plan recommended on the reference sessions, most frequent first (docs/development/recommendations.md)."""

_TRIED_FIRST = 12
"""Plans tried before the total time is estimated."""
_GROWTH = 0.1
_SECONDS_OF_WAIT = 0.1


@dataclass(frozen=True, slots=True)
class SavingPlan:
    """A plan with savings; `recoveries` are its cuts that were needed later, priced."""

    plan: Plan
    savings: Savings
    recoveries: Recoveries

    @classmethod
    def of(cls, baseline: Replay, planned: Replay, uses: ReuseEvidence) -> SavingPlan:
        savings = savings_of(baseline.figures, planned.figures)
        return cls(planned.plan, savings, recoveries(baseline, planned, uses))

    @property
    def needed(self) -> int:
        """Number of calls that used something already cut."""
        return self.recoveries.needed

    @property
    def net_share(self) -> float | None:
        """Net savings that rank it (`recoveries.net_share`)."""
        return net_share(self.savings, self.recoveries)

    @property
    def net_share_range(self) -> tuple[float, float] | None:
        """Net savings as a share of the cost, at worst and at best; None without a price."""
        (low, high), usd, share = self.recoveries.net, self.savings.usd.value, self.savings.share.value
        return (
            (share * low / usd, share * high / usd) if usd and share and low is not None and high is not None else None
        )


@dataclass(frozen=True, slots=True)
class BestPlan:
    """Result of trying all plans. A search that ended early names no plan.

    Attributes:
        best: The plan with the highest savings after all recoveries, if no provider would reject one of its prompts;
            None if no plan saves.
        most: The plan with the highest savings before recoveries; None if no plan saves, or if it was not requested.
        tried: Number of plans tried.
        is_complete: True if all plans were tried; False if it would take too long.
        applicable: Like `best`, among the plans and parts of plans that the session's agent applies natively.
        beyond: True if plans may go beyond what has been tried in public.
    """

    best: SavingPlan | None
    most: SavingPlan | None
    tried: int
    is_complete: bool
    applicable: SavingPlan | None = None
    beyond: bool = False

    @property
    def recommended(self) -> SavingPlan | None:
        """The plan to apply first: the one that the session's agent applies natively, otherwise the best."""
        return self.best if self.applicable is None else self.applicable


class _FlawedPlanError(InspectorError):
    """A plan drops text, or goes beyond what has been tried in public."""

    advice = "choose another plan"


class BestPlanSearch:
    """Resumable search over all plans; threads that share it take turns.

    Most plans drop text or go beyond what has been tried within their first calls, and are not replayed further. The
    plan with the highest savings before recoveries may be one of them, so it is found only on request.
    """

    def __init__(
        self,
        baseline: Replay,
        uses: ReuseScan,
        known: BestPlan | None = None,
        part_of: Callable[[Plan], Plan | None] = lambda _: None,
        *,
        beyond: bool = False,
    ) -> None:
        """Prepare the search.

        Args:
            known: Result for an earlier state of the session, tried first.
            part_of: Returns the part (or all) of a plan that the agent applies natively; None for none, or if unknown.
            beyond: True if plans may go beyond what has been tried in public.
        """
        self._beyond = beyond
        self._baseline = baseline
        self._uses = uses
        self._turn = Lock()
        of_known = () if known is None else (known.best, known.most, known.applicable)
        before = {each.plan.name for each in of_known if each is not None}
        plans = plans_to_compare(baseline.history.session)
        parts = [part for plan in plans if (part := part_of(plan)) is not None]
        self._applicable = {part.strategies for part in parts}
        compared = {plan.strategies for plan in plans}
        self._parts = {part.strategies: part for part in reversed(parts) if part.strategies not in compared}
        tried = (*plans, *self._parts.values())
        self._rank = {plan: -place for place, plan in enumerate(tried)}
        self._plans = sorted(tried, key=lambda plan: (plan.name not in before, place_in_order(plan)))
        self._tried = 0
        self._spent = 0.0
        self._best: SavingPlan | None = None
        self._can: SavingPlan | None = None
        self._most = (-inf, 0, Plan())
        self._flawed: list[Plan] = []
        self._knows_most = False
        self._result: BestPlan | None = None

    def serves(self, baseline: Replay) -> bool:
        """Return True if the results hold for another state of the session: same pricing, little growth."""
        mine, other = self._baseline.inputs, baseline.inputs
        same_terms = mine.pricing is other.pricing and mine.cache == other.cache and mine.window == other.window
        count = self._baseline.history.call_count
        return same_terms and count <= baseline.history.call_count <= count * (1 + _GROWTH)

    @property
    def count(self) -> int:
        """Number of plans to try."""
        return len(self._plans)

    @property
    def tried(self) -> int:
        return self._tried

    @property
    def baseline(self) -> Replay:
        """The session with nothing cut, at the start of the search."""
        return self._baseline

    def run(
        self,
        is_cancelled: Callable[[], bool],
        pause: Callable[[float], object],
        *,
        with_most: bool = True,
    ) -> BestPlan | None:
        """Try the remaining plans.

        Args:
            with_most: Find `BestPlan.most` too, for which every plan is replayed to the end.
            is_cancelled: Polled; True ends the search for now.
            pause: Called after each plan with the seconds it took; may block to yield to other work. Called with 0
                repeatedly while another thread tries plans.

        Returns:
            The result; None if it was cancelled.
        """
        while not self._turn.acquire(timeout=_SECONDS_OF_WAIT):
            if is_cancelled():
                return None
            pause(0.0)
        try:
            known = self._result
            if known is None or (with_most and known.is_complete and not self._knows_most):
                self._result = self._search(is_cancelled, pause, with_most=with_most)
            return self._result
        finally:
            self._turn.release()

    def _search(
        self,
        is_cancelled: Callable[[], bool],
        pause: Callable[[float], object],
        *,
        with_most: bool,
    ) -> BestPlan | None:
        if len(self._baseline.history.kind) > MOST_BLOCKS:
            return self._ended_early()
        uses = self._uses.run(is_cancelled)
        if uses is None:
            return None
        began = thread_time()

        def stops() -> bool:
            return is_cancelled() or self._spent + thread_time() - began > MOST_SECONDS

        inputs = self._baseline.inputs.isolated(stops)
        most = None
        try:
            while self._tried < len(self._plans) or (with_most and self._flawed):
                if is_cancelled():
                    return None
                if self._is_too_long:
                    return self._ended_early()
                began = thread_time()
                self._try_next(inputs, uses, with_most=with_most)
                took = thread_time() - began
                self._spent += took
                began = thread_time()
                pause(took)
            if with_most and self._most[0] > -inf:
                most = SavingPlan.of(self._baseline, replay(inputs, self._most[2]), uses)
        except ReplayCancelledError:
            return None if is_cancelled() else self._ended_early()
        self._knows_most = with_most
        return BestPlan(self._best, most, self._tried, is_complete=True, applicable=self._can, beyond=self._beyond)

    @property
    def _is_too_long(self) -> bool:
        return self._tried >= _TRIED_FIRST and self._spent / self._tried * len(self._plans) > MOST_SECONDS

    def _try_next(self, inputs: ReplayInputs, uses: ReuseEvidence, *, with_most: bool) -> None:
        """Try the next plan, or replay the next flawed one to the end."""
        if self._tried < len(self._plans):
            self._try(self._plans[self._tried], inputs, uses, to_the_end=with_most)
            self._tried += 1
        else:
            planned = _replayed(inputs, self._flawed[-1])
            if planned is not None:
                self._share_saved(planned)
            self._flawed.pop()

    def _try(self, plan: Plan, inputs: ReplayInputs, uses: ReuseEvidence, *, to_the_end: bool) -> None:
        is_part, can_be_applied = plan.strategies in self._parts, plan.strategies in self._applicable
        try:
            planned = _replayed(inputs, plan, None if to_the_end else self._check)
        except _FlawedPlanError:
            self._flawed += [] if is_part else [plan]
            return
        share = None if planned is None else self._share_saved(planned)
        candidates = [] if is_part else [_judged(self._best)]
        candidates += [_judged(self._can)] if can_be_applied else []
        if planned is None or share is None or share < WORTHWHILE or share < min(candidates):
            return
        found = SavingPlan.of(self._baseline, planned, uses)
        is_best = not is_part and self._is_ahead(found, self._best)
        is_first = can_be_applied and self._is_ahead(found, self._can)
        if (is_best or is_first) and is_worthwhile(found, planned, beyond=self._beyond):
            self._best = found if is_best else self._best
            self._can = found if is_first else self._can

    def _check(self, edits: Edits) -> None:
        """Abandon a plan if its first edits rule it out, which more edits cannot undo."""
        edited = EditedSession(self._baseline.history, self._baseline.table, edits)
        if drops_text(edited) or not (self._beyond or envelope(edited).is_tried):
            raise _FlawedPlanError

    def _share_saved(self, planned: Replay) -> float | None:
        """Return the share a plan saves before recoveries, noting the plan that saves most."""
        share, plan = savings_of(self._baseline.figures, planned.figures).share.value, planned.plan
        if share is not None and share >= WORTHWHILE and plan.strategies not in self._parts:
            self._most = max(self._most, (share, self._rank[plan], plan), key=lambda each: each[:2])
        return share

    def _is_ahead(self, found: SavingPlan, known: SavingPlan | None) -> bool:
        """Return True if one plan ranks higher; ties go to the plan that comes first in the comparison."""
        if known is None:
            return True
        return (_judged(found), self._rank[found.plan]) > (_judged(known), self._rank[known.plan])

    def _ended_early(self) -> BestPlan:
        return BestPlan(None, None, self._tried, is_complete=False, beyond=self._beyond)


def refreshed(known: BestPlan, baseline: Replay, uses: ReuseEvidence, is_cancelled: Callable[[], bool]) -> BestPlan:
    """Recompute a result's figures for another state of the session, unless cancelled (`ReplayCancelledError`)."""
    inputs = baseline.inputs.isolated(is_cancelled)

    def again(each: SavingPlan | None) -> tuple[SavingPlan | None, Replay | None]:
        if each is None:
            return None, None
        planned = replay(inputs, each.plan)
        return SavingPlan.of(baseline, planned, uses), planned

    def worthwhile(each: SavingPlan | None) -> SavingPlan | None:
        found, planned = again(each)
        is_good = found is not None and planned is not None and is_worthwhile(found, planned, beyond=known.beyond)
        return found if is_good else None

    most, _ = again(known.most)
    return replace(known, best=worthwhile(known.best), most=most, applicable=worthwhile(known.applicable))


def is_worthwhile(found: SavingPlan, planned: Replay, *, beyond: bool = False) -> bool:
    """Return True if a plan can be recommended; with `beyond`, also beyond what has been tried in public."""
    is_safe = found.recoveries.is_low_risk if beyond else found.recoveries.is_recommendable
    return _judged(found) >= WORTHWHILE and is_safe and is_sound(planned)


def place_in_order(plan: Plan) -> int:
    """Return the position of a bundled plan in the search order, best on other sessions first."""
    return FIRST.index(plan.name) if plan.name in FIRST else len(FIRST)


def is_sound(planned: Replay) -> bool:
    """Return True if a plan with savings can be recommended: valid prompts, all user and assistant text kept."""
    return not any(orphaned_pairs(planned)) and not drops_text(planned)


def _replayed(inputs: ReplayInputs, plan: Plan, check: Callable[[Edits], None] | None = None) -> Replay | None:
    """Replay a plan; return None if it changes nothing, or fails (comparing plans shows why)."""
    try:
        edits = plan_edits(inputs.history_of_window, inputs.renderer, plan, inputs.sizes, check=check)
        if check is not None:
            check(edits)
        return replay_of_edits(inputs, plan, edits) if edits.by_plan.any() else None
    except (ReplayCancelledError, _FlawedPlanError):
        raise
    except Exception:  # noqa: BLE001  a plan that fails is not the best one
        return None


def _judged(found: SavingPlan | None) -> float:
    share = None if found is None else found.net_share
    return -inf if share is None else share
