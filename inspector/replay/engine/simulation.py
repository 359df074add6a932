"""Simulate a plan call by call: each strategy sees the output of the ones before it and the prompts sent so far.

Most calls change little or nothing. The work per call is proportional to new blocks and decisions, and columns of
numbers are plain lists, because single elements of arrays are slow to access.

Run a plan's strategies on a session and collect all their edits, in the plan's order.

A plan of one scheduled strategy is computed for all calls at once; any other is simulated call by call. Every plan
includes the agent's own clearing during the session: Claude Code's partial compactions leave the file unchanged and
record only which results were no longer sent. Recorded prompts are smaller from then on, and a plan gets no credit for
cutting them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.engine.edits import RECORDED, Edits, Estimate, ModelCall, Notice, Reason, effective_edits
from inspector.session.model import BlockKind
from inspector.strategies.core.batching import BatchedRun, batched_schedule, batching_of
from inspector.strategies.core.operations import Action, Rendition, ReplaceText
from inspector.strategies.core.strategy import Choice, Decision, ScheduledStrategy, SequentialStrategy, in_use
from inspector.strategies.history.history import NEVER, History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.edits import Columns
    from inspector.replay.engine.renderer import Renderer, Stack
    from inspector.strategies.core.strategy import CallContext, Run, Schedule, Strategy
    from inspector.strategies.plan import Plan


_FEW = 4
"""Number of blocks below which they are processed one by one; most calls change no more."""

_ASKED_EVERY = 16
"""Calls between two checks for cancellation."""

_KNOWN = 256  # Decisions with cached numbers.

_SCHEDULED_CHECK: Final = 64
"""Number of calls of a schedule to check before all others."""


@dataclass
class StrategyRun:
    """Progress of one strategy of the plan.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        sequential: The strategy itself, if it runs call by call.
        scheduled: Its decisions in call order, if they are determined in advance.
        decided: The latest decision by block.
        batched: Delays its edits, if present.
    """

    entry: int
    sequential: Run | None = None
    scheduled: Iterator[tuple[int, Choice]] = field(default_factory=lambda: iter(()))
    decided: dict[int, Decision] = field(default_factory=dict)
    batched: BatchedRun | None = None
    _next_due: tuple[int, Choice] | None = None

    def __post_init__(self) -> None:
        self._next_due = next(self.scheduled, None)

    def is_idle(self, call: int) -> bool:
        """Return True if the strategy certainly decides nothing at a call."""
        due = self._next_due
        return self.sequential is None and self.batched is None and (due is None or due[0] > call)

    def choices(self, context: CallContext) -> Iterable[Choice]:
        return self.decide(context) if self.batched is None else self.batched.step(context)

    def decide(self, context: CallContext) -> Iterable[Choice]:
        """Return the strategy's decisions at this call, before batching."""
        if self.sequential is not None:
            return self.sequential.step(context)
        return self._due(context.call)

    def _due(self, call: int) -> Iterator[Choice]:
        while (item := self._next_due) is not None and item[0] <= call:
            self._next_due = next(self.scheduled, None)
            yield item[1]


@dataclass(frozen=True, eq=False, slots=True)
class PromptSizes:
    """Size of every call's prompt before a plan's cuts, in provider tokens.

    Attributes:
        whole: Per call including the next one, float64.
        ratio: Per call, provider tokens per counted token, float64.
        cleared: Per call including the next one, counted tokens the agent itself had cleared by then, which `whole`
            excludes, int64; None if there is none.
        envelopes: Per block, counted tokens removed with it in addition to its own, int64; None if there is none.
    """

    whole: NDArray[np.float64]
    ratio: NDArray[np.float64]
    cleared: NDArray[np.int64] | None = None
    envelopes: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class NextCall:
    """Facts about the next call that replace derived ones, None if unknown: sizes of the next and previous prompt."""

    input_tokens: int | None = None
    idle_seconds: float | None = None


class PromptsNotMeasuredError(InspectorError):
    """A strategy with `measures_prompts` off requested the size of a prompt."""

    advice = "set `measures_prompts` on the strategy"


