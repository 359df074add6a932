"""The program's folders and caches on this machine, and their size."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inspector.atomic_files import APPLICATION, UNFINISHED_SUFFIX, cache_folder

if TYPE_CHECKING:
    from pathlib import Path

UNFINISHED = re.compile(rf"new-[0-9a-f]{{16}}{re.escape(UNFINISHED_SUFFIX)}")
"""Names of temporary files of interrupted writes, see `atomic_files.replacing`."""


class Cache(NamedTuple):
    """One kind of recomputable data.

    Attributes:
        name: Name of its folder in the cache folder.
        text: Description of its content.
        files: File name pattern.
    """

    name: str
    text: str
    files: str


CACHES = (
    Cache("tokens", "token counts", r"[0-9a-f]+\.npz"),
    Cache("lists", "session summaries for the list", r"summaries\.msgpack"),
    Cache("results", "results of tune and of folder reports", r"[0-9a-f]{32}"),
    Cache("status", "status lines of running sessions", r"[0-9a-f]{8}-[0-9]+\.json(\.lock)?"),
    Cache("recall", "the index of recall --search", r"texts\.db(-wal|-shm|-journal)?"),
)


@dataclass(frozen=True)
class CacheContent:
    """Snapshot of a cache.

    Attributes:
        cache: The cache.
        folder: Its folder.
        files: Its files.
        size: Total bytes.
        strangers: Number of foreign entries in its folder.
    """

    cache: Cache
    folder: Path
    files: tuple[Path, ...]
    size: int
    foreign_entries: int


def content_of(cache: Cache) -> CacheContent:
    """List a cache. Symbolic links are foreign entries, as is everything below a linked folder.

    Raises:
        OSError: It exists and cannot be listed.
    """
    folder = cache_folder(cache.name)
    files, size, foreign_entries = [], 0, 0
    is_linked = any(map(os.path.islink, (folder, folder.parent)))
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            is_named = re.fullmatch(cache.files, entry.name) or UNFINISHED.fullmatch(entry.name)
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if is_named and stat.S_ISREG(status.st_mode) and not is_linked:
                    files.append(folder / entry.name)
                    size += status.st_size
                else:
                    foreign_entries += 1
    return CacheContent(cache, folder, tuple(sorted(files)), size, foreign_entries)


class AppFolder(NamedTuple):
    """A folder of the program.

    Attributes:
        kind: Platform name of this kind of folder.
        path: Its path, which may not exist yet.
        keeps: Its content, to follow "cannot keep".
        variable: Environment variable that overrides it on Linux.
    """

    kind: str
    path: Path
    keeps: str
    variable: str


def app_folders() -> tuple[AppFolder, ...]:
    """Return the program's folders on this platform."""
    from platformdirs import user_cache_path, user_config_path, user_data_path, user_state_path

    return (
        AppFolder("settings", user_config_path(APPLICATION), "settings", "XDG_CONFIG_HOME"),
        AppFolder("data", user_data_path(APPLICATION), "plans and pictures", "XDG_DATA_HOME"),
        AppFolder("state", user_state_path(APPLICATION), "the view state of sessions", "XDG_STATE_HOME"),
        AppFolder("cache", user_cache_path(APPLICATION), "token counts, so each start counts again", "XDG_CACHE_HOME"),
    )
