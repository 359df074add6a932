"""The names of all keys, and what is wrong with a keymap of the user's own."""

from __future__ import annotations

import pkgutil
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")


@cache
def named_bindings() -> dict[str, tuple[tuple[type, Binding], ...]]:
    """Every binding of this package with the screen or widget that has it, by its name, which may have several keys."""
    import inspector.ui

    for module in pkgutil.walk_packages(inspector.ui.__path__, f"{inspector.ui.__name__}."):
        import_module(module.name)
    found: dict[str, list[tuple[type, Binding]]] = {}
    for kind in _subclasses(DOMNode):
        if kind.__module__.startswith(f"{inspector.ui.__name__}."):
            for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
                if binding.id:
                    found.setdefault(binding.id, []).append((kind, binding))
    return {name: tuple(bindings) for name, bindings in sorted(found.items())}


def _subclasses(kind: type) -> Iterator[type]:
    each: type
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def problems_with_keymap(keymap: Mapping[str, str]) -> list[str]:
    """What in a keymap does nothing, or takes a key from something else, one sentence each.

    Args:
        keymap: Keys by binding name, several with commas between them.
    """
    known = named_bindings()
    problems = []
    for name, keys in keymap.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}?" if near else "the help screen shows the names"
            problems.append(f"nothing is called {name}; {meant}")
            continue
        for key in (each.strip() for each in keys.split(",")):
            if not is_key(key):
                problems.append(f"{name}: {key!r} is no key; write f5, ctrl+k, shift+left, or one character")
            elif taken := _taken_from(name, key, keymap):
                problems.append(f"{name}: {key} did {taken} until now; give that another key")
    return problems


def _taken_from(name: str, key: str, keymap: Mapping[str, str]) -> str:
    """What a key did before on the same part of the screen, unless that has another key now; empty for nothing."""
    owners = {owner for owner, _ in named_bindings()[name]}
    key = next(iter(Binding.make_bindings([Binding(key, "")]))).key
    for other, bindings in named_bindings().items():
        if other == name or other in keymap:
            continue
        if any(binding.key == key and owner in owners for owner, binding in bindings):
            return other
    return ""


def is_key(text: str) -> bool:
    """Whether a text names a key a terminal can send: a character, a named key, or one of them with modifiers."""
    *modifiers, key = text.split("+") if len(text) > 1 else [text]
    named = {each.value for each in Keys} | {f"f{number}" for number in range(1, 25)}
    is_named = len(key) == 1 or key in named or _is_name_of_character(key)
    return is_named and all(modifier in _MODIFIERS for modifier in modifiers) and text == text.strip() and bool(key)


def _is_name_of_character(key: str) -> bool:
    """Whether a key is a character by its name, as Textual has it: `question_mark`."""
    import unicodedata

    try:
        unicodedata.lookup(key.replace("_", " "))
    except KeyError:
        return key in ("minus", "plus", "slash", "backslash", "full_stop")
    return True
