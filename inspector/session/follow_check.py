"""Whether a session that is followed while it grows ends equal to one that is loaded at once."""

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
"""Longer files are not written a second time to be followed."""

MOST_STEPS = 200
"""A folder of events grows in so many steps at most, by one event each where it holds no more."""

COMPARED = ("messages", "calls", "contexts", "compactions", "side_calls", "diagnostics", "record_counts", "links")

LONG_AGO = 1_000_000_000
"""A time of change at which a file has been left alone."""


def difference_when_followed(path: Path) -> str:
    """What of a session differs when its file, or its folder of events, is written bit by bit while it is followed.

    A copy in a temporary folder grows. Documents and databases, which are read anew when they change, are not tried.

    Args:
        path: The session.

    Returns:
        The parts of the session that differ; empty where it ends the same, or is not tried.

    Raises:
        TemporaryFolderError: There is no place for a copy.
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
        return None  # there is too little of it as yet


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
    """Write a folder event by event, first what stands beside the events."""
    shutil.copytree(source, copy, ignore=lambda folder, names: names if folder.endswith(f"/{EVENTS}") else ())
    names = sorted(os.listdir(source / EVENTS))  # noqa: PTH208  # names alone are wanted
    step = max(len(names) // MOST_STEPS, 1)
    for start in range(0, len(names), step):
        for name in names[start : start + step]:
            if (source / EVENTS / name).is_file():
                shutil.copyfile(source / EVENTS / name, copy / EVENTS / name)
        yield
