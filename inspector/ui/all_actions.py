"""Index of all actions, by screen or widget and by name, and the check of the user's keymap against them.

Imports every screen that has actions.
"""

from __future__ import annotations

from difflib import get_close_matches
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from textual.binding import Binding
from textual.keys import Keys

from inspector.ui.actions import parts, screens
from inspector.ui.actions.action import Table, UserAction
from inspector.ui.main import screen

if TYPE_CHECKING:
    from collections.abc import Mapping


TABLES: Final[tuple[Table, ...]] = tuple(
    table
    for module in (screen, parts, screens)
    for table in vars(module).values()
    if isinstance(table, tuple) and any(isinstance(action, UserAction) for action in table)
)
"""Action tables of all screens and widgets."""

BY_NAME: Final[Mapping[str, UserAction[Any]]] = {action.name: action for place in TABLES for action in place}


_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")


def problems_with_keymap(keymap: Mapping[str, str]) -> list[str]:
    """Return the entries of a keymap without an effect or in conflict with another action, one sentence each.

    Args:
        keymap: Keys by binding name, separated by commas.
    """
    problems = []
    for name, keys in keymap.items():
        if name not in BY_NAME:
            near = get_close_matches(name, sorted(BY_NAME), n=1)
            meant = f"did you mean {near[0]}?" if near else "docs/keys.md lists the names"
            problems.append(f"unknown action {name}; {meant}")
            continue
        for key in (each.strip() for each in keys.split(",")):
            if not is_key(key):
                problems.append(f"{name}: {key!r} is not a key; use f5, ctrl+k, shift+left, or one character")
            elif taken := _taken_from(name, key, keymap):
                problems.append(f"{name}: {key} is already the key of {taken}; give that another key")
    return problems


def _taken_from(name: str, key: str, keymap: Mapping[str, str]) -> str:
    """Describe the action a key had in the same part of the screen, unless that action has another key now."""
    key = next(iter(Binding.make_bindings([Binding(key, "")]))).key
    place = next(place for place in TABLES if any(action.name == name for action in place))
    for action in sorted(place, key=attrgetter("name")):
        if action.name != name and action.name not in keymap and key in action.each_key:
            return action.name
    return ""


def is_key(text: str) -> bool:
    """Return True if a terminal can send the key: a character or a named key, with or without modifiers."""
    *modifiers, key = text.split("+") if len(text) > 1 else [text]
    named = {each.value for each in Keys} | {f"f{number}" for number in range(1, 25)}
    is_named = len(key) == 1 or key in named or _is_name_of_character(key)
    return is_named and all(modifier in _MODIFIERS for modifier in modifiers) and text == text.strip() and bool(key)


def _is_name_of_character(key: str) -> bool:
    """Return True for Textual's name of a character, such as `question_mark`."""
    import unicodedata

    try:
        unicodedata.lookup(key.replace("_", " "))
    except KeyError:
        return key in ("minus", "plus", "slash", "backslash", "full_stop")
    return True
