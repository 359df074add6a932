"""Export to the Anthropic API and agent frameworks: request fields and middleware."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.report.export.target import Target, sections, settings_of, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.strategy import Strategy


def _context_management(chosen: Mapping[str, Strategy]) -> str:
    edits: list[dict[str, object]] = []
    # The API requires the clearing of thinking to be listed first.
    if "anthropic-clear-thinking" in chosen:
        edits.append(sections(settings_of(chosen["anthropic-clear-thinking"])))
    if "anthropic-clear-tool-uses" in chosen:
        found = values(chosen["anthropic-clear-tool-uses"])
        trigger = "tool_uses" if found["trigger_type"] == "tool-uses" else "input_tokens"
        edit: dict[str, object] = {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": trigger, "value": found["trigger"]},
            "keep": {"type": "tool_uses", "value": found["keep"]},
        }
        if found["clear_at_least"]:
            edit["clear_at_least"] = {"type": "input_tokens", "value": found["clear_at_least"]}
        if found["exclude_tools"]:
            edit["exclude_tools"] = list(found["exclude_tools"])
        if found["clear_tool_inputs"]:
            edit["clear_tool_inputs"] = list(found["clear_inputs_of"]) or True
        edits.append(edit)
    if "anthropic-compact" in chosen:
        found = values(chosen["anthropic-compact"])
        compaction: dict[str, object] = {
            "type": "compact_20260112",
            "trigger": {"type": "input_tokens", "value": found["trigger"]},
        }
        if found["keep_messages"]:
            compaction["pause_after_compaction"] = True
        edits.append(compaction)
    return json.dumps({"context_management": {"edits": edits}}, indent=2) + "\n"


def _langchain(chosen: Mapping[str, Strategy]) -> str:
    parts, names = [], []
    if "langchain-clear-tool-uses" in chosen:
        names += ["ClearToolUsesEdit", "ContextEditingMiddleware"]
        written = settings_of(chosen["langchain-clear-tool-uses"])
        arguments = ",\n            ".join(f"{name}={value!r}" for name, value in written.items())
        edit = f"        ClearToolUsesEdit(\n            {arguments},\n        ),\n"
        parts.append(f"    ContextEditingMiddleware(edits=[\n{edit}    ]),")
    if "langchain-summarization" in chosen:
        found = values(chosen["langchain-summarization"])
        names.append("SummarizationMiddleware")
        parts.append(
            "    SummarizationMiddleware(\n        model=model,\n"
            f"        trigger={_measures(found, 'trigger', every=bool(found['all_triggers']))},\n"
            f"        keep={_keep(found)},\n    ),"
        )
    body = "\n".join(parts)
    return f"from langchain.agents.middleware import {', '.join(sorted(names))}\n\nmiddleware = [\n{body}\n]\n"


def _measures(found: Mapping[str, object], prefix: str, *, every: bool) -> str:
    units = ("tokens", "messages", "fraction")
    named = [(unit, found[f"{prefix}_{unit}"]) for unit in units if found[f"{prefix}_{unit}"]]
    if every and len(named) > 1:
        return repr(dict(named))
    return repr(named[0]) if len(named) == 1 else repr(named)


def _keep(found: Mapping[str, object]) -> str:
    for unit in ("fraction", "tokens", "messages"):
        if found[f"keep_{unit}"]:
            return repr((unit, found[f"keep_{unit}"]))
    return repr(("messages", 0))


def _deepagents(chosen: Mapping[str, Strategy]) -> str:
    arguments = "".join(f"        {name}={value},\n" for name, value in settings_of(chosen["deepagents-evict"]).items())
    return (
        "from deepagents.middleware.filesystem import FilesystemMiddleware\n\n"
        f"middleware = [\n    FilesystemMiddleware(\n{arguments}    ),\n]\n"
    )


def _haystack(chosen: Mapping[str, Strategy]) -> str:
    strategy = chosen["haystack-prune"]
    found, written = values(strategy), settings_of(strategy)
    of_compactor = ("min_keep_steps", "min_tokens", "placeholder")
    compactor = ", ".join(f"{name}={written[name]!r}" for name in of_compactor if name in written)
    window = found["window"] or "context_window"
    return (
        "from haystack.hooks.compaction import CompactionHook, ToolResultPruningCompactor\n\n"
        f"hook = CompactionHook(\n    compactor=ToolResultPruningCompactor({compactor}),\n"
        f"    context_window={window},\n"
        f"    compact_at={found['compact_at']},\n    compact_to={found['compact_to']},\n)\n"
    )


FRAMEWORKS = (
    Target(
        "anthropic",
        "the Anthropic API",
        "json",
        "Fields of a Messages request, with the beta header context-management-2025-06-27, and compact-2026-01-12 for "
        "compaction.",
        _context_management,
    ),
    Target("langchain", "LangChain", "python", "The middleware to give create_agent.", _langchain),
    Target("deepagents", "deepagents", "python", "The middleware to give create_agent.", _deepagents),
    Target("haystack", "Haystack", "python", "The hook to give an Agent, as hooks={'before_llm': [hook]}.", _haystack),
)
"""The Anthropic API and the frameworks."""
