"""Batch a strategy's edits until they pay, so that the prompt cache survives in between.

Any edit of a block already sent breaks the cached prefix at that point, however small the edit is. Every retroactive
strategy here can therefore collect its edits and make them together: every N calls, when enough tokens or a large
enough share of the prompt would be reclaimed, when the cache is cold anyway, or only in the first part of the prompt.
The ideas come from systems in use: SWE-agent's polling, the Anthropic API's `clear_at_least`, OpenClaw's time to live,
Headroom's frozen prefix. If several conditions are set, all must hold.

Blocks that a strategy removes at one call go together or stay together: part of them could be a call without its
result. A decision about a newly arrived block is never delayed, since nothing of it is cached yet. A new context breaks
the prefix anyway, so all waiting edits are applied there.

A schedule is built by collecting decisions about blocks as columns, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.strategies.core.operations import removes_in_group
from inspector.strategies.core.strategy import CallContext, Choice, Decision, Parametrized, Schedule, Strategy, integer
from inspector.strategies.history.arrival_order import Arrivals, arrivals
from inspector.strategies.history.history import NEVER, History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


GROUP = "batching"


@dataclass(frozen=True, kw_only=True)
class Batching(Parametrized):
    """Base of the strategies that edit blocks already sent: when they may edit."""

    batch_calls: int = integer(
        1,
        "Edit only at every Nth call; 1 edits at every call.",
        "calls",
        minimum=1,
        maximum=10_000,
        group=GROUP,
    )
    batch_tokens: int = integer(
        0,
        "Minimum number of tokens to reclaim at once; 0 for none.",
        "tokens",
        maximum=1_000_000,
        group=GROUP,
    )
    batch_share: int = integer(
        0,
        "Minimum share of the prompt's tokens to reclaim at once; 0 for none.",
        "%",
        maximum=100,
        group=GROUP,
    )
    batch_idle: int = integer(
        0,
        "Edit only after a pause this long, when the cache is cold; 0 for always.",
        "seconds",
        maximum=604_800,
        group=GROUP,
    )
    batch_before: int = integer(
        100,
        "Edit only blocks that begin in this first part of the prompt's characters.",
        "%",
        maximum=100,
        group=GROUP,
    )

    @property
    def delays_edits(self) -> bool:
        """True if any edit may have to wait."""
        return self.batch_calls > 1 or self.depends_on_prompt

    @property
    def depends_on_prompt(self) -> bool:
        """True if the wait depends on the prompt sent, or on the clock."""
        return self.batch_tokens > 0 or self.batch_share > 0 or self.batch_idle > 0 or self.batch_before < 100

    @property
    def waits_for_an_amount(self) -> bool:
        """True if edits wait until enough is reclaimed at once."""
        return self.batch_tokens > 0 or self.batch_share > 0

    def enough(self, context: CallContext) -> int:
        """Return the minimum number of tokens worth reclaiming at a call."""
        if not self.batch_share:
            return self.batch_tokens
        return max(self.batch_tokens, -(-context.prompt_tokens * self.batch_share // 100))


def batching_of(strategy: Strategy) -> Batching | None:
    """Return the strategy's batching, or None if it makes each edit at once."""
    return strategy if isinstance(strategy, Batching) and strategy.delays_edits else None


def batched_schedule(history: History, schedule: Schedule, every: int) -> Schedule:
    """Delay retroactive decisions to every `every`-th call of their thread, or to a new context."""
    order = np.argsort(schedule.calls, kind="stable")
    blocks, calls, decisions = (column[order] for column in (schedule.blocks, schedule.calls, schedule.decisions))
    retroactive = calls > history.enters[blocks]
    waits = np.flatnonzero(retroactive)
    thread_of_block = history.message_thread[history.message[blocks[waits]]]
    calls = calls.copy()
    for thread in np.unique(thread_of_block):
        own = np.flatnonzero(history.call_thread == thread)
        ordinal = np.arange(1, len(own) + 1)
        contexts = history.call_context[own]
        begins = np.append(True, contexts[1:] != contexts[:-1])
        gates = np.append(own[(ordinal % every == 0) | begins], NEVER).astype(np.int32)
        here = waits[thread_of_block == thread]
        calls[here] = gates[np.searchsorted(gates, calls[here])]
    kept = calls != NEVER
    return Schedule(blocks[kept], calls[kept], decisions[kept], schedule.table)


