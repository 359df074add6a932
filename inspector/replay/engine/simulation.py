"""Strategies walked call by call, so that each sees what the ones before it left and what the plan has sent so far.

Most calls change nothing, and those that do change little: a call's work here is what arrives and what is decided, and
columns of numbers, which are slow to look at one by one, are plain lists.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.engine.edits import Estimate, ModelCall, Notice, Reason, effective_edits
from inspector.replay.engine.gc_pause import collector_paused
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.edits import Edits
    from inspector.replay.engine.renderer import Renderer, Stack
    from inspector.strategies.core.batching import BatchedRun
    from inspector.strategies.core.rendition import Rendition
    from inspector.strategies.core.strategy import Choice, Decision, Moment, Run
    from inspector.strategies.history.history import History


_FEW = 4
"""Blocks below which they are worked out one by one: most calls change no more."""

_ASKED_EVERY = 16
"""Calls between two questions whether anybody still waits for the walk."""

_KNOWN = 256  # Decisions whose numbers are kept at hand.


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
class NextCall:
    """What is told of the next call instead of being worked out from the calls before it; None for what is not.

    Attributes:
        input_tokens: What the provider measures of the prompt, and measured of the one before.
        idle_seconds: Time since the previous call.
    """

    input_tokens: int | None = None
    idle_seconds: float | None = None


class PromptsNotMeasuredError(InspectorError):
    """A strategy whose `measures_prompts` is off has asked for the size of a prompt."""

    advice = "set `measures_prompts` on the strategy"


@dataclass
class Simulation:
    """The call-by-call walk: what is decided, and what the prompts have come to.

    Attributes:
        history: What was recorded.
        renderer: Applies operations.
        sizes: What every prompt measures with nothing cut.
        told: What is known of the next call by other means.
        layers: The strategies, in the plan's order.
    """

    history: History
    renderer: Renderer
    sizes: PromptSizes
    told: NextCall
    layers: list[StrategyRun] = field(default_factory=list)
    removed: dict[int, int] = field(default_factory=dict)
    sent_prompt_tokens: list[int] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    estimates: list[Estimate] = field(default_factory=list)
    model_calls: list[ModelCall] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    thread_call: dict[int, int] = field(default_factory=dict)
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
        self._blanked: list[int] | None = None if self.sizes.blanked is None else self.sizes.blanked.tolist()
        self.measures_prompts = True
        self.call_count = self.history.call_count
        self.times: list[float] = self.history.call_time.tolist()

    def edits(self) -> Edits:
        """Walk every call, the next one included."""
        with collector_paused():
            return self._changes()

    def _changes(self) -> Edits:
        history, layers = self.history, self.layers
        runs = [layer.run for layer in layers if layer.run is not None]
        self.measures_prompts = any(getattr(run, "measures_prompts", True) for run in runs)
        self._sent = [{} for _ in layers]
        self._decided = [tuple(layer.decided for layer in layers[:depth]) for depth in range(len(layers) + 1)]
        arrival_order = np.argsort(history.enters, kind="stable").astype(np.int32)
        bounds = np.searchsorted(history.enters[arrival_order], np.arange(history.call_count + 2)).tolist()
        contexts: list[int] = history.call_context.tolist()
        threads = [context.thread for context in history.session.contexts]
        for call in range(history.call_count + 1 if threads and layers else 0):
            if not call % _ASKED_EVERY:
                self.renderer.go_on()
            context = contexts[call]
            thread = threads[context]
            starts = self._thread_context.get(thread) != context
            if starts:
                self._enter(thread, context, call)
            arrived = arrival_order[bounds[call] : bounds[call + 1]]
            touched: set[int] = set()
            for depth, layer in enumerate(layers):
                if layer.rests(call):
                    continue
                decided, later = layer.decided, self._sent[depth:]
                moment = SimulatedMoment(self, depth, call, thread, arrived, starts)
                for block, decision in layer.choices(moment):
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
        blocks, calls, stacks, reasons = np.array(self._rows, dtype=np.int32).reshape(-1, 4).T
        edits = effective_edits(
            history, self.renderer, blocks, calls, stacks, reasons, tuple(self._stacks), tuple(self._reasons)
        )
        return replace(
            edits,
            estimates=tuple(self.estimates),
            model_calls=tuple(self.model_calls),
            notices=tuple(self.notices),
        )

    def stack(self, block: int, depth: int) -> Stack:
        """The operations of the first `depth` strategies on a block."""
        operations = []
        for layer in self.layers[:depth]:
            decision = layer.decided.get(block)
            if decision is not None and decision.operation is not None:
                operations.append(decision.operation)
        return tuple(operations)

    def is_untouched(self, block: int, depth: int) -> bool:
        """Whether the first `depth` strategies have decided nothing about a block so far."""
        for decided in self._decided[depth]:  # noqa: SIM110  a generator takes longer than the rest
            if block in decided:
                return False
        return True

    def are_untouched(self, blocks: Iterable[int], depth: int) -> bool:
        """Whether they have decided nothing about any of some blocks."""
        for decided in self._decided[depth]:  # noqa: SIM110  a generator takes longer than the rest
            if not decided.keys().isdisjoint(blocks):
                return False
        return True

    def rendition(self, block: int, depth: int) -> Rendition:
        """What the first `depth` strategies, of which there is at least one, make of a block."""
        known = self._sent[depth - 1]
        rendition = known.get(block)
        if rendition is None:
            rendition = known[block] = self.renderer.rendition(block, self.stack(block, depth))
        return rendition

    def settle(self, thread: int, call: int) -> int:
        """Counted tokens the strategies left out of the thread's present prompt, which is a call's.

        Raises:
            PromptsNotMeasuredError: Every strategy said that it looks at no prompt's size.
        """
        if not self.measures_prompts:
            raise PromptsNotMeasuredError
        total = self._thread_removed.get(thread, 0)
        if not self.dirty:
            return total
        for block, removed in zip(self.dirty, self._removed_from(self.dirty), strict=True):
            # A strategy may decide about what a compaction has taken away.
            if self.history.still_sends(call, block):
                total += removed - self.removed.get(block, 0)
            self.removed[block] = removed
        self._thread_removed[thread] = total
        self.dirty.clear()
        return total

    def prompt_tokens(self, call: int, removed: int) -> int:
        """What the provider would measure of a call's prompt with so many counted tokens left out."""
        blanked = 0 if self._blanked is None else self._blanked[call]
        return round(self._whole[call] - self._ratio[call] * (removed - blanked))

    def _removed_from(self, blocks: Iterable[int]) -> list[int]:
        listed = list(blocks)
        if len(listed) <= _FEW:
            return [self._removed_from_one(block) for block in listed]
        columns = np.array(listed, dtype=np.int32)
        table: dict[Stack, int] = {}
        depth = len(self.layers)
        stacks = [table.setdefault(self.stack(block, depth), len(table)) for block in listed]
        outcome = self.renderer.outcome(columns, np.array(stacks, dtype=np.int32), tuple(table))
        removed = (self.renderer.table.tokens[columns] - outcome.tokens).astype(np.int64)
        if self.sizes.envelopes is not None:
            removed += np.where(outcome.action == Action.REMOVED, self.sizes.envelopes[columns], 0)
        tokens: list[int] = removed.tolist()
        return tokens

    def _removed_from_one(self, block: int) -> int:
        rendition = self.rendition(block, len(self.layers))
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
        # A strategy gives many blocks the same decision, and to look that up is to take it apart.
        numbers, rows, layers = self._numbers, self._rows, self.layers
        if len(numbers) > _KNOWN:
            numbers.clear()
            self._numbered.clear()
        for block in sorted(blocks):
            decided = [layer.decided.get(block) for layer in layers]
            key = tuple(map(id, decided))
            found = numbers.get(key)
            if found is None:
                found = numbers[key] = self._numbers_of(decided)
                # What is no more can share its id with another.
                self._numbered.append(decided)
            rows.extend((block, call, *found))

    def _numbers_of(self, decided: list[Decision | None]) -> tuple[int, int]:
        """The numbers of the stack and of the reason that the strategies' decisions about a block come to."""
        deciding = [(at, decision) for at, decision in enumerate(decided) if decision is not None]
        acting = [each for each in deciding if each[1].operation is not None]
        stack = tuple([each.operation for _, each in acting if each.operation is not None])
        at, decision = (acting or deciding)[-1]
        reason = Reason(self.layers[at].entry, decision)
        return self._stacks.setdefault(stack, len(self._stacks)), self._reasons.setdefault(reason, len(self._reasons))


