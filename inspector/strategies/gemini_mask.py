"""Mask old tool output in batches, once enough of it lies behind the protected newest part.

Source: `ToolOutputMaskingService` of Gemini CLI 0.61 (`packages/core/src/context/toolOutputMaskingService.ts`). Before
each request all output is looked at from the newest to the oldest, that of the request itself left out. The newest
50,000 estimated tokens are protected; the result with which that is passed, and everything older, is masked when
together it has at least 30,000 tokens. A result stays as it is where a mask would not be shorter, and keeps counting.
What was masked stays masked.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Choice, Decision
from inspector.strategies.batching import Batching
from inspector.strategies.estimators import JSON_CHARACTERS, gemini_result
from inspector.strategies.gemini_truncate import FILE
from inspector.strategies.mask_output import MaskOutput, is_masked
from inspector.strategies.measures import Measure
from inspector.strategies.recorded import RecordedBlock
from inspector.strategies.settings import switch, tools, whole, written
from inspector.strategies.thread_runs import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.entries import Entry
    from inspector.strategies.history import History

EXEMPT = ("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode")
SHELL = ("run_shell_command",)
_IS_MASKED = Measure(lambda text: int(is_masked(text)))


@dataclass(frozen=True)
class GeminiMask(Batching):
    """Replace old output by a preview, in batches."""

    name: ClassVar[str] = "gemini-mask"
    title: ClassVar[str] = "Mask tool output (Gemini CLI)"
    summary: ClassVar[str] = "Replace output older than a protected amount by a preview, when there is enough of it."
    source: ClassVar[str] = "Gemini CLI 0.61 packages/core/src/context/toolOutputMaskingService.ts"

    protect: int = whole("protect", 50_000, "The newest output, which is spared.", "tokens", maximum=1_000_000)
    minimum: int = whole("minimum", 30_000, "Nothing is masked unless so much can be.", "tokens", maximum=1_000_000)
    protect_latest: bool = switch("protect-latest", True, "The newest message's output is spared and does not count.")
    exempt_tools: tuple[str, ...] = tools("exempt-tools", EXEMPT, "Tools whose output is never masked, nor counted.")
    shell_tools: tuple[str, ...] = tools("shell-tools", SHELL, "Tools whose output is previewed by its lines.")
    file: str = written("file", FILE, "Where the whole output is said to be; {tool} and {id} stand for the call's.")

    def start(self, history: History) -> GeminiMaskRun:
        """A fresh run over one session."""
        operation = MaskOutput(self.file, frozenset(self.shell_tools))
        return GeminiMaskRun(self, history, Reader(history), operation)


@dataclass
class _Thread:
    """One conversation.

    Attributes:
        results: Its output that counts and was not judged yet, oldest first, those before `start` apart.
        sums: For each of them, tokens of it and all before it.
        start: The first that was not judged: masked, or found shorter than its mask.
        kept: Tokens of those before it that were found shorter than their masks.
        latest: Results of the newest message, which are not looked at yet.
    """

    results: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    start: int = 0
    kept: int = 0
    latest: list[int] = field(default_factory=list)

    def tokens_before(self, count: int) -> int:
        """Tokens of the first so many results."""
        return self.sums[count - 1] if count else 0


@dataclass
class GeminiMaskRun:
    """The masking at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        operation: What masks a result.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: GeminiMask
    history: History
    reader: Reader
    operation: MaskOutput
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _masked: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then mask what is old if there is enough of it."""
        number = self.reader.thread(moment)
        if moment.starts_context:
            self._threads[number] = _Thread()
        thread = self._threads.setdefault(number, _Thread())
        entries = self.reader.entries(self.reader.arrived(moment))
        newest = len(entries)
        if self.strategy.protect_latest and entries:
            # Results that answer one response are one message there.
            newest -= 1
            while newest and entries[newest - 1].is_result and _is_one_message(entries[newest - 1], entries[newest]):
                newest -= 1
        if entries:
            earlier = [entry.blocks[0] for entry in entries[:newest] if entry.is_result]
            for block in (*thread.latest, *earlier):
                self._take(thread, block, moment)
            thread.latest = [entry.blocks[0] for entry in entries[newest:] if entry.is_result]
        return self._mask(thread, moment)

    def _take(self, thread: _Thread, block: int, moment: Moment) -> None:
        if block in self._masked or self._tool(block) in self.strategy.exempt_tools:
            return
        if _IS_MASKED.sent(moment, block):
            return
        recorded = self.history.session.blocks[block]
        tokens = gemini_result(recorded.tool_name, JSON_CHARACTERS.sent(moment, block), error=recorded.is_error)
        thread.results.append(block)
        thread.sums.append(thread.tokens_before(len(thread.sums)) + tokens)

    def _mask(self, thread: _Thread, moment: Moment) -> Iterator[Choice]:
        total = thread.tokens_before(len(thread.sums))
        # The newest result with which the protected amount is passed, counted from the newest.
        boundary = total - self.strategy.protect
        if boundary <= thread.tokens_before(thread.start):
            return
        count = bisect_left(thread.sums, boundary, thread.start) + 1
        prunable = thread.kept + thread.tokens_before(count) - thread.tokens_before(thread.start)
        if prunable < self.strategy.minimum:
            return
        reason = f"older than the newest {self.strategy.protect:,} tokens of output, {prunable:,} tokens in all"
        decision = Decision(self.operation, reason)
        for at in range(thread.start, count):
            block = thread.results[at]
            if self._is_worth_it(moment, block):
                self._masked.add(block)
                yield Choice(block, decision)
            else:
                thread.kept += thread.sums[at] - thread.tokens_before(at)
        thread.start = count

    def _is_worth_it(self, moment: Moment, block: int) -> bool:
        now = moment.rendition(block)
        return self.operation.apply(now, RecordedBlock(self.history.session, block)) is not now

    def _tool(self, block: int) -> str:
        return self.history.session.blocks[block].tool_name


def _is_one_message(result: Entry, following: Entry) -> bool:
    return following.is_result or following.message == result.message
