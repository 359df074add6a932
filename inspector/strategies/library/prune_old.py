"""Prune old tool results in two tiers: keep head and tail of large ones, clear all of them when together they are huge.

Source: `pruneOldToolResults` of inngest/utah (`src/agent-loop.ts`), as the document "Insertion-Time Tool Result
Trimming" recounts it. It runs at the top of every iteration of the agent's loop after the third and changes the
messages in place: the six newest messages are spared, each tool result being a message of its own, and the total that
decides about clearing is of what earlier iterations have left. Lengths are in Python characters; the program counts
UTF-16 units, which differ for characters outside the basic plane.

The variant `projection` applies the same function to the recorded messages at every call, without keeping what it
changed: old results then count in full, and clearing comes sooner.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import CutText, CutTokens, ReplaceText, cut_in
from inspector.strategies.core.parameters import TOKENS
from inspector.strategies.core.parametrized import choice, limit_unit, whole
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.conversation_items import Entry
    from inspector.strategies.history.history import History

PLACEHOLDER = "[Tool result cleared — old context]"
MARKER = "\n\n... [{removed} chars trimmed] ...\n\n"


@dataclass(frozen=True)
class PruneOld(Batching):
    """Head and tail of large old results; nothing of any once they are too much together."""

    name: ClassVar[str] = "prune-old"
    title: ClassVar[str] = "Prune old results in two tiers"
    summary: ClassVar[str] = (
        "Keep head and tail of large old results, and clear all old ones when they are too much together."
    )
    source: ClassVar[str] = "pruneOldToolResults, inngest/utah src/agent-loop.ts"

    keep_turns: int = whole(3, "Newest turns that are spared, two messages each.", "turns", maximum=100)
    from_iteration: int = whole(4, "First iteration since the user's question that prunes.", "iterations", maximum=100)
    threshold: int = whole(4_000, "Longest old result that stays whole.", "characters", maximum=1_000_000, group="trim")
    head: int = whole(1_500, "Characters kept from the beginning.", "characters", maximum=500_000, group="trim")
    tail: int = whole(1_500, "Characters kept from the end.", "characters", maximum=500_000, group="trim")
    clear_above: int = whole(
        50_000,
        "What old results may come to before all are cleared.",
        "characters",
        maximum=10_000_000,
        group="clear",
    )
    unit: str = limit_unit()
    variant: str = choice(
        ("in-place", "projection"),
        "What old results come to: as earlier iterations left them (in-place), or as recorded (projection).",
    )

    def start(self, history: History) -> PruneOldRun:
        """A fresh run over one session."""
        return PruneOldRun(self, Reader(history))


@dataclass
class _Thread:
    """One conversation: its newest messages, and what its old results have come to."""

    iteration: int = 0
    newest: deque[Entry] = field(default_factory=deque)
    aged: list[int] = field(default_factory=list)
    uncleared: list[int] = field(default_factory=list)
    count: int = 0
    characters: int = 0

    def forget(self) -> None:
        """Begin anew with another prompt."""
        self.newest.clear()
        self.aged.clear()
        self.uncleared.clear()
        self.count = self.characters = 0


@dataclass
class PruneOldRun:
    """The pruning at work on one session.

    Attributes:
        strategy: The values.
        reader: Reads what arrives.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: PruneOld
    reader: Reader
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _cleared: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Let messages age that newer ones have pushed out, then prune if the iteration is late enough."""
        thread = self._threads.setdefault(self.reader.thread(moment), _Thread())
        if moment.starts_context:
            thread.forget()
        arrived = self.reader.entries(self.reader.arrived(moment))
        asked = any(self.reader.asks(entry) for entry in arrived)
        thread.iteration = 1 if asked else thread.iteration + 1
        thread.newest.extend(arrived)
        while len(thread.newest) > 2 * self.strategy.keep_turns:
            entry = thread.newest.popleft()
            if entry.is_result:
                thread.aged.extend(entry.blocks)
        if thread.iteration < self.strategy.from_iteration:
            return ()
        return self._prune(thread, moment)

    def _prune(self, thread: _Thread, moment: Moment) -> Iterable[Choice]:
        strategy = self.strategy
        in_tokens = strategy.unit == TOKENS
        measured = moment.tokens if in_tokens else moment.length
        lengths = {block: measured(block) for block in thread.aged}
        total = thread.characters + sum(lengths.values())
        aged, thread.aged = thread.aged, []
        thread.count += len(aged)
        thread.uncleared.extend(block for block in aged if block not in self._cleared)
        if total > strategy.clear_above:
            reason = f"old, and old results came to {total:,} {strategy.unit}"
            decision = Decision(ReplaceText(PLACEHOLDER), reason, "clear")
            choices = [Choice(block, decision) for block in thread.uncleared]
            self._cleared.update(thread.uncleared)
            thread.uncleared.clear()
            left = moment.tokens_under(choices[0]) if in_tokens and choices else len(PLACEHOLDER)
            thread.characters = total if strategy.variant == "projection" else left * thread.count
            return choices
        cut = cut_in(strategy.unit, strategy.threshold, strategy.head, strategy.tail, MARKER, numbered=True)
        large = [block for block in aged if lengths[block] > strategy.threshold]
        decision = Decision(cut, "old and large", "trim")
        if strategy.variant == "in-place":
            for block in large:
                lengths[block] = self._left(moment, Choice(block, decision), cut, lengths[block])
        thread.characters += sum(lengths.values())
        return [Choice(block, decision) for block in large]

    def _left(self, moment: Moment, choice: Choice, cut: CutText | CutTokens, length: int) -> int:
        """What a large result comes to once it is cut."""
        if not isinstance(cut, CutText):
            return moment.tokens_under(choice)
        return min(cut.head, length) + min(cut.tail, length) + len(cut.marker_text(length, ""))
