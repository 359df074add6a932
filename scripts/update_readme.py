"""Write the parts of README.md and docs/ that the program itself knows: `python scripts/update_readme.py`.

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; everything else is written by hand.
"""

from __future__ import annotations

import asyncio
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cache_cases import HEAD, rows
from keys import key_sections
from strategy_pictures import picture

from inspector.cli.commands import COMMANDS
from inspector.cli.variables import VARIABLES
from inspector.hook.compiled import left_out
from inspector.report.export import TARGETS, TITLES
from inspector.report.export.ways import HOOK, OF_AGENTS
from inspector.session.registry import all_formats, format_named
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES, strategy
from inspector.ui.actions.main_screen import MAIN
from inspector.ui.actions.menus import MENUS
from inspector.ui.help.key_listing import menu_keys
from inspector.ui.settings import SETTINGS
from inspector.ui.themes import THEME_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.strategies.core.parameters import Parameter
    from inspector.ui.help.key_listing import HelpSection

ROOT = Path(__file__).resolve().parent.parent

PART = re.compile(r"(?P<begin><!-- begin (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end (?P=name) -->)", re.DOTALL)


def commands() -> str:
    """What can be typed."""
    rows = [("`inspector [PATH …]`", "the screen: a session file, a directory, or nothing to pick from what is found")]
    rows += [(f"`inspector {command.name}`", command.summary) for command in COMMANDS.values()]
    return table(("command", "what it does"), rows)


def formats() -> str:
    """What can be read."""
    rows = [
        (each.title, each.where or "anywhere", "yes" if each.is_live else "no", each.exact) for each in all_formats()
    ]
    return table(("format", "where it lives", "followed live", "what of it is exact"), rows)


def format_table() -> str:
    """What can be read, each with the heading of its section."""
    head = ("format", "where it lives", "followed live", "what of it is exact")
    rows = [
        (
            f"{each.title}: [`{each.name}`](#{each.name})",
            each.where or "anywhere",
            "yes" if each.is_live else "no",
            each.exact,
        )
        for each in all_formats()
    ]
    return table(head, rows)


def strategies() -> str:
    """What there is to try."""
    rows = [(f"[`{name}`](docs/strategies.md#{name})", each.summary, each.source) for name, each in STRATEGIES.items()]
    return table(("strategy", "what it does", "source"), rows)


def parameters() -> str:
    """Every strategy with all its parameters."""
    parts = []
    for name, each in STRATEGIES.items():
        rows = [(f"`{p.name}`", shown(p), p.range, p.help) for p in each.parameters]
        note = f"{each.note}\n\n" if each.note else ""
        head = f"## {name}\n\n**{each.title}.** {each.summary}\n\n{note}Source: {each.source}.\n"
        listed = f"\n{table(('parameter', 'default', 'range', 'what it is'), rows)}" if rows else ""
        parts.append(f"{head}\n{picture(name)}{listed}")
    return "\n".join(parts)


@cache
def sections() -> list[HelpSection]:
    """The keys, asked of the app once."""
    return asyncio.run(key_sections(ROOT / "sample_sessions" / "coding-agent.jsonl"))


def keys() -> str:
    """What every key does, by the part of the screen that has the focus."""
    everywhere, parts = [], []
    for section in sections():
        rows = [row for row in section.rows if row.keys and not (section.is_everywhere and row.is_in_menu)]
        listed = table(NAMED, [(keyed(row.keys), row.text, f"`{row.name}`") for row in rows])
        (everywhere if section.is_everywhere else parts).append(f"## {section.title}\n\n{listed}")
    return "\n".join([*everywhere, *(menu(key) for key in MENUS), *parts])


def menu(key: str) -> str:
    """What a menu of the main screen holds."""
    rows = [
        (keyed(menu_keys(action)), action.text, f"`{action.name}`") for action in MAIN if action.menu_keys[:1] == (key,)
    ]
    return f"## Menu `{key}`: {MENUS[key].lower()}\n\n{table(NAMED, rows)}"


NAMED = ("key", "what it does", "name")
"""The columns of a table of keys with the names keymaps go by."""


def keys_everywhere() -> str:
    """What keys do wherever the focus is."""
    rows = [row for section in sections() if section.is_everywhere for row in section.rows]
    return table(("key", "what it does"), [(keyed(row.keys), row.text) for row in rows if not row.is_in_menu])


def keyed(keys: str) -> str:
    """Keys as code, `or` and `to` between them as words."""
    return "".join(part if part in (" or ", " to ") else f"`{part}`" for part in re.split("( or | to )", keys))


def shown(parameter: Parameter) -> str:
    """A default as one would write it."""
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
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(field.replace("|", "\\|") for field in line) + " |\n" for line in lines)


def settings() -> str:
    """What can be set."""
    rows = [(f"`{each.name}`", f"`{each.default}`", each.takes, each.text) for each in SETTINGS.values()]
    return table(("setting", "default", "what it takes", "what it does"), rows)


def variables() -> str:
    """Which variables of the environment count."""
    return table(("variable", "what it does"), [(f"`{each.name}`", each.text) for each in VARIABLES])


def themes() -> str:
    """The themes that come with the program."""
    return table(("theme", "what it is like"), [(f"`{name}`", words) for name, words in THEME_WORDS.items()])


def cache_cases() -> str:
    """A few strategies on a sample session, in tokens and in dollars."""
    return table(HEAD, rows())


def agents() -> str:
    """What each agent can be given of a plan."""
    rows = []
    for name, ways in OF_AGENTS.items():
        known = format_named(name)
        for way in ways:
            takes = (
                [each for each in STRATEGIES if not left_out(Plan.of(strategy(each)))]
                if way == HOOK
                else TARGETS[way].takes
            )
            listed = ", ".join(f"[`{each}`](strategies.md#{each})" for each in takes)
            rows.append((name if known is None else known.title, f"{TITLES[way]}: `--to {way}`", listed))
    return table(("agent", "by", "strategies"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "agents": agents,
    "cache-cases": cache_cases,
    "commands": commands,
    "settings": settings,
    "themes": themes,
    "variables": variables,
    "format-table": format_table,
    "formats": formats,
    "strategies": strategies,
    "parameters": parameters,
    "keys": keys,
    "keys-everywhere": keys_everywhere,
}

FILES = (
    ROOT / "README.md",
    ROOT / "docs" / "apply.md",
    ROOT / "docs" / "cache-and-cost.md",
    ROOT / "docs" / "formats.md",
    ROOT / "docs" / "keys.md",
    ROOT / "docs" / "settings.md",
    ROOT / "docs" / "strategies.md",
)


def current(text: str) -> str:
    """A document with its parts as they should be.

    Raises:
        KeyError: It has a part of a name that is not known.
    """
    return PART.sub(lambda part: f"{part['begin']}{PARTS[part['name']]()}{part['end']}", text)


def main() -> None:
    """Update the documents."""
    for path in FILES:
        before = path.read_text(encoding="utf-8")
        after = current(before)
        path.write_text(after, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'updated' if after != before else 'is current'}")


if __name__ == "__main__":
    main()
