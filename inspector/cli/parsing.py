"""Command lines: which command is meant, its parser, and the help that goes with it."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, NoReturn

from inspector import __version__
from inspector.cli.commands import COMMANDS
from inspector.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.cli.commands import Command

NO_COLOR_OPTION = "--no-color"

HELP_WIDTH = 79
"""Columns of the paragraphs argparse prints as they are."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `CommandError` for a wrong command line, so that it is told in one line like any error."""

    def error(self, message: str) -> NoReturn:
        """Raise the error argparse found."""
        raise CommandError(f"{message}; see: {self.prog} --help", ExitCode.WRONG_USAGE)


def find_command(arguments: Sequence[str]) -> tuple[Command | None, list[str]]:
    """The command a line begins with, and the arguments left for it.

    Only the first word can name a command, so that `./report` and `-- report` mean a file of that name.
    """
    words = list(arguments)
    leading = []
    while words and words[0] == NO_COLOR_OPTION:
        leading.append(words.pop(0))
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]], leading + words[1:]
    return None, leading + words


def command_parser(command: Command) -> Parser:
    """The parser of one command, its module's arguments included."""
    parser = Parser(
        prog=f"inspector {command.name}",
        description=textwrap.fill(command.description, HELP_WIDTH),
        epilog=_examples(command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.load().add_arguments(parser)
    _add_color_option(parser)
    return parser


def screen_parser() -> Parser:
    """The parser of a line without a command word: paths for the screen to open."""
    parser = Parser(
        prog="inspector",
        usage="inspector [--last] [PATH ...]\n       inspector COMMAND ...",
        description=(
            "See what an AI agent carries in its context, and try live what each way of\n"
            "shrinking it would leave, cost and lose. Session files are only ever read."
        ),
        epilog=_command_list(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="session files to open and follow, each in a tab, or a directory to pick from; nothing: pick from this "
        "machine's agents",
    )
    parser.add_argument(
        "--last", action="store_true", help="open the newest session, of a directory or of this machine's agents"
    )
    parser.add_argument("--version", action="version", version=f"inspector {__version__}")
    _add_color_option(parser)
    return parser


def _add_color_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(NO_COLOR_OPTION, action="store_true", help="no colours, as with the variable NO_COLOR")


def _examples(lines: Sequence[str]) -> str:
    return "\n".join([f"example{'s' if len(lines) > 1 else ''}:", *(f"  {line}" for line in lines)])


def _command_list() -> str:
    lines = ["commands (each has --help):"]
    for command in COMMANDS.values():
        lines += [f"  {command.name:<12}{command.summary}", f"  {'':<12}  {command.examples[0]}"]
    lines += [
        "",
        _examples(("inspector", "inspector session.jsonl", "inspector ~/.claude/projects/project", "inspector demo")),
        "",
        "A file named like a command is opened as ./report.",
        "Exit codes: 0 fine, 1 something could not be read or written, 2 wrong usage,",
        "3 a check is beyond its threshold.",
    ]
    return "\n".join(lines)
