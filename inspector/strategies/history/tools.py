"""Classify the tools of known agents by name.

Strategies that treat reads, edits and command output differently need to classify tools, and every agent has different
names. One table covers all of them. Tools reached through a server (`mcp__files__read_file`) are classified by the name
after the server's. An unclassified tool is `OTHER`, which every strategy treats as its document treats an unknown tool.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Session


class ToolKind(StrEnum):
    """Purpose of a tool, with respect to its results."""

    READ = "read"
    """Returns the content of a file."""
    EDIT = "edit"
    """Changes part of a file and confirms it, perhaps with a diff."""
    WRITE = "write"
    """Writes a whole file and confirms it."""
    SHELL = "shell"
    """Runs a command or a program and returns its output."""
    SEARCH = "search"
    """Searches text, names or memories and returns matches."""
    WEB = "web"
    """Returns pages or search results from the web."""
    DATA = "data"
    """Returns figures, records or images."""
    ACTION = "action"
    """Acts outside the conversation and returns a summary."""
    CONFIRMATION = "confirmation"
    """Acknowledges in one line."""
    LIGHT = "light"
    """Returns little worth keeping: a listing, a focus, a status."""
    AGENT = "agent"
    """Returns another agent's report."""
    OTHER = "other"


DOCUMENT_TIERS: Mapping[str, tuple[str, ...]] = {
    "confirmation": ("store_memory", "update_memory", "delete_memory", "explore_memory", "manage_clusters"),
    "action": ("execute_trade", "close_position", "modify_position", "manage_watchpoints", "manage_conflicts"),
    "data": (
        "get_market_data",
        "get_multi_timeframe",
        "get_orderbook",
        "get_funding_history",
        "get_liquidations",
        "get_options_flow",
        "get_institutional_flow",
        "get_global_sentiment",
        "get_trade_stats",
        "get_my_costs",
        "get_account",
    ),
    "search": ("recall_memory", "search_web"),
}
"""Tools of the trading agent that tiered truncation was written for (TO-3, `_STALE_TRUNCATION`)."""

SHIPPED_TIERS: Mapping[str, tuple[str, ...]] = {
    "confirmation": ("monitor_signal",),
    "action": ("batch_prune",),
    "data": ("get_book_history", "analyze_memory", "data_layer"),
}
"""Additional tools classified by the same agent's released code (12DDFF/Hynous@e183781 `intelligence/agent.py`)."""

