"""Prune older tool results when a Haystack agent fills its window."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching
from inspector.strategies.core.measures import ItemMeasure, Measure
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    integer,
    model_window,
    number,
    string,
    tools,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT, TOOL_CALL, History

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem

PLACEHOLDER = "[Tool result removed to free up context. Call `{tool_name}` again if you need it.]"

TOOL_NAME = "{tool_name}"

PER_IMAGE, PER_FILE = 85, 1_000
"""Tokens that `ApproximateTokenCounter` counts for an image or a file, in addition to their line of text."""

_TEXTS = frozenset({BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.SYSTEM_TEXT})


def _sorted_length(text: str) -> int:
    try:
        return len(json.dumps(json.loads(text), sort_keys=True)) if text else len("{}")
    except (ValueError, RecursionError):
        return len(text)


ARGUMENTS = Measure(_sorted_length)
"""Length of a JSON text as Python serializes it with sorted keys; otherwise the length of the text itself."""


def haystack_size(context: CallContext, item: ConversationItem) -> tuple[int, int]:
    """Return the characters of a message as Haystack renders it for counting, and the tokens of its images and files.

    Source: `_render_message` in `token_counters/utils.py`. Reasoning is left out.
    """
    blocks, kinds = context.history.session.blocks, context.history.kind_bytes
    media = sum(_media_tokens(context, block) for block in item.blocks)
    if item.is_result:
        result = blocks[item.blocks[0]]
        label = f"[tool:{result.tool_name}{' (error)' if result.is_error else ''}] "
        shown = sum(len(_placeholder(each.media_type)) for each in result.media) if media else 0
        return len(label) + context.length(item.blocks[0]) + shown, media
    role = "assistant" if kinds[item.blocks[0]] in ASSISTANT else "user"
    texts = [block for block in item.blocks if kinds[block] in _TEXTS]
    lines = [len(f"[{role}] ") + sum(map(context.length, texts)) + len(texts) - 1] if texts else []
    for block in item.blocks:
        if kinds[block] == TOOL_CALL:
            arguments = ARGUMENTS.sent(context, block)
            lines.append(len(f"[{role} -> tool_call] {blocks[block].tool_name}()") + arguments)
    for block in item.blocks:
        lines += [len(f"[{role}] {_placeholder(each.media_type)}") for each in blocks[block].media]
    return (sum(lines) + len(lines) - 1, media) if lines else (len(f"[{role}] <no content>"), media)


def _media_tokens(context: CallContext, block: int) -> int:
    """Return the tokens of a block's images and files; 0 once its text is replaced."""
    media = context.history.session.blocks[block].media
    if not media or not context.is_whole(block):
        return 0
    return sum(PER_IMAGE if _is_image(each.media_type) else PER_FILE for each in media)


def _placeholder(media_type: str) -> str:
    return "<image>" if _is_image(media_type) else "<file: unnamed>"


def _is_image(media_type: str) -> bool:
    return not media_type or media_type.startswith("image/")


SIZES = ItemMeasure(haystack_size)
"""Characters and media tokens of a message."""


@dataclass(frozen=True)
class HaystackPrune(Batching):
    """Replace the oldest tool results with a placeholder once the conversation fills too much of the window.

    Source: `CompactionHook` with `ToolResultPruningCompactor` (haystack-ai 3.4.1, `hooks/compaction`, new in 3.1). The
    hook runs before every call. It takes the provider's count of the last request and its response, and adds an
    estimate of the messages since then; at the start of a run it estimates everything. When that reaches `compact-at`
    of the window, results are replaced oldest first until the estimate is down to `compact-to`. Small results, and the
    results of the newest steps with any, stay.

    Files count as 1,000 tokens and images as 85. Tool definitions are counted only if the session records them as
    system text.
    """

    name = "haystack-prune"
    title = "Prune tool results (Haystack)"
    summary = (
        "When the window fills up, replace the oldest tool results with a placeholder until it is down to a target."
    )
    source = "haystack-ai 3.4.1 CompactionHook and ToolResultPruningCompactor, hooks/compaction"
    agent_settings = AgentSettings(
        {
            "window": "context_window",
            "compact-at": "compact_at",
            "compact-to": "compact_to",
            "keep-steps": "min_keep_steps",
            "minimum": "min_tokens",
            "placeholder": "placeholder",
        }
    )

    window: int = model_window()
    compact_at: float = number(0.7, "Fraction of the window at which results are pruned.", minimum=0.0, maximum=1.0)
    compact_to: float = number(
        0.4, "Fraction of the window that pruning aims for; less than `compact-at`.", minimum=0.0, maximum=1.0
    )
    keep_steps: int = integer(
        1, "Number of newest steps with results that keep them.", "steps", minimum=1, maximum=10_000
    )
    minimum: int = integer(
        200, "Prune only results of more than this many estimated tokens.", "tokens", maximum=1_000_000
    )
    placeholder: str = string(PLACEHOLDER, "Text that replaces a result; `{tool_name}` becomes the name of its tool.")
    exclude_tools: tuple[str, ...] = tools((), "Tools that are never pruned.", about=ToolList.LEFT_ALONE)
    characters_per_token: float = number(
        4.0, "Characters per token of the estimate.", "characters", minimum=1.0, maximum=10.0
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * self.compact_at,)

    def start(self, history: History) -> HaystackPruneRun:
        return HaystackPruneRun(self, history)


