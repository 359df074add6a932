"""The middleware of LangChain and deepagents: clearing and summarization, and large results saved to files.

LangChain's rules estimate tokens from characters, as `count_tokens_approximately` does (langchain-core
`messages/utils.py`).

deepagents saves large results and messages to files with both ends shown, and cuts arguments of old calls. Source:
deepagents 0.7 (`middleware/filesystem.py`, `middleware/_message_eviction.py`). A token counts as four characters. A
result over its limit is replaced before it enters the conversation, a user message when it is the newest of a prompt;
both stay unchanged afterwards. Tools that shorten their own output, or that would be needed to read their own saved
output, are exempt. The real file name of a message is random; here it derives from the message's text.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN, ItemMeasure, Measure
from inspector.strategies.core.operations import Action, BlockSource, ClearInput, Rendition, ReplaceText, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.stored_previews import numbered_ends
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    integer,
    model_window,
    number,
    string,
    summary_length,
    switch,
    tools,
    window_of,
)
from inspector.strategies.core.thread_runs import SummarizedPrefix, ThreadRun
from inspector.strategies.history.history import ASSISTANT, SYSTEM_TEXT, TOOL_CALL, History
from inspector.strategies.history.tools import tool_kind_mask
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.conversation_items import ConversationItem


_PER_MESSAGE = 3


_PER_IMAGE = 85


_AROUND_CALL = len("{'name': , 'args': , 'id': , 'type': 'tool_call'}")


_RESULT_ROLE, _ASSISTANT_ROLE, _USER_ROLE = len("tool"), len("assistant"), len("user")


def langchain_tokens(characters: int, images: int = 0, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Estimate the tokens of a message: `count_tokens_approximately` (langchain-core `messages/utils.py`)."""
    return math.ceil(characters / characters_per_token) + _PER_MESSAGE + _PER_IMAGE * images


def langchain_characters(context: CallContext, item: ConversationItem) -> tuple[int, int]:
    """Return LangChain's characters and images of a message as sent, with role, names and calls in Python form."""
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
    """A run of the summarization on one session. `window`: the model's context window in tokens."""

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


_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class PreviewLines:
    """Send the first and last lines of a text over a limit, numbered, with a note on where the full text is.

    The texts come from deepagents 0.7 (`middleware/_message_eviction.py`, `backends/utils.py`).

    Attributes:
        limit: Longest text that is left whole, in characters.
        head: Lines shown from the beginning.
        tail: Lines shown from the end.
        of_result: True for a tool result, False for a message.
    """

    limit: int
    head: int
    tail: int
    folder: str
    of_result: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source) if rendition.length > self.limit else None
        if text is None:
            return rendition
        if self.of_result:
            identifier = source.block.tool_call_id
            path = f"{self.folder}/{file_name(identifier)}"
            return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, identifier))
        path = f"{self.folder}/{source.block.digest.hex()}.md"
        return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, None))


def file_name(identifier: str) -> str:
    name = identifier.replace(".", "_").replace("/", "_").replace("\\", "_")
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return f"call-{hashlib.sha256(identifier.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return name or "unknown"


EXEMPT = ("ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete")
_MOST = 1_000_000
_ARGUMENT_KEPT = 20
"""Characters kept of a long argument."""


