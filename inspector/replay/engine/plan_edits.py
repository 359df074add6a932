"""Run a plan's strategies on a session and collect all their edits, in the plan's order.

A plan of one scheduled strategy is computed for all calls at once; any other is simulated call by call. Every plan
includes the agent's own clearing during the session: Claude Code's partial compactions leave the file unchanged and
record only which results were no longer sent. Recorded prompts are smaller from then on, and a plan gets no credit for
cutting them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.edits import RECORDED, Edits, Reason, effective_edits
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


CLEARED = Decision(ReplaceText("[Old tool result content cleared]"), "cleared by the agent during the session")
"""The text Claude Code sends in place of a cleared result."""


def plan_edits(
    history: History, renderer: Renderer, plan: Plan, sizes: PromptSizes, next_call: NextCall | None = None
) -> Edits:
    """Compute all edits of the plan's enabled strategies, on top of the agent's own clearing.

    Args:
        history: The session's columns.
        renderer: Applies operations.
        plan: The plan.
        sizes: Size of every prompt with nothing cut.
        next_call: External facts about the next call.
    """
    entries = [(index, in_use(entry.strategy)) for index, entry in enumerate(plan.entries) if entry.enabled]
    cleared = recorded_clearing(history)
    if len(entries) == 1 and not cleared:
        index, only = entries[0]
        if isinstance(only, ScheduledStrategy) and not _waits_for_prompt(only):
            return _edits_of_schedule(history, renderer, index, _schedule(history, only))
    runs = [StrategyRun(RECORDED, scheduled=iter(cleared))] if cleared else []
    for index, strategy in entries:
        batching = batching_of(strategy)
        if isinstance(strategy, ScheduledStrategy):
            run = StrategyRun(index, scheduled=_by_call(history, _schedule(history, strategy)))
            batching = batching if _waits_for_prompt(strategy) else None
        elif isinstance(strategy, SequentialStrategy):
            run = StrategyRun(index, sequential=strategy.start(history))
        else:
            continue
        run.batched = None if batching is None else BatchedRun(batching, run.decide)
        runs.append(run)
    return Simulation(history, renderer, sizes, next_call or NextCall(), runs).edits()


def recorded_clearing(history: History) -> list[tuple[int, Choice]]:
    """Return the blocks the agent cleared and the call of each, in call order."""
    session = history.session
    partial = [compaction for compaction in session.compactions if compaction.is_partial]
    if not partial:
        return []
    results = results_by_call_id(history)
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


def results_by_call_id(history: History) -> dict[str, int]:
    """Map the call id of every tool result to its block."""
    blocks = history.session.blocks
    return {
        blocks[block].tool_call_id: block
        for block in history.results.tolist()
        if blocks[block].kind is BlockKind.TOOL_RESULT
    }


def _waits_for_prompt(strategy: Strategy) -> bool:
    """Return True if the prompts sent, or the clock, decide when the strategy's edits are made."""
    batching = batching_of(strategy)
    return batching is not None and batching.depends_on_prompt


def _schedule(history: History, strategy: ScheduledStrategy) -> Schedule:
    schedule = strategy.schedule(history)
    batching = batching_of(strategy)
    if batching is None or batching.depends_on_prompt:
        return schedule
    return batched_schedule(history, schedule, batching.batch_calls)


def _edits_of_schedule(history: History, renderer: Renderer, entry: int, schedule: Schedule) -> Edits:
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
    """Yield a schedule's decisions in call order; one about a later block is due when that block enters."""
    calls = np.maximum(schedule.calls, history.enters[schedule.blocks])
    order = np.argsort(calls, kind="stable")
    columns = (calls[order].tolist(), schedule.blocks[order].tolist(), schedule.decisions[order].tolist())
    for call, block, decision in zip(*columns, strict=True):
        yield call, Choice(block, schedule.table[decision])
