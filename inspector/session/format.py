"""What a format is: how its sessions are told from others', found and read."""

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
    """One of several sessions that a file or folder holds.

    Attributes:
        path: The path that opens it: the file's own, with the session's id.
        identifier: The session's id.
        title: What the agent calls it; empty where it has no title.
        parent: The id of the session it was started by, as a subagent; empty for one a person began.
        working_directory: Where the agent worked; empty when unknown.
        modified: Seconds since the epoch.
    """

    path: Path
    identifier: str
    title: str = ""
    parent: str = ""
    working_directory: str = ""
    modified: float = 0.0


class FullOutput(NamedTuple):
    """The whole of an output, where the model was sent a preview of it.

    Attributes:
        file: Where it stands.
        text: All of it; None where the file is gone.
    """

    file: Path
    text: str | None


def home_of(variable: str, *default: str) -> Path:
    """A program's folder: the one that an environment variable names, else a default below the user's own.

    Args:
        variable: The variable's name.
        default: Names of folders, from the user's own on.
    """
    configured = os.environ.get(variable)
    return Path(configured) if configured else Path.home().joinpath(*default)


EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")

EDITOR_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server")


def editor_folders() -> list[Path]:
    """The folders in which VS Code and its kin, and their servers, keep `User`, whether or not they exist."""
    if sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        root = home_of("APPDATA")
    else:
        root = home_of("XDG_CONFIG_HOME", ".config")
    return [*(root / editor for editor in EDITORS), *(Path.home() / name / "data" for name in EDITOR_SERVERS)]


def can_name_file(identifier: str) -> bool:
    """Whether a recorded id can be (part of) the name of a file."""
    return identifier not in ("", ".", "..") and "/" not in identifier and "\x00" not in identifier


def named_sessions(path: Path, titles: Iterable[tuple[str, str]]) -> Sequence[ContainedSession]:
    """The sessions of a file that does not say when each was written, newest first; none where it holds but one.

    Args:
        path: The file.
        titles: Name and title of each, in the order of the file.
    """
    modified = path.stat().st_mtime
    found = [ContainedSession(Locator(path, name).path, name, title, modified=modified) for name, title in titles]
    return found[::-1] if len(found) > 1 else ()


class Format(ABC):
    """One format that can be read. The module that holds it names it in `FORMATS`.

    The module is imported whenever a format is looked for: what reads sessions is imported by the methods that need it.

    Attributes:
        name: What `Session.format` says.
        title: For people.
        where: Where such sessions are found; empty where they can be anywhere.
        exact: What of it is exact: where token counts come from.
        is_live: Whether a session is followed while it grows.
        file_names: A pattern of names of files that tell this format by themselves, for lists that are made before any
            file is looked into; empty where names tell nothing.
        grows_compressed: Whether a session that is compressed is written to as well, frame by frame.
        session_folders: Names that, where all of one set stand in a folder, make the folder itself a session.
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
    def recognise(self, sample: Sample) -> str:
        """Why a sample is of this format, in words for a person; empty where it is not."""

    @abstractmethod
    def reader(self, path: Path) -> Reader:
        """A reader for a file or folder of this format, nothing read yet.

        Raises:
            SessionError: It cannot be opened, or does not hold the session that the path names.
        """

    def homes(self) -> tuple[Path, ...]:
        """The folders and databases in which its sessions are kept, whether or not they exist."""
        return ()

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:  # noqa: ARG002  # for those that hold some
        """The sessions in a file or folder that may hold several, newest first; empty for one that is itself a session.

        Raises:
            SessionError: It cannot be read.
        """
        return ()

    def is_sidecar(self, path: Path) -> bool:  # noqa: ARG002  # for formats with sidecars
        """Whether a file only tells of a session that another file holds."""
        return False

    def is_copy(self, path: Path) -> bool:  # noqa: ARG002  # for formats with copies
        """Whether a file's place tells that it repeats another session, with which it is counted."""
        return False

    def parent_file(self, path: Path) -> Path | None:  # noqa: ARG002  # for formats whose subagents have files
        """The session that a file's place tells to have started it; None where it tells none."""
        return None

    def locate(self, path: Path, identifier: str) -> Path | None:  # noqa: ARG002  # for formats with related sessions
        """The path of another session that belongs to the one at `path`, by its id; None where it is not found."""
        return None

    def full_output(self, path: Path, text: str) -> FullOutput | None:  # noqa: ARG002  # for agents that keep them
        """The whole of a result whose preview the session holds; None for any other result."""
        return None

    def is_bookkeeping(self, count_name: str) -> bool:  # noqa: ARG002  # for formats that leave records out
        """Whether records counted under a name are the program's own bookkeeping, left out on purpose."""
        return False


class Detection(Struct, frozen=True):
    """The format of a path and what in its content tells so."""

    format: Format
    reason: str