@dataclass(frozen=True)
class DeepagentsEvict(Parametrized):
    """Replace large results and messages with numbered lines from both ends, once, when they are first sent."""

    name = "deepagents-evict"
    title = "Evict large results (deepagents)"
    summary = "Save large results and messages to files when they are first sent, and show both ends."
    source = "deepagents 0.7.32 FilesystemMiddleware"
    agent_settings = AgentSettings(
        {"limit": "tool_token_limit_before_evict", "message-limit": "human_message_token_limit_before_evict"},
        constants=("head", "tail", "exempt-tools", "folder", "message-folder"),
    )

    limit: int = integer(20_000, "Largest result sent whole; 0 for no limit.", "tokens", maximum=_MOST, group="result")
    message_limit: int = integer(
        50_000,
        "Largest user message sent whole; 0 for no limit.",
        "tokens",
        maximum=_MOST,
        group="message",
    )
    head: int = integer(5, "Lines shown from the beginning.", "lines", maximum=1_000)
    tail: int = integer(5, "Lines shown from the end.", "lines", maximum=1_000)
    exempt_tools: tuple[str, ...] = tools(
        EXEMPT, "Tools with results that are never saved.", group="result", about=ToolList.LEFT_ALONE
    )
    folder: str = string("/large_tool_results", "Folder in which the agent saves results.", group="result")
    message_folder: str = string("/conversation_history", "Folder in which the agent saves messages.", group="message")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        if self.limit:
            results = history.results_of(~tool_kind_mask(history.tool_names, (), self.exempt_tools))
            limit = self.limit * CHARACTERS_PER_TOKEN
            preview = PreviewLines(limit, self.head, self.tail, self.folder)
            builder.add_at_insertion(results, Decision(preview, "large result", "result"))
        if self.message_limit:
            limit = self.message_limit * CHARACTERS_PER_TOKEN
            texts = ((history.kind == BlockKind.USER_TEXT) & (history.characters > limit)).nonzero()[0].astype("int32")
            preview = PreviewLines(limit, self.head, self.tail, self.message_folder, of_result=False)
            builder.add_at_insertion(texts, Decision(preview, "large message", "message"))
        return builder.schedule()


