"""Prune old tool results to a line each, as Hermes does it: before compressing, or early and in batches.

Source: hermes-agent `agent/context_compressor.py`: the pass that comes before a compression (0.19.0), and
`prune_tool_results_only`, which makes the same pass early and on its own (0.20). What was pruned stays pruned.

The pass before a compression is judged by the prompt that follows: after two of them that left it over the threshold
none is made until a prompt fits again. The early one is made only where it reclaims enough, and then not until the
conversation has grown by as much as sets it off again. The summary a compression ends with is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from inspector.strategies.hermes_pass import HermesConversation
from inspector.strategies.settings import model_window, number, whole
from inspector.strategies.thread_runs import Reader, sent_again
from inspector.strategies.tunable import Tunable
from inspector.strategies.windows import window_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Choice, Moment
    from inspector.strategies.history import History

_SMALL_WINDOW, _FRACTION_OF_A_SMALL_ONE = 512_000, 0.75
_LEAST_THRESHOLD, _FRACTION_OF_THE_SMALLEST = 64_000, 0.85
_MOST_FAILURES = 2


def threshold_for(window: int, fraction: float) -> int:
    """The prompt tokens from which on a conversation is compressed: `_compute_threshold_tokens`."""
    if window < _SMALL_WINDOW:
        fraction = max(fraction, _FRACTION_OF_A_SMALL_ONE)
    threshold = max(int(window * fraction), _LEAST_THRESHOLD)
    if threshold < window:
        return threshold
    return max(1, min(int(window * _FRACTION_OF_THE_SMALLEST), window - 1))


def _protect_last() -> Any:
    return whole(
        "protect-last", 20, "Newest messages that are spared, each result being one.", "messages", maximum=10_000
    )


def _minimum(default: int) -> Any:
    return whole(
        "minimum", default, "Longest old result that stays whole.", "characters", maximum=10_000_000, group="line"
    )


@dataclass(frozen=True)
class HermesPrepass(Tunable):
    """Prune old results when a prompt reaches the threshold at which Hermes compresses."""

    name: ClassVar[str] = "hermes-prepass"
    title: ClassVar[str] = "Prune before compressing (Hermes)"
    summary: ClassVar[str] = (
        "When a prompt reaches a part of the window, leave a line of each result before the newest messages."
    )
    source: ClassVar[str] = "hermes-agent 0.19.0 agent/context_compressor.py, _prune_old_tool_results"

    threshold: float = number(
        "threshold", 0.5, "Part of the window; at least 0.75 of one below 512,000 tokens.", minimum=0.0, maximum=1.0
    )
    tail: float = number(
        "tail",
        0.2,
        "Part of the threshold that the newest messages, which are spared, come to; 0 to count messages alone.",
        minimum=0.0,
        maximum=1.0,
    )
    tail_tokens: int = whole(
        "tail-tokens", 0, "What they come to instead; 0 for that part.", "tokens", maximum=1_000_000
    )
    protect_last: int = _protect_last()
    minimum: int = _minimum(200)
    window: int = model_window()

    def start(self, history: History) -> HermesPrepassRun:
        """A fresh run over one session."""
        threshold = threshold_for(window_of(history, self.window), self.threshold)
        return HermesPrepassRun(self, _Conversations(history, Reader(history)), threshold)


@dataclass(frozen=True)
class HermesProactivePrune(Tunable):
    """Prune old large results early, in batches that are worth it."""

    name: ClassVar[str] = "hermes-proactive-prune"
    title: ClassVar[str] = "Prune early (Hermes)"
    summary: ClassVar[str] = (
        "Once prompts are long, leave a line of each large result before the newest messages, in worthwhile batches."
    )
    source: ClassVar[str] = "hermes-agent 0.20 agent/context_compressor.py, prune_tool_results_only"

    trigger: int = whole(
        "trigger", 48_000, "Prompt tokens from which on results are pruned; 0 for never.", "tokens", maximum=2_000_000
    )
    minimum: int = _minimum(8_000)
    reclaim: int = whole("reclaim", 4_096, "Least that is to be reclaimed at once.", "tokens", maximum=1_000_000)
    protect_last: int = _protect_last()
    protect_first: int = whole(
        "protect-first", 3, "First messages, which count where there are too few to prune.", "messages", maximum=1_000
    )

    def start(self, history: History) -> HermesProactivePruneRun:
        """A fresh run over one session."""
        return HermesProactivePruneRun(self, _Conversations(history, Reader(history)))


@dataclass
class _Conversations:
    """The conversations of a session, one a thread, as they grow."""

    history: History
    reader: Reader
    _by_thread: dict[int, HermesConversation] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)

    def take(self, moment: Moment) -> tuple[HermesConversation, list[Choice]]:
        """The conversation a call continues, with what arrived; what another context sends anew is whole again."""
        number, arrived = self.reader.thread(moment), self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context or number not in self._by_thread:
            self._by_thread[number] = HermesConversation(self.history)
            choices = sent_again(self._changed, arrived)
        conversation = self._by_thread[number]
        conversation.add(moment, self.reader.entries(arrived))
        return conversation, choices

    def carry_out(self, conversation: HermesConversation) -> Iterator[Choice]:
        """Make a pass."""
        for choice in conversation.carry_out():
            self._changed.add(choice.block)
            yield choice


@dataclass
class HermesPrepassRun:
    """The pass before compressing at work on one session.

    Attributes:
        strategy: The values.
        conversations: The session's conversations.
        threshold: Prompt tokens from which on it is made.
    """

    strategy: HermesPrepass
    conversations: _Conversations
    threshold: int
    _failures: dict[int, int] = field(default_factory=dict)
    _judged: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then make the pass if the prompt has reached the threshold."""
        conversation, choices = self.conversations.take(moment)
        number = self.conversations.reader.thread(moment)
        last = moment.previous_prompt_tokens
        if last < self.threshold:
            self._failures[number] = 0
        elif number in self._judged:
            self._failures[number] = self._failures.get(number, 0) + 1
        self._judged.discard(number)
        reached = max(last, moment.prompt_tokens) >= self.threshold
        if not reached or self._failures.get(number, 0) >= _MOST_FAILURES:
            return choices
        strategy = self.strategy
        budget = strategy.tail_tokens or int(self.threshold * strategy.tail)
        count = len(conversation.entries) - strategy.protect_last
        boundary = conversation.tail(budget, strategy.protect_last) if budget else count
        conversation.prepare(moment, boundary, strategy.minimum)
        self._judged.add(number)
        return [*choices, *self.conversations.carry_out(conversation)]


@dataclass
class HermesProactivePruneRun:
    """The early pass at work on one session.

    Attributes:
        strategy: The values.
        conversations: The session's conversations.
    """

    strategy: HermesProactivePrune
    conversations: _Conversations
    _rearmed_at: dict[int, int] = field(default_factory=dict)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then prune if the last prompt was long and enough can be reclaimed."""
        conversation, choices = self.conversations.take(moment)
        number = self.conversations.reader.thread(moment)
        if moment.starts_context:
            self._rearmed_at[number] = 0
        strategy, count = self.strategy, len(conversation.entries)
        triggered = 0 < strategy.trigger <= moment.previous_prompt_tokens and conversation.entries[-1:]
        if not triggered or not conversation.entries[-1].is_result:
            return choices
        too_few = count <= strategy.protect_last + strategy.protect_first + 1
        if too_few or conversation.total < self._rearmed_at.get(number, 0):
            return choices
        conversation.prepare(moment, count - strategy.protect_last, strategy.minimum)
        saves = conversation.saves
        if not conversation.prunes or saves < strategy.reclaim:
            return choices
        choices += self.conversations.carry_out(conversation)
        self._rearmed_at[number] = conversation.total + max(saves, strategy.trigger, strategy.reclaim)
        return choices
