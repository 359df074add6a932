"""Base class of formats: how sessions are recognized, found and read."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from inspector.session.files import Locator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class ContainedSession(Struct, frozen=True):
    """One of several sessions in a file or folder, by a path with its id. `parent`: the one that started it."""

    path: Path
    identifier: str
    title: str = ""
    parent: str = ""
    working_directory: str = ""
    modified: float = 0.0


class FullOutput(NamedTuple):
    """A complete tool output of which the model received a preview. `text`: None if the file is gone."""

    file: Path
    text: str | None


def home_of(variable: str, *default: str) -> Path:
    """Return a program's folder: from an environment variable, or components below the user's home."""
    configured = os.environ.get(variable)
    return Path(configured) if configured else Path.home().joinpath(*default)


EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")

EDITOR_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server")


def editor_folders() -> list[Path]:
    """Return the folders of VS Code, its forks and their servers that contain `User`, existing or not."""
    if sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        root = home_of("APPDATA")
    else:
        root = home_of("XDG_CONFIG_HOME", ".config")
    return [*(root / editor for editor in EDITORS), *(Path.home() / name / "data" for name in EDITOR_SERVERS)]


def can_name_file(identifier: str) -> bool:
    """Return True if a recorded id can be used in a file name."""
    return identifier not in ("", ".", "..") and "/" not in identifier and "\x00" not in identifier


def named_sessions(path: Path, titles: Iterable[tuple[str, str]]) -> Sequence[ContainedSession]:
    """Return a file's sessions from names and titles in its order, newest first; empty for fewer than two."""
    modified = path.stat().st_mtime
    found = [ContainedSession(Locator(path, name).path, name, title, modified=modified) for name, title in titles]
    return found[::-1] if len(found) > 1 else ()


def sessions_at(files: Iterable[Path]) -> Sequence[ContainedSession]:
    """Return files with one session each as contained sessions without metadata."""
    return [ContainedSession(file, file.stem) for file in files]


class Format(ABC):
    """A readable format. Its module lists it in `FORMATS`.

    The module is imported for lists of sessions, and for files that pass its conditions in the registry. In a folder,
    `__init__` recognizes files, and its methods import the readers they need.

    Attributes:
        name: Value of `Session.format`.
        where: Where such sessions are found; empty if they can be anywhere.
        exact: Which figures are exact: the source of token counts.
        is_live: True if a session can be followed while it grows.
        file_names: Pattern of file names that identify this format, for lists made before any file is opened; empty if
            names do not identify it.
        grows_compressed: True if agents append to compressed sessions, frame by frame.
        session_folders: Sets of names; a folder that contains all names of a set is itself a session.
    """

    name: str
    title: str
    where: str = ""
    exact: str
    is_live: bool = True
    file_names: str = ""
    grows_compressed: bool = False
    session_folders: tuple[frozenset[str], ...] = ()

    @abstractmethod
    def recognize(self, sample: Sample) -> str:
        """Return the reason why a sample is of this format, for display, or an empty string."""

    @abstractmethod
    def reader(self, path: Path) -> Reader:
        """Return a reader, with nothing read yet. Raises `SessionError` if the session cannot be opened."""

    def reader_of_copy(self, copy: Path, path: Path) -> Reader:  # noqa: ARG002  # for formats that search near the path
        """Return a reader for the decompressed copy of the file at a path."""
        return self.reader(copy)

    def homes(self) -> tuple[Path, ...]:
        """Return the folders and databases where its sessions are stored, existing or not."""
        return ()

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:  # noqa: ARG002  # for overrides
        """Return several sessions of a file or folder, newest first. Raises `SessionError` if unreadable."""
        return ()

    def is_sidecar(self, path: Path) -> bool:  # noqa: ARG002  # for formats with sidecars
        """Return True if a file only adds data to a session in another file."""
        return False

    def is_copy(self, path: Path) -> bool:  # noqa: ARG002  # for formats with copies
        """Return True if a file's location shows that it is a copy; a copy is counted with its original."""
        return False

    def parent_file(self, path: Path) -> Path | None:  # noqa: ARG002  # for formats with files of subagents
        """Return the session that started this one according to the file's location, or None."""
        return None

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the sessions it started, if its location or beginning shows any. Raises `SessionError`."""
        return [one for one in self.contained_sessions(Locator.of(path).file) if one.parent == identifier]

    def locate(self, path: Path, identifier: str) -> Path | None:  # noqa: ARG002  # for formats with related sessions
        """Return the path of a related session by its id, or None if it is not found."""
        return None

    def full_output(self, path: Path, text: str) -> FullOutput | None:  # noqa: ARG002  # for agents that store full outputs
        """Return the complete output for a result that is recorded as a preview, or None."""
        return None

    def is_bookkeeping(self, count_name: str) -> bool:  # noqa: ARG002  # for formats that leave records out
        """Return True if records counted under this name are the agent's bookkeeping, skipped on purpose."""
        return False

    def knows_record(self, count_name: str) -> bool:  # noqa: ARG002  for formats with typed records
        """Return True if this version knows the kind of records counted under this name; True without a list of kinds.

        Records of an unknown kind are shown and not sent. They may change the conversation or the bill.
        """
        return True


class Detection(Struct, frozen=True):
    """The format of a path and the evidence for it."""

    format: Format
    reason: str