@dataclass
class _Pending:
    """Decisions waiting in one thread: the call of each, the tokens it would reclaim, and their sum."""

    decisions: dict[int, Decision] = field(default_factory=dict)
    since: dict[int, int] = field(default_factory=dict)
    reclaims: dict[int, int] = field(default_factory=dict)
    total: int = 0
    calls: int = 0

    def take(self, block: int) -> Decision | None:
        self.total -= self.reclaims.pop(block, 0)
        self.since.pop(block, None)
        return self.decisions.pop(block, None)


@dataclass
class BatchedRun:
    """A run that delays a strategy's decisions according to its batching."""

    batching: Batching
    decide: Callable[[CallContext], Iterable[Choice]]
    _held: dict[int, _Pending] = field(default_factory=dict)
    _made: set[int] = field(default_factory=set)

    @property
    def measures_prompts(self) -> bool:
        """True if decisions depend on prompt token counts."""
        return self.batching.batch_share > 0

    def step(self, context: CallContext) -> Iterable[Choice]:
        """Return the decisions about newly arrived blocks, plus the batch if it is due."""
        history, call = context.history, context.call
        thread = history.session.contexts[int(history.call_context[call])].thread
        held = self._held.setdefault(thread, _Pending())
        held.calls += 1
        at_once = []
        for choice in self.decide(context):
            if history.enters[choice.block] == call:
                at_once.append(choice)
                self._made.add(choice.block)
            else:
                self._hold(held, choice, context)
        return [*at_once, *self._due(held, context)]

    def _hold(self, held: _Pending, choice: Choice, context: CallContext) -> None:
        block, decision = choice
        held.take(block)
        has_left = context.history.leaves[block] <= context.call
        if has_left or (decision.operation is None and block not in self._made):
            return
        held.decisions[block], held.since[block] = decision, context.call
        if self.batching.waits_for_an_amount:
            held.reclaims[block] = context.tokens(block) - context.tokens_under(choice)
            held.total += held.reclaims[block]

    def _due(self, held: _Pending, context: CallContext) -> list[Choice]:
        if context.starts_context:
            # Drop decisions about blocks that have left the thread's context.
            leaves = context.history.leaves
            for block in [block for block in held.decisions if leaves[block] <= context.call]:
                held.take(block)
        if not held.decisions or not self._may_edit(held, context):
            return []
        is_anywhere = self.batching.batch_before >= 100 or context.starts_context
        enough = 0 if context.starts_context else self.batching.enough(context)
        if is_anywhere and not context.starts_context and held.total < enough:
            return []
        waiting = list(held.decisions) if is_anywhere else self._deep_enough(held, context)
        reclaimed = sum(held.reclaims.get(block, 0) for block in waiting)
        if not context.starts_context and reclaimed < enough:
            return []
        due = [Choice(block, decision) for block in waiting if (decision := held.take(block)) is not None]
        self._made.update(choice.block for choice in due)
        return due

    def _may_edit(self, held: _Pending, context: CallContext) -> bool:
        if context.starts_context:
            return True
        if held.calls % self.batching.batch_calls:
            return False
        return not self.batching.batch_idle or (context.idle_seconds or 0.0) >= self.batching.batch_idle

    def _deep_enough(self, held: _Pending, context: CallContext) -> list[int]:
        prompt = context.history.prompt(context.call)
        ends = np.cumsum(context.history.characters[prompt], dtype=np.int64)
        begins = ends - context.history.characters[prompt]
        limit = int(ends[-1]) * self.batching.batch_before if len(ends) else 0
        allowed = set(prompt[begins * 100 < limit].tolist())
        # Removing only a part could leave a call without its result, or end with the question of an answer.
        together = {block for block, decision in held.decisions.items() if removes_in_group(decision.operation)}
        waits = {held.since[block] for block in together - allowed}
        waiting = {block for block in together if held.since[block] in waits}
        allowed -= waiting
        return [block for block in held.decisions if block in allowed]


