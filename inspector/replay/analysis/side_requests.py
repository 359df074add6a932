"""Cost of requests outside the conversation: condensers, compactions, titles, side questions.

They are billed, so they are part of a session's total cost. No plan changes them, and no prompt of the conversation
contains them, so they are in no figure of a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session, SideCall


class SideRequest(NamedTuple):
    """One side request.

    Attributes:
        before: Index of the next call of the conversation by time; the number of calls after the last one, None without
            a time.
        prompt: Its prompt tokens.
        output: Its response tokens.
        cost: Dollars at list price; None without one.
    """

    before: int | None
    prompt: int
    output: int
    cost: float | None


class SideSpending(NamedTuple):
    """The side requests of one purpose.

    Attributes:
        purpose: Their purpose; session text in some formats.
        calls: Number of requests.
        prompt: Their prompt tokens.
        cache_read: The part read from a cache.
        output: Their response tokens.
        cost: Dollars at list price; None if some model has none.
        requests: All of them, in order.
    """

    purpose: str
    calls: int
    prompt: int
    cache_read: int
    output: int
    cost: float | None
    requests: tuple[SideRequest, ...] = ()


def side_spending(session: Session, pricing: Pricing) -> tuple[SideSpending, ...]:
    """Return a session's side requests by purpose, in the order each first occurred."""
    calls = [call for call in session.side_calls if call.usage is not None]
    if not calls:
        return ()
    usages = [call.usage for call in calls]
    times = np.array([np.nan if call.time is None else call.time for call in calls])
    rates = pricing.call_rates([call.model for call in calls], times, [call.terms for call in calls])
    prompts = PromptUsage.of(usages)
    output = np.array([usage.output if usage is not None else 0 for usage in usages], dtype=np.int64)
    cost = rates.cost(prompts, output, np.array([call.requests for call in calls], dtype=np.int64))
    purposes = np.array([call.purpose for call in calls], dtype=object)
    places = _places(session, times)
    found = []
    for purpose in dict.fromkeys(purposes.tolist()):
        mine = purposes == purpose
        dollars = float(cost[mine].sum())
        found.append(
            SideSpending(
                purpose,
                int(mine.sum()),
                int(prompts.prompt[mine].sum()),
                int(prompts.cache_read[mine].sum()),
                int(output[mine].sum()),
                None if np.isnan(dollars) else dollars,
                tuple(
                    SideRequest(
                        places[at],
                        int(prompts.prompt[at]),
                        int(output[at]),
                        None if np.isnan(cost[at]) else float(cost[at]),
                    )
                    for at in np.flatnonzero(mine).tolist()
                ),
            )
        )
    return tuple(found)


def cost_with_side_requests(cost: float | None, requests: Sequence[SideSpending]) -> float | None:
    """Return dollars of a conversation plus its side requests; None if a part is unknown."""
    parts = [cost, *(each.cost for each in requests)]
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
