"""Compaction thresholds of coding agents: their settings and defaults.

The meaning of settings was read in the agents' sources and schemas; docs/development/described-systems.md lists the
versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.replay.pricing.context_window import (
    CLAUDE_BUFFER,
    CLAUDE_SUMMARY,
    CODEX_SHARE,
    DEFAULT_THRESHOLDS,
)
from inspector.report.export.target import Exported, ExportError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class CompactionSetting:
    """An agent's compaction setting.

    Attributes:
        name: The agent, by the name of its session format.
        title: Display name.
        write: Writes the configuration for a threshold and a window, both in tokens; the window is None if unknown.
    """

    name: str
    title: str
    write: Callable[[int, int | None], Exported]


CLAUDE_WINDOWS: Final = (100_000, 1_000_000)
"""Range of `autoCompactWindow`."""


def _claude_code(threshold: int, window: int | None) -> Exported:
    least, most = CLAUDE_WINDOWS
    asked = threshold + CLAUDE_SUMMARY + CLAUDE_BUFFER
    notes: list[str] = []
    if asked > most:
        raise ExportError(f"Claude Code accepts no window above {most:,} tokens, and compacts before it is full")
    if window is not None and asked > window:
        raise ExportError(f"Claude Code compacts at {window - CLAUDE_SUMMARY - CLAUDE_BUFFER:,} tokens at the latest")
    if asked >= least:
        settings: dict[str, object] = {"autoCompactWindow": asked}
        notes.append(f"or in the environment, which takes precedence: CLAUDE_CODE_AUTO_COMPACT_WINDOW={asked}")
        if window is not None:
            share = _percent(threshold, window - CLAUDE_SUMMARY)
            notes.append(f"or as a share of the whole window (not both): CLAUDE_AUTOCOMPACT_PCT_OVERRIDE={share}")
    else:
        share = _percent(threshold, least - CLAUDE_SUMMARY)
        settings = {"autoCompactWindow": least, "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(share)}}
        notes.append(f"a window this small cannot be set, so use a share of it; export it in the shell: {share}")
    notes.append("some versions reportedly ignore it: check the sizes at which the next sessions compact")
    where = "In ~/.claude/settings.json; it compacts 33,000 tokens below the configured window."
    return Exported(_json(settings), "json", where, tuple(notes))


def _codex(threshold: int, window: int | None) -> Exported:
    latest = None if window is None else round(CODEX_SHARE * window)
    notes = () if latest is None or threshold <= latest else (f"it always compacts at {latest:,} tokens or earlier",)
    return Exported(f"model_auto_compact_token_limit = {threshold}\n", "toml", "In ~/.codex/config.toml.", notes)


def _kilo(threshold: int, window: int | None) -> Exported:
    share = _percent(threshold, _known(window, "Kilo"))
    notes = ("it compacts earlier if its reserve requires it",)
    return Exported(_json({"compaction": {"threshold_percent": share}}), "json", "In Kilo's configuration file.", notes)


def _opencode(threshold: int, window: int | None) -> Exported:
    reserved = _known(window, "OpenCode") - threshold
    notes = (
        "for models that list an input limit, counted from that limit",
        "others compact at the window minus the longest answer, regardless of the setting",
        "in OpenCode 2 the setting is compaction.buffer, for all models",
    )
    return Exported(_json({"compaction": {"reserved": max(reserved, 0)}}), "json", "In opencode.json.", notes)


def _gemini(threshold: int, window: int | None) -> Exported:
    share = min(round(threshold / _known(window, "Gemini CLI"), 3), 1.0)
    where = "In ~/.gemini/settings.json; restart required."
    return Exported(_json({"model": {"compressionThreshold": share}}), "json", where, ())


def _pi(threshold: int, window: int | None) -> Exported:
    reserve = max(_known(window, "pi") - threshold, 0)
    return Exported(_json({"compaction": {"reserveTokens": reserve}}), "json", "In ~/.pi/agent/settings.json.", ())


def _percent(threshold: int, window: int) -> int:
    """Return the threshold in whole percent of the window, rounded down if possible."""
    return min(max(100 * threshold // max(window, 1), 1), 100)


def _known(window: int | None, title: str) -> int:
    if window is None:
        raise ExportError(f"{title} needs a share of the model's window, which is unknown: add --window TOKENS")
    return window


def _json(settings: dict[str, object]) -> str:
    return json.dumps(settings, indent=2) + "\n"


COMPACTION_SETTINGS: Final[dict[str, CompactionSetting]] = {
    each.name: each
    for each in (
        CompactionSetting("claude-code", "Claude Code", _claude_code),
        CompactionSetting("codex", "Codex", _codex),
        CompactionSetting("kilo", "Kilo", _kilo),
        CompactionSetting("opencode", "OpenCode", _opencode),
        CompactionSetting("gemini-cli", "Gemini CLI", _gemini),
        CompactionSetting("pi", "pi", _pi),
    )
}
"""Agents with a compaction setting, by the names of their session formats."""


def export_compaction(agent: str, threshold: int, window: int | None) -> Exported:
    """Write a threshold as the configuration of an agent.

    Args:
        agent: Its name.
        threshold: Tokens at which it is to compact.
        window: The model's context window in tokens; None if unknown.

    Raises:
        ExportError: The agent is unknown, or cannot be configured that way.
    """
    if agent not in COMPACTION_SETTINGS:
        raise ExportError(f"no compaction setting for {agent}; supported: {', '.join(COMPACTION_SETTINGS)}")
    return COMPACTION_SETTINGS[agent].write(threshold, window)


def default_threshold(agent: str, window: int | None) -> int | None:
    """Return an agent's default threshold in tokens; None if unknown."""
    default = DEFAULT_THRESHOLDS.get(agent)
    return None if default is None or window is None else default(window)