@dataclass(frozen=True, slots=True)
class TruncateArguments:
    """Cut argument texts over `limit` characters, in valid JSON; `marker` follows what is left."""

    limit: int
    marker: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut the arguments; return the rendition unchanged if they are not an object."""
        text = sent_text(rendition, source) if rendition.length > self.limit else None
        try:
            given = json.loads(text) if text else None
        except (ValueError, RecursionError):
            return rendition
        if not isinstance(given, dict):
            return rendition
        cut = {
            name: value[:_ARGUMENT_KEPT] + self.marker if isinstance(value, str) and len(value) > self.limit else value
            for name, value in given.items()
        }
        return rendition if cut == given else Rendition((json.dumps(cut),), Action.CUT, rendition.kind)


@dataclass(frozen=True)
class DeepagentsTruncateArguments(Parametrized):
    """Cut the arguments of old calls that write files, while the conversation is over a trigger.

    Source: `SummarizationMiddleware` of deepagents 0.7.32 (`middleware/summarization.py`, `_truncate_args`), with the
    settings that `compute_summarization_defaults` returns for a model with a known window: above 85 % of it, calls
    before the newest tenth are cut, at every call again and before anything is summarized. For a model with an unknown
    window both settings are twenty messages. Tokens are estimated from characters, as in LangChain.
    """

    name = "deepagents-truncate-arguments"
    title = "Truncate arguments (deepagents)"
    summary = "While a conversation is over a trigger, cut long texts in the arguments of its older write calls."
    source = "deepagents 0.7.32 SummarizationMiddleware, truncate_args_settings"

    trigger_fraction: float = number(
        0.85, "Fraction of the window at which it starts; 0 to use the other triggers.", minimum=0.0, maximum=1.0
    )
    trigger_tokens: int = integer(
        0, "Estimated tokens at which it starts instead; 0 for none.", "tokens", maximum=2_000_000
    )
    trigger_messages: int = integer(0, "Messages at which it starts instead; 0 for none.", "messages", maximum=100_000)
    keep_fraction: float = number(
        0.1, "Newest fraction of the window that stays whole; 0 to count messages.", minimum=0.0, maximum=1.0
    )
    keep_messages: int = integer(
        20, "Number of newest messages that stay whole if keep-fraction is 0.", "messages", maximum=100_000
    )
    max_length: int = integer(2_000, "Longest argument that stays whole.", "characters", maximum=_MOST)
    truncation_text: str = string("...(argument truncated)", "Text appended to the beginning of a cut argument.")
    tools: tuple[str, ...] = tools(
        ("write_file", "edit_file"), "Cut the arguments of these tools.", about=ToolList.ONLY
    )
    characters_per_token: float = number(
        4.0,
        "Characters per token; LangChain uses 3.3 for Anthropic's models.",
        "characters",
        minimum=1.0,
        maximum=10.0,
    )
    window: int = model_window()

    def triggers(self, window: int) -> tuple[float, ...]:
        if self.trigger_messages:
            return (0,)
        return (self.trigger_tokens or max(int((self.window or window) * self.trigger_fraction), 1),)

    def start(self, history: History) -> DeepagentsTruncateArgumentsRun:
        return DeepagentsTruncateArgumentsRun(self, history)


@dataclass
class _Written:
    """One conversation.

    Attributes:
        system: Estimated tokens of the system text and the tools, if recorded.
        sums: Running token estimate up to and including each message, nothing cut.
        calls: Its writing calls not cut yet, each with the index of its message.
    """

    system: int = 0
    sums: list[int] = field(default_factory=list)
    calls: deque[tuple[int, int]] = field(default_factory=deque)


class DeepagentsTruncateArgumentsRun(ThreadRun[DeepagentsTruncateArguments, _Written]):
    """A run of the cutting on one session. A conversation over the trigger stays over it, because it only grows."""

    measures_prompts = False
    reset_decision = CONTEXT_RESET

    def __init__(self, strategy: DeepagentsTruncateArguments, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window)
        self._characters = LANGCHAIN_CHARACTERS.within(history)
        self._named = frozenset(strategy.tools)
        self._cut = Decision(
            TruncateArguments(strategy.max_length, strategy.truncation_text),
            "older call, conversation over the trigger",
        )

    def begin(self) -> _Written:
        return _Written()

    def decide(self, state: _Written, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        blocks = self.history.session.blocks
        for item in self.items(arrived):
            counted = self._characters(context, item)
            tokens = langchain_tokens(*counted, self.strategy.characters_per_token)
            place = len(state.sums)
            state.sums.append(tokens + (state.sums[-1] if state.sums else 0))
            for block in item.blocks:
                if self.history.kind_bytes[block] == TOOL_CALL and blocks[block].tool_name in self._named:
                    state.calls.append((place, block))
        for block in arrived:
            if self.history.kind_bytes[block] == SYSTEM_TEXT:
                characters = context.length(block) + len("system")
                state.system += langchain_tokens(characters, 0, self.strategy.characters_per_token)
        total = state.system + (state.sums[-1] if state.sums else 0)
        context.note_estimate(total)
        return self._truncate(state, context) if self._is_reached(state, total) else ()

    def _is_reached(self, state: _Written, tokens: int) -> bool:
        strategy = self.strategy
        if strategy.trigger_messages:
            return len(state.sums) >= strategy.trigger_messages
        return tokens >= (strategy.trigger_tokens or max(int(self.window * strategy.trigger_fraction), 1))

    def _cutoff(self, state: _Written) -> int:
        strategy, count = self.strategy, len(state.sums)
        if not strategy.keep_fraction:
            return 0 if count <= strategy.keep_messages else count - strategy.keep_messages
        target = max(int(self.window * strategy.keep_fraction), 1)
        # The earliest message that can start the tail so that all of it fits.
        total = state.sums[-1] if state.sums else 0
        return 0 if total <= target else bisect_left(state.sums, total - target) + 1

    def _truncate(self, state: _Written, context: CallContext) -> Iterator[Choice]:
        cutoff = self._cutoff(state)
        if cutoff >= len(state.sums):
            # If not even the newest message fits, nothing is cut.
            return
        while state.calls and state.calls[0][0] < cutoff:
            _, block = state.calls.popleft()
            if context.length(block) > self.strategy.max_length:
                yield Choice(block, self._cut)
