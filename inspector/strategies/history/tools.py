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


class Meaning(StrEnum):
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
    """Unknown."""


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

AGENT_TOOLS: Mapping[str, Mapping[Meaning, str]] = {
    "Claude Code": {
        Meaning.READ: "Read NotebookRead ReadMcpResourceTool",
        Meaning.EDIT: "Edit MultiEdit NotebookEdit",
        Meaning.WRITE: "Write",
        Meaning.SHELL: "Bash BashOutput PowerShell Monitor",
        Meaning.SEARCH: "Grep Glob LSP ToolSearch",
        Meaning.WEB: "WebFetch WebSearch",
        Meaning.CONFIRMATION: (
            "TodoWrite KillShell KillBash ExitPlanMode EnterPlanMode SlashCommand Skill TaskCreate TaskUpdate TaskStop "
            "EnterWorktree ExitWorktree SendMessage"
        ),
        Meaning.LIGHT: "LS TodoRead TaskList TaskGet ListMcpResourcesTool",
        Meaning.AGENT: "Task Agent TaskOutput AgentOutputTool",
    },
    "Codex": {
        Meaning.READ: "read_file view_image read_mcp_resource",
        Meaning.EDIT: "apply_patch",
        Meaning.SHELL: (
            "shell exec_command local_shell local_shell_call container.exec shell_command unified_exec write_stdin exec"
        ),
        Meaning.SEARCH: "grep_files tool_search",
        Meaning.WEB: "web_search web_search_call web.run",
        Meaning.CONFIRMATION: "update_plan send_input close_agent",
        Meaning.LIGHT: "list_dir list_mcp_resources list_mcp_resource_templates",
        Meaning.AGENT: "spawn_agent wait wait_agent",
    },
    "OpenCode": {
        Meaning.READ: "read",
        Meaning.EDIT: "edit multiedit patch",
        Meaning.WRITE: "write",
        Meaning.SHELL: "bash",
        Meaning.SEARCH: "grep glob codesearch lsp",
        Meaning.WEB: "webfetch websearch",
        Meaning.CONFIRMATION: "todowrite skill plan_enter plan_exit",
        Meaning.LIGHT: "list todoread",
        Meaning.AGENT: "task",
    },
    "Gemini CLI": {
        Meaning.READ: "read_file read_many_files",
        Meaning.EDIT: "replace",
        Meaning.WRITE: "write_file",
        Meaning.SHELL: "run_shell_command",
        Meaning.SEARCH: "search_file_content grep_search glob",
        Meaning.WEB: "google_web_search web_fetch",
        Meaning.CONFIRMATION: "save_memory write_todos activate_skill enter_plan_mode exit_plan_mode update_topic",
        Meaning.LIGHT: "list_directory",
        Meaning.AGENT: "codebase_investigator delegate_to_agent",
    },
    "Copilot CLI": {
        Meaning.READ: "view show_file",
        Meaning.EDIT: "edit str_replace_editor",
        Meaning.WRITE: "create",
        Meaning.SHELL: "bash powershell read_bash write_bash read_powershell write_powershell",
        Meaning.SEARCH: "grep rg glob fetch_copilot_cli_documentation",
        Meaning.WEB: "web_fetch web_search",
        Meaning.DATA: "sql",
        Meaning.CONFIRMATION: "report_intent update_todo stop_bash stop_powershell",
        Meaning.LIGHT: "list_bash list_powershell list_agents",
        Meaning.AGENT: "task read_agent",
    },
    "VS Code Copilot Chat": {
        Meaning.READ: (
            "read_file view_image read_notebook_cell_output copilot_getNotebookSummary copilot_readFile "
            "copilot_viewImage copilot_readNotebookCellOutput"
        ),
        Meaning.EDIT: (
            "replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch edit_notebook_file "
            "edit_files copilot_replaceString copilot_multiReplaceString copilot_insertEdit copilot_applyPatch "
            "copilot_editNotebook copilot_editFiles"
        ),
        Meaning.WRITE: "create_file copilot_createFile",
        Meaning.SHELL: (
            "run_in_terminal get_terminal_output terminal_last_command create_and_run_task run_task get_task_output "
            "runTests run_notebook_cell copilot_createAndRunTask copilot_runTests1 copilot_runNotebookCell"
        ),
        Meaning.SEARCH: (
            "semantic_search file_search grep_search search_workspace_symbols test_search tool_search github_repo "
            "copilot_searchCodebase copilot_findFiles copilot_findTextInFiles copilot_searchWorkspaceSymbols "
            "copilot_findTestFiles copilot_githubRepo"
        ),
        Meaning.WEB: "fetch_webpage copilot_fetchWebPage",
        Meaning.CONFIRMATION: (
            "manage_todo_list memory create_directory install_extension vscode_askQuestions copilot_memory "
            "copilot_createDirectory copilot_installExtension"
        ),
        Meaning.LIGHT: (
            "list_dir get_errors get_changed_files read_project_structure terminal_selection copilot_listDirectory "
            "copilot_getErrors copilot_getChangedFiles copilot_readProjectStructure"
        ),
        Meaning.AGENT: "runSubagent search_subagent execution_subagent",
    },
    "Kimi Code and Kimi CLI": {
        Meaning.READ: "Read ReadFile ReadMediaFile",
        Meaning.EDIT: "Edit StrReplaceFile",
        Meaning.WRITE: "Write WriteFile",
        Meaning.SHELL: "Bash Shell",
        Meaning.SEARCH: "Grep Glob",
        Meaning.WEB: "FetchURL SearchWeb WebSearch",
        Meaning.CONFIRMATION: (
            "SetTodoList Think AskUserQuestion EnterPlanMode ExitPlanMode CreateGoal UpdateGoal SetGoalBudget Skill "
            "TaskStop"
        ),
        Meaning.LIGHT: "GetGoal TaskList",
        Meaning.AGENT: "Agent AgentSwarm Task TaskOutput",
    },
    "Hermes": {
        Meaning.READ: "read_file skill_view",
        Meaning.EDIT: "patch",
        Meaning.WRITE: "write_file",
        Meaning.SHELL: "terminal process execute_code",
        Meaning.SEARCH: "search_files session_search",
        Meaning.WEB: "web_search web_extract browser_navigate browser_snapshot browser_vision",
        Meaning.DATA: "vision_analyze",
        Meaning.ACTION: "browser_click browser_type browser_press browser_scroll cronjob send_message",
        Meaning.CONFIRMATION: "memory todo clarify skill_manage",
        Meaning.LIGHT: "skills_list",
        Meaning.AGENT: "delegate_task",
    },
    "pi": {
        Meaning.READ: "read",
        Meaning.EDIT: "edit",
        Meaning.WRITE: "write",
        Meaning.SHELL: "bash",
        Meaning.SEARCH: "grep find",
        Meaning.LIGHT: "ls",
    },
    "Cline and Roo": {
        Meaning.READ: "read_file access_mcp_resource fetch_instructions",
        Meaning.EDIT: "replace_in_file apply_diff insert_content search_and_replace",
        Meaning.WRITE: "write_to_file",
        Meaning.SHELL: "execute_command",
        Meaning.SEARCH: "search_files codebase_search list_code_definition_names",
        Meaning.WEB: "browser_action web_fetch",
        Meaning.CONFIRMATION: "update_todo_list attempt_completion switch_mode plan_mode_respond focus_chain",
        Meaning.LIGHT: "list_files",
        Meaning.AGENT: "new_task use_subagents",
    },
    "Cursor": {
        Meaning.READ: "read_file",
        Meaning.EDIT: "edit_file search_replace",
        Meaning.SHELL: "run_terminal_cmd run_terminal_command",
        Meaning.SEARCH: "codebase_search grep_search file_search",
        Meaning.LIGHT: "list_dir",
    },
    "Grok Build": {
        Meaning.READ: "read_file",
        Meaning.EDIT: "search_replace",
        Meaning.SHELL: "run_terminal_cmd",
        Meaning.SEARCH: "grep",
        Meaning.WEB: "web_search web_fetch",
        Meaning.CONFIRMATION: "todo_write update_goal",
        Meaning.LIGHT: "list_dir",
        Meaning.AGENT: "task",
    },
    "DeepSeek Harness": {
        Meaning.READ: "read read_image",
        Meaning.EDIT: "edit",
        Meaning.WRITE: "write",
        Meaning.SHELL: "bash pwsh",
    },
    "OdinCode": {
        Meaning.READ: "file_read",
        Meaning.EDIT: "file_edit splice_patch",
        Meaning.WRITE: "file_write file_create",
        Meaning.SHELL: "bash_exec",
        Meaning.SEARCH: "file_glob file_search memory_query symbols_in_file references_to_symbol_name",
    },
    "focus and unfocus agent": {
        Meaning.READ: "read_file",
        Meaning.EDIT: "edit_file",
        Meaning.SHELL: "bash",
        Meaning.LIGHT: "ls focus unfocus",
    },
    "Utah": {
        Meaning.READ: "read",
        Meaning.EDIT: "edit",
        Meaning.WRITE: "write",
        Meaning.SHELL: "bash",
        Meaning.SEARCH: "grep find",
        Meaning.WEB: "web_fetch",
        Meaning.CONFIRMATION: "remember",
        Meaning.LIGHT: "ls",
    },
    "SWE-agent and OpenHands": {
        Meaning.EDIT: "str_replace_editor str_replace_based_edit_tool",
        Meaning.SHELL: "execute_bash execute_ipython_cell",
        Meaning.WEB: "browser",
        Meaning.CONFIRMATION: "finish think",
    },
}
"""Tool names per agent and meaning, separated by spaces."""

