"""`inspector clean`: remove everything that can be recomputed, and nothing else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from inspector.cli.app_dirs import CACHES, content_of
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.output import is_terminal, narrate, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inspector.cli.app_dirs import CacheContent


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
    from inspector.report.path_redaction import shown_path
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
    """Ask the user at the terminal.

    Raises:
        CommandError: There is no terminal.
    """
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
