"""A plan's strategies at work on a session: everything they change, in the plan's order.

A plan of one scheduled strategy is worked out for all calls at once. Any other is walked call by call, so that each
strategy sees what the ones before it left and what the plan itself has sent so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.changes import RECORDED, Changes, Estimate, ModelCall, Reason, effective_changes
from inspector.replay.recorded_clearing import recorded_clearing
from inspector.strategies.base import Choice, ScheduledStrategy, SequentialStrategy
from inspector.strategies.batching import BatchedRun, batched_schedule, batching_of
from inspector.strategies.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.replay.stacks import Renderer, Stack
    from inspector.strategies.base import Decision, Moment, Run, Schedule, Strategy
    from inspector.strategies.history import History
    from inspector.strategies.plan import Plan
    from inspector.strategies.rendition import Rendition


_FEW = 4
"""Blocks below which they are worked out one by one: most calls change no more."""


@dataclass(frozen=True, eq=False, slots=True)
class PromptSizes:
    """What every call's prompt measures with nothing cut by a plan, in the provider's tokens.

    Attributes:
        whole: Per call, the next one included, float64.
        ratio: Per call, the provider's tokens for one of our counted tokens, float64.
        blanked: Per call, the next one included, counted tokens the agent itself had blanked by then, which `whole` is
            without, int64; None for none.
        envelopes: Per block, counted tokens that go with it when it is removed, beside its own, int64; None for none.
    """

    whole: NDArray[np.float64]
    ratio: NDArray[np.float64]
    blanked: NDArray[np.int64] | None = None
    envelopes: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is told of the next call instead of being worked out from the calls before it; None for what is not.

    Attributes:
        input_tokens: What the provider measures of the prompt, and measured of the one before.
        idle_seconds: Time since the previous call.
    """

    input_tokens: int | None = None
    idle_seconds: float | None = None


def changes_of(
    history: History, renderer: Renderer, plan: Plan, sizes: PromptSizes, told: Circumstances | None = None
) -> Changes:
    """Everything the plan's enabled strategies change, on top of what the agent itself blanked."""
    entries = [(index, entry.strategy) for index, entry in enumerate(plan.entries) if entry.enabled]
    cleared = recorded_clearing(history)
    if len(entries) == 1 and not cleared:
        index, only = entries[0]
        if isinstance(only, ScheduledStrategy) and not _waits(only):
            return _scheduled(history, renderer, index, _schedule(history, only))
    walk = _Walk(history, renderer, sizes, told or Circumstances())
    if cleared:
        walk.layers.append(_Layer(RECORDED, by_call=iter(cleared)))
    for index, strategy in entries:
        batching = batching_of(strategy)
        if isinstance(strategy, ScheduledStrategy):
            layer = _Layer(index, by_call=_by_call(history, _schedule(history, strategy)))
            batching = batching if _waits(strategy) else None
        elif isinstance(strategy, SequentialStrategy):
            layer = _Layer(index, run=strategy.start(history))
        else:
            continue
        layer.batched = None if batching is None else BatchedRun(batching, layer.decide)
        walk.layers.append(layer)
    return walk.changes()


def _waits(strategy: Strategy) -> bool:
    """True when what was sent, or the clock, decides when the strategy's edits are made."""
    batching = batching_of(strategy)
    return batching is not None and batching.waits_for_the_prompt


def _schedule(history: History, strategy: ScheduledStrategy) -> Schedule:
    schedule = strategy.schedule(history)
    batching = batching_of(strategy)
    if batching is None or batching.waits_for_the_prompt:
        return schedule
    return batched_schedule(history, schedule, batching.batch_calls)


