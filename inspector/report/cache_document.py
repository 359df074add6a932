"""Report types of the prompt cache: misses with causes, and the projected cost of another lifetime.

They belong to the contract of `inspector.report.document`, and their figures to the catalogue.

Settings of agents that would have prevented a session's cache misses, each with the value to set.

Sources: changelog of Claude Code (`ENABLE_PROMPT_CACHING_1H` 2.1.108, `promptCacheTtl` and `subagentPromptCacheTtl`
2.1.243, `idleCompaction` 2.1.299); the configuration schemas of Codex (`model`, `model_reasoning_effort`) and OpenCode
(`setCacheKey`, `compaction.prune`). Codex and OpenCode have no setting for the lifetime of the cache.
"""

# The schema needs the types at run time.
# ruff: noqa: TC001

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct, field

from inspector.replay.analysis.alternatives import LifetimeChange, NextCallCost
from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.cache_misses import EXTRA_COST, HOUR, CacheMisses, CauseTotal
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.pricing.context_window import FIRST_VERSION, agent_version
from inspector.replay.quantity import Count, FigureResult, How, Known, Unit, about, figure
from inspector.replay.tuning.compaction_costs import idle_outcome
from inspector.report.numbers import IN_TEXT
from inspector.session.model import LinkKind

if TYPE_CHECKING:
    from collections.abc import Iterator


CLAUDE_SETTINGS: Final = "~/.claude/settings.json"
TTL_VERSION, TTL_VARIABLE_VERSION = (2, 1, 243), (2, 1, 108)


class CacheSetting(Struct, frozen=True, kw_only=True):
    """A setting of the session's agent."""

    setting: Annotated[str, about("The setting with its value, as it is written.")]
    place: Annotated[str, about("The file or environment it belongs to.")]
    effect: Annotated[str, about("Its effect on this session in a phrase.")]

    @property
    def text(self) -> str:
        """The setting in a sentence without its period."""
        return f"{self.setting} in {self.place}: {self.effect}"


def cache_settings(found: CacheMisses, change: LifetimeChange | None) -> list[CacheSetting]:
    """Return settings that would have prevented misses or saved at least one percent of the session's cost."""
    match found.replay.history.session.format:
        case "claude-code":
            return [*_claude_lifetime(found, change), *_claude_idle(found)]
        case "codex":
            return list(_codex(found))
        case "opencode":
            return list(_opencode(found))
    return []


def _claude_lifetime(found: CacheMisses, change: LifetimeChange | None) -> Iterator[CacheSetting]:
    saved = None if change is None else change.saved_usd
    if change is None or saved is None or not _is_worthwhile(found, saved):
        return
    session = found.replay.history.session
    version = agent_version(session.agent)
    value = "1h" if change.seconds == HOUR else "5m"
    is_subagent = any(link.kind is LinkKind.PARENT for link in session.links)
    name = "subagentPromptCacheTtl" if is_subagent else "promptCacheTtl"
    effect = f"would have saved {_projected(saved)}"
    if TTL_VARIABLE_VERSION <= version < TTL_VERSION and value == "1h":
        yield CacheSetting(setting="ENABLE_PROMPT_CACHING_1H=1", place="the environment", effect=effect)
        return
    since = "" if version >= TTL_VERSION else f" (Claude Code {'.'.join(map(str, TTL_VERSION))} and later)"
    yield CacheSetting(setting=f'"{name}": "{value}"', place=CLAUDE_SETTINGS, effect=effect + since)


def _claude_idle(found: CacheMisses) -> Iterator[CacheSetting]:
    outcome = idle_outcome(found.replay)
    if outcome is None or agent_version(found.replay.history.session.agent) < FIRST_VERSION:
        return
    gain = -outcome.saved_usd if outcome.is_on else outcome.saved_usd
    if _is_worthwhile(found, gain):
        times = IN_TEXT.plural(outcome.compactions, "compaction")
        value = "false" if outcome.is_on else "true"
        effect = f"{times} of the idle session {'cost' if outcome.is_on else 'would have saved'} {_projected(gain)}"
        yield CacheSetting(setting=f'"idleCompaction": {value}', place=CLAUDE_SETTINGS, effect=effect)


