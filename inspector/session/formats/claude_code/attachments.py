"""Convert attachment records, which the program adds to the conversation, to the text sent to the model.

Claude Code wraps each one in `<system-reminder>`; the wording here follows recorded sessions and public transcripts.
For unknown types the fields are listed, so their length is correct to within a few words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from inspector.session.json.codec import compact_json, decode_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Raw

OUTSIDE_CONVERSATION = frozenset(
    {
        "already_read_file",
        "async_hook_response_pending",
        "auto_mode",
        "command_permissions",
        "dynamic_skill",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "structured_output",
    }
)
"""Types for the program or its screen only."""

SENT = frozenset(
    {"agent_mention", "async_hook_response", "budget_usd", "companion_intro", "compaction_reminder"}
    | {"context_efficiency", "critical_system_reminder", "current_session_memory", "directory", "goal_status"}
    | {"invoked_skills", "lsp_diagnostics", "mcp_resource", "max_turns_reached", "memory", "output_style"}
    | {"output_token_usage", "pdf_reference", "plan_file_reference", "plan_mode", "plan_mode_exit", "plan_mode_reentry"}
    | {"relevant_memories", "skill_discovery", "task_status", "team_context", "teammate_mailbox", "todo"}
    | {"token_usage", "ultramemory", "ultrathink_effort", "verify_plan_reminder"}
)
"""Known types that are sent with their fields listed, in addition to those with a text below."""

NOTICES = frozenset({"hook_error_during_execution", "hook_non_blocking_error", "hook_system_message"})
"""Types never sent that are still worth showing to the user."""

BOOKKEEPING = frozenset(
    {"type", "toolUseID", "hookEvent", "timestamp", "durationMs", "exitCode", "displayPath", "origin"}
)

Attachment = dict[str, Any]


class Typed(msgspec.Struct, gc=False):
    """The type field of an attachment."""

    type: str | None = None


TYPE = msgspec.json.Decoder(Typed)


def attachment_fields(raw: bytes) -> Attachment:
    """Return the attachment object; empty if there is none."""
    value, _ = decode_json(raw)
    return value if isinstance(value, dict) else {}


def attachment_type(raw: Raw) -> str:
    """Return only the type, without decoding the rest; empty if there is none."""
    try:
        return TYPE.decode(raw).type or ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def is_sent(fields: Attachment) -> bool:
    kind = fields.get("type")
    if kind == "hook_success":
        return bool(fields.get("content")) and fields.get("hookEvent") in ("SessionStart", "UserPromptSubmit")
    return isinstance(kind, str) and kind not in OUTSIDE_CONVERSATION


def notice_text(fields: Attachment) -> str:
    """Return the displayed text of an attachment that is not sent."""
    content = fields.get("content") or fields.get("stderr") or fields.get("blockingError") or ""
    return f"{fields.get('hookName', fields.get('type', 'notice'))}: {plain(content)}"


def attachment_text(fields: Attachment) -> str:
    """Return the text sent to the model."""
    kind = fields.get("type")
    template = TEMPLATES.get(kind) if isinstance(kind, str) else None
    body = template(fields) if template is not None else _listed(fields)
    return f"<system-reminder>\n{body}\n</system-reminder>"


def plain(value: object) -> str:
    """Convert a field to text: lists one item per line, text parts by their text, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(plain(item) for item in value)
    if isinstance(value, dict):
        if isinstance(text := value.get("text"), str):
            return text
        if value.get("type") in ("image", "document"):
            return ""
    return compact_json(value)


def _listed(fields: Attachment) -> str:
    lines = [f"{name}: {plain(value)}" for name, value in fields.items() if name not in BOOKKEEPING]
    return "\n".join([str(fields.get("type", "attachment")), *lines])


