"""The commands. Data goes to standard output, messages to standard error, and every failure is one line.

`main` is the entry point of the `inspector` program. Heavy imports wait until the command is parsed: `--version` and
`--help` only need argparse.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

NO_HOME = "/nonexistent"
"""Conventional home folder of users without one."""

XDG_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")

ANSWERING = ("--agent", "--plan", "--no-originals")
"""Arguments of `hook` when an agent runs it. The agent treats any exit code other than 0 as an objection."""


UNSUPPORTED = "win32"
"""The platform on which the commands do not run."""

ON_WINDOWS = (
    "inspector runs on Linux and macOS, and on Windows in WSL: run wsl --install, then install inspector there. "
    "Sessions of agents outside WSL are below /mnt/c: inspector /mnt/c/Users/NAME/.claude/projects. Without WSL, "
    "only the library may work (untested on Windows): from inspector import compact"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default `sys.argv`, and return its exit code, see `ExitCode`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if (code := _answer_agent(arguments)) is not None:
        return code
    from inspector.cli.output import CommandError, ExitCode, narrate, prepare_streams, redirect_to_devnull
    from inspector.errors import TRACEBACK_VARIABLE, InspectorError, describe_bug

    prepare_streams()
    try:
        _refuse_other_systems()
        _ensure_home()
        return _run(arguments)
    except CommandError as error:
        narrate(error.message)
        return error.code
    except InspectorError as error:
        narrate(error.explanation)
        return ExitCode.UNREADABLE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        redirect_to_devnull(sys.stdout)
        return ExitCode.BROKEN_PIPE
    except MemoryError:
        narrate("not enough memory; if `ulimit -v` limits it, raise the limit")
        return ExitCode.UNREADABLE
    except Exception as error:  # last line of defense: a bug becomes one safe line, never silence
        from inspector.process_memory import too_little_memory

        if reported := too_little_memory(error):
            narrate(reported)
            return ExitCode.UNREADABLE
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        narrate(describe_bug(error))
        return ExitCode.BUG


def _answer_agent(arguments: Sequence[str]) -> int | None:
    """Run a command for which an agent waits, with as few imports as possible; None if it has to run in full."""
    if arguments and arguments[0] == "hook" and arguments[1:2] and arguments[1].startswith(ANSWERING):
        from inspector.hook.run import main as answer_event

        return answer_event(arguments[1:])
    if arguments and arguments[0] == "status":
        from inspector.cli.status import quick

        return quick(arguments[1:])
    return None


def _refuse_other_systems() -> None:
    if sys.platform == UNSUPPORTED:
        from inspector.cli.output import CommandError, ExitCode

        raise CommandError(ON_WINDOWS, ExitCode.WRONG_USAGE)


def _ensure_home() -> None:
    """Point HOME at a non-existent folder if the user has none (containers).

    Nothing is found or stored there, which is reported where it matters. Without this, every search for sessions,
    settings or caches would fail, or create a folder called `~` in the current one. A relative HOME would change with
    the current folder. The XDG base directory specification ignores relative paths, so such variables are removed.
    """
    if not os.path.isabs(os.path.expanduser("~")):  # noqa: PTH111, PTH117  `Path` raises without a home
        os.environ["HOME"] = NO_HOME
    for name in XDG_FOLDERS:
        if not os.path.isabs(os.environ.get(name, "/")):  # noqa: PTH117  only a string
            del os.environ[name]


def _run(arguments: Sequence[str]) -> int:
    from inspector.cli.commands import command_parser, find_command, screen_parser
    from inspector.cli.output import CommandError, ExitCode, write
    from inspector.process_memory import limit_blas_threads, too_little_memory, tune_gc

    command, rest = find_command(arguments)
    parser = command_parser(command) if command else screen_parser()
    try:
        options = parser.parse_args(rest)
    except SystemExit as ending:  # argparse printed help or version
        write("")  # flush here, where a broken pipe is handled
        return ending.code if isinstance(ending.code, int) else ExitCode.FINE
    if reported := too_little_memory():
        raise CommandError(reported, ExitCode.UNREADABLE)
    limit_blas_threads()
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    if command is not None:
        tune_gc()
        return command.load().run(options)
    from inspector.cli import screen

    return screen.run(options)