def _codex(found: CacheMisses) -> Iterator[CacheSetting]:
    last = found.replay.history.session.calls[-1]
    changed = ((MissCause.THINKING_CHANGED, "model_reasoning_effort", last.thinking),)
    for cause, name, value in (*changed, (MissCause.MODEL_CHANGED, "model", last.model)):
        misses = _count(found, cause)
        if misses and value:
            yield CacheSetting(
                setting=f"{name} = {json.dumps(value)}",
                place="~/.codex/config.toml",
                effect=f"set from the start, prevents {_misses(misses)}",
            )


def _opencode(found: CacheMisses) -> Iterator[CacheSetting]:
    pruned = _count(found, MissCause.CLEARING)
    if pruned:
        yield CacheSetting(
            setting='"compaction": {"prune": false}',
            place="opencode.json",
            effect=f"prevents {_misses(pruned)} after pruning; prompts then keep old results",
        )
    evicted = _count(found, MissCause.LIKELY_SERVER_SIDE) + _count(found, MissCause.UNKNOWN)
    if evicted and not found.replay.inputs.caches.writes.any():
        yield CacheSetting(
            setting='"options": {"setCacheKey": true}',
            place="the provider's part of opencode.json",
            effect=f"routes a session's requests together; {_misses(evicted)} had no other cause",
        )


def _count(found: CacheMisses, cause: MissCause) -> int:
    return sum(miss.cause is cause for miss in found.all)


def _misses(count: int) -> str:
    return IN_TEXT.plural(count, "cache miss")


def _projected(dollars: float) -> str:
    return IN_TEXT.qualified(IN_TEXT.dollars(dollars), "projected")


def _is_worthwhile(found: CacheMisses, saved: float) -> bool:
    cost = found.replay.figures.cost_usd.value
    return bool(cost) and saved >= WORTHWHILE * (cost or 0.0)


class CacheMissesFacts(FigureResult, frozen=True, kw_only=True):
    """The cache misses of a session with nothing cut, and all other prompt tokens that were not read.

    `unread_tokens` is the sum of `new_tokens`, `noise_tokens`, `uncompared_tokens` and the tokens of all `causes`, less
    `beyond_tokens`.
    """

    calls: Annotated[
        Count,
        figure(
            "cache misses",
            Unit.CALLS,
            (
                "Calls that read clearly less from the cache than they could have, excluding first requests, "
                "compactions and cleared results."
            ),
            short="misses",
        ),
    ]
    tokens: Annotated[
        int | None,
        figure("tokens rewritten", Unit.TOKENS, "Tokens these calls could have read from the cache but did not."),
    ]
    usd: Annotated[
        float | None,
        figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens, as they were written or sent uncached."),
    ]
    extra_usd: Annotated[float | None, EXTRA_COST]
    share: Annotated[
        float | None,
        figure("of the bill", Unit.SHARE, "`extra_usd` as a share of the session's cost: 0.25 for a quarter."),
    ]
    unread_tokens: Annotated[
        int | None,
        figure("not read", Unit.TOKENS, "Prompt tokens of all calls that were written to the cache or sent uncached."),
    ]
    new_tokens: Annotated[
        int | None, figure("new text", Unit.TOKENS, "The part of them that no earlier call had sent.")
    ]
    noise_tokens: Annotated[
        int | None,
        figure(
            "below the miss threshold", Unit.TOKENS, "Tokens that could have been read, too few to count as a miss."
        ),
    ]
    beyond_tokens: Annotated[
        int | None,
        figure(
            "read from other calls",
            Unit.TOKENS,
            "Tokens read beyond the prompt of the previous call, written by other calls.",
        ),
    ]
    uncompared_tokens: Annotated[
        int | None,
        figure(
            "not compared",
            Unit.TOKENS,
            "Tokens of calls that reported usage when the previous call did not, or the reverse.",
        ),
    ]
    causes: Annotated[list[CauseTotal], about("Causes, costliest first, expected ones last.")]
    misses: Annotated[list[CacheMissFacts], about("All calls with a miss, including expected ones, in call order.")]
    lifetime: Annotated[
        LifetimeChange | None, about("Projection with the cache's other lifetime; null if there is no choice.")
    ]
    next_call: Annotated[NextCallCost | None, about("Projected cost of the next call; null if nothing is cached.")]
    known: Known
    settings: Annotated[
        list[CacheSetting], about("Settings of the agent that would have saved, with their values.")
    ] = field(default_factory=list)


