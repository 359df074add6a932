"""Check that a session followed while it grows equals one loaded at once."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import Locator, is_folder, temporary_folder
from inspector.session.follow import Follower
from inspector.session.open import open_session
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Session

EVENTS = "events"

MOST_BYTES = 1 << 26

MOST_STEPS = 200
"""Maximum number of steps in which a folder of events grows."""

COMPARED = (
    *("messages", "calls", "contexts", "compactions", "side_calls"),
    *("recorded_totals", "diagnostics", "record_counts", "links"),
)

LONG_AGO = 1_000_000_000
"""Modification time of a file that has not changed for a long time."""


def compare_followed(path: Path) -> str:
    """Compare a session with one that is followed while its file or folder of events is written in steps.

    The copy grows in a temporary folder. Documents and databases are skipped because they are reread on each change.

    Returns:
        Names of the attributes that differ; empty if the sessions are equal or the check was skipped.

    Raises:
        TemporaryFolderError: A temporary copy cannot be written.
    """
    file, session = Locator.of(path)
    try:
        if is_folder(file):
            steps = _grown_folder if is_folder(file / EVENTS) else None
        else:
            steps = _grown_file if file.stat().st_size <= MOST_BYTES and Sample(file).is_lines else None
        if steps is None:
            return ""
        with temporary_folder() as folder:
            copy = folder / file.name
            named = Locator(copy, session).path
            follower: Follower | None = None
            for _ in steps(file, copy):
                if follower is None:
                    follower = _follower(named)
                else:
                    follower.poll()
            if follower is None:
                return ""
            follower.poll()
            follower.poll()
            return _difference(follower.session, open_session(named))
    except (OSError, SessionError):
        return ""


def _follower(path: Path) -> Follower | None:
    try:
        return Follower(path)
    except SessionError:
        return None  # not enough data yet


def _difference(followed: Session, loaded: Session) -> str:
    return ", ".join(name for name in COMPARED if getattr(followed, name) != getattr(loaded, name))


def _grown_file(source: Path, copy: Path) -> Iterator[None]:
    """Write a file of lines in four parts, two of which end within a line."""
    data = source.read_bytes()
    middle = data.find(b"\n", len(data) // 2) + 1
    done = 0
    for end in (len(data) // 5, middle, 4 * len(data) // 5, len(data)):
        if end > done:
            with copy.open("ab") as file:
                file.write(data[done:end])
            os.utime(copy, (LONG_AGO, LONG_AGO + end))
            done = end
            yield


def _grown_folder(source: Path, copy: Path) -> Iterator[None]:
    """Write everything except the events, then event by event."""
    shutil.copytree(source, copy, ignore=lambda folder, names: names if folder.endswith(f"/{EVENTS}") else ())
    names = sorted(os.listdir(source / EVENTS))  # noqa: PTH208  # names alone are wanted
    step = max(len(names) // MOST_STEPS, 1)
    for start in range(0, len(names), step):
        for name in names[start : start + step]:
            if (source / EVENTS / name).is_file():
                shutil.copyfile(source / EVENTS / name, copy / EVENTS / name)
        yield
