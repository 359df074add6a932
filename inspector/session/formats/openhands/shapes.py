"""Telling OpenHands' events from other records."""

from __future__ import annotations

from typing import Any

from inspector.session.formats.openhands.kinds import KINDS
from inspector.session.values import mapping, string


def is_current_event(value: Any) -> bool:
    """Whether a value is an event of a current version."""
    event = mapping(value)
    kind = string(event.get("kind"))
    return "timestamp" in event and "source" in event and (kind in KINDS or kind.endswith("Event"))


def is_event_of_version_0(value: Any) -> bool:
    """Whether a value is an event of version 0: an action or an observation."""
    event = mapping(value)
    action, observation = event.get("action"), event.get("observation")
    if isinstance(observation, str):
        return "content" in event or "extras" in event or "cause" in event
    if not isinstance(action, str) or "role" in event:
        return False
    return isinstance(event.get("args"), dict) or bool(event.keys() & {"thought", "is_confirmed", "wait_for_response"})


def has_history(value: Any) -> bool:
    """Whether a value is a whole conversation, as evaluations write it."""
    history = mapping(value).get("history")
    if not isinstance(history, list) or not history:
        return False
    first = history[0]
    return is_event_of_version_0(first[0] if isinstance(first, list) and first else first)
