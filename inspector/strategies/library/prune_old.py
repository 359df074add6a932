"""Prune old tool results in two tiers: trim large ones to head and tail, clear all of them if their total is huge.

Source: `pruneOldToolResults` of inngest/utah (`src/agent-loop.ts`), as described in the document "Insertion-Time Tool
Result Trimming". It runs at the start of every iteration of the agent's loop after the third and changes the messages
in place. The six newest messages are spared, with every tool result as a separate message. The total that triggers
clearing is measured after the changes of earlier iterations. Lengths are in Python characters; the program counts
UTF-16 units, which differ for characters outside the basic plane.

The variant `projection` applies the same function to the recorded messages at every call and does not retain changes:
old results then count in full, and clearing happens sooner.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import CutText, CutTokens, ReplaceText, make_cut
from inspector.strategies.core.parameters import TOKENS
from inspector.strategies.core.parametrized import choice, integer, limit_unit
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History

PLACEHOLDER = "[Tool result cleared — old context]"
MARKER = "\n\n... [{removed} chars trimmed] ...\n\n"


@dataclass(frozen=True)
class PruneOld(Batching):
    """Trim large old results, and clear all old results once their total is too large."""

    name = "prune-old"
    title = "Prune old results in two tiers"
    summary = "Trim large old results to head and tail, and clear all old ones when their total is too large."
    source = "pruneOldToolResults, inngest/utah src/agent-loop.ts"

    keep_turns: int = integer(3, "Number of newest turns spared, two messages each.", "turns", maximum=100)
    from_iteration: int = integer(
        4, "First iteration since the user's question that prunes.", "iterations", maximum=100
    )
    threshold: int = integer(
        4_000, "Longest old result that stays whole.", "characters", maximum=1_000_000, group="trim"
    )
    head: int = integer(1_500, "Characters kept from the beginning.", "characters", maximum=500_000, group="trim")
    tail: int = integer(1_500, "Characters kept from the end.", "characters", maximum=500_000, group="trim")
    clear_above: int = integer(
        50_000,
        "Total size of old results above which all are cleared.",
        "characters",
        maximum=10_000_000,
        group="clear",
    )
    unit: str = limit_unit()
    variant: str = choice(
        ("in-place", "projection"),
        "Size of old results: as pruned (in-place), or as recorded (projection).",
    )

    def start(self, history: History) -> PruneOldRun:
        return PruneOldRun(self, history)


@dataclass
class _AgeingResults:
    """One conversation: its newest messages, and the current size of its old results."""

    iteration: int = 0
    newest: deque[ConversationItem] = field(default_factory=deque)
    aged: list[int] = field(default_factory=list)
    uncleared: list[int] = field(default_factory=list)
    count: int = 0
    characters: int = 0


class PruneOldRun(ThreadRun[PruneOld, _AgeingResults]):
    """A run of the pruning on one session."""

    measures_prompts = False
    keeps_changes = True

    def __init__(self, strategy: PruneOld, history: History) -> None:
        super().__init__(strategy, history)
        self._cleared: set[int] = set()

    def begin(self) -> _AgeingResults:
        return _AgeingResults()

    def begin_again(self, before: _AgeingResults) -> _AgeingResults:
        """Return the state of another prompt in the same iteration."""
        return _AgeingResults(before.iteration)

    def decide(self, state: _AgeingResults, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        items = self.items(arrived)
        asked = any(self.asks(item) for item in items)
        state.iteration = 1 if asked else state.iteration + 1
        state.newest.extend(items)
        while len(state.newest) > 2 * self.strategy.keep_turns:
            item = state.newest.popleft()
            if item.is_result:
                state.aged.extend(item.blocks)
        if state.iteration < self.strategy.from_iteration:
            return ()
        return self._prune(state, context)

    def _prune(self, state: _AgeingResults, context: CallContext) -> Iterable[Choice]:
        strategy = self.strategy
        in_tokens = strategy.unit == TOKENS
        measured = context.tokens if in_tokens else context.length
        lengths = {block: measured(block) for block in state.aged}
        total = state.characters + sum(lengths.values())
        aged, state.aged = state.aged, []
        state.count += len(aged)
        state.uncleared.extend(block for block in aged if block not in self._cleared)
        if total > strategy.clear_above:
            reason = f"old, with {total:,} {strategy.unit} of old results"
            decision = Decision(ReplaceText(PLACEHOLDER), reason, "clear")
            choices = [Choice(block, decision) for block in state.uncleared]
            self._cleared.update(state.uncleared)
            state.uncleared.clear()
            left = context.tokens_under(choices[0]) if in_tokens and choices else len(PLACEHOLDER)
            state.characters = total if strategy.variant == "projection" else left * state.count
            return choices
        cut = make_cut(strategy.unit, strategy.threshold, strategy.head, strategy.tail, MARKER, numbered=True)
        large = [block for block in aged if lengths[block] > strategy.threshold]
        decision = Decision(cut, "old and large", "trim")
        if strategy.variant == "in-place":
            for block in large:
                lengths[block] = self._left(context, Choice(block, decision), cut, lengths[block])
        state.characters += sum(lengths.values())
        return [Choice(block, decision) for block in large]

    def _left(self, context: CallContext, choice: Choice, cut: CutText | CutTokens, length: int) -> int:
        if not isinstance(cut, CutText):
            return context.tokens_under(choice)
        return min(cut.head, length) + min(cut.tail, length) + len(cut.marker_text(length, ""))
