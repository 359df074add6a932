"""The micro-x agent loop's rules: a token budget, the cap next to it, and the summary that replaced the budget.

The design is "Design: Token Budget Tool Result Compaction". `truncate-after-use` is an approach that it rejected.

`summarize` acts when a prompt is about to reach a threshold. Everything between the first message and the newest ones
is removed, and a summary is appended to the first message. Source: `SummarizeCompactionStrategy` of the micro-x agent
loop (`compaction.py`), which replaced its token budget; "LLM-Generated Summaries" are the second approach considered in
that budget's design.

No model writes the summary here. A placeholder of the assumed length replaces it, so later calls are projected. The
request that would write it is recorded, so that it is charged. The short acknowledgment that the program inserts after
it is omitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.batching import Batching, ScheduleBuilder
from inspector.strategies.core.operations import Action, RemoveBlock, Rendition, make_cut
from inspector.strategies.core.parameters import CHARACTERS, TOKENS
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    limit_unit,
    string,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arrival_order import result_runs
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.memo import TextMemo
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource, CutText, CutTokens
    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.conversation_items import ConversationItem


MARKER = "[truncated for context management]"
NOTICE = "Note: Compacted {count} old tool result(s) — input tokens ({tokens:,}) exceeded budget ({budget:,})"
"""Message the program prints to standard error whenever it has cut results."""

_ends_with_marker = TextMemo(lambda text: text.endswith(MARKER), False)


@dataclass(frozen=True)
class TokenBudget(Batching):
    """Cut old results when the last prompt was over the budget.

    Source: "Design: Token Budget Tool Result Compaction" (micro-x agent loop). After every response the prompt just
    sent is compared with the budget. Only if it is larger are results cut, all except those of the newest batch that
    the model has just answered. A cut is permanent. Because this happens before the response's tools have run, the next
    prompt holds two batches whole.

    In the document the marker follows the text directly; the program puts a blank line before it (variant `shipped`,
    StephenDenisEdwards/micro-x-agent-loop-python `agent.py`, `_compact_old_tool_results`). Both compare strictly, leave
    results that are lists of parts alone, and treat a text that ends with the marker as already cut.
    """

    name = "token-budget"
    title = "Token budget"
    summary = "When a prompt exceeds the budget, cut all results but the newest batch to their beginning."
    source = "Token Budget Tool Result Compaction, micro-x-agent-loop-python agent.py"
    agent_settings = AgentSettings({"budget": "InputTokenBudget", "keep": "ToolResultRetentionChars", "variant": ""})

    budget: int = integer(
        40_000, "Prompt tokens above which old results are cut; 0 for never.", "tokens", maximum=2_000_000
    )
    keep: int = integer(500, "Characters kept of each old result.", "characters", maximum=100_000)
    unit: str = limit_unit("the length kept")
    variant: str = choice(
        ("document", "shipped"),
        "Marker right after the text (document) or after a blank line (shipped).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.budget,)

    def start(self, history: History) -> TokenBudgetRun:
        return TokenBudgetRun(self, history)


@dataclass
class _UncutResults:
    """Results of one conversation that may still be cut, by batch, oldest first; `is_new` before any call."""

    batches: list[tuple[int, list[int]]] = field(default_factory=list)
    is_new: bool = True

    def add(self, results: list[int], runs: list[int]) -> None:
        for block in results:
            if not self.batches or self.batches[-1][0] != runs[block]:
                self.batches.append((runs[block], []))
            self.batches[-1][1].append(block)


class TokenBudgetRun(ThreadRun[TokenBudget, _UncutResults]):
    """A run of the token budget on one session. `runs`: per block, its batch."""

    keeps_changes = True

    def __init__(self, strategy: TokenBudget, history: History) -> None:
        super().__init__(strategy, history)
        self.runs: list[int] = result_runs(history)[history.message].tolist()
        self._done: set[int] = set()

    def begin(self) -> _UncutResults:
        return _UncutResults()

    def begin_again(self, before: _UncutResults) -> _UncutResults:
        """Return the same state: its results may be cut in the new context too, if that contains them."""
        return before

    def decide(self, state: _UncutResults, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        is_new, state.is_new = state.is_new, False
        results = self.results(arrived)
        if is_new and context.previous_prompt_tokens:
            # A conversation that begins with a history: the last prompt was measured with its blocks.
            state.add(results, self.runs)
        if context.starts_context:
            held = set(results)
            state.batches = [(run, [block for block in batch if block in held]) for run, batch in state.batches]
        choices = list(self._cut(state, context))
        if choices:
            tokens, budget = context.previous_prompt_tokens, self.strategy.budget
            context.note_printed(NOTICE.format(count=len(choices), tokens=tokens, budget=budget))
        if context.starts_context:
            state.batches.clear()
            results = [block for block in results if block not in self._done]
        state.add(results, self.runs)
        return choices

    def _cut(self, state: _UncutResults, context: CallContext) -> Iterable[Choice]:
        tokens, budget = context.previous_prompt_tokens, self.strategy.budget
        if not budget or tokens <= budget or len(state.batches) < 2:
            return
        separator = "\n\n" if self.strategy.variant == "shipped" else ""
        keep = self.strategy.keep
        operation = make_cut(self.strategy.unit, keep, keep, 0, separator + MARKER)
        decision = Decision(operation, f"old when a prompt of {tokens:,} tokens exceeded the budget of {budget:,}")
        old, state.batches = state.batches[:-1], state.batches[-1:]
        for _, batch in old:
            for block in batch:
                self._done.add(block)
                if self._is_to_be_cut(context, block):
                    yield Choice(block, decision)

    def _is_to_be_cut(self, context: CallContext, block: int) -> bool:
        if not self.history.plain_text[block]:
            return False
        return self._is_long(context, block) and not ends_with_marker(context, block)

    def _is_long(self, context: CallContext, block: int) -> bool:
        if self.strategy.unit == TOKENS:
            return context.tokens(block) > self.strategy.keep
        return context.length(block) > self.strategy.keep


def ends_with_marker(context: CallContext, block: int) -> bool:
    pieces = context.rendition(block).pieces
    last = pieces[-1] if pieces else ""
    if isinstance(last, str):
        return last.endswith(MARKER)
    recorded = context.history.session.blocks[block]
    if last.stop != recorded.characters or last.stop - last.start < len(MARKER):
        return context.text(block).endswith(MARKER)
    return _ends_with_marker(context.history.session, recorded)


@dataclass(frozen=True)
class TruncateAfterUse(Batching):
    """Cut every tool result once a response to it exists.

    Source: the first approach considered in "Design: Token Budget Tool Result Compaction" (micro-x agent loop). The
    document rejected it because it costs short conversations as much as long ones; it is here for comparison. In a
    conversation that begins with a history, results already answered there are cut at once.
    """

    name = "truncate-after-use"
    title = "Truncate right after use"
    summary = "Cut every tool result to its beginning from the call after the one that first sent it."
    source = "Token Budget Tool Result Compaction, approach 1, micro-x-agent-loop"

    keep: int = integer(500, "Characters kept of an answered result.", "characters", maximum=100_000)
    unit: str = limit_unit("the length kept")
    marker: str = string(MARKER, "Marker after cut text; {recall} is the command that prints the full text.")

    def schedule(self, history: History) -> Schedule:
        """Cut a result at its thread's next call after it was first sent, or on arrival if already answered."""
        results = history.results[history.plain_text[history.results]]
        results = results[history.enters[results] != NEVER]
        answered = _next_calls(history)[history.enters[results]]
        enters = history.enters[results]
        answered = np.where(_answered_before(history)[history.message[results]], enters, answered).astype(np.int32)
        builder = ScheduleBuilder(history)
        builder.add(results, answered, Decision(make_cut(self.unit, self.keep, self.keep, 0, self.marker), "answered"))
        return builder.schedule()


