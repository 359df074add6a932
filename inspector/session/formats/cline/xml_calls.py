"""Tools that are called in XML inside what a model says, and results that come back as text.

Models without tool calls of their own write `<read_file><path>a</path></read_file>`; the program answers with
`[read_file for 'a'] Result:` and what the tool gave (`src/core/assistant-message` in cline/cline and in
RooCodeInc/Roo-Code).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.values import string

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOOLS = (
    "access_mcp_resource",
    "apply_diff",
    "apply_patch",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "report_bug",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "use_skill",
    "web_fetch",
    "web_search",
    "write_to_file",
)

CALL = re.compile(rf"<(?P<tool>{'|'.join(TOOLS)})>(?P<body>.*?)</(?P=tool)>", re.DOTALL)

PARAMETER = re.compile(r"<(?P<name>\w+)>(?P<value>.*?)</(?P=name)>", re.DOTALL)

LONG = re.compile(r"<(?P<name>content|diff|new_str|args)>(?P<value>.*)</(?P=name)>", re.DOTALL)
"""Parameters that hold files, in which the same tag may stand: they end at the last one."""

RESULT = re.compile(r"\[(?P<tool>[\w.-]+)(?: for '.*?')?\] Result:", re.DOTALL)

BESIDE = ("<environment_details>", "<task_progress>")
"""How texts begin that the program adds to what is said."""

Part = dict[str, Any]


def parts_with_calls(text: str, names: Iterator[str]) -> list[Part]:
    """What a model said as content parts, its calls as calls.

    Args:
        text: What it said.
        names: Ids for the calls.
    """
    parts: list[Part] = []
    end = 0
    for found in CALL.finditer(text):
        if before := text[end : found.start()].strip():
            parts.append({"type": "text", "text": before})
        call = {"type": "tool_use", "id": next(names), "name": found["tool"], "input": _parameters(found["body"])}
        parts.append(call)
        end = found.end()
    if not parts:
        return [{"type": "text", "text": text}]
    if after := text[end:].strip():
        parts.append({"type": "text", "text": after})
    return parts


def _parameters(body: str) -> dict[str, str]:
    if (long := LONG.search(body)) is not None:
        rest = body[: long.start()] + body[long.end() :]
        return {**_parameters(rest), long["name"]: long["value"].strip("\n")}
    return {found["name"]: found["value"].strip("\n") for found in PARAMETER.finditer(body)}


def result_places(parts: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Which text parts of a user's message are what a tool gave, with its name.

    A header stands before the text in the same part, or alone in the part before it.
    """
    tool = ""
    for place, part in enumerate(parts):
        text = string(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else None
        header = RESULT.match(text) if text is not None else None
        if header is not None and text is not None:
            tool = header["tool"]
            if text[header.end() :].strip():
                yield place, tool
                tool = ""
        elif tool and text is not None and not text.lstrip().startswith(BESIDE):
            yield place, tool
            tool = ""
