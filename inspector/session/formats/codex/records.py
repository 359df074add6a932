"""Recognize rollout lines and lines printed by `codex exec --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.responses import is_item
from inspector.session.json.values import mapping, seconds_of_any, string

if TYPE_CHECKING:
    from collections.abc import Mapping

META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT, USAGE = (
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "inter_agent_communication",
    "token_usage_record",
)

KINDS = frozenset({META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT, USAGE, "world_state", "rollout_reference"})
"""Values of `type` in the envelope."""

THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS = "thread.started", "turn.started", "turn.completed", "turn.failed"

ITEM_ENDS = "item.completed"

ITEMS = ("item.started", "item.updated", ITEM_ENDS)

ENDS_OF_TURNS = frozenset({THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS})

ONLY_MARKERS = frozenset({THREAD, TURN_BEGINS})
"""Stream events that only mark a beginning."""


TURN_STARTS = ("task_started", "turn_started")
"""Events at the start of a turn, in newer and older versions."""


def is_event(record: Mapping[str, Any]) -> bool:
    """Return True for a line of a printed stream."""
    kind, item = str(record.get("type")), record.get("item")
    if kind in ITEMS:
        return isinstance(item, dict) and isinstance(item.get("type"), str)
    return kind in ENDS_OF_TURNS and "data" not in record and "payload" not in record


def is_header(value: Mapping[str, Any]) -> bool:
    """Return True for the first line of a rollout without envelopes."""
    return "type" not in value and all(isinstance(value.get(name), str) for name in ("id", "timestamp"))


QUIET = frozenset(
    {TURN, USAGE, "inter_agent_communication_metadata", "retained_context", "rollout_reference", "state", "world_state"}
)
"""Line kinds for the program only."""

NOTICES = frozenset(
    {"error", "guardian_warning", "stream_error", "turn_aborted", "warning", "entered_review_mode"}
    | {"exited_review_mode", "model_reroute"}
)
"""Events worth showing that are recorded nowhere else."""

QUIET_EVENTS = frozenset(
    {"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break"}
    | {"collab_agent_interaction_begin", "collab_agent_interaction_end", "collab_agent_spawn_begin"}
    | {"collab_agent_spawn_end", "collab_close_begin", "collab_close_end", "collab_resume_begin", "collab_resume_end"}
    | {"collab_waiting_begin", "collab_waiting_end", "context_compacted", "dynamic_tool_call_request"}
    | {"dynamic_tool_call_response", "exec_command_begin", "exec_command_end", "exec_command_output_delta"}
    | {"image_generation_end", "item_completed", "item_started", "mcp_tool_call_begin", "mcp_tool_call_end"}
    | {"patch_apply_begin", "patch_apply_end", "plan_update", "session_configured", "sub_agent_activity"}
    | {"task_complete", "task_started", "thread_goal_updated", "thread_name_updated", "thread_rolled_back"}
    | {"thread_settings_applied", "token_count", "turn_complete", "turn_diff", "turn_started", "user_message"}
    | {"view_image_tool_call", "web_search_begin", "web_search_end"}
)
"""Events that repeat items, or are only for the program's screen."""


class RolloutLine(NamedTuple):
    """One line without its envelope.

    Attributes:
        kind: Kind from the envelope.
        payload: Its content.
        time: Seconds since the epoch, None if the line has no time.
        ordinal: Position in the rollout, recorded since 0.144; None without one.
    """

    kind: str
    payload: Mapping[str, Any]
    time: float | None
    ordinal: int | None = None

    @property
    def is_usage(self) -> bool:
        return self.kind == USAGE or (self.kind == EVENT and self.payload.get("type") == "token_count")

    @property
    def count_name(self) -> str:
        """Name for counting: the kind, plus the type of items and events."""
        inner = string(self.payload.get("type")) if self.kind in (ITEM, EVENT) else ""
        return f"{self.kind}:{inner}" if inner else self.kind


def unwrapped(value: Mapping[str, Any]) -> RolloutLine:
    """Unwrap a line with either envelope."""
    kind, time = string(value.get("type")), seconds_of_any(value.get("timestamp"))
    if isinstance(value.get("payload"), dict):
        ordinal = value.get("ordinal")
        return RolloutLine(kind or "(no type)", value["payload"], time, ordinal if isinstance(ordinal, int) else None)
    if "record_type" in value:
        return RolloutLine(string(value["record_type"]) or "state", {}, time)
    if is_header(value):
        return RolloutLine(META, value, time)
    if is_item(value):
        return RolloutLine(ITEM, value, time)
    return RolloutLine(kind or "(no type)", mapping(value.get("payload")), time)