AGENT_TOOLS: Mapping[str, Mapping[ToolKind, str]] = {
    "Claude Code": {
        ToolKind.READ: "Read NotebookRead ReadMcpResourceTool",
        ToolKind.EDIT: "Edit MultiEdit NotebookEdit",
        ToolKind.WRITE: "Write",
        ToolKind.SHELL: "Bash BashOutput PowerShell Monitor",
        ToolKind.SEARCH: "Grep Glob LSP ToolSearch",
        ToolKind.WEB: "WebFetch WebSearch",
        ToolKind.CONFIRMATION: (
            "TodoWrite KillShell KillBash ExitPlanMode EnterPlanMode SlashCommand Skill TaskCreate TaskUpdate TaskStop "
            "EnterWorktree ExitWorktree SendMessage"
        ),
        ToolKind.LIGHT: "LS TodoRead TaskList TaskGet ListMcpResourcesTool",
        ToolKind.AGENT: "Task Agent TaskOutput AgentOutputTool",
    },
    "Codex": {
        ToolKind.READ: "read_file view_image read_mcp_resource",
        ToolKind.EDIT: "apply_patch",
        ToolKind.SHELL: (
            "shell exec_command local_shell local_shell_call container.exec shell_command unified_exec write_stdin exec"
        ),
        ToolKind.SEARCH: "grep_files tool_search",
        ToolKind.WEB: "web_search web_search_call web.run",
        ToolKind.CONFIRMATION: "update_plan send_input close_agent",
        ToolKind.LIGHT: "list_dir list_mcp_resources list_mcp_resource_templates",
        ToolKind.AGENT: "spawn_agent wait wait_agent",
    },
    "OpenCode": {
        ToolKind.READ: "read",
        ToolKind.EDIT: "edit multiedit patch",
        ToolKind.WRITE: "write",
        ToolKind.SHELL: "bash",
        ToolKind.SEARCH: "grep glob codesearch lsp",
        ToolKind.WEB: "webfetch websearch",
        ToolKind.CONFIRMATION: "todowrite skill plan_enter plan_exit",
        ToolKind.LIGHT: "list todoread",
        ToolKind.AGENT: "task",
    },
    "Gemini CLI": {
        ToolKind.READ: "read_file read_many_files",
        ToolKind.EDIT: "replace",
        ToolKind.WRITE: "write_file",
        ToolKind.SHELL: "run_shell_command",
        ToolKind.SEARCH: "search_file_content grep_search glob",
        ToolKind.WEB: "google_web_search web_fetch",
        ToolKind.CONFIRMATION: "save_memory write_todos activate_skill enter_plan_mode exit_plan_mode update_topic",
        ToolKind.LIGHT: "list_directory",
        ToolKind.AGENT: "codebase_investigator delegate_to_agent",
    },
    "Copilot CLI": {
        ToolKind.READ: "view show_file",
        ToolKind.EDIT: "edit str_replace_editor",
        ToolKind.WRITE: "create",
        ToolKind.SHELL: "bash powershell read_bash write_bash read_powershell write_powershell",
        ToolKind.SEARCH: "grep rg glob fetch_copilot_cli_documentation",
        ToolKind.WEB: "web_fetch web_search",
        ToolKind.DATA: "sql",
        ToolKind.CONFIRMATION: "report_intent update_todo stop_bash stop_powershell",
        ToolKind.LIGHT: "list_bash list_powershell list_agents",
        ToolKind.AGENT: "task read_agent",
    },
    "VS Code Copilot Chat": {
        ToolKind.READ: (
            "read_file view_image read_notebook_cell_output copilot_getNotebookSummary copilot_readFile "
            "copilot_viewImage copilot_readNotebookCellOutput"
        ),
        ToolKind.EDIT: (
            "replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch edit_notebook_file "
            "edit_files copilot_replaceString copilot_multiReplaceString copilot_insertEdit copilot_applyPatch "
            "copilot_editNotebook copilot_editFiles"
        ),
        ToolKind.WRITE: "create_file copilot_createFile",
        ToolKind.SHELL: (
            "run_in_terminal get_terminal_output terminal_last_command create_and_run_task run_task get_task_output "
            "runTests run_notebook_cell copilot_createAndRunTask copilot_runTests1 copilot_runNotebookCell"
        ),
        ToolKind.SEARCH: (
            "semantic_search file_search grep_search search_workspace_symbols test_search tool_search github_repo "
            "copilot_searchCodebase copilot_findFiles copilot_findTextInFiles copilot_searchWorkspaceSymbols "
            "copilot_findTestFiles copilot_githubRepo"
        ),
        ToolKind.WEB: "fetch_webpage copilot_fetchWebPage",
        ToolKind.CONFIRMATION: (
            "manage_todo_list memory create_directory install_extension vscode_askQuestions copilot_memory "
            "copilot_createDirectory copilot_installExtension"
        ),
        ToolKind.LIGHT: (
            "list_dir get_errors get_changed_files read_project_structure terminal_selection copilot_listDirectory "
            "copilot_getErrors copilot_getChangedFiles copilot_readProjectStructure"
        ),
        ToolKind.AGENT: "runSubagent search_subagent execution_subagent",
    },
    "Kimi Code and Kimi CLI": {
        ToolKind.READ: "Read ReadFile ReadMediaFile",
        ToolKind.EDIT: "Edit StrReplaceFile",
        ToolKind.WRITE: "Write WriteFile",
        ToolKind.SHELL: "Bash Shell",
        ToolKind.SEARCH: "Grep Glob",
        ToolKind.WEB: "FetchURL SearchWeb WebSearch",
        ToolKind.CONFIRMATION: (
            "SetTodoList Think AskUserQuestion EnterPlanMode ExitPlanMode CreateGoal UpdateGoal SetGoalBudget Skill "
            "TaskStop"
        ),
        ToolKind.LIGHT: "GetGoal TaskList",
        ToolKind.AGENT: "Agent AgentSwarm Task TaskOutput",
    },
    "Hermes": {
        ToolKind.READ: "read_file skill_view",
        ToolKind.EDIT: "patch",
        ToolKind.WRITE: "write_file",
        ToolKind.SHELL: "terminal process execute_code",
        ToolKind.SEARCH: "search_files session_search",
        ToolKind.WEB: "web_search web_extract browser_navigate browser_snapshot browser_vision",
        ToolKind.DATA: "vision_analyze",
        ToolKind.ACTION: "browser_click browser_type browser_press browser_scroll cronjob send_message",
        ToolKind.CONFIRMATION: "memory todo clarify skill_manage",
        ToolKind.LIGHT: "skills_list",
        ToolKind.AGENT: "delegate_task",
    },
    "pi": {
        ToolKind.READ: "read",
        ToolKind.EDIT: "edit",
        ToolKind.WRITE: "write",
        ToolKind.SHELL: "bash",
        ToolKind.SEARCH: "grep find",
        ToolKind.LIGHT: "ls",
    },
    "Cline and Roo": {
        ToolKind.READ: "read_file access_mcp_resource fetch_instructions",
        ToolKind.EDIT: "replace_in_file apply_diff insert_content search_and_replace",
        ToolKind.WRITE: "write_to_file",
        ToolKind.SHELL: "execute_command",
        ToolKind.SEARCH: "search_files codebase_search list_code_definition_names",
        ToolKind.WEB: "browser_action web_fetch",
        ToolKind.CONFIRMATION: "update_todo_list attempt_completion switch_mode plan_mode_respond focus_chain",
        ToolKind.LIGHT: "list_files",
        ToolKind.AGENT: "new_task use_subagents",
    },
    "Cursor": {
        ToolKind.READ: "read_file",
        ToolKind.EDIT: "edit_file search_replace",
        ToolKind.SHELL: "run_terminal_cmd run_terminal_command",
        ToolKind.SEARCH: "codebase_search grep_search file_search",
        ToolKind.LIGHT: "list_dir",
    },
    "Grok Build": {
        ToolKind.READ: "read_file",
        ToolKind.EDIT: "search_replace",
        ToolKind.SHELL: "run_terminal_cmd",
        ToolKind.SEARCH: "grep",
        ToolKind.WEB: "web_search web_fetch",
        ToolKind.CONFIRMATION: "todo_write update_goal",
        ToolKind.LIGHT: "list_dir",
        ToolKind.AGENT: "task",
    },
    "DeepSeek Harness": {
        ToolKind.READ: "read read_image",
        ToolKind.EDIT: "edit",
        ToolKind.WRITE: "write",
        ToolKind.SHELL: "bash pwsh",
    },
    "OdinCode": {
        ToolKind.READ: "file_read",
        ToolKind.EDIT: "file_edit splice_patch",
        ToolKind.WRITE: "file_write file_create",
        ToolKind.SHELL: "bash_exec",
        ToolKind.SEARCH: "file_glob file_search memory_query symbols_in_file references_to_symbol_name",
    },
    "focus and unfocus agent": {
        ToolKind.READ: "read_file",
        ToolKind.EDIT: "edit_file",
        ToolKind.SHELL: "bash",
        ToolKind.LIGHT: "ls focus unfocus",
    },
    "Utah": {
        ToolKind.READ: "read",
        ToolKind.EDIT: "edit",
        ToolKind.WRITE: "write",
        ToolKind.SHELL: "bash",
        ToolKind.SEARCH: "grep find",
        ToolKind.WEB: "web_fetch",
        ToolKind.CONFIRMATION: "remember",
        ToolKind.LIGHT: "ls",
    },
    "SWE-agent and OpenHands": {
        ToolKind.EDIT: "str_replace_editor str_replace_based_edit_tool",
        ToolKind.SHELL: "execute_bash execute_ipython_cell",
        ToolKind.WEB: "browser",
        ToolKind.CONFIRMATION: "finish think",
    },
}
"""Tool names per agent and meaning, separated by spaces."""

