"""Generate the man page docs/inspector.1: `python scripts/man_page.py`."""

from __future__ import annotations

import argparse
from pathlib import Path

from inspector import __version__
from inspector.cli.clean import CACHES
from inspector.cli.commands import COMMANDS, command_parser, screen_parser
from inspector.cli.doctor import VARIABLES
from inspector.cli.help import pages

ROOT = Path(__file__).resolve().parent.parent
MAN_PAGE = ROOT / "docs" / "inspector.1"

CODES = (
    ("0", "success"),
    ("1", "the input could not be read, or the output not be written"),
    ("2", "wrong usage"),
    ("3", "check or doctor found a problem"),
    ("130", "interrupted"),
)


def man_page() -> str:
    """Build the page in the macros of man(7)."""
    lines = [
        f'.TH INSPECTOR 1 "" "inspector {__version__}" "User commands"',
        ".SH NAME",
        r"inspector \- inspect the context of AI agents and replay it under compaction strategies",
        ".SH SYNOPSIS",
        ".B inspector",
        r"[\fB\-\-last\fR] [\fIPATH\fR ...]",
        ".br",
        ".B inspector",
        r"\fICOMMAND\fR ...",
        ".SH DESCRIPTION",
        "Opens sessions of AI agents, recorded or still growing, and replays every call under any way of shrinking",
        "old tool results. Session files are only read, and nothing uses the network.",
        ".SH OPTIONS",
        *options(screen_parser()),
        ".SH COMMANDS",
    ]
    for command in COMMANDS.values():
        lines += [f".SS {plain(command.name)}", plain(command.description), *options(command_parser(command))]
        lines += [".P", *(line for example in command.examples for line in (".nf", f"    {plain(example)}", ".fi"))]
    lines += [".SH TOPICS", r"Each is shown by \fBinspector help\fR \fITOPIC\fR."]
    for page in pages():
        lines += tagged(page.name, page.text)
    lines.append(".SH ENVIRONMENT")
    for variable in VARIABLES:
        lines += tagged(variable.name, variable.text)
    lines += [".SH FILES"]
    for name, text in (
        ("~/.config/inspector/settings.toml", "settings; see inspector help settings"),
        ("~/.config/inspector/prices.toml", "your own prices; see inspector help prices"),
        ("~/.local/share/inspector/plans/", "saved plans"),
        ("~/.local/state/inspector/", "state of sessions, and failures"),
        *((f"~/.cache/inspector/{cache.name}/", f"{cache.text}; inspector clean removes it") for cache in CACHES),
    ):
        lines += tagged(name, text)
    lines += ["On macOS they are in ~/Library/Application Support and ~/Library/Caches.", ".SH EXIT STATUS"]
    for code, text in CODES:
        lines += tagged(code, text)
    return "\n".join(lines) + "\n"


def options(parser: argparse.ArgumentParser) -> list[str]:
    """List the arguments of a parser with their help."""
    lines = []
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:  # noqa: SLF001  argparse has no other way to its arguments
        if action.help is argparse.SUPPRESS or action.dest == "help":
            continue
        lines += tagged(invocation(action), formatter._expand_help(action) if action.help else "")  # noqa: SLF001
    return lines


def invocation(action: argparse.Action) -> str:
    """Format an argument as it is typed, independent of the version of argparse."""
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    value = "" if action.nargs == 0 else str(action.metavar or choices)
    return " ".join(part for part in (", ".join(action.option_strings), value) if part)


def tagged(name: str, text: str) -> list[str]:
    """Format a name with an indented description."""
    return [".TP", rf"\fB{plain(name)}\fR", plain(text)]


def plain(text: str) -> str:
    """Escape macros and escapes in a text."""
    text = " ".join(text.replace("`", "").split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write the page."""
    MAN_PAGE.write_text(man_page(), encoding="utf-8")
    print(f"{MAN_PAGE.relative_to(ROOT)}: {len(man_page().splitlines())} lines")


if __name__ == "__main__":
    main()