def _file(fields: Attachment) -> str:
    content = fields.get("content")
    file = content.get("file") if isinstance(content, dict) else None
    path = fields.get("filename") or (file.get("filePath") if isinstance(file, dict) else "")
    text = plain(file.get("content")) if isinstance(file, dict) else plain(content)
    called = f"Called the Read tool with the following input: {compact_json({'file_path': path})}"
    return f"{called}\nResult of calling the Read tool:\n{text}"


def _nested_memory(fields: Attachment) -> str:
    content = fields.get("content")
    text = content.get("content") if isinstance(content, dict) else content
    return f"Contents of {plain(fields.get('path'))}:\n\n{plain(text)}"


def _task_reminder(fields: Attachment) -> str:
    tasks = fields.get("content")
    reminder = (
        "The task tools haven't been used recently. If you're working on tasks that would benefit from tracking "
        "progress, consider using TaskCreate to add new tasks and TaskUpdate to update task status (set to in_progress "
        "when starting, completed when done). Also consider cleaning up the task list if it has become stale. Only use "
        "these if relevant to the current work. This is just a gentle reminder - ignore if not applicable. Make sure "
        "that you NEVER mention this reminder to the user"
    )
    if not isinstance(tasks, list) or not tasks:
        return reminder
    lines = [
        f"#{task.get('id', '')}. [{task.get('status', '')}] {plain(task.get('subject') or task.get('content'))}"
        if isinstance(task, dict)
        else plain(task)
        for task in tasks
    ]
    return f"{reminder}\n\nHere are the existing tasks:\n\n" + "\n".join(lines)


def _with(template: str, *names: str) -> Callable[[Attachment], str]:
    return lambda fields: template.format(*(plain(fields.get(name)) for name in names))


TEMPLATES: dict[str, Callable[[Attachment], str]] = {
    "agent_listing_delta": _with("Available agent types for the Agent tool:\n{}", "addedLines"),
    "compact_file_reference": _with(
        "Note: {} was read before the last conversation was summarized, but the contents are too large to include. "
        "Use Read tool if you need to access it.",
        "filename",
    ),
    "date_change": _with("The date has changed. Today's date is now {}.", "newDate"),
    "deferred_tools_delta": _with("The following deferred tools are now available via ToolSearch:\n{}", "addedNames"),
    "diagnostics": _with(
        "<new-diagnostics>The following new diagnostic issues were detected:\n\n{}</new-diagnostics>", "files"
    ),
    "edited_text_file": _with(
        "Note: {} was modified, either by the user or by a linter. This change was intentional, so make sure to take "
        "it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, "
        "since they are already aware. Here are the relevant changes (shown with line numbers):\n{}",
        "filename",
        "snippet",
    ),
    "file": _file,
    "hook_additional_context": _with("{} hook additional context: {}", "hookName", "content"),
    "hook_blocking_error": _with("{} hook blocking error: {}", "hookName", "blockingError"),
    "hook_stopped_continuation": _with("{} hook stopped continuation: {}", "hookName", "message"),
    "hook_success": _with("{} hook success: {}", "hookName", "content"),
    "mcp_instructions_delta": _with(
        "# MCP Server Instructions\n\nThe following MCP servers have provided instructions for how to use their tools "
        "and resources:\n\n{}",
        "addedBlocks",
    ),
    "nested_memory": _nested_memory,
    "opened_file_in_ide": _with(
        "The user opened the file {} in the IDE. This may or may not be related to the current task.", "filename"
    ),
    "queued_command": _with(
        "The user sent the following message:\n{}\n\nPlease address this message and continue with your tasks.",
        "prompt",
    ),
    "selected_lines_in_ide": _with(
        "The user selected the lines {} to {} from {}:\n{}\n\nThis may or may not be related to the current task.",
        "lineStart",
        "lineEnd",
        "filename",
        "content",
    ),
    "skill_listing": _with("The following skills are available for use with the Skill tool:\n\n{}", "content"),
    "task_reminder": _task_reminder,
    "todo_reminder": _task_reminder,
}