_DOCUMENT_MEANINGS = {
    "confirmation": ToolKind.CONFIRMATION,
    "action": ToolKind.ACTION,
    "data": ToolKind.DATA,
    "search": ToolKind.SEARCH,
}

TIER_OF_KIND: Mapping[ToolKind, str] = {
    ToolKind.EDIT: "confirmation",
    ToolKind.WRITE: "confirmation",
    ToolKind.CONFIRMATION: "confirmation",
    ToolKind.SHELL: "action",
    ToolKind.ACTION: "action",
    ToolKind.LIGHT: "action",
    ToolKind.READ: "data",
    ToolKind.DATA: "data",
    ToolKind.SEARCH: "search",
    ToolKind.WEB: "search",
    ToolKind.AGENT: "default",
    ToolKind.OTHER: "default",
}
"""Tier of tiered truncation for a coding agent's tool: how much of a stale result is worth keeping."""


def _by_name() -> dict[str, ToolKind]:
    known: dict[str, ToolKind] = {}
    for tools in AGENT_TOOLS.values():
        for meaning, names in tools.items():
            for name in names.split():
                known.setdefault(name, meaning)
    for tiers in (DOCUMENT_TIERS, SHIPPED_TIERS):
        for tier, listed in tiers.items():
            for name in listed:
                known.setdefault(name, _DOCUMENT_MEANINGS[tier])
    return known


