"""Settings of agents that would have prevented a session's cache misses, each with the value to set.

Sources: changelog of Claude Code (`ENABLE_PROMPT_CACHING_1H` 2.1.108, `promptCacheTtl` and `subagentPromptCacheTtl`
2.1.243, `idleCompaction` 2.1.299); the configuration schemas of Codex (`model`, `model_reasoning_effort`) and OpenCode
(`setCacheKey`, `compaction.prune`). Codex and OpenCode have no setting for the lifetime of the cache.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct

from inspector.replay.analysis.alternatives import FIRST_VERSION
from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.cache_misses import HOUR
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.pricing.prices import agent_version
from inspector.replay.quantity import about
from inspector.replay.tuning.compaction_costs import idle_outcome
from inspector.report.numbers import IN_TEXT
from inspector.session.model import LinkKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.analysis.alternatives import LifetimeChange
    from inspector.replay.analysis.cache_misses import CacheMisses

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
