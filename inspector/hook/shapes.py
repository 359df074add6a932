"""The events agents send and the answers they take, each in its own shape. What is not known here passes unchanged.

Claude Code's `PostToolUse` hands over a tool's own output, from which it makes the text the model sees; an answer has
to be of the same shape. For the tools here that text was checked against recorded sessions: it is what `Seen.text`
holds, and an answer made of another text makes that the one the model sees. `Read` is none of them: the model sees its
text with a number before every line, so that what follows a cut would be misnumbered. Hermes' `transform_tool_result`
and OpenCode's `tool.execute.after` hand over the text itself, through the plugins in `inspector.hook.plugins`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""What JavaScript trims."""

_SHELL = {"stdout", "stderr", "interrupted"}
_SHELL_ALSO = {"isImage", "noOutputExpected", "returnCodeInterpretation", "gitOperation"}
_GREP = {"mode", "content", "numFiles", "filenames"}
_GREP_ALSO = {"numLines", "totalLines", "appliedLimit"}

_RECALL = "inspector recall"
_RECALLING = ("memory_query", "file_state_at", "changelog", "context_report")
"""What a command that asks for an original holds, and how tools of `inspector mcp` end: what is asked for again is not
cut again."""


class Seen(NamedTuple):
    """A tool result as the model is about to see it.

    Attributes:
        tool: The tool's name.
        identifier: The tool call's id; empty where the event has none.
        session: The session's id; empty where the event has none.
        transcript: The session's file; empty where the event names none.
        text: What the model would see.
        answer: Makes the agent's answer of another text.
    """

    tool: str
    identifier: str
    session: str
    transcript: str
    text: str
    answer: Callable[[str], Any]


def claude_code(event: dict[str, Any]) -> Seen | None:
    """What an event of Claude Code shows; None where it is no tool's result, or of a shape not known."""
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

    return Seen(
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
    # Blank lines before the first line go, and blanks at the end.
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
    # The agent says the limit below the lines, unless the answer has none.
    rest = {name: value for name, value in output.items() if name != "appliedLimit"}
    text = f"{content}\n\n[Showing results with pagination = limit: {limit}]"
    return text, lambda sent: {**rest, "content": sent}


def _mcp_output(output: Any) -> tuple[str, Callable[[str], Any]] | None:
    if isinstance(output, str):
        return output, lambda sent: sent  # of a tool with structured output
    if not isinstance(output, list) or len(output) != 1:
        return None
    (part,) = output
    if not isinstance(part, dict) or part.keys() != {"type", "text"} or part["type"] != "text":
        return None
    text = part["text"]
    return (text, lambda sent: [{"type": "text", "text": sent}]) if isinstance(text, str) else None


def handed_over(event: dict[str, Any]) -> Seen | None:
    """What an event of our own plugins shows: `tool`, its `command`, `id`, `session` and the `text` itself."""
    tool, text = event.get("tool"), event.get("text")
    if not isinstance(tool, str) or not isinstance(text, str) or _asks_for_original(tool, event.get("command")):
        return None
    return Seen(tool, _text(event, "id"), _text(event, "session"), "", text, lambda sent: {"text": sent})


AGENTS: dict[str, Callable[[dict[str, Any]], Seen | None]] = {
    "claude-code": claude_code,
    "hermes": handed_over,
    "opencode": handed_over,
}
"""What reads an agent's events, by the agent's name."""

CLAUDE_CODE_MATCHER = "Bash|PowerShell|Grep|mcp__.*"
"""The tools whose shapes are known, as Claude Code's settings name them."""
