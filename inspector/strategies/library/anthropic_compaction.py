"""Compaction by the Anthropic API: the server replaces the conversation with a summary at a token threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.core.parametrized import Parametrized, integer, summary_length
from inspector.strategies.core.strategy import AgentSettings, Choice
from inspector.strategies.core.summarized_prefix import SummarizedPrefix
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.conversation_items import ConversationItem
from inspector.strategies.library.summarize import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.history import History

Sent = SummarizedPrefix[ConversationItem]


@dataclass(frozen=True)
class AnthropicCompact(Parametrized):
    """Replace the whole conversation with a summary once a prompt reaches a threshold.

    Source: Anthropic's documentation of compaction at a token threshold, strategy `compact_20260112` (beta header
    `compact-2026-01-12`). The API checks the input tokens of a request. At the threshold it summarizes everything sent,
    including the newest messages, in an additional request to the same model, which is billed and listed in
    `usage.iterations`. The answer continues from the summary, and later requests drop everything before it. The system
    prompt and the tools are kept. With `pause_after_compaction` the program may send its newest messages again after
    the summary, which is `keep-messages`.

    No model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected. The
    request that would write it is charged without cache reads; the API's own request can read the cached prompt.
    """

    name = "anthropic-compact"
    title = "Compaction (Anthropic API)"
    summary = "Once a prompt reaches the threshold, replace the conversation with a summary of assumed length."
    source = "Anthropic API compaction, compact_20260112"
    agent_settings = AgentSettings(
        {"trigger": "trigger.value", "keep-messages": "pause_after_compaction"},
        {"type": "compact_20260112"},
        constants=("summary-tokens",),
    )

    trigger: int = integer(
        150_000,
        "Input tokens at which it summarizes; the API accepts 50,000 or more.",
        "tokens",
        maximum=2_000_000,
    )
    keep_messages: int = integer(
        0,
        "Newest messages sent after the summary; all results of a batch are one.",
        "messages",
        maximum=1_000,
    )
    summary_tokens: int = summary_length()

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.trigger,)

    def start(self, history: History) -> AnthropicCompactRun:
        return AnthropicCompactRun(self, history)


class AnthropicCompactRun(ThreadRun[AnthropicCompact, Sent]):
    """A run of the compaction on one session."""

    def begin(self) -> Sent:
        return SummarizedPrefix()

    def decide(self, state: Sent, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for item in self.items(arrived):
            state.add(item, 0)
        if context.prompt_tokens < self.strategy.trigger:
            return ()
        cut = self._cut(state)
        gone = state.blocks_until(cut)
        if not gone:
            return ()
        read = gone + [state.summary] * (state.summary >= 0)
        context.note_model_call(context.total_tokens(read), self.strategy.summary_tokens)
        text = summary_placeholder(cut, self.strategy.summary_tokens)
        return state.summarize(cut, text, f"summarized when the prompt reached {self.strategy.trigger:,} tokens")

    def _cut(self, state: Sent) -> int:
        """Return the index of the first item kept. Batches are not split, and results keep their calls."""
        items, messages = state.messages, self.strategy.keep_messages
        at = len(items)
        while at > state.start and messages > 0:
            at -= 1
            while at > state.start and items[at - 1].message == items[at].message:
                at -= 1
            messages -= 1
        while state.start < at < len(items) and items[at].is_result:
            at -= 1
        return at