@dataclass
class Simulation:
    """State of a simulation: decisions and resulting prompt sizes.

    `depth` counts strategies from the start of the plan: a block at depth 2 has passed the first two.

    Attributes:
        sizes: Size of every prompt with nothing cut.
        runs: The strategies, in the plan's order.
        removed: Counted tokens removed from each block ever touched.
        sent_prompt_tokens: Per call so far, the prompt's size in provider tokens.
        dirty: Blocks with decisions since `removed` was updated.
        thread_call: Per thread, its last call so far.
        check: See `plan_edits`.
    """

    history: History
    renderer: Renderer
    sizes: PromptSizes
    next_call: NextCall
    runs: list[StrategyRun] = field(default_factory=list)
    removed: dict[int, int] = field(default_factory=dict)
    sent_prompt_tokens: list[int] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    estimates: list[Estimate] = field(default_factory=list)
    model_calls: list[ModelCall] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    thread_call: dict[int, int] = field(default_factory=dict)
    check: Callable[[Edits], None] | None = None
    _checked_rows: int = 0
    _rows: array[int] = field(default_factory=lambda: array("i"))
    _stacks: dict[Stack, int] = field(default_factory=dict)
    _reasons: dict[Reason, int] = field(default_factory=dict)
    _thread_removed: dict[int, int] = field(default_factory=dict)
    _thread_context: dict[int, int] = field(default_factory=dict)
    _sent: list[dict[int, Rendition]] = field(default_factory=list)
    _decided: list[tuple[dict[int, Decision], ...]] = field(default_factory=list)
    _numbers: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)
    _numbered: list[list[Decision | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tokens: list[int] = self.renderer.table.tokens.tolist()
        self.characters: list[int] = self.history.characters.tolist()
        self._whole: list[float] = self.sizes.whole.tolist()
        self._ratio: list[float] = self.sizes.ratio.tolist()
        self._cleared: list[int] | None = None if self.sizes.cleared is None else self.sizes.cleared.tolist()
        self.measures_prompts = True
        self.call_count = self.history.call_count
        self.times: list[float] = self.history.call_time.tolist()

    def edits(self) -> Edits:
        """Simulate every call, including the next one."""
        history, runs = self.history, self.runs
        stepping = [each for run in runs for each in (run.sequential, run.batched) if each is not None]
        self.measures_prompts = any(getattr(each, "measures_prompts", True) for each in stepping)
        self._sent = [{} for _ in runs]
        self._decided = [tuple(run.decided for run in runs[:depth]) for depth in range(len(runs) + 1)]
        arrival_order = np.argsort(history.enters, kind="stable").astype(np.int32)
        bounds = np.searchsorted(history.enters[arrival_order], np.arange(history.call_count + 2)).tolist()
        contexts: list[int] = history.call_context.tolist()
        threads = [context.thread for context in history.session.contexts]
        for call in range(history.call_count + 1 if threads and runs else 0):
            if not call % _ASKED_EVERY:
                self._pause(call)
            context = contexts[call]
            thread = threads[context]
            starts = self._thread_context.get(thread) != context
            if starts:
                self._enter(thread, context, call)
            arrived = arrival_order[bounds[call] : bounds[call + 1]]
            touched: set[int] = set()
            for depth, run in enumerate(runs):
                if run.is_idle(call):
                    continue
                decided, later = run.decided, self._sent[depth:]
                call_context = SimulatedCallContext(self, depth, call, thread, arrived, starts)
                for block, decision in run.choices(call_context):
                    decided[block] = decision
                    touched.add(block)
                    for sent in later:
                        sent.pop(block, None)
                    self.dirty.add(block)
            if touched:
                self._record(touched, call)
            if self.measures_prompts:
                self.sent_prompt_tokens.append(self.prompt_tokens(call, self.settle(thread, call)))
            self.thread_call[thread] = call
        return replace(
            self._edits_before(NEVER),
            estimates=tuple(self.estimates),
            model_calls=tuple(self.model_calls),
            notices=tuple(self.notices),
        )

    def _pause(self, call: int) -> None:
        self.renderer.check_cancelled()
        # At 16, 32, 64, ... calls: together, the checks take little longer than the last one.
        if self.check is not None and not call & (call - 1) and len(self._rows) > self._checked_rows:
            self.check(self._edits_before(call))
            self._checked_rows = len(self._rows)

    def _edits_before(self, end: int) -> Edits:
        """Return the edits that take effect before a call."""
        blocks, calls, stacks, reasons = np.array(self._rows, dtype=np.int32).reshape(-1, 4).T
        columns = _before(end, self.history, (blocks, calls, stacks, reasons))
        return effective_edits(self.history, self.renderer, *columns, tuple(self._stacks), tuple(self._reasons))

    def stack(self, block: int, depth: int) -> Stack:
        """Return the operations of the first `depth` strategies on a block."""
        operations = []
        for run in self.runs[:depth]:
            decision = run.decided.get(block)
            if decision is not None and decision.operation is not None:
                operations.append(decision.operation)
        return tuple(operations)

    def is_untouched(self, block: int, depth: int) -> bool:
        """Return True if the first `depth` strategies have decided nothing about a block so far."""
        for decided in self._decided[depth]:  # noqa: SIM110  a generator takes longer than the rest
            if block in decided:
                return False
        return True

    def are_untouched(self, blocks: Iterable[int], depth: int) -> bool:
        """Return True if they have decided nothing about any of the blocks."""
        for decided in self._decided[depth]:  # noqa: SIM110  a generator takes longer than the rest
            if not decided.keys().isdisjoint(blocks):
                return False
        return True

    def rendition(self, block: int, depth: int) -> Rendition:
        """Return a block's rendition after the first `depth` strategies, at least one."""
        known = self._sent[depth - 1]
        rendition = known.get(block)
        if rendition is None:
            rendition = known[block] = self.renderer.rendition(block, self.stack(block, depth))
        return rendition

    def settle(self, thread: int, call: int) -> int:
        """Return the counted tokens removed from a thread's prompt, or raise `PromptsNotMeasuredError`."""
        if not self.measures_prompts:
            raise PromptsNotMeasuredError
        total = self._thread_removed.get(thread, 0)
        if not self.dirty:
            return total
        for block, removed in zip(self.dirty, self._removed_from(self.dirty), strict=True):
            # A strategy may decide about blocks that a compaction has removed.
            if self.history.still_sends(call, block):
                total += removed - self.removed.get(block, 0)
            self.removed[block] = removed
        self._thread_removed[thread] = total
        self.dirty.clear()
        return total

    def prompt_tokens(self, call: int, removed: int) -> int:
        """Return the size in provider tokens of a call's prompt without `removed` counted tokens."""
        cleared = 0 if self._cleared is None else self._cleared[call]
        return round(self._whole[call] - self._ratio[call] * (removed - cleared))

    def _removed_from(self, blocks: Iterable[int]) -> list[int]:
        listed = list(blocks)
        if len(listed) <= _FEW:
            return [self._removed_from_one(block) for block in listed]
        columns = np.array(listed, dtype=np.int32)
        table: dict[Stack, int] = {}
        depth = len(self.runs)
        stacks = [table.setdefault(self.stack(block, depth), len(table)) for block in listed]
        rendered = self.renderer.render(columns, np.array(stacks, dtype=np.int32), tuple(table))
        removed = (self.renderer.table.tokens[columns] - rendered.tokens).astype(np.int64)
        if self.sizes.envelopes is not None:
            removed += np.where(rendered.action == Action.REMOVED, self.sizes.envelopes[columns], 0)
        tokens: list[int] = removed.tolist()
        return tokens

    def _removed_from_one(self, block: int) -> int:
        rendition = self.rendition(block, len(self.runs))
        if rendition.action is Action.WHOLE:
            return 0
        removed = self.tokens[block] - self.renderer.tokens(block, rendition)
        if self.sizes.envelopes is not None and rendition.action is Action.REMOVED:
            removed += int(self.sizes.envelopes[block])
        return removed

    def _enter(self, thread: int, context: int, call: int) -> None:
        self._thread_context[thread] = context
        blocks = self.history.prompt(call)
        self._thread_removed[thread] = (
            sum(self.removed.get(block, 0) for block in blocks.tolist()) if self.removed else 0
        )

    def _record(self, blocks: set[int], call: int) -> None:
        # A strategy gives many blocks the same decision, and hashing one is expensive.
        numbers, rows, runs = self._numbers, self._rows, self.runs
        if len(numbers) > _KNOWN:
            numbers.clear()
            self._numbered.clear()
        for block in sorted(blocks):
            decided = [run.decided.get(block) for run in runs]
            key = tuple(map(id, decided))
            found = numbers.get(key)
            if found is None:
                found = numbers[key] = self._numbers_of(decided)
                # Keep a reference, because a deleted object's id can be reused.
                self._numbered.append(decided)
            rows.extend((block, call, *found))

    def _numbers_of(self, decided: list[Decision | None]) -> tuple[int, int]:
        """Return the numbers of the stack and the reason for the strategies' decisions about a block."""
        deciding = [(at, decision) for at, decision in enumerate(decided) if decision is not None]
        acting = [each for each in deciding if each[1].operation is not None]
        stack = tuple([each.operation for _, each in acting if each.operation is not None])
        at, decision = (acting or deciding)[-1]
        reason = Reason(self.runs[at].entry, decision)
        return self._stacks.setdefault(stack, len(self._stacks)), self._reasons.setdefault(reason, len(self._reasons))


class SimulatedCallContext:
    """View of one call for one strategy."""

    __slots__ = ("arrived", "call", "depth", "simulation", "starts_context", "thread")

    def __init__(
        self,
        simulation: Simulation,
        depth: int,
        call: int,
        thread: int,
        arrived: NDArray[np.int32],
        starts_context: bool,
    ) -> None:
        """Create the view; see `CallContext`. `depth` is the number of strategies before this one."""
        self.simulation, self.depth, self.call, self.thread = simulation, depth, call, thread
        self.arrived, self.starts_context = arrived, starts_context

    @property
    def history(self) -> History:
        return self.simulation.history

    @property
    def _known(self) -> NextCall | None:
        """External facts about this call, none for recorded calls."""
        return self.simulation.next_call if self.call == self.simulation.call_count else None

    @property
    def previous_prompt_tokens(self) -> int:
        known = self._known
        if known is not None and known.input_tokens is not None:
            return known.input_tokens
        previous = self.simulation.thread_call.get(self.thread)
        if not self.simulation.measures_prompts:
            raise PromptsNotMeasuredError
        return 0 if previous is None else self.simulation.sent_prompt_tokens[previous]

    @property
    def prompt_tokens(self) -> int:
        known = self._known
        if known is not None and known.input_tokens is not None:
            return known.input_tokens
        return self.simulation.prompt_tokens(self.call, self.simulation.settle(self.thread, self.call))

    @property
    def idle_seconds(self) -> float | None:
        known = self._known
        if known is not None and known.idle_seconds is not None:
            return known.idle_seconds
        previous = self.simulation.thread_call.get(self.thread)
        if previous is None:
            return None
        gap = self.simulation.times[self.call] - self.simulation.times[previous]
        return None if isnan(gap) else gap

    def prompt(self) -> NDArray[np.int32]:
        """Return the blocks of this call's prompt without removed ones."""
        blocks = self.history.prompt(self.call)
        if not self.simulation.dirty and not self.simulation.removed:
            return blocks
        kept = [block for block in blocks.tolist() if self.rendition(block).action is not Action.REMOVED]
        return np.array(kept, dtype=np.int32)

    def rendition(self, block: int) -> Rendition:
        return self.simulation.rendition(block, self.depth + 1)

    def is_whole(self, block: int) -> bool:
        simulation = self.simulation
        return simulation.is_untouched(block, self.depth + 1) or self.rendition(block).action is Action.WHOLE

    def are_whole(self, blocks: Sequence[int]) -> bool:
        return self.simulation.are_untouched(blocks, self.depth + 1) or all(map(self.is_whole, blocks))

    def length(self, block: int) -> int:
        simulation = self.simulation
        if simulation.is_untouched(block, self.depth + 1):
            return simulation.characters[block]
        return self.rendition(block).length

    def tokens(self, block: int) -> int:
        simulation = self.simulation
        if simulation.is_untouched(block, self.depth + 1):
            return simulation.tokens[block]
        return simulation.renderer.tokens(block, self.rendition(block))

    def total_tokens(self, blocks: Sequence[int]) -> int:
        if self.simulation.are_untouched(blocks, self.depth + 1):
            return sum(map(self.simulation.tokens.__getitem__, blocks))
        return sum(map(self.tokens, blocks))

    def note_estimate(self, tokens: float) -> None:
        self.simulation.estimates.append(Estimate(self.simulation.runs[self.depth].entry, self.call, tokens))

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        entry = self.simulation.runs[self.depth].entry
        self.simulation.model_calls.append(ModelCall(entry, self.call, prompt_tokens, output_tokens))

    def note_printed(self, text: str) -> None:
        self.simulation.notices.append(Notice(self.simulation.runs[self.depth].entry, self.call, text))

    def tokens_under(self, choice: Choice) -> int:
        """Return the tokens of the choice's block if it were applied."""
        stack = self.simulation.stack(choice.block, self.depth)
        if choice.decision.operation is not None:
            stack = (*stack, choice.decision.operation)
        renderer = self.simulation.renderer
        return renderer.tokens(choice.block, renderer.rendition(choice.block, stack))

    def text(self, block: int) -> str:
        return self.rendition(block).text(self.history.session.text(self.history.session.blocks[block]))


CLEARED = Decision(ReplaceText("[Old tool result content cleared]"), "cleared by the agent during the session")
"""The text Claude Code sends in place of a cleared result."""


def plan_edits(
    history: History,
    renderer: Renderer,
    plan: Plan,
    sizes: PromptSizes,
    next_call: NextCall | None = None,
    check: Callable[[Edits], None] | None = None,
) -> Edits:
    """Compute all edits of the plan's enabled strategies, on top of the agent's own clearing.

    Args:
        check: Called with the edits of the first calls several times; may raise an error to abandon the plan early.
    """
    entries = [(index, in_use(entry.strategy)) for index, entry in enumerate(plan.entries) if entry.enabled]
    cleared = recorded_clearing(history)
    if len(entries) == 1 and not cleared:
        index, only = entries[0]
        if isinstance(only, ScheduledStrategy) and not _waits_for_prompt(only):
            return _edits_of_schedule(history, renderer, index, _schedule(history, only), check)
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
    return Simulation(history, renderer, sizes, next_call or NextCall(), runs, check=check).edits()


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


def _edits_of_schedule(
    history: History,
    renderer: Renderer,
    entry: int,
    schedule: Schedule,
    check: Callable[[Edits], None] | None,
) -> Edits:
    stacks = tuple(() if decision.operation is None else (decision.operation,) for decision in schedule.table)
    reasons = tuple(Reason(entry, decision) for decision in schedule.table)
    columns = schedule.blocks, schedule.calls, schedule.decisions, schedule.decisions
    if check is not None:
        check(effective_edits(history, renderer, *_before(_SCHEDULED_CHECK, history, columns), stacks, reasons))
    return effective_edits(history, renderer, *columns, stacks, reasons)


def _before(end: int, history: History, columns: Columns) -> Columns:
    """Return the decisions that take effect before a call; see `effective_edits`."""
    blocks, calls, stacks, reasons = columns
    soon = np.maximum(calls, history.enters[blocks]) < end
    return blocks[soon], calls[soon], stacks[soon], reasons[soon]


def _by_call(history: History, schedule: Schedule) -> Iterator[tuple[int, Choice]]:
    """Yield a schedule's decisions in call order; one about a later block is due when that block enters."""
    calls = np.maximum(schedule.calls, history.enters[schedule.blocks])
    order = np.argsort(calls, kind="stable")
    columns = (calls[order].tolist(), schedule.blocks[order].tolist(), schedule.decisions[order].tolist())
    for call, block, decision in zip(*columns, strict=True):
        yield call, Choice(block, schedule.table[decision])
