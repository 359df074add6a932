"""The commands, their lookup, parsers, and help.

A command's module is imported only when that command runs or shows its help.
"""

from __future__ import annotations

import argparse
import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol, cast

from inspector.cli.output import CommandError, ExitCode, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence


class CommandModule(Protocol):
    """Interface of a command's module."""

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, options: Namespace) -> int:
        """Run the command and return the exit code."""
        ...


class Command(NamedTuple):
    """One command, implemented by the module of its name, with a summary of half a line."""

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]

    def load(self) -> CommandModule:
        return cast("CommandModule", import_module(f"inspector.cli.{self.name}"))


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "demo",
            "the screen on bundled samples, one growing like a live session",
            (
                "Opens the samples that come with the program. The first one grows while you watch, like the session "
                "of a running agent; its copy is in a temporary folder that is removed at the end. With --play, a "
                "tour of the screen runs until you press a key."
            ),
            ("inspector demo", "inspector demo --play", "inspector demo --play --speed 2", "inspector demo --list"),
        ),
        Command(
            "live",
            "every running agent on one screen, and alerts in time",
            (
                "Shows the running sessions of all agents, most urgent first: fill, dollars per hour, calls until "
                "compaction, time until the cache goes cold and the cost of a return after that, loops. In a pipe, "
                "prints them once. --alerts prints and delivers alerts without a screen, for a service; limits are "
                "settings."
            ),
            ("inspector live", "inspector live --alerts", "inspector live --home ~/.claude/projects --json"),
        ),
        Command(
            "status",
            "one line on the running session, for a prompt or status line",
            (
                "Prints fill, forecast, dollars per hour and cache of the newest running session of this folder's "
                "project, otherwise of all. --format tmux and claude show the state of the last record at once, "
                "and read newer ones in the background for the next line. --install prints the setting that shows "
                "the line; with --yes it is written, and --uninstall reverts it."
            ),
            (
                "inspector status",
                "inspector status --all --format json",
                "inspector status --install claude --yes",
                "inspector status --install tmux",
            ),
        ),
        Command(
            "report",
            "the cost of a session, and the savings of each plan",
            (
                "Replays every call of a session under each plan and prints prompt tokens, cache use, cost and "
                "savings, each with its certainty."
            ),
            (
                "inspector report session.jsonl",
                "inspector report --last --format html -o page.html",
                "inspector report session.jsonl --strategy tiered-stale --strategy tiered-stale:data=200",
                "inspector report session.jsonl --plan careful --plan tuned.toml --format json -o report.json",
            ),
        ),
        Command(
            "why",
            "why a session cost as much as it did, on one screen",
            (
                "Explains the cost of a session: cache reads, cache writes, uncached input and output; which calls "
                "missed the prompt cache, why, at what cost, and how to prevent it; which tool results cost most to "
                "resend; the best plan and its saving; the cost of the next call; and with --switch, the cost on "
                "another model from a given call on."
            ),
            (
                "inspector why session.jsonl",
                "inspector why --last",
                "inspector why session.jsonl --switch claude-sonnet-4-6 --at 80",
                "inspector why session.jsonl --format json",
            ),
        ),
        Command(
            "tune",
            "the best limits for your sessions, with savings and risks",
            (
                "Tries every strategy and built-in plan at many limits on many sessions, separately for each agent "
                "and model, and shows on one screen the recommended settings, the net saving after "
                "recoveries, its confidence (cross-validated, against each session's own best plan, and "
                "over resampled sessions), and its risks. Gives no recommendation if there are too few sessions."
            ),
            (
                "inspector tune",
                "inspector tune ~/.claude/projects -o tuned.toml",
                "inspector tune sessions/ --max-needed 1 --keep Read --report tuned.html --format html",
                "inspector tune sessions/ --strategy anthropic-clear-tool-uses --export anthropic",
            ),
        ),
        Command(
            "recall",
            "the full text of a cut tool result, by id or by search",
            (
                "Prints a tool result from its session's file: by its tool call's id or a prefix of one, by the "
                "execution id or the file that a notice names, or by its location, SESSION:MESSAGE as numbered in "
                "the timeline. Output is exact in a pipe and sanitized on a terminal. --search finds texts by their "
                "words, with an index in the cache folder that contains no text."
            ),
            (
                "inspector recall toolu_01iclFeGOMajybVrGwKXaGjm",
                "inspector recall :12 session.jsonl --grep error",
                "inspector recall call_7 ~/.codex/sessions --lines 100-200",
                "inspector recall toolu_01iclFeG --json",
                'inspector recall --search "rate limit retry"',
            ),
        ),
        Command(
            "hook",
            "a plan that trims tool results on arrival, in a live agent",
            (
                "Agents run `inspector hook --agent claude-code --plan tuned.toml` after every tool call. The "
                "hook reads the event on standard input, trims the result with the plan's insertion strategies, and "
                "answers in the agent's format; on any error the result stays unchanged. `install` shows the change "
                "to the agent's settings and asks first; `uninstall` reverts it; `stats` reports trimmed results."
            ),
            (
                "inspector hook install --agent claude-code --plan tuned.toml",
                "inspector hook stats",
                "inspector hook uninstall --agent claude-code",
            ),
        ),
        Command(
            "files",
            "the files a session changed, and their content at any turn",
            (
                "Lists the files that a session's tools read, edited, wrote and patched. For one file: its events, "
                "its content at a turn as the agent knew it, with gaps marked, or the difference between two turns. "
                "--changelog lists changes with their purpose: the intent recorded by a call, otherwise the agent's "
                "text before it, otherwise the difference. Only the session's own records are read."
            ),
            (
                "inspector files session.jsonl",
                "inspector files session.jsonl src/app/router.py",
                "inspector files session.jsonl router.py --at 50",
                "inspector files session.jsonl router.py --diff 10 50",
                "inspector files session.jsonl --changelog --format md",
            ),
        ),
        Command(
            "mcp",
            "an MCP server that lets an agent read text cut from its context",
            (
                "Runs a Model Context Protocol server on standard input and output with four read-only tools: "
                "memory_query, file_state_at, changelog and context_report, for the newest session of the current "
                "folder, or for the given sessions. Answers are limited and paged, with secrets masked. Only session "
                "files are read, and nothing is written except the index of recall."
            ),
            ("inspector mcp", "inspector mcp session.jsonl", "inspector mcp ~/.claude/projects --allow-secrets"),
        ),
        Command(
            "export",
            "a plan as code, as a hook, or as an agent's own settings",
            (
                "Writes a plan in a form that can be applied: your own code (python), a hook in a live agent (hook), "
                "or the settings of a system: a dictionary, a settings file, request fields. Unsupported parts are "
                "reported on standard error."
            ),
            (
                "inspector export --plan careful --to hook",
                "inspector export --strategy keep-recent --to python",
                "inspector export --strategy tiered-stale:data=300 --to hynous",
                "inspector export --plan tuned.toml --to langchain -o middleware.py",
                "inspector export --list",
            ),
        ),
        Command(
            "serve",
            "the same screen in a browser on this machine",
            (
                "Prints a one-time address that opens the screen in a browser. By default, the server only listens "
                "on this machine. It loads nothing from other hosts and only reads sessions; saved and copied data "
                "goes to the browser."
            ),
            ("inspector serve session.jsonl", "inspector serve ~/.claude/projects --port 8765"),
        ),
        Command(
            "screenshot",
            "a picture of the screen for a session, without a terminal",
            (
                "Opens a session on the screen, presses keys, and writes a picture as SVG or PNG. With --chart, it "
                "draws only the context chart, for slides."
            ),
            (
                "inspector screenshot session.jsonl --size 140x45 -o screen.svg",
                "inspector screenshot session.jsonl --keys 'question_mark' -o help.png",
                "inspector screenshot session.jsonl --chart --strategy tiered-stale -o chart.svg",
            ),
        ),
        Command(
            "compact",
            "the messages a plan would send, as JSON",
            (
                "Prints the messages of one call as the plan would send them; by default the next call, which has "
                "the whole conversation so far."
            ),
            (
                "inspector compact session.jsonl --strategy tiered-stale",
                "inspector compact session.jsonl --strategy tiered-stale --call 40 --format openai",
            ),
        ),
        Command(
            "compare",
            "every strategy on a session, or sessions before and after a change",
            (
                "Replays a session under each strategy alone, with default limits for that session, and prints "
                "tokens, cost and saving of each. With --before and --after, or with a date that divides a folder, "
                "compares two sets of real sessions instead: cost per call and session, cache reads, misses, "
                "compactions and re-reads, the confidence of each difference, and the number of additional sessions "
                "needed if a difference is unclear."
            ),
            (
                "inspector compare session.jsonl",
                "inspector compare --before old-sessions/ --after new-sessions/ --format html -o receipt.html",
                "inspector compare --at 2026-11-01 ~/.claude/projects --effect 5%",
            ),
        ),
        Command(
            "check",
            "predictions compared with reported usage",
            (
                "Predicts prompt sizes, cache reads and writes, cost and the agent's own cuts of every session with "
                "reported usage, without using these reports, and prints the errors. The exit code is 3 if prompt "
                "errors exceed the threshold."
            ),
            ("inspector check session.jsonl", "inspector check ~/.claude/projects --format json --threshold 0.5"),
        ),
        Command(
            "convert",
            "a session in a plain format for other programs",
            (
                "Writes the next prompt, or the whole conversation, as messages of Anthropic's or OpenAI's API or as "
                "an ATIF trajectory. Unsupported content is counted on standard error."
            ),
            (
                "inspector convert session.jsonl --to openai",
                "inspector convert session.jsonl --to atif --what conversation -o trajectory.json",
            ),
        ),
        Command(
            "strategies",
            "the available strategies and their parameters",
            (
                "Lists every strategy with its source; with a name, its parameters with unit, default and range. With "
                "--plans, lists built-in and saved plans."
            ),
            ("inspector strategies", "inspector strategies tiered-stale", "inspector strategies --plans"),
        ),
        Command(
            "formats",
            "the supported formats, and the searched folders",
            (
                "Lists the session formats and the searched folders; with a path, explains the detected format of a "
                "file, its content, and read problems. With --json and a folder, counts records and usage fields that "
                "this version does not know, by agent version."
            ),
            ("inspector formats", "inspector formats session.jsonl", "inspector formats --json ~/.claude/projects"),
        ),
        Command(
            "help",
            "help on a command, or a documentation page",
            (
                "Prints the help of a command, a documentation page, or the description of a strategy or built-in "
                "plan; without a topic, the list of topics. On a terminal, pages are rendered and shown in a pager."
            ),
            ("inspector help", "inspector help figures", "inspector help tiered-stale"),
        ),
        Command(
            "doctor",
            "problems with this terminal or machine, and how to fix them",
            (
                "Checks the terminal (colors, encoding, character widths), the folders the program writes to, file "
                "events, the vocabulary, prices, settings, and the sessions of each agent. The output can be pasted "
                "into a bug report: home folders are shown as ~, and session texts are not read. The exit code "
                "is 3 if there is a problem."
            ),
            ("inspector doctor",),
        ),
        Command(
            "clean",
            "remove the program's caches",
            (
                "Lists the program's caches with their size, asks for confirmation, and removes them: token counts, "
                "session summaries, results of tune, the index of recall --search. Nothing else is touched: no "
                "sessions, settings or plans, and no other files in those folders."
            ),
            ("inspector clean", "inspector clean results recall --yes"),
        ),
        Command(
            "completions",
            "a completion script for your shell",
            (
                "Prints a script for bash, zsh or fish that completes commands, options, files, plans, strategies and "
                "their parameters; without a shell name, prints instructions."
            ),
            ('eval "$(inspector completions bash)"', "inspector completions zsh"),
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
        raise CommandError(f"{message}; see: {self.prog} --help", ExitCode.WRONG_USAGE)


class VersionAction(argparse.Action):
    """An action that prints the version; versions of installed packages are only read then."""

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        write(version_text())
        parser.exit()


def find_command(arguments: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Return a line's command and its other arguments. Only the first word names one: `./report` is a file."""
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
            "See what fills an AI agent's context. Try ways to shrink it, and see their\n"
            "effect on content, cost and risk. Session files are only ever read."
        ),
        epilog=_command_list(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help=(
            "session files to open and follow, each in a tab, or a directory to choose from; default: choose from the "
            "sessions of this machine's agents"
        ),
    )
    parser.add_argument(
        "--last", action="store_true", help="open the newest session of a directory or of this machine's agents"
    )
    parser.add_argument(
        "--version", action=VersionAction, nargs=0, help="print the version and the installed optional parts"
    )
    _add_color_option(parser)
    return parser


def _add_color_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        NO_COLOR_OPTION, action="store_true", help="disable colors, like the environment variable NO_COLOR"
    )


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
        "To open a file named like a command, write ./report.",
        "Exit codes: 0 success, 1 something could not be read or written, 2 wrong usage,",
        "3 a failed check.",
    ]
    return "\n".join(lines)