def _answered_before(history: History) -> NDArray[np.bool_]:
    """Return, per message, True if it was answered within its thread's first prompt, by an unrecorded call."""
    answered = np.zeros(len(history.message_enters), dtype=np.bool_)
    threads, calls = np.unique(history.call_thread, return_index=True)
    for call in calls[threads >= 0].tolist():
        prompt = history.prompt_messages(call).tolist()
        while prompt and history.session.messages[prompt[-1]].role is not Role.ASSISTANT:
            prompt.pop()
        answered[[message for message in prompt if history.message_enters[message] == call]] = True
    return answered


def _next_calls(history: History) -> NDArray[np.int32]:
    """Return, per call, the next call of the same thread, `NEVER` for the last."""
    following = np.full(len(history.call_context), NEVER, dtype=np.int32)
    thread = history.call_thread
    order = np.argsort(thread, kind="stable").astype(np.int32)
    same = thread[order[1:]] == thread[order[:-1]]
    following[order[:-1]] = np.where(same, order[1:], NEVER)
    return following


@dataclass(frozen=True)
class CapAtInsertion(Parametrized):
    """Cut results over a limit to their beginning, once, when they are inserted.

    Source: `MaxToolResultChars` of the micro-x agent loop (`agent.py`, `_truncate_tool_result`), the cap next to its
    token budget. A result is cut before the model sees it and never again, so no cached prompt changes.
    """

    name = "cap-at-insertion"
    title = "Cap at insertion"
    summary = "Keep only the beginning of results over a limit, from insertion on."
    source = "MaxToolResultChars, micro-x-agent-loop-python agent.py"
    agent_settings = AgentSettings({"limit": "MaxToolResultChars"})

    limit: int = integer(
        40_000,
        "Maximum length of a result; longer ones are cut to it; 0 for no limit.",
        "characters",
        maximum=1_000_000,
    )

    unit: str = limit_unit("the limit")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        cut = self.cut()
        if cut is not None:
            builder.add_at_insertion(history.results, Decision(cut, "over the limit at insertion"))
        return builder.schedule()

    def cut(self) -> CutText | CutTokens | None:
        if not self.limit:
            return None
        size = "{length:,} characters" if self.unit == CHARACTERS else "{tokens:,} tokens"
        marker = f"\n\n[OUTPUT TRUNCATED: Showing {self.limit:,} of {size} from {{tool}}]"
        return make_cut(self.unit, self.limit, self.limit, 0, marker, numbered=True)