@dataclass
class _HaystackMessages:
    """One conversation.

    Attributes:
        characters: Characters of its messages as rendered, including line breaks between them.
        media: Tokens of its images and files.
        since: Characters and media tokens of the messages after the model's last one.
        answer: Tokens of the model's last message; 0 before the first, and at the start of a run.
        results: Its tool results, oldest first, each with its characters and media tokens.
        steps: Number of results before each step with results.
        passed: Number of oldest results already pruned or permanently kept.
        is_in_step: True after a model message and its results.
        has_results: True if the current step has a result.
    """

    characters: int = -1
    media: int = 0
    since: tuple[int, int] = (-1, 0)
    answer: int = 0
    results: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    passed: int = 0
    is_in_step: bool = False
    has_results: bool = False


class HaystackPruneRun(ThreadRun[HaystackPrune, _HaystackMessages]):
    """A run of the pruning on one session. `window`: the model's context window in tokens."""

    reset_decision = CONTEXT_RESET

    def __init__(self, strategy: HaystackPrune, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window)
        self._size = SIZES.within(history)

    def begin(self) -> _HaystackMessages:
        return _HaystackMessages()

    def decide(self, state: _HaystackMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for block in arrived:
            if self._kinds[block] == BlockKind.SYSTEM_TEXT:
                state.characters += len("[system] ") + context.length(block) + 1
        for item in self.items(arrived):
            self._take(state, item, context)
        messages = self._tokens(state.characters, state.media)
        estimated = messages
        if state.answer and context.previous_prompt_tokens:
            estimated = context.previous_prompt_tokens + state.answer + self._tokens(*state.since)
        context.note_estimate(estimated)
        if estimated < self.window * self.strategy.compact_at:
            return ()
        target = max(int(self.window * self.strategy.compact_to) - (estimated - messages), 0)
        return self._prune(state, messages, target)

    def _tokens(self, characters: int, media: int) -> int:
        return int(max(characters, 0) / self.strategy.characters_per_token) + media

    def _take(self, state: _HaystackMessages, item: ConversationItem, context: CallContext) -> None:
        characters, media = self._size(context, item)
        state.characters += characters + 1
        state.media += media
        since, since_media = state.since
        state.since = since + characters + 1, since_media + media
        if item.is_result:
            if state.is_in_step and not state.has_results:
                state.steps.append(len(state.results))
                state.has_results = True
            state.results.append((item.blocks[0], (characters, media)))
        elif self._kinds[item.blocks[0]] in ASSISTANT:
            state.since, state.is_in_step, state.has_results = (-1, 0), True, False
            state.answer = context.total_tokens(item.blocks)
        else:
            state.is_in_step = False
            if self.asks(item):
                state.answer = 0  # a run begins without a count from the provider

    def _prune(self, state: _HaystackMessages, tokens: int, target: int) -> Iterator[Choice]:
        strategy, blocks = self.strategy, self.history.session.blocks
        newest = state.steps[-strategy.keep_steps :]
        end = newest[0] if newest else len(state.results)
        reason = f"the conversation reached {strategy.compact_at:.0%} of the window"
        while tokens > target and state.passed < end:
            block, (characters, media) = state.results[state.passed]
            state.passed += 1
            name = blocks[block].tool_name
            before = self._tokens(characters, media)
            if before <= strategy.minimum or name in strategy.exclude_tools:
                continue
            text = strategy.placeholder.replace(TOOL_NAME, name)
            label = len(f"[tool:{name}{' (error)' if blocks[block].is_error else ''}] ")
            after = label + len(text)
            if before <= self._tokens(after, 0):
                continue
            tokens -= before - self._tokens(after, 0)
            state.characters += after - characters
            state.media -= media
            yield Choice(block, Decision(ReplaceText(text), reason))
