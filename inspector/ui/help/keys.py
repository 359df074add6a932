"""What the keys do where the focus is: for the help screen, the status line and the command palette."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import SystemCommand
from textual.keys import REPLACED_KEYS
from textual.screen import Screen
from textual.widget import Widget

from inspector.ui.actions.action import BOUND
from inspector.ui.actions.main_screen import MAIN
from inspector.ui.toolkit.status_bar import KeyHint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from textual.app import App
    from textual.binding import Binding
    from textual.dom import DOMNode

    from inspector.ui.actions.action import UserAction

    AnyApp = App[Any]


class HelpRow(NamedTuple):
    """One row of the help: keys and what they do.

    Attributes:
        keys: The keys, as people write them: `[`, `shift+←`.
        name: The binding's name, by which a keymap may give it other keys.
        text: What it does.
        label: The same in a word.
        action: The action it runs.
        is_shown: It belongs in the status line.
        press: The first of its keys, as Textual names it.
        rank: In the status line the highest gives way first; None for after all that have one.
    """

    keys: str
    name: str
    text: str
    label: str
    action: str
    is_shown: bool
    press: str = ""
    rank: int | None = None


class HelpSection(NamedTuple):
    """What one part of the screen understands.

    Attributes:
        title: The part.
        text: What it is for; empty where there is nothing to say.
        rows: Its keys.
        is_everywhere: Its keys work wherever the focus is.
    """

    title: str
    text: str
    rows: tuple[HelpRow, ...]
    is_everywhere: bool


def help_sections(app: AnyApp) -> list[HelpSection]:
    """What the keys do now, the focused part first, then what holds it, then what works everywhere."""
    screen = app.screen
    by_node: dict[DOMNode, dict[str, list[Binding]]] = {}
    types = screen.focused is not None and screen.focused.check_consume_key("slash", "/")
    for active in screen.active_bindings.values():
        if types and active.binding.key in REPLACED_KEYS:
            continue  # goes into the line, though Textual does not know these names for characters
        if active.enabled and (active.binding.id or not _is_ours(active.node)):
            actions = by_node.setdefault(active.node, {})
            actions.setdefault(active.binding.action, []).append(active.binding)
    chain = list(screen.focused.ancestors_with_self) if screen.focused is not None else [screen, app]
    order = sorted(by_node, key=lambda node: chain.index(node) if node in chain else len(chain))
    sections = []
    texts: list[str] = []
    for node in order:
        rows = _merged(_row(app, bindings) for bindings in by_node[node].values() if bindings[0].description)
        text = " ".join((node.HELP or "").split()) if isinstance(node, Widget) else ""
        if text in texts:
            text = ""
        texts.append(text)
        everywhere = isinstance(node, Screen) or node is app
        if rows or text:
            sections.append(HelpSection(_title(node), text, rows, everywhere))
    return sections


def _is_ours(node: DOMNode) -> bool:
    """Whether a widget has keys with names; keys it has from a Textual widget it is made of are no use there."""
    return isinstance(node, Widget) and not isinstance(node, Screen) and type(node).__module__.startswith("inspector.")


def _merged(rows: Iterable[HelpRow]) -> tuple[HelpRow, ...]:
    """The rows, numbered ones (`plan.switch-1` to `-9`) as one."""
    merged: list[HelpRow] = []
    for row in rows:
        if merged and (family := _family(row)) and family == _family(merged[-1]):
            first = merged[-1].keys.split("…")[0]
            merged[-1] = merged[-1]._replace(
                keys=f"{first}…{row.keys}", text=merged[-1].text.replace(" 1 ", " of that number ")
            )
        else:
            merged.append(row)
    return tuple(merged)


def _family(row: HelpRow) -> str:
    match = re.fullmatch(r"(.*)-\d+", row.name)
    return match[1] if match else ""


def _row(app: AnyApp, bindings: list[Binding]) -> HelpRow:
    first = bindings[0]
    keys = " or ".join(dict.fromkeys(_key(app, binding) for binding in bindings if "super+" not in binding.key))
    action = BOUND.get(first.id or "")
    return HelpRow(
        keys,
        first.id or "",
        first.tooltip or first.description,
        first.description,
        first.action,
        first.show,
        first.key,
        None if action is None else action.rank,
    )


def _key(app: AnyApp, binding: Binding) -> str:
    display = app.get_key_display(binding)
    return display.replace("^", "ctrl+") if display.startswith("^") and len(display) > 1 else display


def _title(node: DOMNode) -> str:
    if isinstance(node, Screen) or not isinstance(node, Widget):
        return "Everywhere"
    if node.border_title:
        return str(node.border_title)
    words = getattr(node, "TITLE_IN_HELP", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__)).lower()
    return words[:1].upper() + words[1:]


def key_commands(screen: Screen[Any]) -> Iterator[SystemCommand]:
    """The commands of a screen: actions with a name of their own that apply, and what other keys do where the focus is.

    Args:
        screen: The screen under the palette.
    """
    for action in getattr(screen, "ACTIONS", ()):
        if action.named is not None and not action.is_of_app and action.named.is_offered(screen):
            yield named_command(screen, action)
    seen = set()
    for active in screen.active_bindings.values():
        action = BOUND.get(active.binding.id or "")
        if action is None or action.name in seen or action.named is not None or not action.is_looked_up:
            continue
        if active.enabled:
            seen.add(action.name)
            key = screen.app.get_key_display(active.binding)
            yield SystemCommand(action.title, f"{action.text}  ({key})", partial(_run, screen.app, action, active.node))


def app_commands(app: AnyApp) -> Iterator[SystemCommand]:
    """What the app itself does, wherever the focus is."""
    for action in MAIN:
        if action.named is not None and action.is_of_app and action.named.is_offered(app):
            yield named_command(app, action)


def named_command(node: AnyApp | Screen[Any], action: UserAction[Any]) -> SystemCommand:
    """The command of an action that has a name of its own."""
    named = action.named
    if named is None:
        raise AssertionError(f"{action.name} has no name of its own")
    title = named.title if isinstance(named.title, str) else named.title(node)
    return SystemCommand(title, named.text, partial(_run, node.app, action, node))


async def _run(app: AnyApp, action: UserAction[Any], node: DOMNode) -> None:
    await app.run_action(action.binding.action, node)


LAST_OF_RANKS = 9
"""What somebody who has never seen the screen needs is left out last, whatever has the focus."""


def key_hints(sections: Sequence[HelpSection]) -> tuple[KeyHint, ...]:
    """The keys for the status line: help, those of the focused part, then those that work everywhere.

    Keys with one label share a place: `[ ] call`. On narrow screens the last ones give way first, help and quit last.
    """
    hints: list[KeyHint] = []
    for section in sections:
        for row in section.rows:
            if not row.is_shown:
                continue
            label = row.label.lower()
            key = row.keys.split(" or ")[0]
            same = next((place for place, hint in enumerate(hints) if hint.label == label), None)
            if same is not None:
                hints[same] = hints[same]._replace(key=f"{hints[same].key} {key}")
            else:
                hints.append(
                    KeyHint(key, label, row.press, LAST_OF_RANKS + len(hints) if row.rank is None else row.rank)
                )
    return tuple(sorted(hints, key=lambda hint: hint.label != "help"))