_DOCUMENT_MEANINGS = {
    "confirmation": Meaning.CONFIRMATION,
    "action": Meaning.ACTION,
    "data": Meaning.DATA,
    "search": Meaning.SEARCH,
}

TIER_OF_MEANING: Mapping[Meaning, str] = {
    Meaning.EDIT: "confirmation",
    Meaning.WRITE: "confirmation",
    Meaning.CONFIRMATION: "confirmation",
    Meaning.SHELL: "action",
    Meaning.ACTION: "action",
    Meaning.LIGHT: "action",
    Meaning.READ: "data",
    Meaning.DATA: "data",
    Meaning.SEARCH: "search",
    Meaning.WEB: "search",
    Meaning.AGENT: "default",
    Meaning.OTHER: "default",
}
"""Tier of tiered truncation for a coding agent's tool: how much of a stale result is worth keeping."""


def _by_name() -> dict[str, Meaning]:
    known: dict[str, Meaning] = {}
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
def meaning_of(tool: str) -> Meaning:
    """Classify a tool; `OTHER` if it is unknown.

    If the full name is unknown, the name is tried without its server (`mcp__server__tool`, `server__tool`,
    `functions.tool`), and each form in lower case as well.
    """
    for name in (tool, tool.rsplit("__", 1)[-1], tool.rsplit(".", 1)[-1]):
        for form in (name, name.lower()):
            if form in _MEANINGS:
                return _MEANINGS[form]
    return Meaning.OTHER