_MEANINGS = _by_name()
_DOCUMENT_TOOLS = frozenset(name for tier in DOCUMENT_TIERS.values() for name in tier)


@lru_cache(maxsize=4096)
def tool_kind(tool: str) -> ToolKind:
    """Classify a tool; `OTHER` if it is unknown.

    If the full name is unknown, the name is tried without its server (`mcp__server__tool`, `server__tool`,
    `functions.tool`), and each form in lower case as well.
    """
    for name in (tool, tool.rsplit("__", 1)[-1], tool.rsplit(".", 1)[-1]):
        for form in (name, name.lower()):
            if form in _MEANINGS:
                return _MEANINGS[form]
    return ToolKind.OTHER


def tools_of_session(session: Session) -> frozenset[str]:
    """Return the names of the tools a session called or got results from."""
    return frozenset(block.tool_name for block in session.blocks if block.tool_name)


def tool_set_for(tools: Iterable[str]) -> str:
    """Return `document` for the trading agent's tools or if all tools are unknown, otherwise `coding`."""
    names = set(tools)
    if names & _DOCUMENT_TOOLS or all(tool_kind(name) is ToolKind.OTHER for name in names):
        return "document"
    return "coding"


def known_tools(tool_set: str, *, shipped: bool = False) -> tuple[str, ...]:
    """Return the tool names of `document` or `coding`, in table order; `shipped` adds those of released code."""
    if tool_set != "document":
        return tuple(_MEANINGS)
    listed = (DOCUMENT_TIERS, SHIPPED_TIERS) if shipped else (DOCUMENT_TIERS,)
    return tuple(name for tiers in listed for names in tiers.values() for name in names)


def document_tier(tool: str, *, shipped: bool = False) -> str:
    """Return a tool's tier according to TO-3, or with `shipped` the released code; `default` if it names none."""
    for tiers in (DOCUMENT_TIERS, SHIPPED_TIERS) if shipped else (DOCUMENT_TIERS,):
        for tier, listed in tiers.items():
            if tool in listed:
                return tier
    return "default"


def tool_kind_mask(
    tool_names: Sequence[str], meanings: Iterable[ToolKind], extra: Iterable[str] = ()
) -> NDArray[np.bool_]:
    """Return per tool if it has one of the meanings or is in `extra`; the last entry, for no tool, is False."""
    wanted, named = frozenset(meanings), frozenset(extra)
    return np.array([*(name in named or tool_kind(name) in wanted for name in tool_names), False], dtype=np.bool_)
