"""Clear the oldest tool results of a prompt over a threshold, as LangChain's middleware does it.

Source: `ClearToolUsesEdit` of `ContextEditingMiddleware` (langchain 1.4 `agents/middleware/context_editing.py`). It
works on a copy of the whole history at every call and keeps nothing in mind, so that once the estimate is over the
trigger, every call clears what has just become old. Unlike in the API it is modelled on, `clear-at-least` is where it
stops: results are cleared oldest first until so much was reclaimed. Excluded tools count among the newest results.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.estimators import ARGUMENT_CHARACTERS, LANGCHAIN_CHARACTERS, langchain_message
from inspector.strategies.core.operations import RemoveBlock, ReplaceText, SayInstead
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import (
    Parametrized,
    number,
    summary_length,
    switch,
    tools,
    whole,
    window_of,
    written,
)
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import Reader, sent_again
from inspector.strategies.core.tool_inputs import ClearInput
from inspector.strategies.history.history import ASSISTANT
from inspector.strategies.library.summarize import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.conversation_items import Entry
    from inspector.strategies.history.history import History


PLACEHOLDER = "[cleared]"


@dataclass(frozen=True)
class LangChainClearToolUses(Batching):
    """Replace all but the newest tool results by a placeholder while the estimate is over a threshold."""

    name: ClassVar[str] = "langchain-clear-tool-uses"
    title: ClassVar[str] = "Clear tool uses (LangChain)"
    summary: ClassVar[str] = (
        "While a conversation is estimated over the trigger, send all but its newest tool results as a placeholder."
    )
    source: ClassVar[str] = "LangChain 1.4 ContextEditingMiddleware, ClearToolUsesEdit"

    trigger: int = whole(
        100_000,
        "Estimated tokens of the messages above which results are cleared.",
        "tokens",
        maximum=2_000_000,
    )
    keep: int = whole(3, "How many of the newest results stay whole.", "results", maximum=1_000)
    clear_at_least: int = whole(
        0, "Stop once so much was reclaimed; 0 to clear all that is old.", "tokens", maximum=1_000_000
    )
    clear_tool_inputs: bool = switch(False, "Clear the inputs of the cleared results' calls too.")
    exclude_tools: tuple[str, ...] = tools((), "Tools whose results are never cleared.", about=ToolList.LEFT_ALONE)
    placeholder: str = written(PLACEHOLDER, "What stands in the place of a cleared result.")

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  a number of its own
        """The trigger."""
        return (self.trigger,)

    def start(self, history: History) -> LangChainClearToolUsesRun:
        """A fresh run over one session."""
        return LangChainClearToolUsesRun(self, history, Reader(history))


@dataclass
class _ClearingThread:
    """One conversation, everything in it as if nothing had been cleared.

    Attributes:
        tokens: What its messages are estimated at.
        answer: The message of the model its last results answer, -1 for none.
        results: Its tool results, oldest first, each with the message of the model before it.
        passed: How many of them were cleared or may not be.
        reclaimed: Tokens cleared.
        characters: Per message of the model, its characters and images as cleared so far.
    """

    tokens: int = 0
    answer: int = -1
    results: list[tuple[int, int]] = field(default_factory=list)
    passed: int = 0
    reclaimed: int = 0
    characters: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class LangChainClearToolUsesRun:
    """The clearing at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: LangChainClearToolUses
    history: History
    reader: Reader
    _threads: dict[int, _ClearingThread] = field(default_factory=dict)
    _cleared: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._characters = LANGCHAIN_CHARACTERS.within(self.history)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then clear what is old if all of it is over the trigger."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context:
            self._threads[number] = _ClearingThread()
            back = Decision(None, "counted anew")
            choices = [Choice(block, back) for block in arrived if block in self._cleared]
            self._cleared.difference_update(arrived)
        thread = self._threads.setdefault(number, _ClearingThread())
        for entry in self.reader.entries(arrived):
            self._take(thread, entry, moment)
        moment.note_estimate(thread.tokens)
        if thread.tokens > self.strategy.trigger:
            choices.extend(self._clear(thread, moment))
        return choices

    def _take(self, thread: _ClearingThread, entry: Entry, moment: Moment) -> None:
        counted = self._characters(moment, entry)
        thread.tokens += langchain_message(*counted)
        if entry.is_result:
            thread.results.append((entry.blocks[0], thread.answer))
        elif self.history.kind_bytes[entry.blocks[0]] in ASSISTANT:
            thread.answer = entry.message
            thread.characters[entry.message] = counted

    def _clear(self, thread: _ClearingThread, moment: Moment) -> Iterator[Choice]:
        strategy, call_block = self.strategy, self.history.call_block
        reason = f"older than the newest {strategy.keep} results, estimate over {strategy.trigger:,} tokens"
        cleared = Decision(ReplaceText(strategy.placeholder), reason)
        without_input = Decision(ClearInput(), reason)
        end = len(thread.results) - strategy.keep
        while thread.passed < end:
            if 0 < strategy.clear_at_least <= thread.reclaimed:
                return
            block, answer = thread.results[thread.passed]
            thread.passed += 1
            call = int(call_block[block])
            asked = call >= 0 and self.history.message[call] == answer
            if not asked or self.history.session.blocks[block].tool_name in strategy.exclude_tools:
                continue
            thread.reclaimed += self._reclaimed(thread, block, call, moment)
            self._cleared.add(block)
            yield Choice(block, cleared)
            if strategy.clear_tool_inputs:
                self._cleared.add(call)
                yield Choice(call, without_input)

    def _reclaimed(self, thread: _ClearingThread, block: int, call: int, moment: Moment) -> int:
        recorded = self.history.session.blocks[block]
        around = len("tool") + len(recorded.tool_call_id) + len(recorded.tool_name)
        before = langchain_message(around + moment.length(block), len(recorded.media))
        tokens = before - langchain_message(around + len(self.strategy.placeholder))
        if self.strategy.clear_tool_inputs:
            message = int(self.history.message[call])
            characters, images = thread.characters[message]
            less = characters - ARGUMENT_CHARACTERS.sent(moment, call) + len("{}")
            thread.characters[message] = less, images
            tokens += langchain_message(characters, images) - langchain_message(less, images)
        return tokens


INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


@dataclass(frozen=True)
class LangChainSummarization(Parametrized):
    """Replace all but the newest messages by a summary when a trigger is reached."""

    name: ClassVar[str] = "langchain-summarization"
    title: ClassVar[str] = "Summarization (LangChain)"
    summary: ClassVar[str] = (
        "When the messages are many or long enough, replace all but the newest by a summary of an assumed length."
    )
    source: ClassVar[str] = "LangChain 1.4 SummarizationMiddleware; trigger of deepagents 0.7"

    trigger_tokens: int = whole(
        170_000, "Estimated tokens at which it summarizes; 0 for never.", "tokens", maximum=2_000_000
    )
    trigger_messages: int = whole(
        0, "Number of messages at which it summarizes; 0 for never.", "messages", maximum=100_000
    )
    trigger_fraction: float = number(
        0.0, "Fraction of the window at which it summarizes; 0 for never.", minimum=0.0, maximum=1.0
    )
    all_triggers: bool = switch(False, "All of the triggers have to be reached, not any of them.")
    keep_messages: int = whole(20, "How many of the newest messages stay.", "messages", minimum=1, maximum=100_000)
    keep_tokens: int = whole(
        0,
        "Keep the newest messages up to so many tokens instead; 0 to count.",
        "tokens",
        maximum=1_000_000,
    )
    keep_fraction: float = number(
        0.0,
        "Keep the newest messages up to this fraction of the window instead; 0 to count.",
        minimum=0.0,
        maximum=1.0,
    )
    characters_per_token: float = number(
        4.0,
        "Characters taken for a token; LangChain takes 3.3 for Anthropic's models.",
        "characters",
        minimum=1.0,
        maximum=10.0,
    )
    scaled: bool = switch(
        True,
        "Take what the provider last reported for a trigger too, and scale the estimate by it, by a quarter at most.",
    )
    window: int = whole(
        0,
        "Size of the model's window, for fractions; 0 for the one the chart and the report name.",
        "tokens",
        maximum=10_000_000,
    )
    summary_tokens: int = summary_length()

    def triggers(self, window: int) -> tuple[float, ...]:
        """What triggers it in tokens and by fraction."""
        return (self.trigger_tokens, (self.window or window) * self.trigger_fraction)

    def start(self, history: History) -> LangChainSummarizationRun:
        """A fresh run over one session."""
        return LangChainSummarizationRun(self, history, Reader(history), window_of(history, self.window))


@dataclass
class _SummaryThread:
    """One conversation.

    Attributes:
        entries: Its messages, those that are gone included.
        sums: For each of them, tokens of it and all before it.
        start: The first that is not gone.
        summary: The block that carries the summary, -1 for none yet.
        summary_tokens: Tokens of the summary's message.
        answered: Tokens of everything up to the model's last message, 0 before the first.
        answer: Tokens of that message, counted as the provider would.
    """

    entries: list[Entry] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    start: int = 0
    summary: int = -1
    summary_tokens: int = 0
    answered: int = 0
    answer: int = 0

    def tokens(self, start: int) -> int:
        """Tokens of the messages from one on."""
        return (self.sums[-1] if self.sums else 0) - (self.sums[start - 1] if start else 0)

    @property
    def all_tokens(self) -> int:
        """Tokens of all that is sent."""
        return self.summary_tokens + self.tokens(self.start)

    @property
    def count(self) -> int:
        """Messages that are sent."""
        return len(self.entries) - self.start + (self.summary >= 0)


