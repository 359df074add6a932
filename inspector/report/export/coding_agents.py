"""Export to settings files of coding agents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.report.export.target import Target, json_settings, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.strategy import Strategy


def _assignments(chosen: Mapping[str, Strategy]) -> str:
    return "".join(
        f"{name} = {json.dumps(value)}\n"
        for strategy in chosen.values()
        for name, value in settings_of(strategy).items()
    )


def _history_processors(chosen: Mapping[str, Strategy]) -> str:
    lines = ["agent:", "  history_processors:"]
    for strategy in chosen.values():
        first, *others = settings_of(strategy).items()
        lines += [f"    - {first[0]}: {first[1]}", *(f"      {name}: {value}" for name, value in others)]
    return "\n".join(lines) + "\n"


CODING_AGENTS = (
    # Truncation of long output is always on in OpenCode.
    Target("opencode", "OpenCode", "json", "In opencode.json; OpenCode 2 does not prune.", json_settings),
    Target("gemini-cli", "Gemini CLI", "json", "In settings.json.", json_settings),
    Target("codex", "Codex", "toml", "In config.toml.", _assignments),
    Target("swe-agent", "SWE-agent", "yaml", "In the agent's configuration.", _history_processors),
    Target(
        "openhands",
        "OpenHands",
        "toml",
        "In config.toml; one condenser works at a time.",
        lambda chosen: f"[condenser]\n{_assignments(chosen)}",
        one_at_a_time=True,
    ),
)
"""Coding agents with a settings file."""
