"""Options for the execution of work on many sessions."""

from __future__ import annotations

from argparse import ArgumentTypeError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.plans import settled
from inspector.cli.reading import parse_billing_terms, pricing_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection, Iterator

    from inspector.fleet.executors import Execution
    from inspector.fleet.result_cache import ResultCache
    from inspector.fleet.session_tasks import SessionTerms

MOST_PROCESSES: Final = 1000
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


def execution_of(options: Namespace) -> Execution:
    from inspector.fleet.executors import Execution

    return Execution(options.processes, options.workers, options.scheduler)


def session_terms(options: Namespace) -> SessionTerms:
    """Build the terms of sessions; price files and plan files are read here.

    Raises:
        CommandError: One of them is invalid.
    """
    from inspector.fleet.session_tasks import SessionTerms

    terms = parse_billing_terms(options)
    plans = tuple(settled(request) for request in getattr(options, "plans", ()))
    return SessionTerms(pricing_of(terms, options.price_file), terms.cache, terms.window, plans)


@contextmanager
def fleet_errors() -> Iterator[None]:
    """Turn errors of work on many sessions into errors of a command."""
    from inspector.fleet.executors import EndedEarlyError, FleetError

    try:
        yield
    except EndedEarlyError as error:
        raise CommandError(error.message, ExitCode.INTERRUPTED) from None
    except FleetError as error:
        raise CommandError(error.message) from None


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


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of processes; use 0 to {MOST_PROCESSES:,}")
    return int(text)


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of workers; use 1 to {MOST_PROCESSES:,}")
    return int(text)