CONTEXT_RESET: Final = Decision(None, "counted again in a new context")
"""Reset of a decision about a block that another context begins with."""


class ScheduleBuilder:
    """Collects decisions about the blocks of a history as columns; equal decisions share a table entry."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._table: dict[Decision, int] = {}
        self._columns: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []

    def add(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about all of `blocks`, each from its own call on; calls equal to `NEVER` are dropped."""
        self.add_each(blocks, calls, np.full(len(blocks), self.index_of(decision), dtype=np.int32))

    def add_each(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decisions: NDArray[np.int32]) -> None:
        """Add `decisions[i]`, an index from `index_of`, about `blocks[i]` from `calls[i]` on."""
        comes = calls != NEVER
        self._columns.append((blocks[comes], calls[comes], decisions[comes]))

    def add_at_insertion(self, blocks: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about all of `blocks`, each from the first call with the block in its prompt."""
        self.add(blocks, self._history.enters[blocks], decision)

    def add_pairs(self, pairs: Iterable[tuple[int, int]], decision: Decision) -> None:
        blocks, calls = np.array(list(pairs), dtype=np.int32).reshape(-1, 2).T
        self.add(blocks, calls, decision)

    def add_with_tool_calls(self, results: NDArray[np.int32], calls: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about tool results and about their tool calls, if recorded."""
        self.add(results, calls, decision)
        asked = self._history.call_block[results]
        self.add(asked[asked >= 0], calls[asked >= 0], decision)

    def restore(self, context: Arrivals) -> None:
        """Reset decisions about blocks that were carried into a new context."""
        self.add(context.blocks[: context.retained], context.calls[: context.retained], CONTEXT_RESET)

    def restore_with_tool_calls(self, context: Arrivals, group: str = "") -> None:
        """Reset decisions about results that were carried into a new context, and about their tool calls."""
        if context.retained:
            retained, calls = context.blocks[: context.retained], context.calls[: context.retained]
            self.add_with_tool_calls(retained, calls, Decision(None, CONTEXT_RESET.reason, group))

    def keep_newest(self, chosen: NDArray[np.bool_], keep: int, decision: Decision) -> None:
        """Keep the newest `keep` of the chosen results of every prompt; older ones, and their calls, get `decision`."""
        for context in arrivals(self._history, chosen):
            self.restore_with_tool_calls(context, decision.group)
            dropped = context.blocks[: max(len(context.blocks) - keep, 0)]
            self.add_with_tool_calls(dropped, context.calls[keep:], decision)

    def index_of(self, decision: Decision) -> int:
        """Return the decision's index in the table, added if new."""
        return self._table.setdefault(decision, len(self._table))

    def schedule(self) -> Schedule:
        """Return the columns, sorted by block, then call; the last decision about a block at one call wins."""
        nothing = np.zeros(0, dtype=np.int32)
        blocks, calls, decisions = (
            np.concatenate([nothing, *(columns[at] for columns in self._columns)]) for at in range(3)
        )
        order = np.lexsort((calls, blocks))
        blocks, calls, decisions = blocks[order], calls[order], decisions[order]
        if len(blocks):
            last = np.append((blocks[1:] != blocks[:-1]) | (calls[1:] != calls[:-1]), True)
            blocks, calls, decisions = blocks[last], calls[last], decisions[last]
        return Schedule(blocks, calls, decisions, tuple(self._table))
