"""What a format is: how its sessions are told, found and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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


def nowhere(path: Path, identifier: str) -> Path | None:  # noqa: ARG001  # what formats without families answer
    """A format whose sessions do not belong together."""
    return None


def no_parent(path: Path) -> Path | None:  # noqa: ARG001  # what formats without subagents' files answer
    """A file that no place tells to be a subagent's."""
    return None


def nothing_stored(path: Path, text: str) -> FullOutput | None:  # noqa: ARG001  # what most formats answer
    """A result of which there is no more than the model was sent."""
    return None


def nothing_ignored(count_name: str) -> bool:  # noqa: ARG001  # what formats that show all their records answer
    """A record that is shown."""
    return False


def no_copy(path: Path) -> bool:  # noqa: ARG001  # what formats without copies answer
    """A file that is counted on its own."""
    return False


def nothing_inside(path: Path) -> Sequence[ContainedSession]:  # noqa: ARG001  # what most formats answer, whatever the path
    """A file that is one session."""
    return ()


def never_beside(path: Path) -> bool:  # noqa: ARG001  # what most formats answer, whatever the path
    """No file that only tells of another one."""
    return False


class Format(Struct, frozen=True):
    """One format that can be read. A module that defines one is named in `inspector.session.registry`.

    Attributes:
        name: What `Session.format` says.
        title: For people.
        where: Where such sessions are found; empty where they can be anywhere.
        is_live: Whether a session is followed while it grows.
        exact: What of it is exact: where token counts come from.
        recognise: Says why a sample is of this format, or returns an empty string.
        reader: Opens a file of this format. Raises `SessionError`.
        homes: The folders in which its sessions are kept, whether or not they exist.
        inside: Lists the sessions in a file or folder that may hold several, newest first; empty for one that is itself
            a session. Raises `SessionError`.
        locate: From a session's path to the path of another one that belongs to it, by its id; None where it is not
            to be found.
        folders: Names that, where all of them stand in a folder, make the folder itself a session.
        is_beside: Whether a file only tells of a session that another file holds.
        names: A pattern of names of files that tell this format by themselves, for lists that are made before any file
            is looked into; empty where names tell nothing.
        parent_file: The session that a file's place tells to have started it; None where it tells none.
        is_ignored: Whether records counted under a name are left out on purpose: a program's own bookkeeping.
        full_output: The whole of a result whose preview the session holds; None for any other result.
        is_copy: Whether a file's place tells that it repeats another session, with which it is counted.
    """

    name: str
    title: str
    where: str
    is_live: bool
    exact: str
    recognise: Callable[[Sample], str]
    reader: Callable[[Path], Reader]
    homes: Callable[[], tuple[Path, ...]] = tuple
    inside: Callable[[Path], Sequence[ContainedSession]] = nothing_inside
    locate: Callable[[Path, str], Path | None] = nowhere
    folders: tuple[frozenset[str], ...] = ()
    is_beside: Callable[[Path], bool] = never_beside
    names: str = ""
    parent_file: Callable[[Path], Path | None] = no_parent
    is_copy: Callable[[Path], bool] = no_copy
    is_ignored: Callable[[str], bool] = nothing_ignored
    full_output: Callable[[Path, str], FullOutput | None] = nothing_stored


class Detection(Struct, frozen=True):
    """The format of a path and what in its content tells so."""

    format: Format
    reason: str
