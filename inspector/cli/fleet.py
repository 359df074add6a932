"""Options for the execution of work on many sessions."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Final

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.fleet.executors import InProcessExecutor, ProcessExecutor
from inspector.session.reading_process import processors

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection

    from inspector.fleet.executors import SessionExecutor
    from inspector.fleet.result_cache import ResultCache

MOST_PROCESSES: Final = 1000
FEW_BYTES: Final = 1_000_000
"""Bytes of sessions that are processed faster than two processes start, some 0.8 seconds."""

FLEET_OPTIONS: Final = ("processes", "workers", "scheduler", "no_kept_results")


def add_fleet_arguments(parser: ArgumentParser) -> None:
    """Add options for execution."""
    group = parser.add_argument_group("many sessions", "The figures are the same for each choice.")
    places = group.add_mutually_exclusive_group()
    places.add_argument(
        "--processes",
        metavar="N",
        type=_processes,
        help=(
            "use N processes (default: one per processor, none for little work); 0: this process, which is "
            "killed if a session needs too much memory"
        ),
    )
    places.add_argument(
        "--workers",
        metavar="N",
        type=_workers,
        help="start a local dask cluster with N workers, not reachable from other machines",
    )
    places.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=(
            "join the dask cluster at ADDRESS (tcp://host:8786); its workers need this version of the program and "
            "the sessions at the same paths"
        ),
    )
    group.add_argument(
        "--no-kept-results",
        action="store_const",
        const=True,
        help="read every session again and cache nothing, like keep_results = false in the settings",
    )


def kept_results(options: Namespace) -> ResultCache:
    """Return the cache of results, disabled by options or settings."""
    from inspector.fleet.result_cache import ResultCache
    from inspector.settings import load_settings

    return ResultCache(is_on=not options.no_kept_results and load_settings().keep_results)


def executor_of(options: Namespace, sessions: int, size: float = math.inf) -> SessionExecutor:
    """Choose an executor.

    Args:
        options: Parsed options.
        sessions: Number of sessions.
        size: Total bytes if each session is processed once. A small total is processed without starting processes,
            which would take longer than the work.

    Raises:
        CommandError: The requested cluster is not available.
    """
    if options.scheduler is not None or options.workers is not None:
        from inspector.fleet.cluster import ClusterExecutor

        return (
            ClusterExecutor.joining(options.scheduler)
            if options.scheduler is not None
            else ClusterExecutor.local(options.workers)
        )
    if options.processes == 0 or (options.processes is None and size < FEW_BYTES):
        return InProcessExecutor()
    return ProcessExecutor(min(options.processes or processors(), sessions))


def refuse_fleet_options(options: Namespace, allowed: Collection[str] = ()) -> None:
    """Reject options for many sessions on a single one.

    Args:
        options: Parsed options.
        allowed: Names in `FLEET_OPTIONS` that also apply to one session.

    Raises:
        CommandError: A rejected option was given.
    """
    for name in FLEET_OPTIONS:
        if name not in allowed and getattr(options, name) is not None:
            message = f"--{name.replace('_', '-')} is for folders of sessions; {options.path} is a single one"
            raise CommandError(message, ExitCode.WRONG_USAGE)


def missing(count: int, total: int, ended: str) -> str:
    """Return a sentence on unprocessed sessions and the reason."""
    return f"{count:,} of {total:,} sessions are missing: {ended} ended the work early"


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of processes; use 0 to {MOST_PROCESSES:,}")
    return int(text)


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of workers; use 1 to {MOST_PROCESSES:,}")
    return int(text)
