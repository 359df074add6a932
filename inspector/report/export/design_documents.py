"""Export to systems known from design documents: dictionaries, settings and calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from inspector.report.export.target import Target, json_settings, settings_of, values
from inspector.strategies.history.tools import known_tools
from inspector.strategies.library.tiered_stale import TIERS, TieredStale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.strategy import Strategy


def _tier_dictionary(chosen: Mapping[str, Strategy]) -> str:
    strategy = cast("TieredStale", chosen["tiered-stale"])
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


_PROJECTIONS = {
    "smart-retention": "smart_tool_retention",
    "keep-recent": "keep_recent_tool_results",
    "dedupe-reads": "dedupe_file_reads",
}


def _projection(chosen: Mapping[str, Strategy]) -> str:
    calls = []
    for name, strategy in chosen.items():
        arguments = [f"{argument}={value}" for argument, value in settings_of(strategy).items()]
        if name == "keep-recent":
            arguments = [str(values(strategy)["keep"])]
        calls.append(f"{_PROJECTIONS[name]}({', '.join(arguments)})")
    return (calls[0] if len(calls) == 1 else f"compose({', '.join(calls)})") + "\n"


def _constants(chosen: Mapping[str, Strategy]) -> str:
    written = {name: value for strategy in chosen.values() for name, value in settings_of(strategy).items()}
    return "".join(f"const {name}: usize = {value};\n" for name, value in written.items())


_PROFILES = (("terminal", "shell"), ("read_file", "read"), ("search_files", "search"), ("web_extract", "web"))


def _trim_profiles(chosen: Mapping[str, Strategy]) -> str:
    strategy = chosen["trim-at-insertion"]
    found = values(strategy)
    if not found["per_tool"]:
        constants = {name: value for name, value in settings_of(strategy).items() if name != "TOOL_TRIM_PROFILES"}
        return "".join(f"{name} = {value:_}\n" for name, value in constants.items())
    lines = ["TOOL_TRIM_PROFILES = {"]
    for tool, prefix in (*_PROFILES, ("default", "")):
        name = f"{prefix}_" if prefix else ""
        soft, head, tail = (found[f"{name}{part}"] for part in ("threshold", "head", "tail"))
        lines.append(f'    "{tool}": {{"soft_trim": {soft:_}, "head": {head:_}, "tail": {tail:_}}},')
    return "\n".join([*lines, "}", f"MAX_TOOL_RESULT_CHARS = {found['cap']:_}"]) + "\n"


FOUNDING = (
    Target(
        "hynous",
        "Hynous",
        "python",
        "In src/hynous/intelligence/agent.py, in place of the dictionary of that name.",
        _tier_dictionary,
    ),
    Target("micro-x", "the micro-x agent loop", "json", "In its configuration file.", json_settings),
    Target(
        "smart-retention",
        "the projections of the focus agent",
        "python",
        "The projection to pass when the history is composed.",
        _projection,
    ),
    Target(
        "odincode",
        "OdinCode",
        "rust",
        "In src/llm/frame_stack.rs, in place of the constant of that name.",
        _constants,
    ),
    Target(
        "hermes",
        "Hermes",
        "python",
        "In run_agent.py, with the names of the insertion-time trimming proposal.",
        _trim_profiles,
    ),
)
"""Systems known from design documents."""
