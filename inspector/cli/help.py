"""`inspector help TOPIC`: the help of a command, a page of the documentation, or a strategy."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.cli.commands import COMMANDS, command_parser, screen_parser
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.output import is_terminal, wants_color, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

INDEX = "index"
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[a-z-]+)\.md\): (?P<text>(?:.|\n  )+)", re.MULTILINE)
"""A page in the list of pages, and what it is about."""

LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")

WIDEST = 100
"""Columns of a page that can still be read."""


class Page(NamedTuple):
    """One page of the documentation.

    Attributes:
        name: What it is asked for by.
        text: What it is about.
    """

    name: str
    text: str


def add_arguments(parser: ArgumentParser) -> None:
    """About what."""
    parser.add_argument(
        "topic", nargs="?", metavar="TOPIC", help="a command, a page (nothing lists them), a strategy or a ready plan"
    )


def run(options: Namespace) -> int:
    """Print it; on a terminal through its pager."""
    topic = options.topic
    if topic is None:
        write(topics_text())
    elif topic in COMMANDS:
        write(command_parser(COMMANDS[topic]).format_help())
    elif topic in ("inspector", "screen"):
        write(screen_parser().format_help())
    elif (page := documents_folder() / f"{topic}.md").is_file() and topic in (INDEX, *(each.name for each in pages())):
        _show(page.read_text(encoding="utf-8"))
    else:
        return _strategy(topic)
    return ExitCode.FINE


def documents_folder() -> Path:
    """Where the pages are: in the installed package, or in the checkout.

    Raises:
        CommandError: They are in neither place.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "docs", package.parent / "docs"):
        if (folder / f"{INDEX}.md").is_file():
            return folder
    raise CommandError(f"{package / 'docs'}: the pages are not there; install the program again")


def pages() -> list[Page]:
    """The pages, in the order they are listed."""
    text = (documents_folder() / f"{INDEX}.md").read_text(encoding="utf-8")
    found = [Page(match["page"], LINK.sub(r"\1", " ".join(match["text"].split()))) for match in ENTRY.finditer(text)]
    return [page for page in found if (documents_folder() / f"{page.name}.md").is_file()]


def topics_text() -> str:
    """Everything there is help about."""
    import textwrap

    rows = [("commands", ""), *((each.name, each.summary) for each in COMMANDS.values())]
    rows += [("", ""), ("pages", ""), *((page.name, page.text) for page in pages())]
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, WIDEST - 20) or [""]
        is_heading = not text
        lines.append(f"{name}:" if is_heading and name else f"  {name:<18}{wrapped[0]}".rstrip())
        lines += [f"{'':<20}{line}" for line in wrapped[1:]]
    lines += ["", "Strategies and ready plans have help too: inspector help tiered-stale"]
    return "".join(f"{line}\n" for line in lines)


def _strategy(topic: str) -> int:
    from argparse import Namespace

    from inspector.cli import strategies

    try:
        return strategies.run(Namespace(name=topic, shows_plans=False, tools=None, json=False))
    except CommandError:
        import difflib

        known = [*COMMANDS, *(page.name for page in pages())]
        near = difflib.get_close_matches(topic, known, n=1)
        meant = f"did you mean {near[0]}?" if near else "inspector help lists what there is"
        raise CommandError(f"no help about {topic!r}; {meant}", ExitCode.WRONG_USAGE) from None


def _show(markdown: str) -> None:
    """A page: as it is in a pipe, drawn on a terminal."""
    if not is_terminal(sys.stdout):
        write(markdown)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    os.environ.setdefault("LESS", "-FRX")
    console = Console(no_color=not wants_color(sys.stdout))
    console.width = min(console.width, WIDEST)
    with console.pager(styles=wants_color(sys.stdout), links=False):
        console.print(Markdown(re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL)))
