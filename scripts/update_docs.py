"""Write the generated parts of the documentation: `python scripts/update_docs.py`.

With `--sessions FOLDER` also the outputs of slow commands, some of them on real sessions; otherwise these stay.

A part is the text between `<!-- begin NAME -->` and `<!-- end NAME -->`. The rest of a page is written by hand.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cache_cases import HEAD, rows
from keys import key_groups
from miss_causes import CAUSE_HEAD, cause_rows
from outputs import OUTPUTS, ROUND, SESSIONS, output, slow_outputs
from strategy_pictures import effect, picture

from inspector.cli.commands import COMMANDS
from inspector.cli.doctor import VARIABLES
from inspector.hook.compiled import left_out
from inspector.report import catalogue
from inspector.report.export import HOOK, OF_AGENTS, TARGETS
from inspector.session.registry import all_formats, format_named
from inspector.settings import SETTINGS
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.batching import Batching
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES, strategy
from inspector.ui.help.key_listing import menu_keys
from inspector.ui.main.screen import MAIN
from inspector.ui.session_screen import SessionScreen
from inspector.ui.themes import THEME_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from inspector.strategies.core.parameters import Parameter
    from inspector.ui.help.key_listing import HelpRow

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

PART = re.compile(
    r"(?P<begin><!-- begin (?P<name>[a-z0-9-]+) -->\n)(?P<text>.*?)(?P<end><!-- end (?P=name) -->)", re.DOTALL
)

FAMILIES: dict[str, tuple[str, ...]] = {
    "insertion": (
        "trim-at-insertion",
        "cap-at-insertion",
        "store-large",
        "deepagents-evict",
        "opencode-truncate",
        "codex-truncate",
        "gemini-truncate",
        "pi-truncate",
        "strands-offload",
        "cozempic-trim",
    ),
    "superseded": (
        "dedupe-reads",
        "smart-diff-compression",
        "dcp-dedupe",
        "dcp-purge-errors",
        "closed-windows",
        "headroom-stale-reads",
        "cozempic-stale-reads",
        "remove-regex",
        "anthropic-clear-thinking",
    ),
    "windows": (
        "summarize",
        "anthropic-compact",
        "langchain-summarization",
        "openhands-condenser",
        "gemini-compress",
        "pi-compaction",
        "cline-compaction",
        "cline-truncate",
        "roo-truncate",
        "recent-events",
        "amortized-forgetting",
        "adk-filter",
        "strands-window",
        "maf-window",
        "maf-truncation",
        "maf-context-window",
    ),
}
"""Strategies of each page in docs/strategies/; strategies not listed are on the page `STALE`."""

STALE = "stale-results"
TITLES_OF_FAMILIES = {
    "insertion": "At insertion",
    STALE: "Stale results",
    "superseded": "Superseded content",
    "windows": "Windows and summaries",
}


def family(name: str) -> str:
    """Return the page in docs/strategies/ that describes a strategy."""
    return next((page for page, names in FAMILIES.items() if name in names), STALE)


def members(page: str) -> Iterator[str]:
    """Yield the strategies of a page."""
    yield from FAMILIES.get(page) or (name for name in STRATEGIES if family(name) == page)


def commands() -> str:
    """Build the table of commands."""
    rows = [("`inspector [PATH …]`", "the screen: a session file, a directory, or nothing to pick from what is found")]
    rows += [(f"`inspector {command.name}`", command.summary) for command in COMMANDS.values()]
    return table(("command", "purpose"), rows)


def formats() -> str:
    """Build the table of session formats, with a link to each section."""
    rows = [
        (f"{each.title}: [`{each.name}`](#{each.name})", each.where or "anywhere", each.exact) for each in all_formats()
    ]
    return table(("format", "location", "exact"), rows)


def strategies() -> str:
    """Build the table of families with links to their strategies."""
    rows = [
        (
            f"[{title}](strategies/{page}.md)",
            ", ".join(f"[`{name}`](strategies/{page}.md#{name})" for name in members(page)),
        )
        for page, title in TITLES_OF_FAMILIES.items()
    ]
    return table(("family", "strategies"), rows)


def details(page: str) -> str:
    """Build the sections of a family: effect on a sample, source and parameters of each strategy."""
    parts = []
    for name in members(page):
        each = STRATEGIES[name]
        lines = [f"## {name}\n", f"{each.summary} {effect(name)}\n"]
        lines += [f"{each.note}\n"] if each.note else []
        source = f"Source: {each.source}."
        lines.append(
            f"{source} [Batching](../strategies.md#batching).\n" if issubclass(each, Batching) else f"{source}\n"
        )
        lines += listed(p for p in each.parameters if p.group != BATCHING)
        parts.append("\n".join(lines).rstrip("\n") + "\n")
    return "\n".join(parts)


def batching() -> str:
    """Build the list of the limits that all batching strategies share."""
    parameters = next(each for each in STRATEGIES.values() if issubclass(each, Batching)).parameters
    return "".join(f"{line}\n" for line in listed(p for p in parameters if p.group == BATCHING))


def listed(parameters: Iterable[Parameter]) -> list[str]:
    """Format parameters as a list with default, range and help."""
    return [f"- `{p.name}` ({'; '.join(part for part in (shown(p), p.range) if part)}): {p.help}" for p in parameters]


SHARED = {"table.": "In every table", "study.": "On every analysis screen"}
"""Prefixes of actions that several parts share, and the headings of their tables."""


def keys() -> str:
    """Build the tables of keys: global ones, menus, shared ones, and those of each screen."""
    tables: dict[str, dict[str, HelpRow]] = {title: {} for title in SHARED.values()}
    for group in asyncio.run(key_groups(ROOT / "sample_sessions" / "coding-agent.jsonl")):
        for row in group.section.rows:
            if row.keys and not (group.section.is_everywhere and row.is_in_menu):
                prefix = next((prefix for prefix in SHARED if row.name.startswith(prefix)), None)
                tables.setdefault(SHARED[prefix] if prefix else group.title, {})[row.name] = row
    shared = {title: tables.pop(title) for title in SHARED.values()}
    (everywhere, rows), *parts = tables.items()
    return "\n".join(
        [
            key_table(everywhere, rows.values()),
            *(menu(key) for key in SessionScreen.MENU_TITLES),
            *(key_table(title, rows.values()) for title, rows in (*parts, *shared.items())),
        ]
    )


def menu(key: str) -> str:
    """Build the table of a menu of the main screen."""
    rows = [
        (keyed(menu_keys(action)), action.text, f"`{action.name}`") for action in MAIN if action.menu_keys[:1] == (key,)
    ]
    return f"### Menu `{key}`: {SessionScreen.MENU_TITLES[key].lower()}\n\n{table(NAMED, rows)}"


NAMED = ("key", "action", "name")
"""Columns of a table of keys; the names are those of keymaps."""


def key_table(title: str, rows: Iterable[HelpRow]) -> str:
    """Build the table of one part of the screen."""
    return f"### {title}\n\n{table(NAMED, [(keyed(row.keys), row.text, f'`{row.name}`') for row in rows])}"


def keyed(keys: str) -> str:
    """Format keys as code, with `or` and `to` between them as words."""
    return "".join(part if part in (" or ", " to ") else f"`{part}`" for part in re.split("( or | to )", keys))


def shown(parameter: Parameter) -> str:
    """Format a parameter's default as a user would write it."""
    match parameter.default:
        case bool(value):
            return str(value).lower()
        case int() | float() as number:
            return f"{number:,}"
        case tuple(names):
            return ", ".join(names) or "none"
        case text:
            return f"`{text!r}`" if "\n" in text else f"`{text}`" if text else "empty"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Format a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(field.replace("|", "\\|") for field in line) + " |\n" for line in lines)


