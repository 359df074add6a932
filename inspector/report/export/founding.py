"""The systems of the founding documents: their dictionaries, settings and calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.report.export.target import Target, values
from inspector.strategies.history.tools import known_tools
from inspector.strategies.library.tiered_stale import TIERS, TieredStale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.strategy import Strategy


def _tier_dictionary(chosen: Mapping[str, Strategy]) -> str:
    strategy = chosen["tiered-stale"]
    assert isinstance(strategy, TieredStale)  # noqa: S101  the name says so; for the type checker
    lines = ["_STALE_TRUNCATION = {"]
    listed = dict.fromkeys(known_tools(strategy.tool_set, shipped=strategy.variant == "shipped"))
    listed.update(dict.fromkeys(tool for tier in TIERS for tool in getattr(strategy, f"{tier}_tools")))
    for tier in TIERS[:-1]:
        tools = [tool for tool in listed if strategy.tier_of(tool) == tier]
        if tools:
            lines.append(f"    # {tier.capitalize()} tools")
            lines.extend(f"    {json.dumps(tool)}: {strategy.limit(tier)}," for tool in tools)
    lines += ["}", f"_DEFAULT_STALE_LIMIT = {strategy.limit('default')}  # any tool not listed above"]
    return "\n".join(lines) + "\n"


def _micro_x(chosen: Mapping[str, Strategy]) -> str:
    settings: dict[str, object] = {}
    if "token-budget" in chosen:
        found = values(chosen["token-budget"])
        settings |= {"InputTokenBudget": found["budget"], "ToolResultRetentionChars": found["keep"]}
    if "cap-at-insertion" in chosen:
        settings["MaxToolResultChars"] = values(chosen["cap-at-insertion"])["limit"]
    return json.dumps(settings, indent=2) + "\n"


def _projection(chosen: Mapping[str, Strategy]) -> str:
    calls = []
    if "smart-retention" in chosen:
        found = values(chosen["smart-retention"])
        limits = f"max_file_reads={found['max_reads']}, bash_truncate={found['output_limit']}"
        calls.append(f"smart_tool_retention({limits})")
    if "keep-recent" in chosen:
        calls.append(f"keep_recent_tool_results({values(chosen['keep-recent'])['keep']})")
    if "dedupe-reads" in chosen:
        calls.append("dedupe_file_reads()")
    return (calls[0] if len(calls) == 1 else f"compose({', '.join(calls)})") + "\n"


def _odincode(chosen: Mapping[str, Strategy]) -> str:
    return f"const MAX_RECENT_TOOL_RESULTS: usize = {values(chosen['clear-old'])['keep']};\n"


_PROFILES = (("terminal", "shell"), ("read_file", "read"), ("search_files", "search"), ("web_extract", "web"))


def _trim_profiles(chosen: Mapping[str, Strategy]) -> str:
    found = values(chosen["trim-at-insertion"])
    if not found["per_tool"]:
        return (
            f"TOOL_RESULT_SOFT_TRIM_CHARS = {found['threshold']:_}\n"
            f"TOOL_RESULT_HEAD_CHARS = {found['head']:_}\n"
            f"TOOL_RESULT_TAIL_CHARS = {found['tail']:_}\n"
            f"MAX_TOOL_RESULT_CHARS = {found['cap']:_}\n"
        )
    lines = ["TOOL_TRIM_PROFILES = {"]
    for tool, prefix in (*_PROFILES, ("default", "")):
        name = f"{prefix}_" if prefix else ""
        soft, head, tail = (found[f"{name}{part}"] for part in ("threshold", "head", "tail"))
        lines.append(f'    "{tool}": {{"soft_trim": {soft:_}, "head": {head:_}, "tail": {tail:_}}},')
    return "\n".join([*lines, "}", f"MAX_TOOL_RESULT_CHARS = {found['cap']:_}"]) + "\n"


_TIER_PARAMETERS = tuple(name for tier in TIERS for name in (tier, f"{tier}-tools"))
_TRIMMED = tuple(
    f"{prefix}{part}" for prefix in ("", "shell-", "read-", "search-", "web-") for part in ("threshold", "head", "tail")
)

FOUNDING = (
    Target(
        "hynous",
        "Hynous",
        "python",
        "In src/hynous/intelligence/agent.py, in place of the dictionary of that name.",
        {"tiered-stale": (*_TIER_PARAMETERS, "tool-set", "variant")},
        _tier_dictionary,
        {"tiered-stale": ("marker",)},
    ),
    Target(
        "micro-x",
        "the micro-x agent loop",
        "json",
        "In its configuration file.",
        {"token-budget": ("budget", "keep", "variant"), "cap-at-insertion": ("limit",)},
        _micro_x,
    ),
    Target(
        "smart-retention",
        "the projections of the focus agent",
        "python",
        "The projection to pass when the history is composed.",
        {"smart-retention": ("max-reads", "output-limit", "variant"), "keep-recent": ("keep",), "dedupe-reads": ()},
        _projection,
        {"smart-retention": ("output-keep",)},
    ),
    Target(
        "odincode",
        "OdinCode",
        "rust",
        "In src/llm/frame_stack.rs, in place of the constant of that name.",
        {"clear-old": ("keep", "variant", "whole-as")},
        _odincode,
        {"clear-old": ("frames", "notice")},
    ),
    Target(
        "hermes",
        "Hermes",
        "python",
        "In run_agent.py, as the proposal of insertion-time trimming names them.",
        {"trim-at-insertion": (*_TRIMMED, "per-tool", "cap")},
        _trim_profiles,
    ),
)
"""The systems of the founding documents."""
