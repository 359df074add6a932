"""What tells a line of a rollout, or of a stream that `codex exec --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT = (
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "inter_agent_communication",
)

KINDS = frozenset({META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT, "world_state", "rollout_reference"})
"""What `type` says in the envelope."""


THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS = "thread.started", "turn.started", "turn.completed", "turn.failed"

ITEM_ENDS = "item.completed"

ITEMS = ("item.started", "item.updated", ITEM_ENDS)

ENDS_OF_TURNS = frozenset({THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS})

SAY_NOTHING = frozenset({THREAD, TURN_BEGINS})
"""Events of a stream that say nothing but that something begins."""


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether a line is one of a printed stream."""
    kind, item = str(record.get("type")), record.get("item")
    if kind in ITEMS:
        return isinstance(item, dict) and isinstance(item.get("type"), str)
    return kind in ENDS_OF_TURNS and "data" not in record and "payload" not in record


def is_header(value: Mapping[str, Any]) -> bool:
    """Whether a line is the first of a rollout without envelopes."""
    return "type" not in value and all(isinstance(value.get(name), str) for name in ("id", "timestamp"))
