"""Cost of a pause: leave the session, keep its cache warm, compact it now, or start a new one.

Each option is priced up to and including the next prompt, for pauses of some lengths and for the user's own ones. Later
prompts are not compared: a compacted or new session continues with a smaller context, and with less knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.context_window import (
    AFTER_SECONDS,
    AGENT,
    FIRST_VERSION,
    MIN_TOKENS,
    SETTING,
    SUMMARY_TOKENS,
    agent_version,
)
from inspector.report.numbers import ON_SCREEN, age
from inspector.session.model import Message, Role

if TYPE_CHECKING:
    from collections.abc import Sequence


PAUSES: Final = (300.0, 3600.0, 28_800.0)
"""Lengths of pauses that are always priced, in seconds."""

LEAST_PAUSES: Final = 10
"""Number of own pauses needed for an expected cost."""

SHORTEST_PAUSE: Final = 60.0
"""A shorter time before the user's next message is no pause."""

HOUR: Final = 3600.0

_COMMANDS: Final = {
    "claude-code": ("/compact", "/clear"),
    "codex": ("/compact", "/new"),
    "opencode": ("/compact", "/new"),
}
"""Commands that compact and that start a new session, by format."""


class PauseAction(StrEnum):
    """Possible action before a pause."""

    LEAVE = "leave it"
    KEEP_WARM = "keep it warm"
    COMPACT = "compact now"
    NEW = "new session"


class PausePrices(NamedTuple):
    """Sizes and prices on which the cost of a pause depends.

    Attributes:
        prompt: Tokens of the next prompt.
        warm_usd: Its cost with a warm cache.
        cold_usd: Its cost with a cold cache.
        read: Dollars per token read from the cache.
        write: Dollars per token written to the cache, or of uncached input.
        output: Dollars per token of a response.
        lifetime: Lifetime of the cache in seconds.
        fresh: Tokens of a new session's first prompt; None if unknown.
        compacted: Tokens of the prompt after a compaction; None if unknown.
    """

    prompt: float
    warm_usd: float
    cold_usd: float
    read: float
    write: float
    output: float
    lifetime: float
    fresh: float | None = None
    compacted: float | None = None


@dataclass(frozen=True, slots=True)
class PauseCost:
    """Cost of a pause, with the next prompt."""

    seconds: float
    usd: Figure


@dataclass(frozen=True, slots=True)
class PauseOption:
    """An action before a pause, with its costs.

    Attributes:
        costs: Costs for `PAUSES`.
        expected_usd: Mean cost over the user's own pauses that are longer than this one so far; value None if too few.
        setting: Command or setting of the agent that does it; empty if there is none.
        loses_context: True if the next prompt lacks most of the conversation.
    """

    action: PauseAction
    costs: tuple[PauseCost, ...]
    expected_usd: Figure
    setting: str = ""
    loses_context: bool = False


@dataclass(frozen=True, slots=True)
class PauseAdvice:
    """Costs of a pause.

    Attributes:
        pauses: Number of own pauses that count.
        best: Cheapest action that keeps the context; None without enough pauses.
        compacts_at: Time at which the agent compacts the idle session, seconds since the epoch; None if it does not.
    """

    options: tuple[PauseOption, ...]
    pauses: int
    best: PauseAction | None = None
    compacts_at: float | None = None


def pauses_of(messages: Sequence[Message]) -> list[float]:
    """Return the seconds before each of the user's messages that ended a pause."""
    found, last = [], None
    for message in messages:
        if message.thread or message.is_synthetic or message.is_inherited or message.time is None:
            continue
        if message.role is Role.USER and last is not None and message.time - last >= SHORTEST_PAUSE:
            found.append(message.time - last)
        last = message.time
    return found