class CacheMissFacts(FigureResult, frozen=True, kw_only=True):
    """A call that read clearly less from the prompt cache than it could have."""

    call: Annotated[Count, figure("call", Unit.CALL, "Call number, from 1.")]
    time: Annotated[str, about("Start of its response, ISO 8601 in UTC; empty if unknown.")]
    model: Annotated[str, about("As recorded; empty if unknown.")]
    cause: Annotated[str, about("Cause reported by the provider if there is one, otherwise derived from the session.")]
    cause_known: Annotated[How, about("Certainty of the cause: exact if the provider reported it.")]
    derived: Annotated[str, about("Cause derived from the session, regardless of the provider's.")]
    reported: Annotated[str, about("Cause reported by the provider; empty if none.")]
    reported_tokens: Annotated[int | None, about("Missed tokens reported by the provider.")]
    expected: Annotated[bool, about("True if the cache had to be written: not counted as a cache miss.")]
    evidence: MissEvidenceFacts
    prevention: Annotated[str, about("How to prevent it; empty if impossible.")]
    could_read_tokens: Annotated[
        int | None,
        figure(
            "could be read",
            Unit.TOKENS,
            "Prompt tokens in the cache; for a first request, the whole prompt.",
        ),
    ]
    read_tokens: Annotated[int | None, figure("read", Unit.TOKENS, "Tokens read from the cache.")]
    tokens: Annotated[int | None, figure("tokens rewritten", Unit.TOKENS, "Difference of the two.")]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[float | None, EXTRA_COST]
    known: Known


class MissEvidenceFacts(Struct, frozen=True, kw_only=True):
    """Evidence for the cause of one miss."""

    text: Annotated[str, about("Full evidence in one line: times, models, rules, provider's report.")]
    previous_call: Annotated[
        int | None, about("Last call that shares the start of the prompt, counted from 1; null for none.")
    ]
    gap_seconds: Annotated[float | None, about("Seconds since that call; null if a time is missing.")]
    lifetime_seconds: Annotated[float, about("Lifetime of that call's cache entry.")]
    previous_model: Annotated[str, about("Model of that call; empty if unknown.")]
    previous_message: Annotated[
        int | None, about("Message in the earlier prompt where the two differ, counted from 1; null for none.")
    ]
    message: Annotated[int | None, about("Message in the later prompt at that place, counted from 1; null for none.")]
    rule: Annotated[str, about("Agent's description of the edit that made them differ; empty if there is none.")]


class HourFacts(FigureResult, frozen=True, kw_only=True):
    """Cost of the calls of one hour."""

    hour: Annotated[str, about("Start of the hour, ISO 8601 in UTC; empty for calls without a time.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls answered in this hour.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Cost of these calls; null without a price.")]
    misses: Annotated[Count, figure("cache misses", Unit.CALLS, "Calls with a cache miss.", short="misses")]
    extra_usd: Annotated[
        float | None,
        figure("extra cost", Unit.DOLLARS, "Cost of the misses above the price of cache reads; null without a price."),
    ]
    known: Known
