"""The commands. Data goes to standard output, narration to standard error, and every failure is one line.

`main` is what the `inspector` program runs. Nothing heavy is imported before the command is known: `--version` and
`--help` need argparse alone.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

NO_HOME = "/nonexistent"
"""What systems call the home of users that have none."""

XDG_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")

ANSWERING = ("--agent", "--plan", "--no-originals")
"""What follows `hook` where an agent started it, which takes an exit code other than 0 for an objection."""

TRACEBACK_VARIABLE = "INSPECTOR_TRACEBACK"
"""Set to anything to see the traceback of a bug."""


UNSUPPORTED = "win32"
"""The platform on which the commands do not run."""

ON_WINDOWS = (
    "inspector runs on Linux and macOS, and on Windows within WSL: wsl --install, then install it there; sessions of "
    "agents outside of it are below /mnt/c: inspector /mnt/c/Users/NAME/.claude/projects. Without WSL the library can "
    "be imported, though that was not tried on Windows itself: from inspector import compact"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: The words after the program's name; None for those it was started with.

    Returns:
        The exit code, see `ExitCode`.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == "hook" and arguments[1:2] and arguments[1].startswith(ANSWERING):
        # After every tool call of an agent, which waits: nothing is read that this does not need.
        from inspector.hook.run import main as answer_event

        return answer_event(arguments[1:])
    from inspector.cli.output import forget, narrate, prepare_streams

    prepare_streams()
    try:
        _refuse_other_systems()
        _settle_home()
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
        forget(sys.stdout)
        return ExitCode.BROKEN_PIPE
    except MemoryError:
        narrate("there is too little memory for this; where `ulimit -v` limits it, raise the limit")
        return ExitCode.UNREADABLE
    except Exception as error:  # the last line of defence: a bug is told in one safe line, never hidden
        from inspector.cli.memory import too_little_memory

        if told := too_little_memory(error):
            narrate(told)
            return ExitCode.UNREADABLE
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        narrate(_bug(error))
        return ExitCode.BUG


def _refuse_other_systems() -> None:
    if sys.platform == UNSUPPORTED:
        raise CommandError(ON_WINDOWS, ExitCode.WRONG_USAGE)


def _settle_home() -> None:
    """Name a home where nobody is there where the system knows none, as for a user of a container without an entry.

    Nothing is found there and nothing can be kept there, which is told where it matters; else everything that looks
    for sessions, settings or caches would fail, or make a folder called `~` where it was started. A home that is no
    whole path would be another one in every folder; folders of that kind are none by the XDG base directory rules.
    """
    if not os.path.isabs(os.path.expanduser("~")):  # noqa: PTH111, PTH117  the way of `Path` fails where there is none
        os.environ["HOME"] = NO_HOME
    for name in XDG_FOLDERS:
        if not os.path.isabs(os.environ.get(name, "/")):  # noqa: PTH117  a text, of which no path is made
            del os.environ[name]


def _run(arguments: Sequence[str]) -> int:
    from inspector.cli.commands import command_parser, find_command, screen_parser
    from inspector.cli.memory import collect_seldom, make_do, too_little_memory
    from inspector.cli.output import write

    command, rest = find_command(arguments)
    parser = command_parser(command) if command else screen_parser()
    try:
        options = parser.parse_args(rest)
    except SystemExit as ending:  # argparse printed its help or version
        write("")  # flushed here, where a reader that is gone is understood
        return ending.code if isinstance(ending.code, int) else ExitCode.FINE
    if told := too_little_memory():
        raise CommandError(told, ExitCode.UNREADABLE)
    make_do()
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    if command is not None:
        collect_seldom()
        return command.load().run(options)
    from inspector.cli import screen

    return screen.run(options)


def _bug(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    return f"this is a bug: {type(error).__name__} in {place}; set {TRACEBACK_VARIABLE}=1 to see all of it"
