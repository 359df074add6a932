"""Originals of results trimmed by the hook, stored for `inspector recall` in a private folder with a size limit.

An agent's transcript may contain only the trimmed text, so the original is written here before the trimmed text is
returned. A file starts with a line of JSON metadata; the rest is the text, byte for byte. The oldest files are evicted
first. Imports are minimal: the hook runs after every tool call.
"""

from __future__ import annotations

import os
import sys

FOLDER = "originals"
RESULTS = "results"
"""Folder of texts with files named in notices: the files contain only the text, for agents to read."""
ROOM_BYTES = 256 << 20
"""Size limit of all originals, and of all stored results."""

MOST_FILES = 20_000
_LONGEST_NAME = 100
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def state_folder() -> str:
    """Return the hook's folder below the platform's state folder.

    Without a home folder, return a path that cannot be created, so that no home folder is created.
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
    if identifier and len(identifier) <= _LONGEST_NAME and _SAFE.issuperset(identifier):
        return identifier
    from hashlib import blake2b

    return f"x{blake2b(identifier.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def stored_path(folder: str, identifier: str, session: str) -> str:
    """Return the path of a file that contains only the text, as named in notices; see `store_original`."""
    return f"{folder}/{RESULTS}/{_name_of(identifier)}.{_name_of(session)}.txt"


def store_original(
    folder: str, identifier: str, session: str, text: str, about: dict[str, object], *, is_stored: bool = False
) -> None:
    """Store a text atomically, readable by its owner only. Raises `OSError` if it cannot be written.

    Args:
        session: The session's id; the same call id in another session is a different original.
        is_stored: Store the text in the file at `stored_path`, for agents to read.
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


def evict_originals(folder: str, room: int = ROOM_BYTES) -> None:
    """Evict the oldest originals beyond the size limit."""
    from contextlib import suppress
    from pathlib import Path

    from inspector.atomic_files import evict

    for name in (FOLDER, RESULTS):
        with suppress(OSError):
            evict(Path(folder) / name, most_files=MOST_FILES, most_bytes=room)


def has_original(identifier: str, session: str, folder: str) -> bool:
    return os.path.exists(f"{folder}/{FOLDER}/{_name_of(identifier)}.{_name_of(session)}")  # noqa: PTH110


def stored_originals(identifier: str, folder: str | None = None) -> list[tuple[dict[str, object], str]]:
    """Return metadata and texts of the originals stored for a tool call's id, newest first."""
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
    """Return the original of a session's tool call before trimming, or None if not stored."""
    return next((text for about, text in stored_originals(identifier) if about.get("session") == session), None)


def find_originals(asked: str, folder: str | None = None) -> list[tuple[dict[str, object], str]]:
    """Return the originals of a call's id, or of `SESSION:ID`. A file in the hook's notice matches its own."""
    folder = folder or state_folder()
    found = stored_originals(asked, folder)
    if found:
        return found
    if asked.startswith(f"{folder}/{RESULTS}/"):
        return [each for each in _of_file(asked, folder) if stored_path(folder, *_owner(each[0])) == asked]
    for colon in (index for index, character in enumerate(asked) if character == ":"):
        session = asked[:colon]
        found = [each for each in stored_originals(asked[colon + 1 :], folder) if each[0].get("session") == session]
        if found:
            return found
    return []


def _owner(about: dict[str, object]) -> tuple[str, str]:
    return str(about.get("id", "")), str(about.get("session", ""))


def _of_file(path: str, folder: str) -> list[tuple[dict[str, object], str]]:
    import json

    name = os.path.basename(path).removesuffix(".txt")  # noqa: PTH119
    try:
        with open(f"{folder}/{FOLDER}/{name}", "rb") as file:  # noqa: PTH123
            about = json.loads(file.readline())
    except (OSError, ValueError):
        return []
    return stored_originals(_owner(about)[0], folder) if isinstance(about, dict) else []
