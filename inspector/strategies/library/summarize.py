"""Summarize the middle of the conversation when a prompt is about to reach a threshold.

Everything between the first message and the newest ones is removed, and a summary is appended to the first message.
Source: `SummarizeCompactionStrategy` of the micro-x agent loop (`compaction.py`), which replaced its token budget;
"LLM-Generated Summaries" are the second approach considered in that budget's design.

No model writes the summary here. A placeholder of the assumed length replaces it, so later calls are projected. The
request that would write it is recorded, so that it is charged. The short acknowledgment that the program inserts after
it is omitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind, Session
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.parametrized import Parametrized, choice, integer
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History

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
    """Return the median length of the summaries recorded after a session's compactions, estimated from characters.

    None if it recorded none: compactions that only cleared results leave no summary.
    """
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
