"""Coding agents: their settings files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.report.export.target import Target, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.strategy import Strategy


def _opencode(chosen: Mapping[str, Strategy]) -> str:
    # Truncation of long output is always on there.
    settings = {"compaction": {"prune": True}} if "opencode-prune" in chosen else {}
    return json.dumps(settings, indent=2) + "\n"


def _gemini(chosen: Mapping[str, Strategy]) -> str:
    settings: dict[str, object] = {}
    if "gemini-truncate" in chosen:
        settings["tools"] = {"truncateToolOutputThreshold": values(chosen["gemini-truncate"])["limit"]}
    if "gemini-mask" in chosen:
        found = values(chosen["gemini-mask"])
        settings["experimental"] = {
            "toolOutputMasking": {
                "enabled": True,
                "toolProtectionThreshold": found["protect"],
                "minPrunableTokensThreshold": found["minimum"],
                "protectLatestTurn": found["protect_latest"],
            }
        }
    return json.dumps(settings, indent=2) + "\n"


def _codex(chosen: Mapping[str, Strategy]) -> str:
    return f"tool_output_token_limit = {values(chosen['codex-truncate'])['budget']}\n"


def _swe_agent(chosen: Mapping[str, Strategy]) -> str:
    lines = ["agent:", "  history_processors:"]
    if "last-observations" in chosen:
        found = values(chosen["last-observations"])
        lines += ["    - type: last_n_observations", f"      n: {found['keep']}", f"      polling: {found['polling']}"]
    if "closed-windows" in chosen:
        lines.append("    - type: closed_window")
    return "\n".join(lines) + "\n"


def _openhands(chosen: Mapping[str, Strategy]) -> str:
    sections: list[str] = []
    if "mask-observations" in chosen:
        window = values(chosen["mask-observations"])["window"]
        sections.append(f'[condenser]\ntype = "observation_masking"\nattention_window = {window}\n')
    if "mask-browser-output" in chosen:
        window = values(chosen["mask-browser-output"])["window"]
        sections.append(f'[condenser]\ntype = "browser_output_masking"\nattention_window = {window}\n')
    if "recent-events" in chosen:
        found = values(chosen["recent-events"])
        sections.append(
            f'[condenser]\ntype = "recent"\nkeep_first = {found["keep_first"]}\nmax_events = {found["max_events"]}\n'
        )
    if "amortized-forgetting" in chosen:
        found = values(chosen["amortized-forgetting"])
        sections.append(
            f'[condenser]\ntype = "amortized"\nmax_size = {found["max_size"]}\nkeep_first = {found["keep_first"]}\n'
        )
    return sections[0]


CODING_AGENTS = (
    Target(
        "opencode",
        "OpenCode",
        "json",
        "In opencode.json.",
        {"opencode-prune": (), "opencode-truncate": ()},
        _opencode,
        {
            "opencode-prune": ("protect", "minimum", "turns", "protected-tools", "placeholder"),
            "opencode-truncate": ("max-lines", "max-bytes", "direction", "hint", "folder"),
        },
    ),
    Target(
        "gemini-cli",
        "Gemini CLI",
        "json",
        "In settings.json.",
        {"gemini-truncate": ("limit",), "gemini-mask": ("protect", "minimum", "protect-latest")},
        _gemini,
        {"gemini-mask": ("exempt-tools", "shell-tools", "file")},
    ),
    Target(
        "codex",
        "Codex",
        "toml",
        "In config.toml.",
        {"codex-truncate": ("budget", "unit")},
        _codex,
        {"codex-truncate": ("allowance", "announced")},
    ),
    Target(
        "swe-agent",
        "SWE-agent",
        "yaml",
        "In the agent's configuration.",
        {"last-observations": ("keep", "polling"), "closed-windows": ()},
        _swe_agent,
    ),
    Target(
        "openhands",
        "OpenHands",
        "toml",
        "In config.toml; one condenser works at a time.",
        {
            "mask-observations": ("window",),
            "mask-browser-output": ("window",),
            "recent-events": ("keep-first", "max-events"),
            "amortized-forgetting": ("max-size", "keep-first"),
        },
        _openhands,
        one_at_a_time=True,
    ),
)
"""Coding agents with a settings file of their own."""
