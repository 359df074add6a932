"""What the program keeps on this machine: its folders, its caches, and what they take."""

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
"""Names of files that were being written, see `atomic_files.replacing`."""


class Cache(NamedTuple):
    """One kind of what can be worked out again.

    Attributes:
        name: Of its folder in the cache folder.
        text: What it holds.
        files: A pattern of the names of its files.
    """

    name: str
    text: str
    files: str


CACHES = (
    Cache("tokens", "counts of tokens", r"[0-9a-f]+\.npz"),
    Cache("lists", "what the list says of each session", r"summaries\.msgpack"),
    Cache("results", "results of tune and of reports on folders", r"[0-9a-f]{32}"),
    Cache("recall", "the index of recall --search", r"texts\.db(-wal|-shm|-journal)?"),
)


@dataclass(frozen=True)
class CacheContent:
    """What a cache holds at a moment.

    Attributes:
        cache: Which one.
        folder: Where.
        files: Its files.
        size: What they take, in bytes.
        strangers: How many entries of its folder are not the program's own.
    """

    cache: Cache
    folder: Path
    files: tuple[Path, ...]
    size: int
    strangers: int


def content_of(cache: Cache) -> CacheContent:
    """What a cache holds. A link is a stranger, wherever it leads, and so is all behind a folder that is one.

    Raises:
        OSError: It is there and cannot be listed.
    """
    folder = cache_folder(cache.name)
    files, size, strangers = [], 0, 0
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
                    strangers += 1
    return CacheContent(cache, folder, tuple(sorted(files)), size, strangers)


class OwnFolder(NamedTuple):
    """A folder of the program's own.

    Attributes:
        kind: What the platform calls folders of its kind.
        path: Where it is, or would be.
        keeps: What is kept in it, to follow "cannot keep".
        variable: What names another place for it, on Linux.
    """

    kind: str
    path: Path
    keeps: str
    variable: str


def own_folders() -> tuple[OwnFolder, ...]:
    """The folders, where this platform wants them."""
    from platformdirs import user_cache_path, user_config_path, user_data_path, user_state_path

    return (
        OwnFolder("settings", user_config_path(APPLICATION), "settings", "XDG_CONFIG_HOME"),
        OwnFolder("data", user_data_path(APPLICATION), "plans and pictures", "XDG_DATA_HOME"),
        OwnFolder("state", user_state_path(APPLICATION), "how sessions were left", "XDG_STATE_HOME"),
        OwnFolder("cache", user_cache_path(APPLICATION), "counts, so that each start counts anew", "XDG_CACHE_HOME"),
    )