def settings() -> str:
    """Build the table of settings."""
    rows = [(f"`{each.name}`", f"`{each.default}`", each.takes, each.text) for each in SETTINGS.values()]
    return table(("setting", "default", "values", "effect"), rows)


def variables() -> str:
    """Build the table of environment variables."""
    return table(("variable", "effect"), [(f"`{each.name}`", each.text) for each in VARIABLES])


def themes() -> str:
    """Build the table of the bundled themes."""
    return table(("theme", "look"), [(f"`{name}`", words) for name, words in THEME_WORDS.items()])


def agents() -> str:
    """Build the table of agents with the strategies that each can apply."""
    rows = []
    for name, ways in OF_AGENTS.items():
        known = format_named(name)
        for way in ways:
            takes = (
                [each for each in STRATEGIES if not left_out(Plan.of(strategy(each)))]
                if way == HOOK
                else TARGETS[way].takes
            )
            listed = ", ".join(f"[`{each}`](strategies/{family(each)}.md#{each})" for each in takes)
            title = name if known is None else known.title
            rows.append(
                (title, f"`--to {way}`", "strategies [that cut at insertion](#the-hook)" if way == HOOK else listed)
            )
    return table(("agent", "export", "strategies"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "agents": agents,
    "batching": batching,
    "cache-cases": lambda: table(HEAD, rows()),
    "causes": lambda: table(CAUSE_HEAD, cause_rows()),
    "commands": commands,
    "settings": settings,
    "themes": themes,
    "variables": variables,
    "figures": catalogue.markdown_list,
    "formats": formats,
    "keys": keys,
    "strategies": strategies,
    **{f"details-{page}": lambda page=page: details(page) for page in TITLES_OF_FAMILIES},
    **{f"picture-{page}": lambda page=page: picture(next(members(page))) for page in TITLES_OF_FAMILIES},
    **{f"output-{name}": lambda name=name: output(name) for name in OUTPUTS},
}

FILES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("strategies/*.md")))


def current(text: str, slow: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a document with its generated parts up to date.

    Args:
        text: The document.
        slow: Outputs of slow commands by part; parts of `ROUND` and `SESSIONS` that are missing here stay.

    Raises:
        KeyError: The document has a part with an unknown name.
    """

    def updated(part: re.Match[str]) -> str:
        name = part["name"].removeprefix("output-")
        text = slow.get(name, part["text"]) if name in ROUND or name in SESSIONS else PARTS[part["name"]]()
        return f"{part['begin']}{text}{part['end']}"

    return PART.sub(updated, text)


def main() -> None:
    """Update the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, metavar="FOLDER", help="also run slow commands")
    sessions = parser.parse_args().sessions
    slow = slow_outputs(sessions) if sessions else {}
    for path in FILES:
        before = path.read_text(encoding="utf-8")
        after = current(before, slow)
        if after != before:
            path.write_text(after, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'updated' if after != before else 'current'}")


if __name__ == "__main__":
    main()