def tools_of_session(session: Session) -> frozenset[str]:
    """Return the names of the tools a session called or got results from."""
    return frozenset(block.tool_name for block in session.blocks if block.tool_name)


def tool_set_for(tools: Iterable[str]) -> str:
    """Return `document` for the trading agent's tools or if all tools are unknown, otherwise `coding`."""
    names = set(tools)
    if names & _DOCUMENT_TOOLS or all(meaning_of(name) is Meaning.OTHER for name in names):
        return "document"
    return "coding"


def known_tools(tool_set: str, *, shipped: bool = False) -> tuple[str, ...]:
    """Return every tool name in a tool set of tiered truncation, in table order.

    Args:
        tool_set: `document` or `coding`.
        shipped: With `document`, include the tools that the released code adds.
    """
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


def meaning_mask(
    tool_names: Sequence[str], meanings: Iterable[Meaning], extra: Iterable[str] = ()
) -> NDArray[np.bool_]:
    """Return per tool of a session if it has one of the meanings or is in `extra`; the last entry is for no tool.

    Indexing the mask with a history's `tool` column therefore gives False for blocks without a tool.
    """
    wanted, named = frozenset(meanings), frozenset(extra)
    return np.array([*(name in named or meaning_of(name) in wanted for name in tool_names), False], dtype=np.bool_)
