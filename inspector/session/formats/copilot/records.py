"""Classify events. The types are defined in `session-events.ts` of github/copilot-sdk."""

from __future__ import annotations

from enum import Enum

from inspector.session.json.values import mapping, objects, string

QUIET_FAMILIES = frozenset(
    {"auto_mode_switch", "capabilities", "command", "commands", "elicitation", "exit_plan_mode", "external_tool"}
    | {"factory", "hook", "mcp", "mcp_app", "pending_messages", "permission", "sampling", "session_limits_exhausted"}
    | {"tool_search", "ui", "user_input"}
)
"""Type prefixes (before the first dot) that are counted and not shown. Hooks alone are half of all events."""

QUIET = frozenset(
    {
        "assistant.idle",
        "assistant.intent",
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning",  # repeated in its message
        "assistant.reasoning_delta",
        "assistant.streaming_delta",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.usage",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.background_tasks_changed",
        "session.binary_asset",
        "session.context_changed",
        "session.custom_agents_updated",
        "session.custom_notification",
        "session.extensions_loaded",
        "session.extensions.attachments_pushed",
        "session.idle",
        "session.managed_settings_enforced",
        "session.managed_settings_resolved",
        "session.mcp_server_status_changed",
        "session.mcp_servers_loaded",
        "session.mode_changed",
        "session.model_change",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.resume",
        "session.schedule_cancelled",
        "session.schedule_created",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.shutdown",
        "session.skills_loaded",
        "session.snapshot_rewind",
        "session.start",
        "session.task_complete",
        "session.title_changed",
        "session.todos_changed",
        "session.tools_updated",
        "session.usage_checkpoint",
        "session.usage_info",
        "session.workspace_file_changed",
        "skill.invoked",  # its text is repeated as a user message
        "subagent.completed",
        "subagent.deselected",
        "subagent.selected",
        "subagent.started",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool.execution_start",
        "tool.user_requested",
    }
)
"""Types that are counted and not shown."""


class EventKind(Enum):
    """Role of an event in the conversation, with its type as value if there is just one."""

    RESPONSE = "assistant.message"
    """A model response or a part of one."""
    RESULT = "tool.execution_complete"
    USER = "user.message"
    """A message from the user or on their behalf."""
    NOTIFICATION = "system.notification"
    """A message from the program to the model."""
    SYSTEM = "system.message"
    """The system prompt, repeated whenever it changes."""
    COMPACTION_START = "session.compaction_start"
    COMPACTION = "session.compaction_complete"
    CLEARED = "session.context_cleared"
    """The conversation restarts."""
    NOTICE = ""
    """Shown, never sent: errors and unknown event types."""
    QUIET = "-"
    """Counted only."""


NOTICES = frozenset(
    {"abort", "session.error", "session.handoff", "session.info", "session.truncation", "session.warning"}
    | {"assistant.message_end", "subagent.failed"}
)
"""Types that are shown and not sent."""

SPOKEN = {kind.value: kind for kind in EventKind if kind not in (EventKind.NOTICE, EventKind.QUIET)}


def kind_of(event_type: str) -> EventKind:
    """Classify an event by type. Unknown types are notices, so that they are visible."""
    if event_type in SPOKEN:
        return SPOKEN[event_type]
    if event_type in QUIET or event_type.partition(".")[0] in QUIET_FAMILIES:
        return EventKind.QUIET
    return EventKind.NOTICE


MESSAGES, TIMELINE = "chatMessages", "timeline"

ROLES = frozenset({"assistant", "developer", "function", "system", "tool", "user"})
"""Message roles in the documents of the first versions."""


def is_document(value: object) -> bool:
    about = mapping(value)
    if not isinstance(about.get("sessionId"), str):
        return False
    messages, timeline = about.get(MESSAGES), about.get(TIMELINE)
    if isinstance(messages, list):
        known = sum(string(item.get("role")) in ROLES for item in objects(messages))
        return known * 2 > len(messages) if messages else isinstance(timeline, list) or "startTime" in about
    shown = sum(isinstance(item.get("type"), str) for item in objects(timeline))
    return isinstance(timeline, list) and "startTime" in about and shown * 2 >= len(timeline)
