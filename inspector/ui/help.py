"""What the keys do here: collected from the bindings of what is focused, for the help screen and the status line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.keys import REPLACED_KEYS
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App
    from textual.binding import Binding
    from textual.dom import DOMNode

    AnyApp = App[Any]


class HelpRow(NamedTuple):
    """One thing keys do.

    Attributes:
        keys: The keys, as people write them: `[`, `shift+←`.
        name: The binding's name, by which a keymap may give it other keys.
        text: What it does.
        label: The same in a word.
        action: The action it runs.
        is_shown: It belongs in the status line.
        press: The first of its keys, as Textual names it.
    """

    keys: str
    name: str
    text: str
    label: str
    action: str
    is_shown: bool
    press: str = ""


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
    return HelpRow(
        keys, first.id or "", first.tooltip or first.description, first.description, first.action, first.show, first.key
    )


def _key(app: AnyApp, binding: Binding) -> str:
    display = app.get_key_display(binding)
    return display.replace("^", "ctrl+") if display.startswith("^") and len(display) > 1 else display


def _title(node: DOMNode) -> str:
    if isinstance(node, Screen) or not isinstance(node, Widget):
        return "Everywhere"
    if node.border_title:
        return str(node.border_title)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    return words[:1].upper() + words[1:]