class SimulatedMoment:
    """What one strategy may see of one call."""

    __slots__ = ("arrived", "call", "depth", "starts_context", "thread", "walk")

    def __init__(
        self, walk: Simulation, depth: int, call: int, thread: int, arrived: NDArray[np.int32], starts_context: bool
    ) -> None:
        """See `Moment`; `depth` is the strategy's place among the layers."""
        self.walk, self.depth, self.call, self.thread = walk, depth, call, thread
        self.arrived, self.starts_context = arrived, starts_context

    @property
    def history(self) -> History:
        """What was recorded."""
        return self.walk.history

    @property
    def _told(self) -> NextCall | None:
        """What is told of this call; of recorded ones nothing is."""
        return self.walk.told if self.call == self.walk.call_count else None

    @property
    def previous_prompt_tokens(self) -> int:
        """Prompt tokens of the thread's previous call under the plan."""
        told = self._told
        if told is not None and told.input_tokens is not None:
            return told.input_tokens
        previous = self.walk.thread_call.get(self.thread)
        if not self.walk.measures_prompts:
            raise PromptsNotMeasuredError
        return 0 if previous is None else self.walk.sent_prompt_tokens[previous]

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of this call as it stands."""
        told = self._told
        if told is not None and told.input_tokens is not None:
            return told.input_tokens
        return self.walk.prompt_tokens(self.call, self.walk.settle(self.thread, self.call))

    @property
    def idle_seconds(self) -> float | None:
        """Time since the thread's previous call."""
        told = self._told
        if told is not None and told.idle_seconds is not None:
            return told.idle_seconds
        previous = self.walk.thread_call.get(self.thread)
        if previous is None:
            return None
        gap = self.walk.times[self.call] - self.walk.times[previous]
        return None if isnan(gap) else gap

    def prompt(self) -> NDArray[np.int32]:
        """The blocks of this call's prompt, removed ones left out."""
        blocks = self.history.prompt(self.call)
        if not self.walk.dirty and not self.walk.removed:
            return blocks
        kept = [block for block in blocks.tolist() if self.rendition(block).action is not Action.REMOVED]
        return np.array(kept, dtype=np.int32)

    def rendition(self, block: int) -> Rendition:
        """How the block would be sent now."""
        return self.walk.rendition(block, self.depth + 1)

    def is_whole(self, block: int) -> bool:
        """Whether it would be sent whole."""
        walk = self.walk
        return walk.is_untouched(block, self.depth + 1) or self.rendition(block).action is Action.WHOLE

    def are_whole(self, blocks: Sequence[int]) -> bool:
        """Whether they all would."""
        return self.walk.are_untouched(blocks, self.depth + 1) or all(map(self.is_whole, blocks))

    def length(self, block: int) -> int:
        """Its characters."""
        walk = self.walk
        if walk.is_untouched(block, self.depth + 1):
            return walk.characters[block]
        return self.rendition(block).length

    def tokens(self, block: int) -> int:
        """Its tokens."""
        walk = self.walk
        if walk.is_untouched(block, self.depth + 1):
            return walk.tokens[block]
        return walk.renderer.tokens(block, self.rendition(block))

    def total_tokens(self, blocks: Sequence[int]) -> int:
        """Their tokens."""
        if self.walk.are_untouched(blocks, self.depth + 1):
            return sum(map(self.walk.tokens.__getitem__, blocks))
        return sum(map(self.tokens, blocks))

    def note_estimate(self, tokens: float) -> None:
        """Keep what the strategy takes the prompt to measure."""
        self.walk.estimates.append(Estimate(self.walk.layers[self.depth].entry, self.call, tokens))

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        """Keep what the strategy asks a model for."""
        entry = self.walk.layers[self.depth].entry
        self.walk.model_calls.append(ModelCall(entry, self.call, prompt_tokens, output_tokens))

    def note_printed(self, text: str) -> None:
        """Keep what the described program would print."""
        self.walk.notices.append(Notice(self.walk.layers[self.depth].entry, self.call, text))

    def tokens_under(self, choice: Choice) -> int:
        """Tokens of the choice's block if it were made."""
        stack = self.walk.stack(choice.block, self.depth)
        if choice.decision.operation is not None:
            stack = (*stack, choice.decision.operation)
        renderer = self.walk.renderer
        return renderer.tokens(choice.block, renderer.rendition(choice.block, stack))

    def text(self, block: int) -> str:
        """The block's text as it would be sent now."""
        return self.rendition(block).text(self.history.session.text(self.history.session.blocks[block]))


