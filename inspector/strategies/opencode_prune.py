"""Clear old tool output at the end of a user's turn, once enough of it lies behind the protected newest part.

Source: `SessionCompaction.prune` of OpenCode (anomalyco/opencode `packages/opencode/src/session/compaction.ts`; off by
default since 1.18). It runs when the agent has finished what a user asked, so its effect is first seen by the call that
answers the next question. Output of the last two user turns is spared altogether; of what is older, the newest 40,000
tokens are, taken for four characters each and rounded. Everything beyond goes at once, but only when that is more than
20,000 tokens. What was cleared stays cleared, and nothing before it is looked at again. Errors stay, and so does the
output of skills. In a session in which the user spoke once, it never acts.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Choice, Decision
from inspector.strategies.batching import Batching
from inspector.strategies.estimators import rounded
from inspector.strategies.operations import ReplaceText
from inspector.strategies.settings import tools, whole, written
from inspector.strategies.thread_runs import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.entries import Entry
    from inspector.strategies.history import History

PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True)
class OpenCodePrune(Batching):
    """Clear old tool output in batches, at the end of a user's turn."""

    name: ClassVar[str] = "opencode-prune"
    title: ClassVar[str] = "Prune (OpenCode)"
    summary: ClassVar[str] = (
        "After a user's turn, clear tool output older than two turns and a protected amount, if that is enough."
    )
    source: ClassVar[str] = "OpenCode packages/opencode/src/session/compaction.ts"

    protect: int = whole(
        "protect", 40_000, "The newest output, of earlier turns, that is spared.", "tokens", maximum=1_000_000
    )
    minimum: int = whole(
        "minimum", 20_000, "Nothing is cleared unless more than this can be.", "tokens", maximum=1_000_000
    )
    turns: int = whole("turns", 2, "The newest user turns that are spared altogether.", "turns", maximum=100)
    protected_tools: tuple[str, ...] = tools(
        "protected-tools", ("skill",), "Tools whose output is never cleared, and not counted."
    )
    placeholder: str = written("placeholder", PLACEHOLDER, "What stands in the place of cleared output.")

    def start(self, history: History) -> OpenCodePruneRun:
        """A fresh run over one session."""
        return OpenCodePruneRun(self, history, Reader(history))


@dataclass
class _Thread:
    """One conversation.

    Attributes:
        results: Its output that counts, oldest first.
        sums: For each of them, tokens of it and all before it.
        handled: How many of them were cleared or lie before something that was.
        turns: Per user turn, how many results came before it.
    """

    results: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    handled: int = 0
    turns: list[int] = field(default_factory=list)

    def tokens_before(self, count: int) -> int:
        """Tokens of the first so many results."""
        return self.sums[count - 1] if count else 0


@dataclass
class OpenCodePruneRun:
    """The pruning at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: OpenCodePrune
    history: History
    reader: Reader
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _cleared: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived; where that ends a turn of the user, prune what came before."""
        number = self.reader.thread(moment)
        is_new = number not in self._threads
        if moment.starts_context:
            self._threads[number] = _Thread()
        thread = self._threads.setdefault(number, _Thread())
        entries = self.reader.entries(self.reader.arrived(moment))
        # What the user says last has not been said yet when a turn ends.
        spoken = len(entries)
        while spoken and self.reader.asks(entries[spoken - 1]):
            spoken -= 1
        self._take(thread, entries[:spoken], moment)
        # A conversation that begins with a history is taken to stand at a turn's end.
        choices = list(self._prune(thread)) if is_new or spoken < len(entries) else []
        self._take(thread, entries[spoken:], moment)
        return choices

    def _take(self, thread: _Thread, entries: Iterable[Entry], moment: Moment) -> None:
        for entry in entries:
            if self.reader.asks(entry):
                thread.turns.append(len(thread.results))
            elif entry.is_result:
                self._take_result(thread, entry.blocks[0], moment)

    def _take_result(self, thread: _Thread, block: int, moment: Moment) -> None:
        recorded = self.history.session.blocks[block]
        if recorded.is_error or recorded.tool_name in self.strategy.protected_tools:
            return
        length = moment.length(block)
        thread.results.append(block)
        thread.sums.append(thread.tokens_before(len(thread.sums)) + rounded(length))
        if block in self._cleared or self._is_placeholder(moment, block, length):
            thread.handled = len(thread.results)

    def _is_placeholder(self, moment: Moment, block: int, length: int) -> bool:
        """Whether the agent itself had cleared the result before it was recorded."""
        placeholder = self.strategy.placeholder
        recorded = self.history.session.blocks[block]
        return length == len(placeholder) == recorded.characters and moment.text(block) == placeholder

    def _prune(self, thread: _Thread) -> Iterator[Choice]:
        strategy = self.strategy
        if strategy.turns > len(thread.turns):
            return
        end = thread.turns[-strategy.turns] if strategy.turns else len(thread.results)
        if end <= thread.handled:
            return
        # The result with which the protected amount is passed goes too.
        boundary = thread.tokens_before(end) - strategy.protect
        count = bisect_right(thread.sums, boundary - 1, thread.handled, end) + 1
        if boundary <= thread.tokens_before(thread.handled):
            return
        pruned = thread.tokens_before(count) - thread.tokens_before(thread.handled)
        if pruned <= strategy.minimum:
            return
        reason = f"older than {strategy.turns} turns and the newest {strategy.protect:,} tokens of output"
        cleared = Decision(ReplaceText(strategy.placeholder), reason)
        for block in thread.results[thread.handled : count]:
            self._cleared.add(block)
            yield Choice(block, cleared)
        thread.handled = count
