"""Cost per model of a session, with the name it is priced under.

Cost of requests outside the conversation: condensers, compactions, titles, side questions.

They are billed, so they are part of a session's total cost. No plan changes them, and no prompt of the conversation
contains them, so they are in no figure of a replay.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct, field

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Figure
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import RecordedTotals, Session, SideCall, Usage


class ModelCost(FigureResult, frozen=True, kw_only=True):
    """Cost of the calls of one model; all models add up to the session's cost."""

    model: Annotated[str, about("As recorded; empty if the file names none.")]
    priced_as: Annotated[str, about("The model whose prices apply; empty if it has its own.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls the model answered.")]
    prompt_tokens: Annotated[int | None, figure("prompt tokens", Unit.TOKENS, "Tokens of the prompts of these calls.")]
    output_tokens: Annotated[int | None, figure("output", Unit.TOKENS, "Tokens of the model's responses.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these calls.")]
    share: Annotated[float | None, figure("of the cost", Unit.SHARE, "Share of the whole cost.")]
    known: Known
    at_least: Annotated[
        list[str], about("Fields above that are lower bounds: the length of some response is unknown.")
    ] = field(default_factory=list)


def model_costs(replay: Replay) -> tuple[ModelCost, ...]:
    """Return the cost of every model of a session, highest first; they add up to the whole cost."""
    inputs, ledger, figures = replay.inputs, replay.ledger, replay.figures
    models = recorded_calls(replay.history).models
    total = figures.cost_usd.value
    found = []
    for number, model in enumerate(models.names):
        mine = models.code == number
        dollars = float(ledger.cost[mine].sum())
        is_lower_bound = bool((inputs.output_is_least | inputs.rates.is_lower_bound)[mine].any())
        share = dollars / total if total else float("nan")
        known = figures.cost_usd.known
        found.append(
            ModelCost.of(
                model=model,
                priced_as=inputs.pricing.priced_as(model),
                calls=int(mine.sum()),
                prompt_tokens=Figure(int(ledger.prompt_tokens[mine].sum()), figures.prompt_tokens.known),
                output_tokens=Figure(int(ledger.output[mine].sum()), figures.output_tokens.known),
                usd=Figure(None if isnan(dollars) else dollars, known, is_lower_bound),
                share=Figure.of(share, known),
            )
        )
    return tuple(sorted(found, key=lambda each: -(each.usd or 0.0)))


def priced_under(inputs: ReplayInputs) -> dict[str, str]:
    """Map recorded model names to the different names they are priced under, omitting those with own prices."""
    names = recorded_calls(inputs.history).models.names
    return {model: other for model in names if (other := inputs.pricing.priced_as(model))}


class SideRequest(NamedTuple):
    """One side request.

    Attributes:
        purpose: Its purpose; session text in some formats.
        before: Index of the next call of the conversation by time; the number of calls after the last one, None without
            a time.
        prompt: Its prompt tokens.
        cache_read: The part read from a cache.
        output: Its response tokens.
        cost: Dollars at list price; None without one.
    """

    purpose: str
    before: int | None
    prompt: int
    cache_read: int
    output: int
    cost: float | None


class SideSpending(Struct, frozen=True, kw_only=True):
    """Requests of one purpose outside the conversation."""

    purpose: Annotated[str, about("Purpose: a condenser, a compaction, a title, a side question.")]
    calls: Annotated[Count, about("Number of requests.")]
    prompt_tokens: Annotated[Count, about("Tokens of their prompts.")]
    cache_read_tokens: Annotated[Count, about("The part of them read from the prompt cache.")]
    output_tokens: Annotated[Count, about("Response tokens, reasoning included.")]
    cost_usd: Annotated[float | None, about("Dollars at list price; null without one.")]


def side_requests(session: Session, pricing: Pricing) -> tuple[SideRequest, ...]:
    """Return a session's side requests, in order."""
    calls = [call for call in session.side_calls if call.usage is not None]
    if not calls:
        return ()
    usages = [call.usage for call in calls]
    times = np.array([np.nan if call.time is None else call.time for call in calls])
    rates = pricing.call_rates([call.model for call in calls], times, [call.terms for call in calls])
    prompts = PromptUsage.of(usages)
    output = np.array([usage.output if usage is not None else 0 for usage in usages], dtype=np.int64)
    cost = rates.cost(prompts, output, np.array([call.requests for call in calls], dtype=np.int64))
    counts = (column.tolist() for column in (prompts.prompt, prompts.cache_read, output))
    dollars = (None if isnan(each) else each for each in cost.tolist())
    rows = zip((call.purpose for call in calls), _places(session, times), *counts, dollars, strict=True)
    return tuple(SideRequest(*row) for row in rows)