_WORD = " summary"


@dataclass(frozen=True, slots=True)
class AppendSummary:
    """Send a text with a summary after it."""

    summary: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        appended = f"\n\n[CONTEXT SUMMARY]\n{self.summary}\n[END CONTEXT SUMMARY]"
        return Rendition((*rendition.pieces, appended), Action.REPLACED)


def summary_placeholder(messages: int, tokens: int) -> str:
    """Return a placeholder of about `tokens` tokens for a summary of `messages` messages."""
    opening = f"A model's summary of {messages:,} messages, taken to be {tokens:,} tokens long, stands here."
    return opening + _WORD * max(tokens - 24, 0)


_TEXTS = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.SYSTEM_TEXT)


def recorded_summary_tokens(session: Session) -> int | None:
    """Return the median estimated length of the summaries of compactions, None without summaries."""
    sizes = [
        sum(estimated_tokens(block.characters) for block in session.messages[at].blocks if block.kind in _TEXTS)
        for at in sorted({compaction.message for compaction in session.compactions if not compaction.is_partial})
        if at < len(session.messages) and session.messages[at].is_summary
    ]
    sizes = [size for size in sizes if size]
    return round(median(sizes)) if sizes else None


@dataclass(frozen=True)
class Summarize(Parametrized):
    """Replace the middle of a conversation with a summary, at a threshold."""

    name = "summarize"
    title = "Summarize at a threshold"
    summary = (
        "When a prompt would reach the threshold, replace all but the first and the newest messages with a summary of "
        "assumed length."
    )
    source = "SummarizeCompactionStrategy, micro-x-agent-loop-python compaction.py"

    threshold: int = integer(
        80_000,
        "Tokens at which the conversation is summarized.",
        "tokens",
        minimum=1_000,
        maximum=2_000_000,
    )
    tail: int = integer(6, "Number of newest messages kept.", "messages", minimum=1, maximum=1_000)
    trigger: str = choice(
        ("content", "prompt"),
        "Size that triggers: of the messages alone, or of the whole last prompt.",
    )
    summary_tokens: int = integer(
        1_500,
        "Assumed summary length; default: as recorded; the program allows 4,096.",
        "tokens",
        minimum=50,
        maximum=50_000,
    )

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.threshold,)

    def start(self, history: History) -> SummarizeRun:
        return SummarizeRun(self, history)


