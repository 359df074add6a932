"""Originals of what the hook trimmed, kept for `inspector recall` in a private folder with a size limit.

An agent's transcript may hold the trimmed text alone, so the whole one is written here before the trimmed one is
answered. A file begins with a line of JSON that says what it is of; all that follows is the text, byte for byte. What
was kept longest ago goes first when room is needed. Imports are few: the hook runs after every tool call.
"""

from __future__ import annotations

import os
import sys

FOLDER = "originals"
RESULTS = "results"
"""Of texts whose files notices name: they hold nothing else, so that an agent can read them."""
ROOM_BYTES = 256 << 20
"""What all originals may take, and so all results that are stored."""

MOST_FILES = 20_000
_LONGEST_NAME = 100
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def state_folder() -> str:
    """The hook's own folder, below where the platform wants a program's state.

    Where there is no home it is one that cannot be made: a home is not made for the sake of it.
    """
    home, named = os.path.expanduser("~"), os.environ.get("XDG_STATE_HOME", "").strip()  # noqa: PTH111
    if not os.path.isabs(named) and not (os.path.isabs(home) and os.path.isdir(home)):  # noqa: PTH112, PTH117
        return f"{os.devnull}/hook"
    platform: str = sys.platform
    if platform == "linux":
        return f"{named if os.path.isabs(named) else f'{home}/.local/state'}/inspector/hook"  # noqa: PTH117
    from platformdirs import user_state_path

    from inspector.atomic_files import APPLICATION

    return str(user_state_path(APPLICATION) / "hook")


def _name_of(identifier: str) -> str:
    """Part of a file's name that stands for an id, whatever that holds."""
    if identifier and len(identifier) <= _LONGEST_NAME and _SAFE.issuperset(identifier):
        return identifier
    from hashlib import blake2b

    return f"x{blake2b(identifier.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def stored_path(folder: str, identifier: str, session: str) -> str:
    """The file that holds a text and nothing else, as notices name it; see `keep`."""
    return f"{folder}/{RESULTS}/{_name_of(identifier)}.{_name_of(session)}.txt"


def keep(
    folder: str, identifier: str, session: str, text: str, about: dict[str, object], *, is_stored: bool = False
) -> None:
    """Keep a text, whole or not at all, for its owner alone.

    Args:
        folder: The hook's folder.
        identifier: The tool call's id.
        session: The session's id; the same call's id in another session is another original.
        text: The whole text.
        about: What is said of it, as JSON can.
        is_stored: In the file `stored_path` names, for agents to read.

    Raises:
        OSError: It cannot be written.
    """
    import json

    head = json.dumps({"id": identifier, "session": session, **about, **({"stored": True} if is_stored else {})})
    whole = text.encode("utf-8", "surrogatepass")
    if is_stored:
        _write(stored_path(folder, identifier, session), whole)
    _write(
        f"{folder}/{FOLDER}/{_name_of(identifier)}.{_name_of(session)}", f"{head}\n".encode(), whole * (not is_stored)
    )


def _write(path: str, *texts: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120  pathlib takes long to import
    part = f"{path}.{os.urandom(6).hex()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(texts)
        os.replace(part, path)  # noqa: PTH105
    except BaseException:
        os.unlink(part)  # noqa: PTH108
        raise


def make_room_for_originals(folder: str, room: int = ROOM_BYTES) -> None:
    """Remove what was kept longest ago, as far as all of it takes more room than it may.

    Args:
        folder: The hook's folder.
        room: What may stay, in bytes.
    """
    from contextlib import suppress
    from pathlib import Path

    from inspector.atomic_files import make_room

    for name in (FOLDER, RESULTS):
        with suppress(OSError):
            make_room(Path(folder) / name, most_files=MOST_FILES, most_bytes=room)


def has_original(identifier: str, session: str, folder: str) -> bool:
    """Whether what a session's tool call came to is kept in the hook's folder."""
    return os.path.exists(f"{folder}/{FOLDER}/{_name_of(identifier)}.{_name_of(session)}")  # noqa: PTH110


def kept_originals(identifier: str, folder: str | None = None) -> list[tuple[dict[str, object], str]]:
    """What is kept under a tool call's id: what is said of each, and its text; the newest first."""
    import json

    folder = folder or state_folder()
    place = f"{folder}/{FOLDER}"
    begin = f"{_name_of(identifier)}."
    found: list[tuple[float, dict[str, object], str]] = []
    try:
        entries = [entry for entry in os.scandir(place) if entry.name.startswith(begin)]
    except OSError:
        return []
    for entry in entries:
        if entry.name.endswith(".part"):
            continue
        try:
            with open(entry.path, "rb") as file:  # noqa: PTH123
                about = json.loads(file.readline())
                whole = file.read()
            if isinstance(about, dict) and about.get("id") == identifier:
                if about.get("stored"):
                    with open(f"{folder}/{RESULTS}/{entry.name}.txt", "rb") as file:  # noqa: PTH123
                        whole = file.read()
                found.append((entry.stat().st_mtime, about, whole.decode("utf-8", "surrogatepass")))
        except (OSError, ValueError):
            continue
    found.sort(key=lambda each: -each[0])
    return [(about, text) for _, about, text in found]


def original_of(identifier: str, session: str) -> str | None:
    """What a session's tool call came to before the hook trimmed it; None where nothing of it is kept."""
    return next((text for about, text in kept_originals(identifier) if about.get("session") == session), None)


def originals_asked_for(asked: str, folder: str | None = None) -> list[tuple[dict[str, object], str]]:
    """What is kept under a tool call's id, or under `SESSION:ID` of that session alone; see `kept_originals`.

    The file that a notice of the hook names means what is kept in it.
    """
    folder = folder or state_folder()
    found = kept_originals(asked, folder)
    if found:
        return found
    if asked.startswith(f"{folder}/{RESULTS}/"):
        return [each for each in _of_file(asked, folder) if stored_path(folder, *_whose(each[0])) == asked]
    for colon in (index for index, character in enumerate(asked) if character == ":"):
        session = asked[:colon]
        found = [each for each in kept_originals(asked[colon + 1 :], folder) if each[0].get("session") == session]
        if found:
            return found
    return []


def _whose(about: dict[str, object]) -> tuple[str, str]:
    return str(about.get("id", "")), str(about.get("session", ""))


def _of_file(path: str, folder: str) -> list[tuple[dict[str, object], str]]:
    import json

    name = os.path.basename(path).removesuffix(".txt")  # noqa: PTH119
    try:
        with open(f"{folder}/{FOLDER}/{name}", "rb") as file:  # noqa: PTH123
            about = json.loads(file.readline())
    except (OSError, ValueError):
        return []
    return kept_originals(_whose(about)[0], folder) if isinstance(about, dict) else []
