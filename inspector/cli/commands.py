"""The commands, their lookup, parsers, and help.

A command's module is imported only when that command runs or shows its help.
"""

from __future__ import annotations

import argparse
import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol, cast

from inspector.cli.exit_codes import CommandError, ExitCode

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence


class CommandModule(Protocol):
    """Interface of a command's module."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's arguments to its parser."""
        ...

    def run(self, options: Namespace) -> int:
        """Run the command and return the exit code."""
        ...


class Command(NamedTuple):
    """One command.

    Attributes:
        name: Command word.
        summary: Description in half a line.
        description: Description in a few sentences.
        examples: Valid command lines.
        module: Module that implements it.
    """

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]
    module: str

    def load(self) -> CommandModule:
        """Import the command's module."""
        return cast("CommandModule", import_module(self.module))


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "demo",
            "the screen on the bundled samples, one of them growing as if live",
            "Opens the samples that come with the program. The first one grows while you watch, as a running agent's "
            "session does; its copy lives in a temporary folder that is removed at the end. With --play it shows by "
            "itself what there is to see, until a key is pressed.",
            ("inspector demo", "inspector demo --play", "inspector demo --play --speed 2", "inspector demo --list"),
            "inspector.cli.demo",
        ),
        Command(
            "report",
            "what a session costs, and what each plan would make of it",
            "Replays every call of a session under each plan and prints prompt tokens, cache use, cost and savings. "
            "Every figure says how it is known.",
            (
                "inspector report session.jsonl",
                "inspector report --last --format html -o page.html",
                "inspector report session.jsonl --strategy tiered-stale --strategy tiered-stale:data=200",
                "inspector report session.jsonl --plan careful --plan tuned.toml --format json -o report.json",
            ),
            "inspector.cli.report",
        ),
        Command(
            "why",
            "why a session cost what it cost, on one screen",
            "Says what a session cost and what of: cache reads, cache writes, uncached input and output; which calls "
            "missed the prompt cache, why, for how much and what would have prevented it; which tool results cost "
            "most to resend; the best plan and what it would have saved; what the next call costs; and, where asked, "
            "what another model would have made of it from a call on.",
            (
                "inspector why session.jsonl",
                "inspector why --last",
                "inspector why session.jsonl --switch claude-sonnet-4-6 --at 80",
                "inspector why session.jsonl --format json",
            ),
            "inspector.cli.why",
        ),
        Command(
            "tune",
            "the best limits for your sessions, what they save and what they risk",
            "Tries every strategy and ready plan at many limits on many sessions, of each agent and model apart, and "
            "says on one screen what to set, what it saves after getting back what later calls needed, how sure that "
            "is (chosen without each session; against each session's own best; over sessions drawn anew), and what it "
            "risks. Refuses where there are too few sessions to tell.",
            (
                "inspector tune",
                "inspector tune ~/.claude/projects -o tuned.toml",
                "inspector tune sessions/ --max-needed 1 --keep Read --report tuned.html --format html",
                "inspector tune sessions/ --strategy anthropic-clear-tool-uses --export anthropic",
            ),
            "inspector.cli.tune",
        ),
        Command(
            "recall",
            "the whole of a tool result that was cut, by its id or by its words",
            "Prints a tool result as its session's file has it: by its tool call's id or the beginning of one, by the "
            "execution id or the file that a notice names, or by its place, SESSION:MESSAGE as the timeline counts. "
            "Exact in a pipe, made safe on a terminal. --search finds texts by their words, through an index in the "
            "cache folder that keeps no text.",
            (
                "inspector recall toolu_01iclFeGOMajybVrGwKXaGjm",
                "inspector recall :12 session.jsonl --grep error",
                "inspector recall call_7 ~/.codex/sessions --lines 100-200",
                "inspector recall toolu_01iclFeG --json",
                'inspector recall --search "rate limit retry"',
            ),
            "inspector.cli.recall",
        ),
        Command(
            "hook",
            "a plan applied to tool results as they are born, in a live agent",
            "Run by an agent after every tool call (`inspector hook --agent claude-code --plan tuned.toml`), it reads "
            "the event on standard input, trims the result as the plan's strategies of insertion do, and answers in "
            "the agent's own form; any error leaves the result as it is. `install` shows what it would change in the "
            "agent's settings and asks; `uninstall` takes it back; `stats` says what was trimmed.",
            (
                "inspector hook install --agent claude-code --plan tuned.toml",
                "inspector hook stats",
                "inspector hook uninstall --agent claude-code",
            ),
            "inspector.cli.hook",
        ),
        Command(
            "files",
            "what a session did to its files, and what each held at any turn",
            "Lists the files that a session's tools read, edited, wrote and patched; of one file, what was done to it, "
            "its content as the agent knew it at a turn, with what is not known said as such, and what differs between "
            "two turns. --changelog says what was changed and what for: by the intent that a call records, else by "
            "what the agent wrote before it, else by the difference. Nothing is read but the session's own records.",
            (
                "inspector files session.jsonl",
                "inspector files session.jsonl src/app/router.py",
                "inspector files session.jsonl router.py --at 50",
                "inspector files session.jsonl router.py --diff 10 50",
                "inspector files session.jsonl --changelog --format md",
            ),
            "inspector.cli.files",
        ),
        Command(
            "mcp",
            "a server through which an agent asks for what was cut from its own context",
            "Serves four read-only tools over standard input and output by the Model Context Protocol: memory_query, "
            "file_state_at, changelog and context_report, for the newest session of the folder it is started in, or "
            "for the sessions named. Answers are bounded and come in pages; secrets in them are masked. No file is "
            "read but the sessions' own, and nothing is written but the index of recall.",
            ("inspector mcp", "inspector mcp session.jsonl", "inspector mcp ~/.claude/projects --allow-secrets"),
            "inspector.cli.mcp",
        ),
        Command(
            "export",
            "a plan as code, for a hook, or as an agent's own settings",
            "Writes what was tuned here so that something applies it: code of your own (python), a hook in a live "
            "agent (hook), or the settings of a system: a dictionary, a settings file, the fields of a request. What "
            "cannot be said there is named on standard error.",
            (
                "inspector export --plan careful --to hook",
                "inspector export --strategy keep-recent --to python",
                "inspector export --strategy tiered-stale:data=300 --to hynous",
                "inspector export --plan tuned.toml --to langchain -o middleware.py",
                "inspector export --list",
            ),
            "inspector.cli.export",
        ),
        Command(
            "serve",
            "the same screen in a browser on this machine",
            "Prints an address that opens the screen in a browser, once. It listens on this machine alone, loads "
            "nothing from elsewhere, and reads sessions only; what is saved or copied arrives in the browser.",
            ("inspector serve session.jsonl", "inspector serve ~/.claude/projects --port 8765"),
            "inspector.cli.serve",
        ),
        Command(
            "screenshot",
            "the screen on a session as a picture, without a terminal",
            "Opens the screen on a session, presses keys, and writes what it shows as SVG or PNG. With --chart, the "
            "context chart alone, drawn for slides.",
            (
                "inspector screenshot session.jsonl --size 140x45 -o screen.svg",
                "inspector screenshot session.jsonl --keys 'question_mark' -o help.png",
                "inspector screenshot session.jsonl --chart --strategy tiered-stale -o chart.svg",
            ),
            "inspector.cli.screenshot",
        ),
        Command(
            "compact",
            "the messages a plan would send, as JSON",
            "Prints the messages of one call as the plan would send them: by default those of the next call, which is "
            "the whole conversation so far.",
            (
                "inspector compact session.jsonl --strategy tiered-stale",
                "inspector compact session.jsonl --strategy tiered-stale --call 40 --format openai",
            ),
            "inspector.cli.compact",
        ),
        Command(
            "compare",
            "every strategy on one session; or sessions before and after a change",
            "Replays a session under each strategy alone, with the defaults that fit the session, and prints what each "
            "would send, cost and save. With --before and --after, or with a date that divides a folder, compares two "
            "sets of real sessions instead: what a call and a session cost, how much the cache gave, misses, "
            "compactions and re-reads, how sure the differences are, and how many more sessions it would take where "
            "none can be told.",
            (
                "inspector compare session.jsonl",
                "inspector compare --before old-sessions/ --after new-sessions/ --format html -o receipt.html",
                "inspector compare --at 2026-11-01 ~/.claude/projects --effect 5%",
            ),
            "inspector.cli.compare",
        ),
        Command(
            "check",
            "predictions against what sessions report",
            "Predicts every session that reports usage as if it did not (prompt sizes, what caches read and wrote, "
            "cost, what the agent itself cut) and says how far each is off. Exit code 3 where prompts are not met "
            "within the threshold.",
            ("inspector check session.jsonl", "inspector check ~/.claude/projects --format json --threshold 0.5"),
            "inspector.cli.check",
        ),
        Command(
            "convert",
            "a session in a plain form that other programs take",
            "Writes what the model would see next, or everything that was said, as messages of Anthropic's or OpenAI's "
            "API or as an ATIF trajectory. What that form cannot say is counted on standard error.",
            (
                "inspector convert session.jsonl --to openai",
                "inspector convert session.jsonl --to atif --what conversation -o trajectory.json",
            ),
            "inspector.cli.convert",
        ),
        Command(
            "strategies",
            "the strategies there are and what can be tuned",
            "Lists every strategy with where it comes from; with a name, its parameters with unit, default and range. "
            "With --plans, the plans that are ready and those you saved.",
            ("inspector strategies", "inspector strategies tiered-stale", "inspector strategies --plans"),
            "inspector.cli.strategies",
        ),
        Command(
            "formats",
            "what can be read, and where it was looked for",
            "Lists the session formats and the places they are looked for; with a path, says what the file was taken "
            "for and why, what is in it, and what could not be read.",
            ("inspector formats", "inspector formats session.jsonl"),
            "inspector.cli.formats",
        ),
        Command(
            "help",
            "help about a command, or a page of the documentation",
            "Prints the help of a command, a page of the documentation, or what a strategy or ready plan does; without "
            "a topic, what there is. On a terminal pages are drawn and shown through its pager.",
            ("inspector help", "inspector help figures", "inspector help tiered-stale"),
            "inspector.cli.help",
        ),
        Command(
            "doctor",
            "what is wrong with this terminal or machine, and what to do",
            "Looks at the terminal (colours, encoding, width of characters), the folders the program writes to, file "
            "events, the vocabulary, prices, settings, and which agents' sessions are found. What it prints can be "
            "pasted into a bug report: homes are shown as ~, and nothing of what sessions say is read. Exit code 3 "
            "where something is to be mended.",
            ("inspector doctor",),
            "inspector.cli.doctor",
        ),
        Command(
            "clean",
            "remove what the program keeps and can work out again",
            "Says what each of the program's caches holds and how much that is, asks, and removes it: counts of "
            "tokens, what the list says of sessions, results of tune, the index of recall --search. Nothing else is "
            "touched: not sessions, settings or plans, and not files in those folders that others put there.",
            ("inspector clean", "inspector clean results recall --yes"),
            "inspector.cli.clean",
        ),
        Command(
            "completions",
            "a script that lets your shell complete what is typed",
            "Prints a script for bash, zsh or fish that completes commands, options, files, plans, strategies and "
            "their parameters; without a shell, how to use it.",
            ('eval "$(inspector completions bash)"', "inspector completions zsh"),
            "inspector.cli.completions",
        ),
    )
}
"""Commands by name, in the order of the help."""