@dataclass
class _SentMessages:
    """One conversation: the messages still sent, and the number of messages summarized in its first one."""

    messages: list[list[ConversationItem]] = field(default_factory=list)
    summarized: int = 0
    tokens: int = 0

    def add(self, items: Iterable[ConversationItem]) -> None:
        for item in items:
            if self.messages and self.messages[-1][0].message == item.message:
                self.messages[-1].append(item)
            else:
                self.messages.append([item])


class SummarizeRun(ThreadRun[Summarize, _SentMessages]):
    """A run of the summarization on one session."""

    def __init__(self, strategy: Summarize, history: History) -> None:
        super().__init__(strategy, history)
        self.measures_prompts = strategy.trigger == "prompt"

    def begin(self) -> _SentMessages:
        return _SentMessages()

    def decide(self, state: _SentMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        items = self.items(arrived)
        state.add(items)
        state.tokens += sum(context.total_tokens(item.blocks) for item in items)
        tokens = state.tokens if self.strategy.trigger == "content" else context.previous_prompt_tokens
        return self._summarize(state, context, tokens) if tokens >= self.strategy.threshold else ()

    def _summarize(self, state: _SentMessages, context: CallContext, tokens: int) -> Iterable[Choice]:
        messages = state.messages
        end = self._boundary(messages, len(messages) - self.strategy.tail)
        anchor = self._anchor(messages[0]) if messages else -1
        if end <= 1 or anchor < 0:
            return
        middle = messages[1:end]
        del messages[1:end]
        # Each summary covers everything before it, including the previous summary; otherwise a long session would end
        # up as nothing but summaries.
        state.tokens -= self.strategy.summary_tokens if state.summarized else 0
        state.summarized += len(middle)
        reason = f"summarized at {tokens:,} tokens"
        gone = [block for message in middle for item in message for block in item.blocks]
        read = context.total_tokens(gone)
        state.tokens += self.strategy.summary_tokens - read
        removed = Decision(RemoveBlock(), reason)
        context.note_model_call(read, self.strategy.summary_tokens)
        summary = summary_placeholder(state.summarized, self.strategy.summary_tokens)
        yield Choice(anchor, Decision(AppendSummary(summary), reason))
        for block in gone:
            yield Choice(block, removed)

    def _boundary(self, messages: list[list[ConversationItem]], end: int) -> int:
        """Move `end` back so that no tool call is separated from its result, and no batch is split."""
        while end > 1 and messages[end][0].is_result:
            end -= 1
        return end

    def _anchor(self, first: list[ConversationItem]) -> int:
        """Return the last text of the first message, which carries the summary; -1 if it has none."""
        kinds = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT)
        texts = [block for item in first for block in item.blocks if self.history.kind[block] in kinds]
        return texts[-1] if texts else -1
