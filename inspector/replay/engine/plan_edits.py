"""A plan's strategies at work on a session: everything they change, in the plan's order.

A plan of one scheduled strategy is worked out for all calls at once. Any other is walked call by call, so that each
strategy sees what the ones before it left and what the plan itself has sent so far.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.edits import RECORDED, Edits, Reason, effective_edits
from inspector.replay.engine.gc_pause import collector_paused
from inspector.replay.engine.simulation import NextCall, PromptSizes, Simulation, StrategyRun
from inspector.session.model import BlockKind
from inspector.strategies.core.batching import BatchedRun, batched_schedule, batching_of
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.core.strategy import Choice, Decision, ScheduledStrategy, SequentialStrategy, in_use
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.engine.renderer import Renderer
    from inspector.strategies.core.strategy import Schedule, Strategy
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan


CLEARED = Decision(ReplaceText("[Old tool result content cleared]"), "cleared by the agent itself when it was recorded")
"""The text Claude Code sends in place of a blanked result."""


def recorded_clearing(history: History) -> list[tuple[int, Choice]]:
    """Which blocks the agent blanked, from which call on, in call order."""
    session = history.session
    partial = [compaction for compaction in session.compactions if compaction.is_partial]
    if not partial:
        return []
    results = {
        session.blocks[block].tool_call_id: block
        for block in history.results.tolist()
        if session.blocks[block].kind is BlockKind.TOOL_RESULT
    }
    responses = [call.response for call in session.calls]
    cleared = [
        (bisect_left(responses, compaction.message), Choice(results[identifier], CLEARED))
        for compaction in partial
        for identifier in compaction.cleared_tool_call_ids
        if identifier in results
    ]
    enters, leaves = history.enters, history.leaves
    sent = [each for each in cleared if enters[each[1].block] != NEVER and each[0] < leaves[each[1].block]]
    return sorted(sent, key=lambda item: item[0])


def plan_edits(
    history: History, renderer: Renderer, plan: Plan, sizes: PromptSizes, told: NextCall | None = None
) -> Edits:
    """Everything the plan's enabled strategies change, on top of what the agent itself blanked."""
    entries = [(index, in_use(entry.strategy)) for index, entry in enumerate(plan.entries) if entry.enabled]
    cleared = recorded_clearing(history)
    if len(entries) == 1 and not cleared:
        index, only = entries[0]
        if isinstance(only, ScheduledStrategy) and not _waits(only):
            return _scheduled(history, renderer, index, _schedule(history, only))
    walk = Simulation(history, renderer, sizes, told or NextCall())
    if cleared:
        walk.layers.append(StrategyRun(RECORDED, by_call=iter(cleared)))
    for index, strategy in entries:
        batching = batching_of(strategy)
        if isinstance(strategy, ScheduledStrategy):
            layer = StrategyRun(index, by_call=_by_call(history, _schedule(history, strategy)))
            batching = batching if _waits(strategy) else None
        elif isinstance(strategy, SequentialStrategy):
            layer = StrategyRun(index, run=strategy.start(history))
        else:
            continue
        layer.batched = None if batching is None else BatchedRun(batching, layer.decide)
        walk.layers.append(layer)
    return walk.edits()


def _waits(strategy: Strategy) -> bool:
    """True when what was sent, or the clock, decides when the strategy's edits are made."""
    batching = batching_of(strategy)
    return batching is not None and batching.waits_for_the_prompt


def _schedule(history: History, strategy: ScheduledStrategy) -> Schedule:
    with collector_paused():
        schedule = strategy.schedule(history)
    batching = batching_of(strategy)
    if batching is None or batching.waits_for_the_prompt:
        return schedule
    return batched_schedule(history, schedule, batching.batch_calls)


def _scheduled(history: History, renderer: Renderer, entry: int, schedule: Schedule) -> Edits:
    stacks = tuple(() if decision.operation is None else (decision.operation,) for decision in schedule.table)
    reasons = tuple(Reason(entry, decision) for decision in schedule.table)
    return effective_edits(
        history,
        renderer,
        schedule.blocks,
        schedule.calls,
        schedule.decisions,
        schedule.decisions,
        stacks,
        reasons,
    )


def _by_call(history: History, schedule: Schedule) -> Iterator[tuple[int, Choice]]:
    calls = np.maximum(schedule.calls, history.enters[schedule.blocks])
    order = np.argsort(calls, kind="stable")
    columns = (calls[order].tolist(), schedule.blocks[order].tolist(), schedule.decisions[order].tolist())
    for call, block, decision in zip(*columns, strict=True):
        yield call, Choice(block, schedule.table[decision])
