"""What requests cost that are not the conversation's: condensers, compactions, titles, side questions.

They are billed, so they are in what a session cost altogether; no plan changes them, and no prompt of the conversation
holds them, so they are in no figure of a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage

if TYPE_CHECKING:
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session


class SideSpending(NamedTuple):
    """The requests of one purpose.

    Attributes:
        purpose: What they were for; session text in some formats.
        calls: How many.
        prompt: Their prompt tokens.
        cache_read: Of these, those read from a cache.
        output: Their response tokens.
        cost: Dollars at list price; None where some model has none.
    """

    purpose: str
    calls: int
    prompt: int
    cache_read: int
    output: int
    cost: float | None


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
            )
        )
    return tuple(found)
