"""Write docs/inspector.1 from what the program says of itself: `python scripts/man_page.py`."""

from __future__ import annotations

import argparse
from pathlib import Path

from inspector import __version__
from inspector.cli.commands import COMMANDS, command_parser, screen_parser
from inspector.cli.help import pages
from inspector.cli.own_files import CACHES
from inspector.cli.variables import VARIABLES

ROOT = Path(__file__).resolve().parent.parent
MAN_PAGE = ROOT / "docs" / "inspector.1"

CODES = (
    ("0", "all is well"),
    ("1", "something that was asked for could not be read or written"),
    ("2", "wrong usage"),
    ("3", "a check, or doctor, found what it was asked to look for"),
    ("130", "interrupted"),
)


def man_page() -> str:
    """The page, in the macros of man(7)."""
    lines = [
        f'.TH INSPECTOR 1 "" "inspector {__version__}" "User commands"',
        ".SH NAME",
        r"inspector \- what fills an AI agent's context, and what each way of shrinking it would leave, cost and lose",
        ".SH SYNOPSIS",
        ".B inspector",
        r"[\fB\-\-last\fR] [\fIPATH\fR ...]",
        ".br",
        ".B inspector",
        r"\fICOMMAND\fR ...",
        ".SH DESCRIPTION",
        "Opens sessions of AI agents, recorded or still growing, and replays every call of them under any way of",
        "shrinking old tool results. Session files are only ever read, and nothing uses the network.",
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
        ("~/.config/inspector/prices.toml", "prices of one's own; see inspector help figures"),
        ("~/.local/share/inspector/plans/", "saved plans"),
        ("~/.local/state/inspector/", "how sessions were left, and failures"),
        *((f"~/.cache/inspector/{cache.name}/", f"{cache.text}; inspector clean removes it") for cache in CACHES),
    ):
        lines += tagged(name, text)
    lines += ["On macOS they are in ~/Library/Application Support and ~/Library/Caches.", ".SH EXIT STATUS"]
    for code, text in CODES:
        lines += tagged(code, text)
    return "\n".join(lines) + "\n"


def options(parser: argparse.ArgumentParser) -> list[str]:
    """What a parser takes, each with its help."""
    lines = []
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:  # noqa: SLF001  argparse has no other way to its arguments
        if action.help is argparse.SUPPRESS or action.dest == "help":
            continue
        lines += tagged(invocation(action), formatter._expand_help(action) if action.help else "")  # noqa: SLF001
    return lines


def invocation(action: argparse.Action) -> str:
    """An argument as it is typed, whatever the version of argparse."""
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    value = "" if action.nargs == 0 else str(action.metavar or choices)
    return " ".join(part for part in (", ".join(action.option_strings), value) if part)


def tagged(name: str, text: str) -> list[str]:
    """A name, and indented below it what it is."""
    return [".TP", rf"\fB{plain(name)}\fR", plain(text)]


def plain(text: str) -> str:
    """A text in which nothing is read as a macro or an escape."""
    text = " ".join(text.replace("`", "").split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write it."""
    MAN_PAGE.write_text(man_page(), encoding="utf-8")
    print(f"{MAN_PAGE.relative_to(ROOT)}: {len(man_page().splitlines())} lines")


if __name__ == "__main__":
    main()