@dataclass
class LangChainSummarizationRun:
    """The summarizing at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        window: Size of the model's window in tokens.
    """

    strategy: LangChainSummarization
    history: History
    reader: Reader
    window: int
    _threads: dict[int, _SummaryThread] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._characters = LANGCHAIN_CHARACTERS.within(self.history)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then summarize if a trigger is reached."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context:
            self._threads[number] = _SummaryThread()
            choices = sent_again(self._gone, arrived)
        thread = self._threads.setdefault(number, _SummaryThread())
        for entry in self.reader.entries(arrived):
            self._take(thread, entry, moment)
        tokens, reported = thread.all_tokens, 0
        if self.strategy.scaled and thread.answered and moment.previous_prompt_tokens:
            reported = moment.previous_prompt_tokens + thread.answer
            tokens = math.ceil(tokens * min(1.25, max(1.0, reported / thread.answered)))
        moment.note_estimate(max(tokens, reported))
        if self._is_reached(thread, max(tokens, reported)):
            choices.extend(self._summarize(thread, self._cutoff(thread, tokens), moment))
        return choices

    def _take(self, thread: _SummaryThread, entry: Entry, moment: Moment) -> None:
        counted = self._characters(moment, entry)
        tokens = langchain_message(*counted, self.strategy.characters_per_token)
        thread.sums.append(tokens + (thread.sums[-1] if thread.sums else 0))
        thread.entries.append(entry)
        if self._is_of_model(entry):
            thread.answered = thread.all_tokens
            thread.answer = moment.total_tokens(entry.blocks)

    def _is_of_model(self, entry: Entry) -> bool:
        return self.history.kind_bytes[entry.blocks[0]] in ASSISTANT

    def _is_reached(self, thread: _SummaryThread, tokens: int) -> bool:
        strategy = self.strategy
        reached = []
        if strategy.trigger_tokens:
            reached.append(tokens >= strategy.trigger_tokens)
        if strategy.trigger_messages:
            reached.append(thread.count >= strategy.trigger_messages)
        if strategy.trigger_fraction:
            reached.append(tokens >= max(int(self.window * strategy.trigger_fraction), 1))
        return bool(reached) and (all(reached) if strategy.all_triggers else any(reached))

    def _cutoff(self, thread: _SummaryThread, tokens: int) -> int:
        """The first message that stays, as a position among all that ever were."""
        strategy = self.strategy
        target = max(int(self.window * strategy.keep_fraction), 1) if strategy.keep_fraction else strategy.keep_tokens
        if not target:
            if thread.count <= strategy.keep_messages:
                return thread.start
            return self._safe(thread, len(thread.entries) - strategy.keep_messages)
        if tokens <= target:
            return thread.start
        total = thread.sums[-1] if thread.sums else 0
        # The earliest message from which on all fits; the newest stays even where it does not.
        cutoff = bisect_left(thread.sums, total - target, thread.start) + 1
        if thread.tokens(thread.start) <= target:
            cutoff = thread.start
        return self._safe(thread, min(cutoff, len(thread.entries) - 1))

    def _safe(self, thread: _SummaryThread, cutoff: int) -> int:
        """The cutoff, moved so that no result is parted from the message that asked for it."""
        entries = thread.entries
        end = cutoff
        while end < len(entries) and entries[end].is_result:
            end += 1
        if end == cutoff:
            return cutoff
        blocks = self.history.session.blocks
        wanted = {blocks[entry.blocks[0]].tool_call_id for entry in entries[cutoff:end]} - {""}
        for at in range(cutoff - 1, thread.start - 1, -1):
            ids = {blocks[block].tool_call_id for block in entries[at].blocks} if not entries[at].is_result else set()
            if wanted & ids:
                return at
        return end

    def _summarize(self, thread: _SummaryThread, cutoff: int, moment: Moment) -> Iterator[Choice]:
        gone = thread.entries[thread.start : cutoff]
        if not gone and (thread.summary < 0 or cutoff <= thread.start):
            return
        count = len(gone) + (thread.summary >= 0)
        read = [block for entry in gone for block in entry.blocks] + [thread.summary] * (thread.summary >= 0)
        moment.note_model_call(moment.total_tokens(read), self.strategy.summary_tokens)
        text = INTRODUCTION + stand_in(count, self.strategy.summary_tokens)
        reason = f"summarized with {count:,} messages"
        if thread.summary < 0:
            thread.summary = gone[0].blocks[0]
        removed = Decision(RemoveBlock(), reason)
        for entry in gone:
            self._gone.update(entry.blocks)
            for block in entry.blocks:
                if block != thread.summary:
                    yield Choice(block, removed)
        yield Choice(thread.summary, Decision(SayInstead(text, BlockKind.USER_TEXT), reason))
        thread.start = cutoff
        thread.summary_tokens = langchain_message(len(text) + len("user"), 0, self.strategy.characters_per_token)