def _scheduled(history: History, renderer: Renderer, entry: int, schedule: Schedule) -> Changes:
    stacks = tuple(() if decision.operation is None else (decision.operation,) for decision in schedule.table)
    reasons = tuple(Reason(entry, decision) for decision in schedule.table)
    return effective_changes(
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


@dataclass
class _Layer:
    """One strategy of the plan and what it has decided so far."""

    entry: int
    run: Run | None = None
    by_call: Iterator[tuple[int, Choice]] = field(default_factory=lambda: iter(()))
    decided: dict[int, Decision] = field(default_factory=dict)
    batched: BatchedRun | None = None
    _waiting: tuple[int, Choice] | None = None

    def choices(self, moment: _Moment) -> Iterable[Choice]:
        """What the strategy changes at this call."""
        return self.decide(moment) if self.batched is None else self.batched.step(moment)

    def decide(self, moment: Moment) -> Iterable[Choice]:
        """What the strategy decides at this call, whether or not it may change anything now."""
        if self.run is not None:
            return self.run.step(moment)
        return self._due(moment.call)

    def _due(self, call: int) -> Iterator[Choice]:
        while True:
            item = self._waiting or next(self.by_call, None)
            self._waiting = None
            if item is None:
                return
            if item[0] > call:
                self._waiting = item
                return
            yield item[1]


@dataclass
class _Walk:
    """The call-by-call walk: what is decided, and what the prompts have come to."""

    history: History
    renderer: Renderer
    sizes: PromptSizes
    told: Circumstances
    layers: list[_Layer] = field(default_factory=list)
    measures_prompts: bool = False
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    stack_index: dict[Stack, int] = field(default_factory=dict)
    reason_index: dict[Reason, int] = field(default_factory=dict)
    removed: dict[int, int] = field(default_factory=dict)
    thread_removed: dict[int, int] = field(default_factory=dict)
    thread_context: dict[int, int] = field(default_factory=dict)
    thread_call: dict[int, int] = field(default_factory=dict)
    sent_prompt_tokens: list[int] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    estimates: list[Estimate] = field(default_factory=list)
    model_calls: list[ModelCall] = field(default_factory=list)

    def changes(self) -> Changes:
        """Walk every call, the next one included."""
        history = self.history
        self.measures_prompts = any(layer.run is not None for layer in self.layers)
        arrival_order = np.argsort(history.enters, kind="stable").astype(np.int32)
        bounds = np.searchsorted(history.enters[arrival_order], np.arange(history.call_count + 2))
        contexts = history.session.contexts
        for call in range(history.call_count + 1 if contexts and self.layers else 0):
            context = int(history.call_context[call])
            thread = contexts[context].thread
            starts = self.thread_context.get(thread) != context
            if starts:
                self._enter(thread, context, call)
            arrived = arrival_order[bounds[call] : bounds[call + 1]]
            touched: set[int] = set()
            for depth, layer in enumerate(self.layers):
                moment = _Moment(self, depth, call, thread, arrived, starts)
                for choice in layer.choices(moment):
                    layer.decided[choice.block] = choice.decision
                    touched.add(choice.block)
                    self.dirty.add(choice.block)
            for block in sorted(touched):
                self._record(block, call)
            if self.measures_prompts:
                self.sent_prompt_tokens.append(self.prompt_tokens(call, self.settle(thread, len(self.layers))))
            self.thread_call[thread] = call
        blocks, calls, stacks, reasons = np.array(self.rows, dtype=np.int32).reshape(-1, 4).T
        changes = effective_changes(
            history, self.renderer, blocks, calls, stacks, reasons, tuple(self.stack_index), tuple(self.reason_index)
        )
        return replace(changes, estimates=tuple(self.estimates), model_calls=tuple(self.model_calls))

    def stack(self, block: int, depth: int) -> Stack:
        """The operations of the first `depth` strategies on a block."""
        decisions = (layer.decided.get(block) for layer in self.layers[:depth])
        return tuple(
            decision.operation for decision in decisions if decision is not None and decision.operation is not None
        )

    def settle(self, thread: int, depth: int) -> int:
        """Tokens the first `depth` strategies left out of the thread's present prompt."""
        total = self.thread_removed.get(thread, 0)
        for block, removed in zip(self.dirty, self._removed_from(self.dirty, depth), strict=True):
            total += removed - self.removed.get(block, 0)
            self.removed[block] = removed
        self.thread_removed[thread] = total
        if depth == len(self.layers):
            self.dirty.clear()
        return total

    def _removed_from(self, blocks: Iterable[int], depth: int) -> list[int]:
        columns = np.fromiter(blocks, dtype=np.int32)
        if len(columns) <= _FEW:
            return [self._removed_from_one(block, depth) for block in columns.tolist()]
        table: dict[Stack, int] = {}
        stacks = [table.setdefault(self.stack(block, depth), len(table)) for block in columns.tolist()]
        outcome = self.renderer.outcome(columns, np.array(stacks, dtype=np.int32), tuple(table))
        removed = (self.renderer.table.tokens[columns] - outcome.tokens).astype(np.int64)
        if self.sizes.envelopes is not None:
            removed += np.where(outcome.action == Action.REMOVED, self.sizes.envelopes[columns], 0)
        return [int(tokens) for tokens in removed]

    def _removed_from_one(self, block: int, depth: int) -> int:
        stack = self.stack(block, depth)
        if not stack:
            return 0
        rendition = self.renderer.rendition(block, stack)
        removed = int(self.renderer.table.tokens[block]) - self.renderer.tokens(block, rendition)
        if self.sizes.envelopes is not None and rendition.action is Action.REMOVED:
            removed += int(self.sizes.envelopes[block])
        return removed

    def prompt_tokens(self, call: int, removed: int) -> int:
        """What the provider would measure of a call's prompt with so many counted tokens left out."""
        blanked = 0 if self.sizes.blanked is None else int(self.sizes.blanked[call])
        return round(float(self.sizes.whole[call]) - float(self.sizes.ratio[call]) * (removed - blanked))

    def _enter(self, thread: int, context: int, call: int) -> None:
        self.thread_context[thread] = context
        blocks = self.history.prompt(call)
        self.thread_removed[thread] = (
            sum(self.removed.get(block, 0) for block in blocks.tolist()) if self.removed else 0
        )

    def _record(self, block: int, call: int) -> None:
        stack = self.stack(block, len(self.layers))
        deciding = [layer for layer in self.layers if block in layer.decided]
        acting = [layer for layer in deciding if layer.decided[block].operation is not None] or deciding
        reason = Reason(acting[-1].entry, acting[-1].decided[block])
        stack_at = self.stack_index.setdefault(stack, len(self.stack_index))
        self.rows.append((block, call, stack_at, self.reason_index.setdefault(reason, len(self.reason_index))))


@dataclass(frozen=True, eq=False, slots=True)
class _Moment:
    """What one strategy may see of one call."""

    walk: _Walk
    depth: int
    call: int
    thread: int
    arrived: NDArray[np.int32]
    starts_context: bool

    @property
    def history(self) -> History:
        return self.walk.history

    @property
    def _told(self) -> Circumstances:
        return self.walk.told if self.call == self.history.call_count else _NOTHING_TOLD

    @property
    def previous_prompt_tokens(self) -> int:
        if self._told.input_tokens is not None:
            return self._told.input_tokens
        previous = self.walk.thread_call.get(self.thread)
        if previous is None:
            return 0
        return self.walk.sent_prompt_tokens[previous]

    @property
    def prompt_tokens(self) -> int:
        if self._told.input_tokens is not None:
            return self._told.input_tokens
        return self.walk.prompt_tokens(self.call, self.walk.settle(self.thread, len(self.walk.layers)))

    @property
    def idle_seconds(self) -> float | None:
        if self._told.idle_seconds is not None:
            return self._told.idle_seconds
        previous = self.walk.thread_call.get(self.thread)
        if previous is None:
            return None
        gap = float(self.history.call_time[self.call] - self.history.call_time[previous])
        return None if np.isnan(gap) else gap

    def prompt(self) -> NDArray[np.int32]:
        blocks = self.history.prompt(self.call)
        if not self.walk.dirty and not self.walk.removed:
            return blocks
        kept = [block for block in blocks.tolist() if self.rendition(block).action is not Action.REMOVED]
        return np.array(kept, dtype=np.int32)

    def rendition(self, block: int) -> Rendition:
        return self.walk.renderer.rendition(block, self.walk.stack(block, self.depth + 1))

    def tokens(self, block: int) -> int:
        return self.walk.renderer.tokens(block, self.rendition(block))

    def note_estimate(self, tokens: float) -> None:
        self.walk.estimates.append(Estimate(self.walk.layers[self.depth].entry, self.call, tokens))

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        entry = self.walk.layers[self.depth].entry
        self.walk.model_calls.append(ModelCall(entry, self.call, prompt_tokens, output_tokens))

    def tokens_under(self, choice: Choice) -> int:
        stack = self.walk.stack(choice.block, self.depth)
        if choice.decision.operation is not None:
            stack = (*stack, choice.decision.operation)
        renderer = self.walk.renderer
        return renderer.tokens(choice.block, renderer.rendition(choice.block, stack))

    def text(self, block: int) -> str:
        return self.rendition(block).text(self.history.session.text(self.history.session.blocks[block]))


_NOTHING_TOLD = Circumstances()