def pause_advice(
    prices: PausePrices, pauses: Sequence[float], *, format_name: str, agent: str, last: float, now: float
) -> PauseAdvice:
    """Price the actions before a pause that began with the last record.

    Args:
        pauses: The user's own pauses.
        agent: The agent with its version.
        last: Time of the last record, seconds since the epoch.
        now: Seconds since the epoch.
    """
    longer = [pause for pause in pauses if pause > now - last]
    is_idle_compacted = (
        format_name == AGENT
        and agent_version(agent) >= FIRST_VERSION
        and prices.lifetime >= HOUR
        and prices.prompt >= MIN_TOKENS
        and prices.compacted is not None
    )
    compact, new = _COMMANDS.get(format_name, ("", ""))
    hour = '"promptCacheTtl": "1h"' if format_name == AGENT and prices.lifetime < HOUR else ""
    settings = {
        PauseAction.LEAVE: SETTING if is_idle_compacted else "",
        PauseAction.KEEP_WARM: hour,
        PauseAction.COMPACT: compact,
        PauseAction.NEW: new,
    }
    options = []
    for action, setting in settings.items():
        costs = [_cost(prices, action, pause, is_idle_compacted=is_idle_compacted) for pause in (*PAUSES, *longer)]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs):
            continue
        own = known[len(PAUSES) :]
        expected = sum(own) / len(own) if len(own) >= LEAST_PAUSES else None
        options.append(
            PauseOption(
                action,
                tuple(PauseCost(at, _projected(usd)) for at, usd in zip(PAUSES, known, strict=False)),
                _projected(expected),
                setting,
                loses_context=action in (PauseAction.COMPACT, PauseAction.NEW),
            )
        )
    keeping = [each for each in options if not each.loses_context and each.expected_usd.value is not None]
    best = min(keeping, key=lambda each: each.expected_usd.value or 0.0).action if keeping else None
    return PauseAdvice(tuple(options), len(longer), best, last + AFTER_SECONDS if is_idle_compacted else None)


def _cost(prices: PausePrices, action: PauseAction, pause: float, *, is_idle_compacted: bool) -> float | None:
    """Return the dollars of a pause with the next prompt; None if a size is unknown."""
    if action is PauseAction.NEW:
        return None if prices.fresh is None else prices.fresh * prices.write
    if action is PauseAction.KEEP_WARM:
        renewals = max(ceil(pause / prices.lifetime) - 1, 0)
        return prices.warm_usd + renewals * prices.prompt * prices.read
    compacted = None
    if prices.compacted is not None:
        compacted = prices.warm_usd + SUMMARY_TOKENS * prices.output + prices.compacted * prices.write
    if action is PauseAction.COMPACT:
        return compacted
    if pause <= prices.lifetime and not (is_idle_compacted and pause > AFTER_SECONDS):
        return prices.warm_usd
    return compacted if is_idle_compacted else prices.cold_usd


def _projected(usd: float | None) -> Figure:
    return Figure(usd, HowKnown.PROJECTED)


def advice_lines(name: str, advice: PauseAdvice, *, has_settings: bool = True) -> list[str]:
    """Format the costs as a table below the session's name, which is safe for display."""
    heads = [age(seconds) for seconds in PAUSES] + ["your pauses"] * bool(advice.best)
    lines = [
        f"{name}: cost of a pause with the next prompt",
        f"  {'pause of':<14}" + "".join(f"{head:>12}" for head in heads),
    ]
    for option in advice.options:
        figures = [cost.usd for cost in option.costs] + [option.expected_usd] * bool(advice.best)
        cells = "".join(f"{ON_SCREEN.qualified(ON_SCREEN.dollars(each.value), each.known):>12}" for each in figures)
        mark = "*" if option.action is advice.best else " "
        lines.append(f"{mark} {option.action:<14}{cells}   {option.setting * has_settings}".rstrip())
    if advice.best:
        lines.append(f"* cheapest that keeps the context, over {ON_SCREEN.plural(advice.pauses, 'pause')} of yours")
    return lines
