"""Classify OpenHands events and locate their files."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from inspector.session.files import is_file, is_folder, open_for_reading
from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from pathlib import Path


QUIET = frozenset(
    {"ConversationStateUpdateEvent", "CondensationRequest", "LLMCompletionLogEvent", "PauseEvent", "TokenEvent"}
    | {"StreamingDeltaEvent"}
)
"""Event kinds that are counted and not shown."""

RESULTS = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})

KINDS = (
    QUIET
    | RESULTS
    | {"ActionEvent", "MessageEvent", "SystemPromptEvent", "Condensation", "CondensationSummaryEvent"}
    | {"ConversationErrorEvent", "HookExecutionEvent", "InterruptEvent"}
)

QUIET_ACTIONS = frozenset(
    {
        "change_agent_state",
        "condensation_request",
        "loop_recovery",
        "null",
        "pause",
        "recall",
        "resume",
        "start",
        "stop",
    }
)
QUIET_OBSERVATIONS = frozenset({"agent_state_changed", "null"})
"""Actions and observations of version 0 that are counted and not shown."""


def is_current_event(value: Any) -> bool:
    event = mapping(value)
    kind = string(event.get("kind"))
    return "timestamp" in event and "source" in event and (kind in KINDS or kind.endswith("Event"))


def is_event_of_version_0(value: Any) -> bool:
    """Return True for an action or observation of version 0."""
    event = mapping(value)
    action, observation = event.get("action"), event.get("observation")
    if isinstance(observation, str):
        return "content" in event or "extras" in event or "cause" in event
    if not isinstance(action, str) or "role" in event:
        return False
    return isinstance(event.get("args"), dict) or bool(event.keys() & {"thought", "is_confirmed", "wait_for_response"})


def has_history(value: Any) -> bool:
    """Return True for a whole conversation from an evaluation."""
    history = mapping(value).get("history")
    if not isinstance(history, list) or not history:
        return False
    first = history[0]
    return is_event_of_version_0(first[0] if isinstance(first, list) and first else first)


CURRENT, VERSION_0 = "current", "version 0"

NAMES = {
    CURRENT: re.compile(r"event-(\d+)(?:-[0-9a-fA-F-]+)?\.json"),
    VERSION_0: re.compile(r"(\d+)\.json"),
}

FOLDERS = ("events", "event_service/events")

STATE = "base_state.json"

MOST_LOOKED_AT = 5


def number_in(name: str, style: str) -> int | None:
    """Return the event number in a file name; None for other files."""
    found = NAMES[style].fullmatch(name)
    return int(found[1]) if found is not None and len(found[1]) < 19 else None


def events_folder(path: Path, style: str) -> Path | None:
    """Return a conversation's event folder, in the given one or itself; None if there are no events.

    Raises:
        OSError: The folder cannot be listed.
    """
    for folder in (*(path / name for name in FOLDERS), path):
        if is_folder(folder) and _names(folder, style):
            return folder
    return None


def conversation_of(path: Path) -> Path:
    """Return the folder of a conversation, given the folder or its state document."""
    return path.parent if path.name == STATE and is_file(path) else path


def state_of(folder: Path) -> Path:
    """Return the state document for the events in `folder`."""
    return folder.parent / STATE


def first_events(folder: Path, style: str) -> list[Any]:
    """Return a sample of a folder's events.

    Raises:
        OSError: The folder cannot be read.
        SessionError: A file cannot be opened.
    """
    found = []
    for name in _names(folder, style):
        with open_for_reading(folder / name) as file:
            found.append(lenient_json(file.read())[0])
    return found


def _names(folder: Path, style: str) -> list[str]:
    """Return a few event file names; a folder may contain very many."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if number_in(entry.name, style) is not None:
                names.append(entry.name)
            if len(names) == MOST_LOOKED_AT:
                break
    return names
