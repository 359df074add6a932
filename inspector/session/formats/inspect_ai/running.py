"""Read the samples of a running evaluation, which are in a separate database until finished.

The tables are defined by `inspect_ai/log/_recorders/buffer/database.py`. The database is named after the log, in a
folder named after the log's folder, and is deleted at the end of the evaluation.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.inspect_ai.samples import first_words, name_of_sample
from inspector.session.json.codec import compact_json, json_in
from inspector.session.json.values import count, mapping, string
from inspector.session.sniff import SQLITE
from inspector.session.sqlite import Database, DatabaseUnreadableError, Selector, unread_tables, unreadable_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.sqlite import DatabaseState

TABLES = {
    "task_database": frozenset({"version"}),
    "samples": frozenset({"id", "epoch", "data"}),
    "events": frozenset({"sample_id", "sample_epoch", "data"}),
    "attachments": frozenset({"sample_id", "hash", "content"}),
}
"""Tables and columns that identify such a database."""

POOLS = ("message_pool", "call_pool")
"""Tables referenced by events by index: messages, and messages of requests as sent."""

OWNERS = frozenset({"sample_id"})
"""Columns that assign a row to a sample."""

ENDING = ".db"

OF_SAMPLE = "WHERE sample_id = ? AND sample_epoch = ? ORDER BY id"


class Running(NamedTuple):
    """A sample in the database.

    Attributes:
        identifier: The sample's id as stored in the database.
        epoch: Its epoch.
        about: Its metadata, including id and input.
    """

    identifier: str
    epoch: int
    about: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The beginning of the input."""
        return first_words(self.about.get("input"))


class Buffer:
    """The database of a running log.

    Attributes:
        path: Its path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    def state(self) -> DatabaseState | None:
        """Return a state that changes with every write; None if it is unavailable."""
        try:
            return self._database.state()
        except OSError:
            return None

    def samples(self) -> dict[str, Running]:
        """Return the samples by name in order of start; empty if the database cannot be read."""
        try:
            with self._database.reading() as connection:
                rows = Selector(connection).rows("samples", ("id", "epoch", "data"), "ORDER BY rowid")
        except DatabaseUnreadableError:
            return {}
        found = {}
        for row in rows:
            about = mapping(json_in(string(row.get("data"))))
            identifier, epoch = str(row.get("id")), count(row.get("epoch"))
            named = {"id": about.get("id", identifier), "epoch": about.get("epoch", epoch)}
            found[name_of_sample(named)] = Running(identifier, epoch, about)
        return found

    def unread_tables(self) -> list[str]:
        """Return the tables of samples' data that are not read; empty if the database cannot be read."""
        try:
            with self._database.reading() as connection:
                return unread_tables(connection, {*TABLES, *POOLS}, OWNERS)
        except DatabaseUnreadableError:
            return []

    def document(self, sample: Running) -> bytes:
        """Return a sample's recorded part in the form of a finished log.

        Raises:
            SessionError: The database cannot be read at the moment.
        """
        key = (sample.identifier, sample.epoch)
        try:
            with self._database.reading() as connection:
                selector = Selector(connection)
                events = selector.rows("events", ("id", "event_id", "data"), OF_SAMPLE, *key)
                # Early versions store a text shared by several samples only with the first of them.
                attachments = selector.rows("attachments", ("hash", "content"), "ORDER BY id")
                pool, calls = (selector.rows(name, ("id", "data"), OF_SAMPLE, *key) for name in POOLS)
        except DatabaseUnreadableError as error:
            raise unreadable_error(self.path, error) from error
        # A rewritten event, such as a completed request, replaces the earlier version.
        latest: dict[object, Any] = {}
        for row in events:
            latest[row.get("event_id") or len(latest)] = json_in(string(row.get("data")))
        sample_of_log = {
            "id": sample.identifier,
            "epoch": sample.epoch,
            **sample.about,
            "events": list(latest.values()),
            "attachments": {string(row.get("hash")): string(row.get("content")) for row in attachments},
            "message_pool": [json_in(string(row.get("data"))) for row in pool],
            "call_pool": [json_in(string(row.get("data"))) for row in calls],
        }
        return compact_json(sample_of_log).encode(errors="replace")


def buffer_of(log: Path) -> Buffer | None:
    """Return the newest database of a log, or the database itself if it is the path; None if there is none."""
    if _is_database(log):
        return Buffer(log)
    found = []
    for folder in dict.fromkeys((log.absolute().parent, log.resolve().parent)):
        named = sha256(f"file://{folder.as_posix()}".encode(errors="surrogateescape")).hexdigest()
        found += [one for one in _files(_home() / named) if _log_named(one.name) == log.name]
    return Buffer(max(found, key=_modified)) if found else None


def running_in(log: Path) -> dict[str, Running]:
    buffer = buffer_of(log)
    return buffer.samples() if buffer is not None else {}


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def _home() -> Path:
    """Return the folder of Inspect's buffers, as in the platformdirs package."""
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support" / "inspect_ai"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "inspect_ai" / "inspect_ai"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "inspect_ai"
    return data / "samplebuffer"


def _log_named(name: str) -> str:
    """Return the log name of a database, without process number and suffix."""
    return name.rsplit(".", 2)[0] if name.count(".") > 1 else ""


def _files(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if one.suffix == ENDING]
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
