"""The program's folders and caches on this machine, and `inspector clean`, which removes what can be recomputed."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inspector.atomic_files import APPLICATION, UNFINISHED_SUFFIX, cache_folder
from inspector.cli.output import CommandError, ExitCode, is_terminal, narrate, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from pathlib import Path


UNFINISHED = re.compile(rf"new-[0-9a-f]{{16}}{re.escape(UNFINISHED_SUFFIX)}")
"""Names of temporary files of interrupted writes, see `atomic_files.replacing`."""


class Cache(NamedTuple):
    """One kind of recomputable data, in its folder of the cache folder."""

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
    """Snapshot of a cache, with its total size in bytes."""

    cache: Cache
    folder: Path
    files: tuple[Path, ...]
    size: int
    foreign_entries: int


def content_of(cache: Cache) -> CacheContent:
    """List a cache; links and all below a linked folder are foreign. Raise `OSError` if it cannot be listed."""
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
    from platformdirs import user_cache_path, user_config_path, user_data_path, user_state_path

    return (
        AppFolder("settings", user_config_path(APPLICATION), "settings", "XDG_CONFIG_HOME"),
        AppFolder("data", user_data_path(APPLICATION), "plans and pictures", "XDG_DATA_HOME"),
        AppFolder("state", user_state_path(APPLICATION), "the view state of sessions", "XDG_STATE_HOME"),
        AppFolder("cache", user_cache_path(APPLICATION), "token counts, so each start counts again", "XDG_CACHE_HOME"),
    )


def add_arguments(parser: ArgumentParser) -> None:
    names = [cache.name for cache in CACHES]
    parser.add_argument(
        "caches",
        nargs="*",
        metavar="CACHE",
        help=f"only these caches: {', '.join(names[:-1])} or {names[-1]}; default: all",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def run(options: Namespace) -> int:
    """List the caches, confirm, and remove them."""
    names = {cache.name for cache in CACHES}
    if unknown := [name for name in options.caches if name not in names]:
        message = f"unknown cache {unknown[0]}; use one of {', '.join(cache.name for cache in CACHES)}"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    try:
        found = [content_of(cache) for cache in CACHES if not options.caches or cache.name in options.caches]
    except OSError as error:
        raise CommandError(f"{error.filename}: cannot be listed: {error.strerror or error}") from None
    write(_listing(found))
    count = sum(len(content.files) for content in found)
    if not count:
        return ExitCode.FINE
    if not options.yes and not _agreed(count):
        narrate("nothing was removed")
        return ExitCode.FINE
    return _remove(found)


def _listing(found: Sequence[CacheContent]) -> str:
    from inspector.report.numbers import file_size
    from inspector.report.secret_redaction import shown_path
    from inspector.safe_text import one_line

    lines = []
    for content in found:
        size = file_size(content.size) if content.files else "empty"
        lines.append(f"{content.cache.name:<9}{len(content.files):>7,} {_files(len(content.files)):<6}{size:>8}")
        lines[-1] += f"  {content.cache.text}: {one_line(shown_path(content.folder))}"
        if content.foreign_entries:
            lines.append(
                f"{'':<9}{content.foreign_entries:>7,} other files there do not belong to the program and stay"
            )
    total = sum(content.size for content in found)
    count = sum(len(content.files) for content in found)
    lines.append(f"{'total':<9}{count:>7,} {_files(count):<6}{file_size(total) if count else 'empty':>8}")
    return "".join(f"{line}\n" for line in lines)


def _files(count: int) -> str:
    return "file" if count == 1 else "files"


def _agreed(count: int) -> bool:
    """Ask the user at the terminal; raise `CommandError` without one."""
    if not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        raise CommandError("nothing was removed: confirm with --yes when there is no terminal", ExitCode.WRONG_USAGE)
    sys.stderr.write(f"Remove {'this' if count == 1 else 'these'} {count:,} {_files(count)}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(found: Sequence[CacheContent]) -> int:
    from inspector.report.numbers import file_size

    removed, failed = 0, ""
    for content in found:
        for file in content.files:
            try:
                file.unlink(missing_ok=True)
                removed += 1
            except OSError as error:
                failed = failed or f"{file}: cannot be removed: {error.strerror or error}"
    total = file_size(sum(content.size for content in found))
    if failed:
        raise CommandError(f"removed {removed:,} {_files(removed)}; {failed}")
    narrate(f"removed {removed:,} {_files(removed)}, {total}")
    return ExitCode.FINE
