"""What the context chart shows of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import ContextCause
from inspector.ui.chart_series import ChartSeries

if TYPE_CHECKING:
    from inspector.strategies.history import History
    from inspector.ui.outcome import Outcome


def chart_of(outcome: Outcome, call: int | None) -> ChartSeries:
    """Every call's prompt, recorded and under the plan.

    Args:
        outcome: The replay.
        call: The call looked at; None for the next one, not yet made.
    """
    history, ledger = outcome.replay.history, outcome.replay.ledger
    return ChartSeries(
        recorded=outcome.baseline.ledger.prompt_tokens,
        planned=ledger.prompt_tokens if outcome.replay is not outcome.baseline else None,
        window=history.session.window,
        compactions=first_calls_after_compactions(history),
        breaks=np.flatnonzero(ledger.is_break & ~outcome.baseline.ledger.is_break).astype(np.int32),
        cursor=call,
    )


def first_calls_after_compactions(history: History) -> tuple[int, ...]:
    """The calls that were the first after the agent compacted its context."""
    compacted = [
        index for index, context in enumerate(history.session.contexts) if context.cause is ContextCause.COMPACTION
    ]
    contexts, first = np.unique(history.call_context[:-1], return_index=True)
    return tuple(int(call) for call in np.sort(first[np.isin(contexts, compacted)]))
