"""The prompt sizes at which strategies begin to act: what a chart draws as lines.

Every strategy measures in its own way (the provider's count of the prompt before, an estimate of the messages alone),
so that on a chart of prompts a line says where about it begins, not at which call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.strategies.history.history import USUAL_WINDOW
from inspector.strategies.library.cline import allowed_tokens
from inspector.strategies.library.hermes import threshold_for
from inspector.strategies.registry import value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.plan import Plan


class Trigger(NamedTuple):
    """A prompt size at which a strategy begins to act.

    Attributes:
        tokens: The size, above 0.
        entry: Index of the strategy among the plan's entries.
        name: The strategy's name.
    """

    tokens: int
    entry: int
    name: str


_IN_TOKENS: Final = {
    "token-budget": "budget",
    "summarize": "threshold",
    "langchain-clear-tool-uses": "trigger",
    "hermes-proactive-prune": "trigger",
}
"""Strategies one parameter of which is the size."""


def triggers_of(plan: Plan, window: int | None) -> tuple[Trigger, ...]:
    """Where the strategies of a plan that are switched on begin to act, smallest first.

    Args:
        plan: The plan.
        window: Size of the model's window as recorded, in tokens; None where the session does not say.
    """
    found = {
        Trigger(round(tokens), index, entry.strategy.name)
        for index, entry in enumerate(plan.entries)
        if entry.enabled
        for tokens in _tokens(entry.strategy, window)
        if tokens >= 1
    }
    return tuple(sorted(found))


def _tokens(strategy: Strategy, recorded_window: int | None) -> tuple[float, ...]:
    name = strategy.name
    if name in _IN_TOKENS:
        return (_number(strategy, _IN_TOKENS[name]),)
    if name == "anthropic-clear-tool-uses":
        counts_tokens = value_of(strategy, "trigger-type") == "input-tokens"
        return (_number(strategy, "trigger"),) if counts_tokens else ()
    rule = _OF_WINDOW.get(name)
    if rule is None:
        return ()
    return rule(strategy, _number(strategy, "window") or recorded_window or USUAL_WINDOW)


def _openhands(strategy: Strategy, window: float) -> tuple[float, ...]:
    return (min(_number(strategy, "max-tokens") or window, window),)


def _langchain(strategy: Strategy, window: float) -> tuple[float, ...]:
    return (_number(strategy, "trigger-tokens"), window * _number(strategy, "trigger-fraction"))


_OF_WINDOW: Final[dict[str, Callable[[Strategy, float], tuple[float, ...]]]] = {
    "langchain-summarization": _langchain,
    "openhands-condenser": _openhands,
    "pi-compaction": lambda strategy, window: (window - _number(strategy, "reserve"),),
    "gemini-compress": lambda strategy, window: (window * _number(strategy, "threshold"),),
    "openclaw-prune": lambda strategy, window: (
        window * _number(strategy, "soft-ratio"),
        window * _number(strategy, "hard-ratio"),
    ),
    "cline-truncate": lambda _, window: (allowed_tokens(round(window)),),
    "roo-truncate": lambda strategy, window: (window * 0.9 - _number(strategy, "reserved"),),
    "hermes-prepass": lambda strategy, window: (threshold_for(round(window), _number(strategy, "threshold")),),
}
"""Strategies that begin at a part of the window."""


def _number(strategy: Strategy, name: str) -> float:
    value = value_of(strategy, name)
    return float(value) if isinstance(value, int | float) else 0.0