@dataclass
class StrategyRun:
    """One strategy of the plan and what it has decided so far.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        run: The strategy at work, where it is asked call by call.
        by_call: Its decisions in call order, where they are known in advance.
        decided: By block, the latest decision.
        batched: What holds its edits back, if anything does.
    """

    entry: int
    run: Run | None = None
    by_call: Iterator[tuple[int, Choice]] = field(default_factory=lambda: iter(()))
    decided: dict[int, Decision] = field(default_factory=dict)
    batched: BatchedRun | None = None
    _waiting: tuple[int, Choice] | None = None

    def __post_init__(self) -> None:
        self._waiting = next(self.by_call, None)

    def rests(self, call: int) -> bool:
        """Whether it is known in advance that nothing is decided at a call."""
        waiting = self._waiting
        return self.run is None and self.batched is None and (waiting is None or waiting[0] > call)

    def choices(self, moment: Moment) -> Iterable[Choice]:
        """What the strategy changes at this call."""
        return self.decide(moment) if self.batched is None else self.batched.step(moment)

    def decide(self, moment: Moment) -> Iterable[Choice]:
        """What the strategy decides at this call, whether or not it may change anything now."""
        if self.run is not None:
            return self.run.step(moment)
        return self._due(moment.call)

    def _due(self, call: int) -> Iterator[Choice]:
        while (item := self._waiting) is not None and item[0] <= call:
            self._waiting = next(self.by_call, None)
            yield item[1]
