"""LangChain's middleware: clearing old tool results over a threshold, and summarization.

Both estimate tokens from characters, as `count_tokens_approximately` does (langchain-core `messages/utils.py`).
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN, ItemMeasure, Measure
from inspector.strategies.core.operations import ClearInput, ReplaceText
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import (
    Parametrized,
    integer,
    number,
    string,
    summary_length,
    switch,
    tools,
    window_of,
)
from inspector.strategies.core.schedule_builder import CONTEXT_RESET
from inspector.strategies.core.strategy import AgentSettings, Choice, Decision
from inspector.strategies.core.summarized_prefix import SummarizedPrefix
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT, TOOL_CALL
from inspector.strategies.library.summarize import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History


_PER_MESSAGE = 3


_PER_IMAGE = 85


_AROUND_CALL = len("{'name': , 'args': , 'id': , 'type': 'tool_call'}")


_RESULT_ROLE, _ASSISTANT_ROLE, _USER_ROLE = len("tool"), len("assistant"), len("user")


def langchain_tokens(characters: int, images: int = 0, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Estimate the tokens of a message: `count_tokens_approximately` (langchain-core `messages/utils.py`)."""
    return math.ceil(characters / characters_per_token) + _PER_MESSAGE + _PER_IMAGE * images


def langchain_characters(context: CallContext, item: ConversationItem) -> tuple[int, int]:
    """Return the characters and images LangChain counts for a message as it would be sent.

    A result includes its call's id and its tool's name, a model message the Python form of its calls, and every message
    its role.
    """
    history = context.history
    blocks = history.session.blocks
    characters = images = calls = 0
    for index in item.blocks:
        kind = history.kind_bytes[index]
        images += len(blocks[index].media)
        if kind == TOOL_CALL:
            characters += langchain_call_characters(context, index)
            calls += 1
        else:
            characters += context.length(index)
    if item.is_result:
        result = blocks[item.blocks[0]]
        return characters + _RESULT_ROLE + len(result.tool_call_id) + len(result.tool_name), images
    if calls:
        characters += len("[]") + len(", ") * (calls - 1)
    is_assistant = history.kind_bytes[item.blocks[0]] in ASSISTANT
    return characters + (_ASSISTANT_ROLE if is_assistant else _USER_ROLE), images


LANGCHAIN_CHARACTERS = ItemMeasure(langchain_characters)
"""Characters and images LangChain counts for a message."""


def langchain_call_characters(context: CallContext, index: int) -> int:
    """Count the characters of a call in LangChain's Python form: a dictionary with name, arguments, id and type."""
    block = context.history.session.blocks[index]
    names = len(repr(block.tool_name)) + len(repr(block.tool_call_id))
    return _AROUND_CALL + names + ARGUMENT_CHARACTERS.sent(context, index)


def _python_form(text: str) -> int:
    try:
        return len(repr(json.loads(text))) if text else len("{}")
    except (ValueError, RecursionError):
        return len(text)


ARGUMENT_CHARACTERS = Measure(_python_form)
"""Length of a JSON text as Python writes the value; of the text itself if it is not JSON."""


PLACEHOLDER = "[cleared]"