def side_spending(session: Session, pricing: Pricing) -> tuple[SideSpending, ...]:
    """Sum a session's side requests by purpose, in the order each first occurred."""
    found: dict[str, list[SideRequest]] = {}
    for each in side_requests(session, pricing):
        found.setdefault(each.purpose, []).append(each)
    costs = {purpose: [each.cost for each in mine if each.cost is not None] for purpose, mine in found.items()}
    return tuple(
        SideSpending(
            purpose=purpose,
            calls=len(mine),
            prompt_tokens=sum(each.prompt for each in mine),
            cache_read_tokens=sum(each.cache_read for each in mine),
            output_tokens=sum(each.output for each in mine),
            cost_usd=float(np.sum(costs[purpose])) if len(costs[purpose]) == len(mine) else None,
        )
        for purpose, mine in found.items()
    )


def cost_with_side_requests(cost: float | None, requests: Sequence[SideSpending]) -> float | None:
    """Return dollars of a conversation plus its side requests; None if a part is unknown."""
    parts = [cost, *(each.cost_usd for each in requests)]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def made_before(session: Session, call: int) -> tuple[SideCall, ...]:
    """Return the side requests between a call of a conversation and the previous one."""
    times = np.array([np.nan if each.time is None else each.time for each in session.side_calls])
    if not len(times):
        return ()
    return tuple(each for each, place in zip(session.side_calls, _places(session, times), strict=True) if place == call)


def _places(session: Session, times: NDArray[np.float64]) -> list[int | None]:
    """Return the next call of the conversation for each time."""
    made = np.array([np.nan if call.time is None else call.time for call in session.calls])
    # A call without a time was made no earlier than the previous one.
    made = np.fmax.accumulate(np.where(np.isnan(made), -np.inf, made)) if len(made) else made
    found = np.searchsorted(made, np.nan_to_num(times), side="left").tolist()
    return [None if np.isnan(time) else place for time, place in zip(times, found, strict=True)]


LEAST_USD, LEAST_SHARE = 0.005, 0.01
"""Smaller differences, in dollars or as a share, are attributed to rounding and price dates."""


class RecordedCost(Struct, frozen=True, kw_only=True):
    """A cost recorded by the agent, for a session or for a range of its calls."""

    source: Annotated[str, Meta(description="Type of the record: `result`, `cost-state`, `session.shutdown`.")]
    recorded_usd: Annotated[float, Meta(description="Dollars as recorded.")]
    computed_usd: Annotated[
        float | None, Meta(description="Dollars of the same requests, as far as known; null without a price.")
    ]
    includes_subagents: Annotated[bool, Meta(description="True if the recorded cost includes subagents.")]

    @property
    def differs(self) -> bool:
        if self.computed_usd is None:
            return True
        return abs(self.recorded_usd - self.computed_usd) > max(LEAST_USD, LEAST_SHARE * self.recorded_usd)


def recorded_costs(baseline: Replay, subagents: float | None = None) -> tuple[RecordedCost, ...]:
    """Return the recorded costs of a session, in order; `subagents` are dollars, None if unknown."""
    found = []
    for totals in baseline.inputs.history.session.recorded_totals:
        if totals.cost_usd is None:
            continue
        calls = float(baseline.ledger.cost[totals.first_call : totals.end_call].sum())
        others = (subagents or 0.0) if totals.includes_subagents else 0.0
        computed = calls + _side_cost(baseline, totals) + others
        found.append(
            RecordedCost(
                source=totals.source,
                recorded_usd=totals.cost_usd,
                computed_usd=None if np.isnan(computed) else computed,
                includes_subagents=totals.includes_subagents,
            )
        )
    return tuple(found)


def _side_cost(baseline: Replay, totals: RecordedTotals) -> float:
    """Return dollars of the side requests in a total; NaN without a price."""
    inputs = baseline.inputs
    if totals.includes_subagents:
        spent = side_spending(inputs.history.session, inputs.pricing)
        return float(sum(np.nan if each.cost_usd is None else each.cost_usd for each in spent))
    return _cost(baseline, totals.end_call, totals.side_usages)


def _cost(baseline: Replay, end: int, usages: Sequence[tuple[str, Usage]]) -> float:
    if not usages:
        return 0.0
    inputs = baseline.inputs
    calls = inputs.history.session.calls
    time = calls[end - 1].time if 0 < end <= len(calls) else None
    times = np.full(len(usages), np.nan if time is None else time)
    rates = inputs.pricing.call_rates([model for model, _ in usages], times, [""] * len(usages))
    output = np.array([usage.output for _, usage in usages], dtype=np.int64)
    unknown = np.zeros(len(usages), dtype=np.int64)
    return float(rates.cost(PromptUsage.of([usage for _, usage in usages]), output, unknown).sum())
