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

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.cut_lines import CutLines
from inspector.strategies.core.estimators import rounded
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import Parametrized, choice, tools, whole, written
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import Reader
from inspector.strategies.history.tools import meaning_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import Moment, Schedule
    from inspector.strategies.history.conversation_items import Entry
    from inspector.strategies.history.history import History


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

    protect: int = whole(40_000, "The newest output, of earlier turns, that is spared.", "tokens", maximum=1_000_000)
    minimum: int = whole(20_000, "Nothing is cleared unless more than this can be.", "tokens", maximum=1_000_000)
    turns: int = whole(2, "The newest user turns that are spared altogether.", "turns", maximum=100)
    protected_tools: tuple[str, ...] = tools(
        ("skill",), "Tools whose output is never cleared, and not counted.", about=ToolList.LEFT_ALONE
    )
    placeholder: str = written(PLACEHOLDER, "What stands in the place of cleared output.")

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


_SAVED = "The tool call succeeded but the output was truncated. Full output saved to: "
_READ_IT = "\nUse Grep to search the full content or Read with offset/limit to view specific sections."
_DELEGATE = (
    "\nUse the Task tool to have explore agent process this file with Grep and Read (with offset/limit). Do NOT read "
    "the full file yourself - delegate to save context."
)


@dataclass(frozen=True)
class OpenCodeTruncate(Parametrized):
    """Keep whole lines of large results up to limits, once, when they are inserted."""

    name: ClassVar[str] = "opencode-truncate"
    title: ClassVar[str] = "Truncate at insertion (OpenCode)"
    summary: ClassVar[str] = "Insert only as many lines of a result as fit a number of lines and bytes."
    source: ClassVar[str] = "OpenCode packages/opencode/src/tool/truncate.ts"

    max_lines: int = whole(2_000, "Most lines that are inserted.", "lines", maximum=1_000_000)
    max_bytes: int = whole(51_200, "Most bytes that are inserted.", "bytes", maximum=100_000_000)
    direction: str = choice(("head", "tail"), "Which end is kept.")
    hint: str = choice(
        ("search", "delegate"),
        "What the model is told to do: search the file itself, or have a subagent do it, where there is one.",
    )
    exempt_tools: tuple[str, ...] = tools((), "Tools that shorten their own output.", about=ToolList.LEFT_ALONE)
    folder: str = written("~/.local/share/opencode/tool-output", "Where the agent saves the whole output.")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        advice = _DELEGATE if self.hint == "delegate" else _READ_IT
        hint = f"{_SAVED}{self.folder}/tool_{{id}}{advice}"
        cut = CutLines(self.max_lines, self.max_bytes, self.direction == "tail", hint)
        results = history.results
        results = results[~meaning_mask(history.tool_names, (), self.exempt_tools)[history.tool[results]]]
        builder.add(results, history.enters[results], Decision(cut, "too many lines or bytes at insertion"))
        return builder.schedule()