@dataclass(frozen=True)
class LangChainClearToolUses(Batching):
    """Replace all but the newest tool results with a placeholder while the estimate is over a threshold.

    Source: `ClearToolUsesEdit` of `ContextEditingMiddleware` (langchain 1.5.2 `middleware/context_editing.py`). It
    works on a copy of the whole history at every call and holds no state, so once the estimate is over the trigger,
    every call clears the results that have just become old. Unlike in the API it is modeled on, `clear-at-least` is the
    stopping point: results are cleared oldest first until that many tokens are reclaimed. Excluded tools count among
    the newest results.
    """

    name = "langchain-clear-tool-uses"
    title = "Clear tool uses (LangChain)"
    summary = (
        "While a conversation is estimated over the trigger, replace all but its newest tool results with a "
        "placeholder."
    )
    source = "LangChain 1.5.2 ContextEditingMiddleware, ClearToolUsesEdit"
    agent_settings = AgentSettings(
        {
            "trigger": "trigger",
            "clear-at-least": "clear_at_least",
            "keep": "keep",
            "clear-tool-inputs": "clear_tool_inputs",
            "exclude-tools": "exclude_tools",
            "placeholder": "placeholder",
        }
    )

    trigger: int = integer(
        100_000,
        "Estimated message tokens above which results are cleared.",
        "tokens",
        maximum=2_000_000,
    )
    keep: int = integer(3, "Number of newest results kept whole.", "results", maximum=1_000)
    clear_at_least: int = integer(
        0, "Stop once this many tokens are reclaimed; 0 to clear all old results.", "tokens", maximum=1_000_000
    )
    clear_tool_inputs: bool = switch(False, "Clear the inputs of the cleared results' calls too.")
    exclude_tools: tuple[str, ...] = tools((), "Tools with results that are never cleared.", about=ToolList.LEFT_ALONE)
    placeholder: str = string(PLACEHOLDER, "Text that replaces a cleared result.")

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.trigger,)

    def start(self, history: History) -> LangChainClearToolUsesRun:
        return LangChainClearToolUsesRun(self, history)


@dataclass
class _EstimatedResults:
    """One conversation, measured as if nothing had been cleared.

    Attributes:
        tokens: Estimated tokens of its messages.
        answer: Message with the calls of its last results, -1 for none.
        results: Its tool results, oldest first, each with the model message before it.
        passed: Number of results cleared or excluded.
        reclaimed: Tokens cleared.
        characters: Per model message, its characters and images as cleared so far.
    """

    tokens: int = 0
    answer: int = -1
    results: list[tuple[int, int]] = field(default_factory=list)
    passed: int = 0
    reclaimed: int = 0
    characters: dict[int, tuple[int, int]] = field(default_factory=dict)


