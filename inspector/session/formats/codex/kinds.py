"""What tells a line of a rollout."""

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


def is_header(value: Mapping[str, Any]) -> bool:
    """Whether a line is the first of a rollout without envelopes."""
    return "type" not in value and all(isinstance(value.get(name), str) for name in ("id", "timestamp"))
