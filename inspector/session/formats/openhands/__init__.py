"""OpenHands: a folder of events a conversation, the same events as JSON lines or in a list, and what version 0 wrote.

Current versions (software-agent-sdk) write `events/event-00042-<id>.json` and `base_state.json`. Version 0 wrote
`events/42.json`, trajectories as one list, and results of evaluations, in which every line is a whole conversation.
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

CURRENT_NAME, NAME_0 = "openhands", "openhands-v0"


def _recognise_current(sample: Sample) -> str:
    if sample.is_directory:
        return _recognise_folder(sample.path, CURRENT, is_current_event)
    if sample.path.name == STATE and isinstance(sample.only_value, dict):
        return _recognise_folder(sample.path.parent, CURRENT, is_current_event)
    if sample.is_lines:
        return _most(sample.records, is_current_event, "lines")
    return _most(objects(sample.document), is_current_event, "entries") if isinstance(sample.document, list) else ""


def _recognise_0(sample: Sample) -> str:
    if sample.is_directory:
        return _recognise_folder(sample.path, VERSION_0, is_event_of_version_0)
    if sample.is_lines:
        return _most(sample.records, has_history, "lines", "conversations", least=0.5) or _most(
            sample.records, is_event_of_version_0, "lines"
        )
    if isinstance(sample.document, list):
        return _most(objects(sample.document), is_event_of_version_0, "entries")
    return "a JSON document with a history of OpenHands' events" if has_history(sample.document) else ""


def _most(
    records: Sequence[Any], is_one: Callable[[Any], bool], what: str, kind: str = "events", least: float = 0.51
) -> str:
    found = sum(is_one(record) for record in records[:50])
    count = min(len(records), 50)
    return f"{found} of its first {count} {what} are OpenHands' {kind}" if found and found >= count * least else ""


def _recognise_folder(path: Path, style: str, is_one: Callable[[Any], bool]) -> str:
    try:
        folder = events_folder(path, style)
        events = first_events(folder, style) if folder is not None else []
    except (OSError, SessionError):
        return ""
    if folder is None or not any(map(is_one, events)):
        return ""
    where = "its" if folder == path else folder.relative_to(path)
    return f"the files in {where} are OpenHands' events" if folder != path else "its files are OpenHands' events"


def _reader_current(path: Path) -> Reader:
    from inspector.session.formats.openhands.reader import current_reader

    return current_reader(path, CURRENT_NAME)


def _reader_0(path: Path) -> Reader:
    from inspector.session.formats.openhands.version_0 import reader_0

    return reader_0(path, NAME_0)


def _inside_0(path: Path) -> Sequence[ContainedSession]:
    if is_folder(path):
        return ()
    from inspector.session.formats.openhands.version_0 import conversations_inside

    return conversations_inside(path)


def _is_quiet_0(kind: str) -> bool:
    """Whether events of version 0 that are counted under this name are not shown."""
    what, _, name = kind.partition(":")
    return name in (QUIET_ACTIONS if what == "action" else QUIET_OBSERVATIONS)


def _homes() -> tuple[Path, ...]:
    root = Path(os.environ.get("OPENHANDS_PERSISTENCE_DIR") or Path.home() / ".openhands")
    return (Path(os.environ.get("OPENHANDS_CONVERSATIONS_DIR") or root / "conversations"),)


def _homes_0() -> tuple[Path, ...]:
    return (Path.home() / ".openhands" / "sessions",)


FORMAT = Format(
    name=CURRENT_NAME,
    title="OpenHands",
    where=(
        "~/.openhands/conversations, conversations in $OPENHANDS_PERSISTENCE_DIR, or $OPENHANDS_CONVERSATIONS_DIR;"
        " events as JSON lines anywhere"
    ),
    is_live=True,
    exact="tokens of every call that the conversation's state reports",
    recognise=_recognise_current,
    reader=_reader_current,
    homes=_homes,
    folders=(frozenset({STATE, "events"}),),
    is_ignored=QUIET.__contains__,
)
FORMAT_0 = Format(
    name=NAME_0,
    title="OpenHands, version 0",
    where="~/.openhands/sessions; trajectories and results of evaluations anywhere",
    is_live=True,
    exact="tokens of calls whose response is recorded with its usage, which early versions left out",
    recognise=_recognise_0,
    reader=_reader_0,
    homes=_homes_0,
    inside=_inside_0,
    folders=(frozenset({"events", "event_cache"}), frozenset({"events", "agent_state.pkl"})),
    is_ignored=_is_quiet_0,
)
