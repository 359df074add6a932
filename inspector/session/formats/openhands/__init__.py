"""Read OpenHands: event folders, the same events as JSONL or a list, and the files of version 0.

Current versions (software-agent-sdk) write `events/event-00042-<id>.json` and `base_state.json`. Version 0 wrote
`events/42.json`, trajectories as one list, and evaluation results with a whole conversation per line.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import is_folder
from inspector.session.format import ContainedSession, Format
from inspector.session.formats.openhands.records import (
    CURRENT,
    KINDS,
    QUIET,
    QUIET_ACTIONS,
    QUIET_OBSERVATIONS,
    STATE,
    VERSION_0,
    events_folder,
    first_events,
    has_history,
    is_current_event,
    is_event_of_version_0,
)
from inspector.session.json.values import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


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
        from inspector.session.formats.openhands.version_0 import reader_0

        return reader_0(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if is_folder(path):
            return ()
        from inspector.session.formats.openhands.version_0 import conversations_inside

        return conversations_inside(path)

    def is_bookkeeping(self, count_name: str) -> bool:
        """Return True for events of version 0 that are not shown."""
        what, _, name = count_name.partition(":")
        return name in (QUIET_ACTIONS if what == "action" else QUIET_OBSERVATIONS)


FORMATS = (
    OpenHandsFormat(),
    OpenHands0Format(),
)
