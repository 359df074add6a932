"""Parse the events of each agent and build answers in the agent's format. Unknown formats pass unchanged.

Claude Code's `PostToolUse` contains a tool's structured output, from which it builds the text for the model; an answer
must have the same structure. For the tools supported here, `ToolResultEvent.text` was verified to equal that text in
recorded sessions, and an answer with another text replaces it. `Read` is not supported: its lines are numbered for the
model, so lines after a cut would have wrong numbers. Hermes' `transform_tool_result` and OpenCode's
`tool.execute.after` pass the text itself, through the plugins in `inspector.hook.install`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""White space trimmed by JavaScript."""

_SHELL = {"stdout", "stderr", "interrupted"}
_SHELL_ALSO = {"isImage", "noOutputExpected", "returnCodeInterpretation", "gitOperation"}
_GREP = {"mode", "content", "numFiles", "filenames"}
_GREP_ALSO = {"numLines", "totalLines", "appliedLimit"}

_RECALL = "inspector recall"
_RECALLING = ("memory_query", "file_state_at", "changelog", "context_report")
"""Substring of recall commands, and suffixes of `inspector mcp` tools: recalled texts are not cut again."""


class ToolResultEvent(NamedTuple):
    """A tool result before the model sees it, and the form of the agent's answer with another text."""

    tool: str
    identifier: str
    session: str
    transcript: str
    text: str
    answer: Callable[[str], Any]


def claude_code(event: dict[str, Any]) -> ToolResultEvent | None:
    """Parse an event of Claude Code; return None if it is not a tool result or has an unknown structure."""
    tool, given = event.get("tool_name"), event.get("tool_input")
    if event.get("hook_event_name") != "PostToolUse" or not isinstance(tool, str):
        return None
    if _asks_for_original(tool, given.get("command") if isinstance(given, dict) else None):
        return None
    shape = _claude_code_output(tool, event.get("tool_response"))
    if shape is None:
        return None
    text, output_of = shape

    def answer(sent: str) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output_of(sent)}}

    return ToolResultEvent(
        tool,
        _text(event, "tool_use_id"),
        _text(event, "session_id"),
        _text(event, "transcript_path"),
        text,
        answer,
    )


def _asks_for_original(tool: str, command: object) -> bool:
    return (isinstance(command, str) and _RECALL in command) or ("inspector" in tool and tool.endswith(_RECALLING))


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _claude_code_output(tool: str, output: Any) -> tuple[str, Callable[[str], Any]] | None:
    if tool in ("Bash", "PowerShell"):
        return _shell_output(output)
    if tool == "Grep":
        return _grep_output(output)
    if tool.startswith("mcp__"):
        return _mcp_output(output)
    return None


def _is_of(output: Any, needed: set[str], also: set[str]) -> bool:
    return isinstance(output, dict) and needed <= output.keys() and output.keys() <= needed | also


def _shell_output(output: Any) -> tuple[str, Callable[[str], Any]] | None:
    if not _is_of(output, _SHELL, _SHELL_ALSO) or output["interrupted"] or output.get("isImage"):
        return None
    out, err = output["stdout"], output["stderr"]
    if not isinstance(out, str) or not isinstance(err, str):
        return None
    # Claude Code removes leading blank lines and trailing white space.
    begins = out[: len(out) - len(out.lstrip(_BLANKS))].rfind("\n") + 1
    texts = (out[begins:].rstrip(_BLANKS), err.strip(_BLANKS))
    return "\n".join(text for text in texts if text), lambda sent: {**output, "stdout": sent, "stderr": ""}


def _grep_output(output: Any) -> tuple[str, Callable[[str], Any]] | None:
    if not _is_of(output, _GREP, _GREP_ALSO) or output["mode"] != "content":
        return None
    content, limit = output["content"], output.get("appliedLimit")
    if not isinstance(content, str) or not content:
        return None
    if limit is None:
        return content, lambda sent: {**output, "content": sent}
    # Claude Code appends the limit to the lines, unless the answer lacks it.
    rest = {name: value for name, value in output.items() if name != "appliedLimit"}
    text = f"{content}\n\n[Showing results with pagination = limit: {limit}]"
    return text, lambda sent: {**rest, "content": sent}


def _mcp_output(output: Any) -> tuple[str, Callable[[str], Any]] | None:
    if isinstance(output, str):
        return output, lambda sent: sent  # from a tool with structured output
    if not isinstance(output, list) or len(output) != 1:
        return None
    (part,) = output
    if not isinstance(part, dict) or part.keys() != {"type", "text"} or part["type"] != "text":
        return None
    text = part["text"]
    return (text, lambda sent: [{"type": "text", "text": sent}]) if isinstance(text, str) else None


def plugin_event(event: dict[str, Any]) -> ToolResultEvent | None:
    """Parse an event of our own plugins: `tool`, its `command`, `id`, `session` and the `text`."""
    tool, text = event.get("tool"), event.get("text")
    if not isinstance(tool, str) or not isinstance(text, str) or _asks_for_original(tool, event.get("command")):
        return None
    return ToolResultEvent(tool, _text(event, "id"), _text(event, "session"), "", text, lambda sent: {"text": sent})


AGENTS: dict[str, Callable[[dict[str, Any]], ToolResultEvent | None]] = {
    "claude-code": claude_code,
    "hermes": plugin_event,
    "opencode": plugin_event,
}

CLAUDE_CODE_MATCHER = "Bash|PowerShell|Grep|mcp__.*"
"""Matcher in Claude Code's settings for the supported tools."""
