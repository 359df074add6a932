"""What the context chart shows of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import ContextCause
from inspector.strategies.core.rendition import Action
from inspector.strategies.history.memo import once_a_history
from inspector.ui.chart.series import ChartSeries, Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.replay import Replay
    from inspector.strategies.history.history import History
    from inspector.strategies.triggers import Trigger
    from inspector.ui.outcome import Outcome


def chart_of(outcome: Outcome, call: int | None, *, by_time: bool = False) -> ChartSeries:
    """Every call's prompt, recorded and under the plan.

    Args:
        outcome: The replay.
        call: The call looked at; None for the next one, not yet made.
        by_time: Calls stand at the time they were made, where the session says it.
    """
    from inspector.strategies.triggers import triggers_of

    history, replay = outcome.replay.history, outcome.replay
    triggers = triggers_of(outcome.plan, outcome.inputs.window.size)
    return ChartSeries(
        recorded=outcome.baseline.ledger.prompt_tokens,
        planned=replay.ledger.prompt_tokens if replay is not outcome.baseline else None,
        window=outcome.inputs.window.size,
        compactions=first_calls_after_compactions(history),
        breaks=np.flatnonzero(replay.ledger.is_break & ~outcome.baseline.ledger.is_break).astype(np.int32),
        cursor=call,
        levels=tuple(dict.fromkeys(Level(trigger.tokens, trigger.name) for trigger in triggers)),
        firings=firings(replay, triggers),
        seconds=seconds_of_calls(history) if by_time else None,
    )


def firings(replay: Replay, triggers: tuple[Trigger, ...]) -> NDArray[np.int32]:
    """The calls at which strategies that wait for a prompt size change something, rising."""
    changes = replay.changes
    entries = {trigger.entry for trigger in triggers}
    waited = np.array([reason.entry in entries for reason in changes.reasons], dtype=np.bool_)
    if not waited.any():
        return np.zeros(0, dtype=np.int32)
    acting = waited[changes.reason] & (changes.action != Action.WHOLE)
    return np.unique(changes.call[acting]).astype(np.int32)


def seconds_of_calls(history: History) -> NDArray[np.float64] | None:
    """Per call, seconds since the first, never falling; None where fewer than two calls have a time.

    A call without a time stands with the one before it.
    """
    times = history.call_time[: history.call_count]
    known = ~np.isnan(times)
    if known.sum() < 2:
        return None
    filled = np.where(known, times, -np.inf)
    seconds: NDArray[np.float64] = np.maximum(np.maximum.accumulate(filled) - times[known][0], 0.0)
    return seconds


@once_a_history
def first_calls_after_compactions(history: History) -> tuple[int, ...]:
    """The calls that were the first after the agent compacted its context."""
    compacted = [
        index for index, context in enumerate(history.session.contexts) if context.cause is ContextCause.COMPACTION
    ]
    contexts, first = np.unique(history.call_context[:-1], return_index=True)
    return tuple(int(call) for call in np.sort(first[np.isin(contexts, compacted)]))
