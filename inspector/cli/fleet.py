"""What a command line asks many sessions to be worked on by."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Final

from inspector.cli.executors import HereExecutor, ProcessExecutor
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.session.reading_process import processors

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection

    from inspector.cli.executors import SessionExecutor
    from inspector.cli.kept_results import KeptResults

MOST_PROCESSES: Final = 1000
LITTLE: Final = 1_000_000
"""Bytes of sessions that are gone through in less time than two processes take to start, some 0.8 seconds."""

FLEET_OPTIONS: Final = ("processes", "workers", "scheduler", "no_kept_results")


def add_fleet_arguments(parser: ArgumentParser) -> None:
    """Where many sessions are worked on."""
    group = parser.add_argument_group("many sessions", "The figures are the same wherever they are worked out.")
    places = group.add_mutually_exclusive_group()
    places.add_argument(
        "--processes",
        metavar="N",
        type=_processes,
        help="work in N processes (one for every processor, none where there is little to do); 0: in this one, where "
        "a session that needs too much memory ends all of it",
    )
    places.add_argument(
        "--workers",
        metavar="N",
        type=_workers,
        help="start a cluster of dask with N workers on this machine, for nobody else to reach",
    )
    places.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="join the cluster of dask at ADDRESS (tcp://host:8786); its workers need this version of the program and "
        "the sessions at the same paths",
    )
    group.add_argument(
        "--no-kept-results",
        action="store_const",
        const=True,
        help="read every session anew, and keep nothing for the next time; keep_results = false in the settings too",
    )


def kept_results(options: Namespace) -> KeptResults:
    """What earlier runs kept, unless the line or the settings say to keep nothing."""
    from inspector.cli.kept_results import KeptResults
    from inspector.ui.settings import load_settings

    return KeptResults(is_on=not options.no_kept_results and load_settings().keep_results)


def executor_of(options: Namespace, sessions: int, size: float = math.inf) -> SessionExecutor:
    """What works on so many sessions.

    Args:
        options: What was asked for.
        sessions: How many there are.
        size: Bytes of all of them, where each is gone through once. Of little, no process is started: that takes
            longer than the work.

    Raises:
        CommandError: A cluster was asked for that is not to be had.
    """
    if options.scheduler is not None or options.workers is not None:
        from inspector.cli.cluster_executor import ClusterExecutor

        return (
            ClusterExecutor.joining(options.scheduler)
            if options.scheduler is not None
            else ClusterExecutor.local(options.workers)
        )
    if options.processes == 0 or (options.processes is None and size < LITTLE):
        return HereExecutor()
    return ProcessExecutor(min(options.processes or processors(), sessions))


def refuse_fleet_options(options: Namespace, allowed: Collection[str] = ()) -> None:
    """Tell that one session is not worked on like many.

    Args:
        options: What was asked for.
        allowed: Names of those of `FLEET_OPTIONS` that mean something for one session as well.

    Raises:
        CommandError: It was asked for.
    """
    for name in FLEET_OPTIONS:
        if name not in allowed and getattr(options, name) is not None:
            message = f"--{name.replace('_', '-')} is for folders of sessions; {options.path} is one"
            raise CommandError(message, ExitCode.WRONG_USAGE)


def missing(count: int, total: int, ended: str) -> str:
    """That not everything was worked on, and why, in a sentence."""
    return f"{count:,} of {total:,} sessions are missing: {ended} ended the work before they were done"


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is no number of processes; give 0 to {MOST_PROCESSES:,}")
    return int(text)


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is no number of workers; give 1 to {MOST_PROCESSES:,}")
    return int(text)
