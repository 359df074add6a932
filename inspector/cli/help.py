"""`inspector help TOPIC`: help on a command, a documentation page, or a strategy."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from inspector.cli.commands import COMMANDS, command_parser, screen_parser
from inspector.cli.output import CommandError, ExitCode, is_terminal, wants_color, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

INDEX = "index"
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[a-z/-]+)\.md\): (?P<text>(?:.|\n  )+)", re.MULTILINE)
"""Entry of a page in the index: title, path below the documents, summary."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "adapters": "apply#adapters",
        "agent": "apply#before-and-after",
        "batching": "strategies#batching",
        "belief": "evidence",
        "compaction": "tune#when-to-compact",
        "files": "reports#files",
        "fleet": "compare#many-sessions",
        "hook": "apply#the-hook",
        "install": "start#install",
        "library": "apply#python",
        "macos": "start#macos",
        "mcp": "recall#for-agents",
        "own-lines": "formats#your-own-program",
        "prices": "figures#prices",
        "questions": "keys#questions",
        "settings": "commands#settings",
        "walk-debug": "start#debug-a-long-run",
        "walk-show": "start#show-the-savings",
        "walk-tune": "start#tune-the-limits",
    }
)
"""Other names of pages and sections: a page's name, or `page#heading`."""

LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
HEADING = re.compile(r"(#+) (.+)")

WIDEST = 100
"""Maximum readable width of a page in columns."""


class Page(NamedTuple):
    """One page of the documentation: its topic, and its path below the documents, without suffix."""

    name: str
    text: str
    path: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        nargs="?",
        metavar="TOPIC",
        help="a command, a page, a strategy or a built-in plan; default: list commands and pages",
    )


def run(options: Namespace) -> int:
    """Print the help, on a terminal through its pager."""
    topic = options.topic
    if topic is None:
        write(topics_text())
    elif topic in COMMANDS:
        write(command_parser(COMMANDS[topic]).format_help())
        if page_text(topic) is not None:
            write(f"\nmore: inspector help {topic}.md\n")
    elif topic in ("inspector", "screen"):
        write(screen_parser().format_help())
    elif (text := page_text(topic.removesuffix(".md"))) is not None:
        _show(text)
    else:
        return _strategy(topic)
    return ExitCode.FINE


def page_text(topic: str) -> str | None:
    """Return a page, or the section of one that an alias names; None if there is no such page."""
    name, _, heading = ALIASES.get(topic, topic).partition("#")
    paths = {INDEX: INDEX, **{page.name: page.path for page in pages()}}
    if name not in paths:
        return None
    text = (documents_folder() / f"{paths[name]}.md").read_text(encoding="utf-8")
    return section(text, heading) if heading else text


def section(text: str, anchor: str) -> str:
    """Return a section of a page by its anchor, with its subsections; the whole page if it has no such section."""
    lines = text.splitlines(keepends=True)
    level, found, is_code = 0, [], False
    for line in lines:
        is_code ^= line.startswith("```")
        heading = None if is_code else HEADING.match(line)
        if heading and level and len(heading[1]) <= level:
            break
        if heading and not level and heading[2].strip().lower().replace(" ", "-") == anchor:
            level = len(heading[1])
        if level:
            found.append(line)
    return "".join(found) or text


def documents_folder() -> Path:
    """Return the folder of the pages in the package or the checkout; raise `CommandError` without one."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "docs", package.parent / "docs"):
        if (folder / f"{INDEX}.md").is_file():
            return folder
    raise CommandError(f"{package / 'docs'}: the pages are not there; install the program again")


def pages() -> list[Page]:
    text = (documents_folder() / f"{INDEX}.md").read_text(encoding="utf-8")
    found = [
        Page(match["path"].rpartition("/")[2], LINK.sub(r"\1", " ".join(match["text"].split())), match["path"])
        for match in ENTRY.finditer(text)
    ]
    return [page for page in found if (documents_folder() / f"{page.path}.md").is_file()]


def topics_text() -> str:
    import textwrap

    rows = [("commands", ""), *((each.name, each.summary) for each in COMMANDS.values())]
    rows += [("", ""), ("pages", "")]
    rows += [(f"{page.name}.md" if page.name in COMMANDS else page.name, page.text) for page in pages()]
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, WIDEST - 20) or [""]
        is_heading = not text
        lines.append(f"{name}:" if is_heading and name else f"  {name:<18}{wrapped[0]}".rstrip())
        lines += [f"{'':<20}{line}" for line in wrapped[1:]]
    lines += ["", "Strategies and built-in plans have help too: inspector help tiered-stale"]
    return "".join(f"{line}\n" for line in lines)


def _strategy(topic: str) -> int:
    from argparse import Namespace

    from inspector.cli import strategies

    try:
        return strategies.run(Namespace(name=topic, shows_plans=False, tools=None, json=False))
    except CommandError:
        import difflib

        known = [*COMMANDS, *(page.name for page in pages()), *ALIASES]
        near = difflib.get_close_matches(topic, known, n=1)
        meant = f"did you mean {near[0]}?" if near else "inspector help lists what there is"
        raise CommandError(f"no help about {topic!r}; {meant}", ExitCode.WRONG_USAGE) from None


def _show(markdown: str) -> None:
    """Print a page: raw in a pipe, rendered on a terminal."""
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
