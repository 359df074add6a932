"""What requests cost that are not the conversation's: condensers, compactions, titles, side questions.

They are billed, so they are in what a session cost altogether; no plan changes them, and no prompt of the conversation
holds them, so they are in no figure of a replay.
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
    """One request.

    Attributes:
        before: Index of the conversation's call that it was made before, as far as times tell; the number of calls
            behind the last one; None where there is no time.
        prompt: Its prompt tokens.
        output: Its response tokens.
        cost: Dollars at list price; None without one.
    """

    before: int | None
    prompt: int
    output: int
    cost: float | None


class SideSpending(NamedTuple):
    """The requests of one purpose.

    Attributes:
        purpose: What they were for; session text in some formats.
        calls: How many.
        prompt: Their prompt tokens.
        cache_read: Of these, those read from a cache.
        output: Their response tokens.
        cost: Dollars at list price; None where some model has none.
        requests: Each of them, in the order they were made.
    """

    purpose: str
    calls: int
    prompt: int
    cache_read: int
    output: int
    cost: float | None
    requests: tuple[SideRequest, ...] = ()


def side_spending(session: Session, pricing: Pricing) -> tuple[SideSpending, ...]:
    """A session's calls beside the conversation by purpose, in the order each was first made."""
    calls = [call for call in session.side_calls if call.usage is not None]
    if not calls:
        return ()
    usages = [call.usage for call in calls]
    times = np.array([np.nan if call.time is None else call.time for call in calls])
    rates = pricing.call_rates([call.model for call in calls], times, [call.terms for call in calls])
    prompts = PromptUsage.of(usages)
    output = np.array([usage.output if usage is not None else 0 for usage in usages], dtype=np.int64)
    cost = rates.cost(prompts, output)
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


def altogether(cost: float | None, beside: Sequence[SideSpending]) -> float | None:
    """Dollars of a conversation and of the requests beside it; None where a part of them is not known."""
    parts = [cost, *(each.cost for each in beside)]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def made_before(session: Session, call: int) -> tuple[SideCall, ...]:
    """The requests beside a conversation that were made between a call of it and the one before."""
    times = np.array([np.nan if each.time is None else each.time for each in session.side_calls])
    if not len(times):
        return ()
    return tuple(each for each, place in zip(session.side_calls, _places(session, times), strict=True) if place == call)


def _places(session: Session, times: NDArray[np.float64]) -> list[int | None]:
    """For moments, the calls of the conversation that came next."""
    made = np.array([np.nan if call.time is None else call.time for call in session.calls])
    # A call without a time was made no earlier than the one before it.
    made = np.fmax.accumulate(np.where(np.isnan(made), -np.inf, made)) if len(made) else made
    found = np.searchsorted(made, np.nan_to_num(times), side="left").tolist()
    return [None if np.isnan(time) else place for time, place in zip(times, found, strict=True)]