class LangChainClearToolUsesRun(ThreadRun[LangChainClearToolUses, _EstimatedResults]):
    """A run of the clearing on one session."""

    measures_prompts = False
    reset_decision = CONTEXT_RESET

    def __init__(self, strategy: LangChainClearToolUses, history: History) -> None:
        super().__init__(strategy, history)
        self._characters = LANGCHAIN_CHARACTERS.within(history)

    def begin(self) -> _EstimatedResults:
        return _EstimatedResults()

    def decide(self, state: _EstimatedResults, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for item in self.items(arrived):
            self._take(state, item, context)
        context.note_estimate(state.tokens)
        return self._clear(state, context) if state.tokens > self.strategy.trigger else ()

    def _take(self, state: _EstimatedResults, item: ConversationItem, context: CallContext) -> None:
        counted = self._characters(context, item)
        state.tokens += langchain_tokens(*counted)
        if item.is_result:
            state.results.append((item.blocks[0], state.answer))
        elif self.history.kind_bytes[item.blocks[0]] in ASSISTANT:
            state.answer = item.message
            state.characters[item.message] = counted

    def _clear(self, state: _EstimatedResults, context: CallContext) -> Iterator[Choice]:
        strategy, call_block = self.strategy, self.history.call_block
        reason = f"older than the newest {strategy.keep} results, estimate over {strategy.trigger:,} tokens"
        cleared = Decision(ReplaceText(strategy.placeholder), reason)
        without_input = Decision(ClearInput(), reason)
        end = len(state.results) - strategy.keep
        while state.passed < end:
            if 0 < strategy.clear_at_least <= state.reclaimed:
                return
            block, answer = state.results[state.passed]
            state.passed += 1
            call = int(call_block[block])
            asked = call >= 0 and self.history.message[call] == answer
            if not asked or self.history.session.blocks[block].tool_name in strategy.exclude_tools:
                continue
            state.reclaimed += self._reclaimed(state, block, call, context)
            yield Choice(block, cleared)
            if strategy.clear_tool_inputs:
                yield Choice(call, without_input)

    def _reclaimed(self, state: _EstimatedResults, block: int, call: int, context: CallContext) -> int:
        recorded = self.history.session.blocks[block]
        around = len("tool") + len(recorded.tool_call_id) + len(recorded.tool_name)
        before = langchain_tokens(around + context.length(block), len(recorded.media))
        tokens = before - langchain_tokens(around + len(self.strategy.placeholder))
        if self.strategy.clear_tool_inputs:
            message = int(self.history.message[call])
            characters, images = state.characters[message]
            less = characters - ARGUMENT_CHARACTERS.sent(context, call) + len("{}")
            state.characters[message] = less, images
            tokens += langchain_tokens(characters, images) - langchain_tokens(less, images)
        return tokens


INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


@dataclass(frozen=True)
class LangChainSummarization(Parametrized):
    """Replace all but the newest messages with a summary when a trigger is reached.

    Source: `SummarizationMiddleware` (langchain 1.5.2 `agents/middleware/summarization.py`). Before every call the
    messages are counted and their tokens estimated. When any trigger is reached, a user message with a summary
    permanently replaces everything before the kept messages. The cut never separates a model message from its tool
    results: it moves back to the message with their calls.

    LangChain has no trigger unless one is configured; the default here comes from deepagents, which builds on it. No
    model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected. The
    cost of writing it is not counted.
    """

    name = "langchain-summarization"
    title = "Summarization (LangChain)"
    summary = "When there are many or long messages, replace all but the newest with a summary of assumed length."
    source = "LangChain 1.5.2 SummarizationMiddleware; trigger of deepagents 0.7.32"
    agent_settings = AgentSettings(
        {
            **dict.fromkeys(("trigger-tokens", "trigger-messages", "trigger-fraction", "all-triggers"), "trigger"),
            **dict.fromkeys(("keep-messages", "keep-tokens", "keep-fraction"), "keep"),
        }
    )

    trigger_tokens: int = integer(
        170_000, "Estimated tokens at which it summarizes; 0 for never.", "tokens", maximum=2_000_000
    )
    trigger_messages: int = integer(
        0, "Number of messages at which it summarizes; 0 for never.", "messages", maximum=100_000
    )
    trigger_fraction: float = number(
        0.0, "Fraction of the window at which it summarizes; 0 for never.", minimum=0.0, maximum=1.0
    )
    all_triggers: bool = switch(False, "Require all of the triggers instead of any one.")
    keep_messages: int = integer(20, "Number of newest messages kept.", "messages", minimum=1, maximum=100_000)
    keep_tokens: int = integer(
        0,
        "Size of the newest messages that stay instead; 0 to count messages.",
        "tokens",
        maximum=1_000_000,
    )
    keep_fraction: float = number(
        0.0,
        "Newest fraction of the window that stays instead; 0 to count messages.",
        minimum=0.0,
        maximum=1.0,
    )
    characters_per_token: float = number(
        4.0,
        "Characters per token; LangChain uses 3.3 for Anthropic's models.",
        "characters",
        minimum=1.0,
        maximum=10.0,
    )
    scaled: bool = switch(
        True,
        "Also check the provider's last count, and scale by it, by 25 % at most.",
    )
    window: int = integer(
        0,
        "Context window for fractions; 0 for the size shown in chart and report.",
        "tokens",
        maximum=10_000_000,
        is_assumed=True,
    )
    summary_tokens: int = summary_length()

    def triggers(self, window: int) -> tuple[float, ...]:
        return (self.trigger_tokens, (self.window or window) * self.trigger_fraction)

    def start(self, history: History) -> LangChainSummarizationRun:
        return LangChainSummarizationRun(self, history)


@dataclass
class _EstimatedMessages:
    """One conversation.

    Attributes:
        sent: Its messages, and the summary that replaces the first of them.
        answered: Tokens of everything up to the model's last message, 0 before the first.
        answer: Tokens of that message by the provider's count.
    """

    sent: SummarizedPrefix[ConversationItem] = field(default_factory=SummarizedPrefix)
    answered: int = 0
    answer: int = 0

    @property
    def count(self) -> int:
        return len(self.sent.messages) - self.sent.start + (self.sent.summary >= 0)


class LangChainSummarizationRun(ThreadRun[LangChainSummarization, _EstimatedMessages]):
    """A run of the summarization on one session.

    Attributes:
        window: The model's context window in tokens.
    """

    def __init__(self, strategy: LangChainSummarization, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window)
        self._characters = LANGCHAIN_CHARACTERS.within(history)

    def begin(self) -> _EstimatedMessages:
        return _EstimatedMessages()

    def decide(self, state: _EstimatedMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for item in self.items(arrived):
            self._take(state, item, context)
        tokens, reported = state.sent.all_tokens, 0
        if self.strategy.scaled and state.answered and context.previous_prompt_tokens:
            reported = context.previous_prompt_tokens + state.answer
            tokens = math.ceil(tokens * min(1.25, max(1.0, reported / state.answered)))
        context.note_estimate(max(tokens, reported))
        if not self._is_reached(state, max(tokens, reported)):
            return ()
        return self._summarize(state, self._cutoff(state, tokens), context)

    def _take(self, state: _EstimatedMessages, item: ConversationItem, context: CallContext) -> None:
        counted = self._characters(context, item)
        state.sent.add(item, langchain_tokens(*counted, self.strategy.characters_per_token))
        if self._is_of_model(item):
            state.answered = state.sent.all_tokens
            state.answer = context.total_tokens(item.blocks)

    def _is_of_model(self, item: ConversationItem) -> bool:
        return self.history.kind_bytes[item.blocks[0]] in ASSISTANT

    def _is_reached(self, state: _EstimatedMessages, tokens: int) -> bool:
        strategy = self.strategy
        reached = []
        if strategy.trigger_tokens:
            reached.append(tokens >= strategy.trigger_tokens)
        if strategy.trigger_messages:
            reached.append(state.count >= strategy.trigger_messages)
        if strategy.trigger_fraction:
            reached.append(tokens >= max(int(self.window * strategy.trigger_fraction), 1))
        return bool(reached) and (all(reached) if strategy.all_triggers else any(reached))

    def _cutoff(self, state: _EstimatedMessages, tokens: int) -> int:
        """Return the index of the first message that stays, counted over all messages ever added."""
        strategy, sent = self.strategy, state.sent
        target = max(int(self.window * strategy.keep_fraction), 1) if strategy.keep_fraction else strategy.keep_tokens
        if not target:
            if state.count <= strategy.keep_messages:
                return sent.start
            return self._safe(sent, len(sent.messages) - strategy.keep_messages)
        if tokens <= target:
            return sent.start
        # The earliest message that can start the tail so that it fits; the newest stays even if it does not fit.
        cutoff = bisect_left(sent.sums, sent.since(0) - target, sent.start) + 1
        if sent.since(sent.start) <= target:
            cutoff = sent.start
        return self._safe(sent, min(cutoff, len(sent.messages) - 1))

    def _safe(self, sent: SummarizedPrefix[ConversationItem], cutoff: int) -> int:
        """Move the cutoff so that no result is separated from the message with its call."""
        items = sent.messages
        end = cutoff
        while end < len(items) and items[end].is_result:
            end += 1
        if end == cutoff:
            return cutoff
        blocks = self.history.session.blocks
        wanted = {blocks[item.blocks[0]].tool_call_id for item in items[cutoff:end]} - {""}
        for at in range(cutoff - 1, sent.start - 1, -1):
            ids = {blocks[block].tool_call_id for block in items[at].blocks} if not items[at].is_result else set()
            if wanted & ids:
                return at
        return end

    def _summarize(self, state: _EstimatedMessages, cutoff: int, context: CallContext) -> Iterable[Choice]:
        sent = state.sent
        gone = sent.blocks_until(cutoff)
        if not gone:
            return ()
        has_summary = sent.summary >= 0
        count = cutoff - sent.start + has_summary
        context.note_model_call(context.total_tokens(gone + [sent.summary] * has_summary), self.strategy.summary_tokens)
        text = INTRODUCTION + summary_placeholder(count, self.strategy.summary_tokens)
        sent.summary_tokens = langchain_tokens(len(text) + len("user"), 0, self.strategy.characters_per_token)
        return sent.summarize(cutoff, text, f"summarized with {count:,} messages")
