"""Read OpenHands: event folders, the same events as JSONL or a list, and the files of version 0.

Current versions (software-agent-sdk) write `events/event-00042-<id>.json` and `base_state.json`. Version 0 wrote
`events/42.json`, trajectories as one list, and evaluation results with a whole conversation per line.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.errors import SessionError
from inspector.session.files import is_file, is_folder, open_for_reading
from inspector.session.format import ContainedSession, Format
from inspector.session.json import lenient_json, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


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
    """Return the folder of events at or below a path, None without events. Raises `OSError` if unlistable."""
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
    """Return a sample of a folder's events. Raises `OSError` or `SessionError` if they cannot be read."""
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


def _most(
    records: Sequence[Any], is_one: Callable[[Any], bool], what: str, kind: str = "events", least: float = 0.51
) -> str:
    found = sum(is_one(record) for record in records[:50])
    count = min(len(records), 50)
    return f"{found} of the first {count} {what} are OpenHands {kind}" if found and found >= count * least else ""


def _recognize_folder(path: Path, style: str, is_one: Callable[[Any], bool]) -> str:
    try:
        folder = events_folder(path, style)
        events = first_events(folder, style) if folder is not None else []
    except (OSError, SessionError):
        return ""
    if folder is None or not any(map(is_one, events)):
        return ""
    where = "its" if folder == path else folder.relative_to(path)
    return f"the files in {where} are OpenHands events" if folder != path else "its files are OpenHands events"


class OpenHandsFormat(Format):
    """OpenHands since version 1."""

    name = "openhands"
    title = "OpenHands"
    where = (
        "~/.openhands/conversations, conversations in $OPENHANDS_PERSISTENCE_DIR, or $OPENHANDS_CONVERSATIONS_DIR;"
        " events as JSON lines anywhere"
    )
    exact = "tokens of every call reported in the conversation's state"
    session_folders = (frozenset({STATE, "events"}),)

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return _recognize_folder(sample.path, CURRENT, is_current_event)
        if sample.path.name == STATE and isinstance(sample.only_value, dict):
            return _recognize_folder(sample.path.parent, CURRENT, is_current_event)
        if sample.is_lines:
            return _most(sample.records, is_current_event, "lines")
        return _most(objects(sample.document), is_current_event, "entries") if isinstance(sample.document, list) else ""

    def homes(self) -> tuple[Path, ...]:
        root = Path(os.environ.get("OPENHANDS_PERSISTENCE_DIR") or Path.home() / ".openhands")
        return (Path(os.environ.get("OPENHANDS_CONVERSATIONS_DIR") or root / "conversations"),)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.openhands.reader import current_reader

        return current_reader(path, self.name)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name in QUIET

    def knows_record(self, count_name: str) -> bool:
        return count_name in KINDS


class OpenHands0Format(Format):
    """OpenHands up to version 0.x."""

    name = "openhands-v0"
    title = "OpenHands, version 0"
    where = "~/.openhands/sessions; trajectories and evaluation results anywhere"
    exact = "tokens of calls recorded with their usage, which early versions omit"
    session_folders = (frozenset({"events", "event_cache"}), frozenset({"events", "agent_state.pkl"}))

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return _recognize_folder(sample.path, VERSION_0, is_event_of_version_0)
        if sample.is_lines:
            return _most(sample.records, has_history, "lines", "conversations", least=0.5) or _most(
                sample.records, is_event_of_version_0, "lines"
            )
        if isinstance(sample.document, list):
            return _most(objects(sample.document), is_event_of_version_0, "entries")
        return "a JSON document with an OpenHands event history" if has_history(sample.document) else ""

    def homes(self) -> tuple[Path, ...]:
        return (Path.home() / ".openhands" / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.openhands.reader import reader_0

        return reader_0(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if is_folder(path):
            return ()
        from inspector.session.formats.openhands.reader import conversations_inside

        return conversations_inside(path)

    def is_bookkeeping(self, count_name: str) -> bool:
        """Return True for events of version 0 that are not shown."""
        what, _, name = count_name.partition(":")
        return name in (QUIET_ACTIONS if what == "action" else QUIET_OBSERVATIONS)


FORMATS = (
    OpenHandsFormat(),
    OpenHands0Format(),
)