class OptionalPart(NamedTuple):
    """One extra of the package, `session-inspector[NAME]`, and the distribution that provides its `library`."""

    name: str
    text: str
    library: str

    @property
    def installed(self) -> str:
        """Installed version; empty if it is not installed."""
        return version_of(self.library)


OPTIONAL_PARTS = (
    OptionalPart("html", "interactive charts, PNG pictures", "vl-convert-python"),
    OptionalPart("speed", "several times faster token counting", "splintr-rs"),
    OptionalPart("serve", "the screen in a browser", "textual-serve"),
    OptionalPart("texts", "detection of secrets in reported texts", "bc-detect-secrets"),
    OptionalPart("fleet", "many sessions on a cluster", "distributed"),
    OptionalPart("mcp", "a server for an agent's queries on its own session", "mcp"),
    OptionalPart("langchain", "plans in LangChain agents", "langchain"),
    OptionalPart("openai-agents", "plans in the OpenAI Agents SDK", "openai-agents"),
    OptionalPart("litellm", "plans in LiteLLM's proxy", "litellm"),
    OptionalPart("pydantic-ai", "plans in pydantic-ai", "pydantic-ai-slim"),
)


def version_of(library: str) -> str:
    """Return the version of an installed distribution; empty if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def version_text() -> str:
    """Return the program's version with its optional parts below."""
    from inspector import __version__

    lines = [f"inspector {__version__}"]
    width = max(len(part.name) for part in OPTIONAL_PARTS)
    for part in OPTIONAL_PARTS:
        text = f"{part.library} {part.installed}" if part.installed else "not installed"
        lines.append(f"  [{part.name}]{'':<{width + 1 - len(part.name)}}{text:<30}{part.text}".rstrip())
    missing = ",".join(part.name for part in OPTIONAL_PARTS if not part.installed)
    if missing:
        lines.append(f"install missing parts: pip install 'session-inspector[{missing}]'")
    return "".join(f"{line}\n" for line in lines)
