"""The Anthropic API's context management: clearing old tool uses and thinking, and compaction to a summary.

The beta header is `context-management-2025-06-27`. The provider edits the prompt before the model sees it; the agent
keeps and sends the whole conversation.

Compaction replaces the conversation with a summary at a token threshold, on the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import ClearInput, RemoveBlock, ReplaceText
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    string,
    summary_length,
    switch,
    tools,
)
from inspector.strategies.core.thread_runs import SummarizedPrefix, ThreadRun
from inspector.strategies.history.arrival_order import arrivals, later
from inspector.strategies.history.conversation_items import ConversationItem
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.history import History


PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True)
class AnthropicClearToolUses(Batching):
    """Replace all but the newest tool results with a placeholder once the prompt reaches a threshold.

    Source: Anthropic's documentation of context editing, strategy `clear_tool_uses_20250919`. Gaps in it are filled as
    follows. The placeholder text is not published, so it is a parameter. A cleared result stays cleared, consistent
    with "subsequent requests can reuse the newly cached prefix", and the threshold applies to the remaining prompt
    (with `sticky` off, to every request from scratch). Excluded tools count among the newest uses that stay.
    """

    name = "anthropic-clear-tool-uses"
    title = "Clear tool uses (Anthropic API)"
    summary = "Once a prompt reaches the threshold, clear the oldest tool results and keep the newest."
    source = "Anthropic API context editing, clear_tool_uses_20250919"
    agent_settings = AgentSettings(
        {
            "trigger": "trigger.value",
            "trigger-type": "trigger.type",
            "keep": "keep.value",
            "clear-at-least": "clear_at_least.value",
            "exclude-tools": "exclude_tools",
            "clear-tool-inputs": "clear_tool_inputs",
            "clear-inputs-of": "clear_tool_inputs",
        },
        {"type": "clear_tool_uses_20250919"},
        constants=("placeholder",),
    )

    trigger: int = integer(100_000, "Input tokens, or tool uses, at which results are cleared.", "", maximum=2_000_000)
    trigger_type: str = choice(("input-tokens", "tool-uses"), "Unit of the trigger: prompt tokens or tool uses.")
    keep: int = integer(3, "Number of newest tool uses kept whole.", "tool uses", maximum=1_000)
    clear_at_least: int = integer(
        0,
        "Clear nothing unless this many tokens can be cleared; 0 for no minimum.",
        "tokens",
        maximum=1_000_000,
    )
    exclude_tools: tuple[str, ...] = tools((), "Tools that are never cleared.", about=ToolList.LEFT_ALONE)
    clear_tool_inputs: bool = switch(False, "Clear the inputs of cleared uses too.")
    clear_inputs_of: tuple[str, ...] = tools(
        (), "Clear the inputs of these tools only; empty: clear-tool-inputs decides."
    )
    sticky: bool = switch(True, "Results stay cleared and no longer count; off: every prompt from scratch.")
    placeholder: str = string(PLACEHOLDER, "Text that replaces a cleared result.")

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.trigger,) if self.trigger_type == "input-tokens" else ()

    def start(self, history: History) -> AnthropicClearToolUsesRun:
        return AnthropicClearToolUsesRun(self, history)


@dataclass
class _ToolUses:
    """One conversation.

    Attributes:
        results: Tool results not cleared in an earlier context, oldest first.
        passed: Number of results cleared or excluded.
        weighed: Number of results that `removable` covers.
        removable: Tokens removed by clearing the weighed results that are not passed.
        counted: Counted tokens of everything that is sent.
        was_reached: True if a prompt of this context has reached the threshold.
    """

    results: list[int] = field(default_factory=list)
    passed: int = 0
    cleared: int = 0
    weighed: int = 0
    removable: int = 0
    counted: int = 0
    was_reached: bool = False


class AnthropicClearToolUsesRun(ThreadRun[AnthropicClearToolUses, _ToolUses]):
    """A run of the clearing on one session."""

    _latest: tuple[Decision, Decision] | None = None

    def begin(self) -> _ToolUses:
        return _ToolUses()

    def decide(self, state: _ToolUses, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.counted += context.total_tokens(arrived)
        state.results.extend(block for block in self.results(arrived) if block not in self.changed)
        end = len(state.results) - self.strategy.keep
        if end > state.passed and self._is_reached(state, context):
            self._weigh(state, end, context)
            if self._is_enough(state, context):
                yield from self._clear(state, end)

    def restored(self, arrived: list[int]) -> list[Choice]:
        """Reset the cleared results and their calls; nothing if cleared results stay cleared."""
        if self.strategy.sticky:
            return []
        cleared = [block for block in self.results(arrived) if block in self.changed]
        self.changed.difference_update(cleared)
        calls = self.history.call_block
        return [Choice(at, self.reset_decision) for block in cleared for at in (block, int(calls[block])) if at >= 0]

    def _is_reached(self, state: _ToolUses, context: CallContext) -> bool:
        strategy = self.strategy
        if strategy.sticky or not state.was_reached:
            uses = len(state.results) - (state.cleared if strategy.sticky else 0)
            counted = uses if strategy.trigger_type == "tool-uses" else context.prompt_tokens
            state.was_reached = counted >= strategy.trigger
        return state.was_reached

    def _is_enough(self, state: _ToolUses, context: CallContext) -> bool:
        scale = context.prompt_tokens / state.counted if state.counted else 1.0
        return state.removable * scale >= self.strategy.clear_at_least

    def _weigh(self, state: _ToolUses, end: int, context: CallContext) -> None:
        for block in state.results[state.weighed : end]:
            for choice_made in self._choices(block, ""):
                cleared = choice_made.block
                state.removable += context.tokens(cleared) - context.tokens_under(choice_made)
        state.weighed = end

    def _clear(self, state: _ToolUses, end: int) -> Iterator[Choice]:
        count = self.strategy.trigger_type == "tool-uses"
        reached = f"{self.strategy.trigger:,} {'tool uses' if count else 'tokens'}"
        reason = f"older than the newest {self.strategy.keep} tool uses when the prompt reached {reached}"
        for block in state.results[state.passed : end]:
            choices = self._choices(block, reason)
            if choices:
                state.cleared += 1
            yield from choices
        state.counted -= state.removable
        state.passed, state.removable = end, 0

    def _decisions(self, reason: str) -> tuple[Decision, Decision]:
        """Return the decisions for a result and for its call; the same objects while the reason stays the same."""
        if self._latest is None or self._latest[0].reason != reason:
            placeholder = ReplaceText(self.strategy.placeholder)
            self._latest = Decision(placeholder, reason), Decision(ClearInput(), reason)
        return self._latest

    def _choices(self, block: int, reason: str) -> list[Choice]:
        """Return the choices that clear a result; none if its tool is excluded."""
        strategy = self.strategy
        tool = self.history.session.blocks[block].tool_name
        if tool in strategy.exclude_tools:
            return []
        cleared, without_input = self._decisions(reason)
        choices = [Choice(block, cleared)]
        call = int(self.history.call_block[block])
        if call >= 0 and (tool in strategy.clear_inputs_of if strategy.clear_inputs_of else strategy.clear_tool_inputs):
            choices.append(Choice(call, without_input))
        return choices


@dataclass(frozen=True)
class AnthropicClearThinking(Batching):
    """Keep the thinking of the newest turns that have any.

    Source: Anthropic's documentation of context editing, strategy `clear_thinking_20251015`. An assistant turn is
    everything the model produces until the next user text, tool results excluded: a turn with tools is one, however
    many responses it took. Without this strategy the API keeps only the last turn's thinking, at least for older
    models. `keep=0` keeps all of it, the setting `"all"`. It comes before `anthropic-clear-tool-uses` in a plan.
    """

    name = "anthropic-clear-thinking"
    title = "Clear thinking (Anthropic API)"
    summary = "Keep the thinking of the newest assistant turns and drop earlier thinking."
    source = "Anthropic API context editing, clear_thinking_20251015"
    agent_settings = AgentSettings(
        {"keep": "keep.value"}, {"type": "clear_thinking_20251015", "keep.type": "thinking_turns"}
    )

    keep: int = integer(1, "Number of newest turns that keep their thinking; 0 for all.", "turns", maximum=1_000)
    turn: str = choice(
        ("until-user-speaks", "response"),
        "A turn is all responses until the next user text, or each response.",
    )

    def schedule(self, history: History) -> Schedule:
        """Remove thinking at the call that adds the thinking of the last of `keep` later turns."""
        builder = ScheduleBuilder(history)
        if not self.keep:
            return builder.schedule()
        old = Decision(RemoveBlock(), f"thinking of a turn older than the newest {self.keep}")
        thinking = history.kind == BlockKind.THINKING
        asks = _asks(history)
        counted = np.isin(history.kind, (BlockKind.SYSTEM_TEXT, BlockKind.OTHER), invert=True)
        for context in arrivals(history, counted):
            messages = history.message[context.blocks]
            begins = np.append(True, messages[1:] != messages[:-1])[: len(messages)]
            new_turn = begins & (asks[messages] if self.turn == "until-user-speaks" else True)
            of_turn = np.cumsum(new_turn)
            is_thinking = thinking[context.blocks]
            blocks, calls = context.blocks[is_thinking], context.calls[is_thinking]
            retained = int(np.count_nonzero(is_thinking[: context.retained]))
            builder.add(blocks[:retained], calls[:retained], CONTEXT_RESET)
            # Turns without thinking do not count.
            turns, turn = np.unique(of_turn[is_thinking], return_inverse=True)
            first = np.searchsorted(turn, np.arange(len(turns)))
            builder.add(blocks, later(calls[first], self.keep)[turn], old)
        return builder.schedule()


def _asks(history: History) -> NDArray[np.bool_]:
    """Return, per message, True if it has user content other than tool results."""
    messages = history.session.messages
    users = np.fromiter((message.role is Role.USER for message in messages), np.bool_, len(messages))
    return users & ~history.message_has_results


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