NO_COLOR_OPTION = "--no-color"

HELP_WIDTH = 79
"""Columns of paragraphs that argparse prints verbatim."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `CommandError` for an invalid command line, so that it is reported in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error of argparse."""
        raise CommandError(f"{message}; see: {self.prog} --help", ExitCode.WRONG_USAGE)


class VersionAction(argparse.Action):
    """An action that prints the version; versions of installed packages are only read then."""

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        """Print the version and exit."""
        from inspector.cli.optional_parts import version_text
        from inspector.cli.output import write

        write(version_text())
        parser.exit()


def find_command(arguments: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Return the command of a line, and its remaining arguments.

    Only the first word can name a command, so `./report` and `-- report` mean a file of that name.
    """
    words = list(arguments)
    leading = []
    while words and words[0] == NO_COLOR_OPTION:
        leading.append(words.pop(0))
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]], leading + words[1:]
    return None, leading + words


def command_parser(command: Command) -> Parser:
    """Build the parser of one command, with its module's arguments."""
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
    """Build the parser of a line without a command: paths for the screen to open."""
    parser = Parser(
        prog="inspector",
        usage="inspector [--last] [PATH ...]\n       inspector COMMAND ...",
        description=(
            "See what fills an AI agent's context, and try live what each way of\n"
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
    parser.add_argument(
        "--version", action=VersionAction, nargs=0, help="print the version and which optional parts are installed"
    )
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
        _examples(("inspector demo", "inspector --last", "inspector session.jsonl", "inspector ~/.claude/projects")),
        "",
        "A file named like a command is opened as ./report.",
        "Exit codes: 0 fine, 1 something could not be read or written, 2 wrong usage,",
        "3 a check is beyond its threshold.",
    ]
    return "\n".join(lines)
