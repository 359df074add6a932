"""Prune old tool results to a line each, as Hermes does: before compressing, or early and in batches.

Source: hermes-agent `agent/context_compressor.py`: the pass before a compression (0.19.0), and
`prune_tool_results_only`, which makes the same pass early and separately (0.20). Pruned results stay pruned.

Version 0.21 follows 0.21.0. It spares the newest messages: 2.5 % of the window, between 10,000 and 25,000 tokens, and
at least eight messages even if more are configured. If these still exceed that budget by half, their results are pruned
too: the oldest first except in the last three messages, then the rest, the newest result last. Lines are not pruned to
lines again. The three newest results with images keep them in any position. A skill just loaded or named by the user
stays. Lines give more detail on user answers and skills. The compression then demotes results in its own tail, the part
after its summary: results of 1,500 characters or more before the newest six rounds become a line with their location
(`hermes_tail`). 0.21.3 does the same.

Version 0.22 follows 0.22.2. It never changes a call. It spares at most a fifth of the window, even with the tolerance
of one half. The results at the end of a prompt, not yet seen by any answer, stay with their call unless they exceed a
fifth of the window. The tail is found by tokens alone, even if few messages remain. The last request or the last answer
with text is summarized too if the work since then is too large to stay. If nothing is left to summarize, nothing is
pruned either. 0.21.4 and 0.21.5 are in between: they find the tail nearly as 0.22 does, and shorten calls, with another
marker.

The pass before a compression is judged by the next prompt: after two passes that left it over the threshold, no more
are made until a prompt fits again. The early pass is made only if it reclaims enough, and then not until the
conversation has grown by as much as triggers it again. The summary that ends a compression is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.strategies.core.parametrized import Parametrized, choice, integer, model_window, number, window_of
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.library.hermes_messages import HermesMessages
from inspector.strategies.library.hermes_tail import PART_OF_WINDOW, PRESSURE, soft_ceiling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.strategy import CallContext, Choice
    from inspector.strategies.history.history import History

_LEAST_SPARED = 8
_SMALL_WINDOW, _FRACTION_OF_A_SMALL_ONE = 512_000, 0.75
_LEAST_THRESHOLD, _FRACTION_OF_THE_SMALLEST = 64_000, 0.85
_MOST_FAILURES = 2
_USUAL_THRESHOLD = 0.5
_RECOVERY = 300.0
"""Seconds after which 0.21 makes one more pass regardless of earlier results."""


def threshold_for(window: int, fraction: float, *, newer: bool = False) -> int:
    """Return the prompt tokens at which a conversation is compressed: `_compute_threshold_tokens`.

    Args:
        window: The model's context window in tokens.
        fraction: Configured fraction of it.
        newer: Follow 0.21, where the minimum threshold is capped at 0.85 of the window.
    """
    if window < _SMALL_WINDOW:
        fraction = max(fraction, _FRACTION_OF_A_SMALL_ONE)
    part = int(window * fraction)
    threshold = max(part, _LEAST_THRESHOLD)
    if newer and threshold > part:
        threshold = min(threshold, max(part, int(window * _FRACTION_OF_THE_SMALLEST)))
    if threshold < window:
        return threshold
    return max(1, min(int(window * _FRACTION_OF_THE_SMALLEST), window - 1))


_LEAN_PART, _LEAN_LEAST, _LEAN_MOST = 0.025, 10_000, 25_000


def lean_tail(window: int, *, newest: bool = False) -> int:
    """Return the tokens that 0.21 spares (`tail_token_budget`), in 0.22 at most a fifth of a window."""
    budget = max(_LEAN_LEAST, min(_LEAN_MOST, int(window * _LEAN_PART)))
    return max(1, min(budget, int(window * PART_OF_WINDOW))) if newest else budget


def _protect_last() -> Any:
    return integer(20, "Number of newest messages spared; each result counts as one.", "messages", maximum=10_000)


def _protect_first(help_text: str) -> Any:
    return integer(3, help_text, "messages", maximum=1_000)


def _minimum(default: int) -> Any:
    return integer(default, "Longest old result that stays whole.", "characters", maximum=10_000_000, group="line")


@dataclass(frozen=True)
class HermesPrepass(Parametrized):
    """Prune old results when a prompt reaches the threshold at which Hermes compresses."""

    name = "hermes-prepass"
    title = "Prune before compressing (Hermes)"
    summary = (
        "When a prompt reaches a fraction of the window, reduce results before the newest messages to a line each."
    )
    source = "hermes-agent 0.19.0, 0.21.0 and 0.22.2 agent/context_compressor.py, _prune_old_tool_results"
    note = (
        "With `version=0.21` the pass spares 2.5 % of the window, less under pressure, and demotes results; with "
        "`version=0.22` it leaves calls and unanswered results whole."
    )

    threshold: float = number(
        0.5, "Fraction of the window; at least 0.75 for windows below 512,000 tokens.", minimum=0.0, maximum=1.0
    )
    tail: float = number(
        0.2,
        "Spared newest part, as a fraction of the threshold; 0 to count messages.",
        minimum=0.0,
        maximum=1.0,
    )
    tail_tokens: int = integer(
        0, "Size of the spared messages instead; 0 to use the fraction.", "tokens", maximum=1_000_000
    )
    protect_last: int = _protect_last()
    minimum: int = _minimum(200)
    window: int = model_window()
    version: str = choice(
        ("0.19", "0.21", "0.22"),
        "Version of the pass: 0.21 spares less and demotes, 0.22 cuts no calls.",
    )
    protect_first: int = _protect_first("First messages that a compression never summarizes, from 0.21 on.")
    rounds: int = integer(
        6,
        "Newest rounds of results never demoted, from 0.21 on; 0 for no demotion.",
        "rounds",
        maximum=1_000,
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return (threshold_for(self.window or window, self.threshold, newer=self.version != "0.19"),)

    def start(self, history: History) -> HermesPrepassRun:
        return HermesPrepassRun(self, history)


@dataclass(frozen=True)
class HermesProactivePrune(Parametrized):
    """Prune old large results early, in worthwhile batches."""

    name = "hermes-proactive-prune"
    title = "Prune early (Hermes)"
    summary = (
        "Once prompts are long, reduce large results before the newest messages to a line each, in worthwhile batches."
    )
    source = "hermes-agent 0.20 agent/context_compressor.py, prune_tool_results_only"

    trigger: int = integer(48_000, "Prompt tokens at which pruning starts; 0 for never.", "tokens", maximum=2_000_000)
    minimum: int = _minimum(8_000)
    reclaim: int = integer(4_096, "Minimum to reclaim at once.", "tokens", maximum=1_000_000)
    protect_last: int = _protect_last()
    protect_first: int = _protect_first("First messages, counted when checking if there are too few to prune.")
    version: str = choice(("0.20", "0.21", "0.22"), "Version of the pass.")

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.trigger,)

    def start(self, history: History) -> HermesProactivePruneRun:
        return HermesProactivePruneRun(self, history)


class HermesPrepassRun(ThreadRun[HermesPrepass, HermesMessages]):
    """A run of the pass before compressing on one session.

    Attributes:
        threshold: Prompt tokens at which the pass runs.
        newer: True for 0.21 or later.
        newest: True for 0.22.
        window: The model's context window in tokens.
        budget: Tokens of the newest messages that are spared; 0 to count messages only.
    """

    def __init__(self, strategy: HermesPrepass, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window = window_of(history, strategy.window)
        self.newer, self.newest = strategy.version != "0.19", strategy.version == "0.22"
        self.threshold = threshold_for(window, strategy.threshold, newer=self.newer)
        is_lean = self.newer and strategy.tail
        part = lean_tail(window, newest=self.newest) if is_lean else int(self.threshold * strategy.tail)
        self.budget = strategy.tail_tokens or part

    def begin(self) -> HermesMessages:
        return HermesMessages(self.history, self.newer, self.newest)

    def begin_again(self, before: HermesMessages) -> HermesMessages:
        """Return a new state that keeps the record of earlier passes."""
        state = self.begin()
        state.failures, state.awaits_outcome = before.failures, before.awaits_outcome
        state.waited, state.has_passed = before.waited, before.has_passed
        return state

    def decide(self, state: HermesMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.add(context, self.items(arrived))
        last = context.previous_prompt_tokens
        if last < self.threshold:
            state.failures = 0
        elif state.awaits_outcome:
            state.failures += 1
        state.awaits_outcome = False
        reached = max(last, context.prompt_tokens) >= self.threshold
        if state.waited is not None:
            state.waited += context.idle_seconds or 0.0
        if not reached or self._gives_up(state):
            return ()
        strategy, budget = self.strategy, self.budget
        if self.newer and state.is_too_short(strategy.protect_first):
            return ()
        least = min(strategy.protect_last, _LEAST_SPARED) if self.newer else strategy.protect_last
        boundary = state.tail(budget, least) if budget else len(state.items) - strategy.protect_last
        pending = state.pending(self.window) if self.newest else range(0)
        boundary = min(boundary, pending.start) if pending else boundary
        state.prepare(context, boundary, strategy.minimum, pending)
        if self.newer and budget and not self._fit_tail(state, context, boundary, pending):
            return ()
        state.awaits_outcome = True
        return state.carry_out()

    def _fit_tail(self, state: HermesMessages, context: CallContext, boundary: int, pending: range) -> bool:
        """Find the edits after the summary; return False if 0.22 has nothing to summarize."""
        strategy, before = self.strategy, state.found
        ceiling = soft_ceiling(self.budget, self.window)
        most = ceiling if self.newest else int(self.budget * PRESSURE)
        state.relieve(context, boundary, most, strategy.minimum, pending)
        if not self.newest and not strategy.rounds:
            return True
        first, last = strategy.protect_first, strategy.protect_last
        tail = state.kept(self.budget, first, last, ceiling if self.newest else None)
        if tail is not None and strategy.rounds:
            state.demote(context, tail, strategy.rounds)
        if tail is None and self.newest:
            state.take_back(before)
            return False
        return True

    def _gives_up(self, state: HermesMessages) -> bool:
        """Return True if earlier passes achieved so little that none is made; 0.21 makes one every five minutes."""
        if state.failures < _MOST_FAILURES:
            state.waited = None
            return False
        if not self.newer:
            return True
        if state.waited is None:
            state.waited = 0.0
        elif state.waited >= _RECOVERY:
            state.waited, state.failures = None, _MOST_FAILURES - 1
            return False
        return True


class HermesProactivePruneRun(ThreadRun[HermesProactivePrune, HermesMessages]):
    """A run of the early pass on one session."""

    def __init__(self, strategy: HermesProactivePrune, history: History) -> None:
        super().__init__(strategy, history)
        self._window = window_of(history, 0)
        self._threshold = threshold_for(self._window, _USUAL_THRESHOLD, newer=True)

    def begin(self) -> HermesMessages:
        version = self.strategy.version
        return HermesMessages(self.history, version != "0.20", version == "0.22")

    def decide(self, state: HermesMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.add(context, self.items(arrived))
        strategy, count = self.strategy, len(state.items)
        triggered = 0 < strategy.trigger <= context.previous_prompt_tokens and state.items[-1:]
        if not triggered or not state.items[-1].is_result:
            return ()
        too_few = count <= strategy.protect_last + strategy.protect_first + 1
        # In 0.22 a prompt that should be compressed but is not does not wait for growth.
        is_over = state.newest and context.previous_prompt_tokens >= self._threshold
        if too_few or (state.total < state.rearmed_at and not is_over):
            return ()
        boundary, pending = count - strategy.protect_last, range(0)
        if state.newest and (pending := state.pending(self._window)):
            boundary = min(boundary, pending.start)
        state.prepare(context, boundary, strategy.minimum, pending)
        saves = state.saves
        if not state.prunes or saves < strategy.reclaim:
            return ()
        choices = list(state.carry_out())
        state.rearmed_at = state.total + max(saves, strategy.trigger, strategy.reclaim)
        return choices
