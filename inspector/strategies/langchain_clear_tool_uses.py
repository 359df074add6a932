"""Clear the oldest tool results of a prompt over a threshold, as LangChain's middleware does it.

Source: `ClearToolUsesEdit` of `ContextEditingMiddleware` (langchain 1.4 `agents/middleware/context_editing.py`). It
works on a copy of the whole history at every call and keeps nothing in mind, so that once the estimate is over the
trigger, every call clears what has just become old. Unlike in the API it is modelled on, `clear-at-least` is where it
stops: results are cleared oldest first until so much was reclaimed. Excluded tools count among the newest results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Choice, Decision
from inspector.strategies.batching import Batching
from inspector.strategies.estimators import (
    ARGUMENT_CHARACTERS,
    LANGCHAIN_CHARACTERS,
    langchain_message,
)
from inspector.strategies.kinds import ASSISTANT
from inspector.strategies.operations import ReplaceText
from inspector.strategies.settings import switch, tools, whole, written
from inspector.strategies.thread_runs import Reader
from inspector.strategies.tool_inputs import ClearInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.entries import Entry
    from inspector.strategies.history import History

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
        "trigger",
        100_000,
        "Estimated tokens of the messages above which results are cleared.",
        "tokens",
        maximum=2_000_000,
    )
    keep: int = whole("keep", 3, "How many of the newest results stay whole.", "results", maximum=1_000)
    clear_at_least: int = whole(
        "clear-at-least", 0, "Stop once so much was reclaimed; 0 to clear all that is old.", "tokens", maximum=1_000_000
    )
    clear_tool_inputs: bool = switch("clear-tool-inputs", False, "Clear the inputs of the cleared results' calls too.")
    exclude_tools: tuple[str, ...] = tools("exclude-tools", (), "Tools whose results are never cleared.")
    placeholder: str = written("placeholder", PLACEHOLDER, "What stands in the place of a cleared result.")

    def start(self, history: History) -> LangChainClearToolUsesRun:
        """A fresh run over one session."""
        return LangChainClearToolUsesRun(self, history, Reader(history))


@dataclass
class _Thread:
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
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _cleared: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._characters = LANGCHAIN_CHARACTERS.within(self.history)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then clear what is old if all of it is over the trigger."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context:
            self._threads[number] = _Thread()
            back = Decision(None, "counted anew")
            choices = [Choice(block, back) for block in arrived if block in self._cleared]
            self._cleared.difference_update(arrived)
        thread = self._threads.setdefault(number, _Thread())
        for entry in self.reader.entries(arrived):
            self._take(thread, entry, moment)
        moment.note_estimate(thread.tokens)
        if thread.tokens > self.strategy.trigger:
            choices.extend(self._clear(thread, moment))
        return choices

    def _take(self, thread: _Thread, entry: Entry, moment: Moment) -> None:
        counted = self._characters(moment, entry)
        thread.tokens += langchain_message(*counted)
        if entry.is_result:
            thread.results.append((entry.blocks[0], thread.answer))
        elif self.history.kind_bytes[entry.blocks[0]] in ASSISTANT:
            thread.answer = entry.message
            thread.characters[entry.message] = counted

    def _clear(self, thread: _Thread, moment: Moment) -> Iterator[Choice]:
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

    def _reclaimed(self, thread: _Thread, block: int, call: int, moment: Moment) -> int:
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
