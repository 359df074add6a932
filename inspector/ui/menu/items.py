"""Entries of a menu and their layout in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from textual.keys import format_key

from inspector.ui.actions.action import ACTIONS_BY_NAME, key_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.dom import DOMNode
    from textual.screen import Screen

    from inspector.ui.actions.action import UserAction

GAP: Final = 2
"""Minimum number of cells between columns."""


class MenuItem(Struct, frozen=True):
    """Menu entry for one letter.

    Attributes:
        action: The action.
        node: The screen or widget that owns the action.
    """

    action: UserAction[Any]
    node: DOMNode

    @property
    def key(self) -> str:
        """Letter, as Textual names it."""
        return key_name(self.action.menu_keys[-1])

    @property
    def letter(self) -> str:
        return shown_key(self.action.menu_keys[-1])


class MenuLine(Struct, frozen=True):
    """Line of a menu.

    Attributes:
        items: One entry, or a pair for the next and the previous place.
    """

    items: tuple[MenuItem, ...]

    @property
    def keys(self) -> str:
        return " ".join(item.letter for item in self.items)

    @property
    def label(self) -> str:
        return self.items[0].action.label


def shown_key(key: str) -> str:
    """Return a menu key as displayed."""
    return format_key(key_name(key))


def items_of(screen: Screen[Any], menu: str) -> tuple[MenuItem, ...]:
    """Return the entries of a menu that apply now, of the focused widget and its ancestors.

    Args:
        screen: The screen.
        menu: Key of the menu.
    """
    items: dict[str, MenuItem] = {}
    for active in screen.active_bindings.values():
        action = ACTIONS_BY_NAME.get(active.binding.id or "")
        if action is not None and active.enabled and action.menu_keys[:1] == (menu,):
            items.setdefault(action.name, MenuItem(action, active.node))
    order = {name: place for place, name in enumerate(ACTIONS_BY_NAME)}
    return tuple(sorted(items.values(), key=lambda item: order[item.action.name]))


def lines_of(items: Iterable[MenuItem]) -> tuple[MenuLine, ...]:
    """Group entries with the same label, such as next and previous, into one line."""
    lines: dict[str, list[MenuItem]] = {}
    for item in items:
        lines.setdefault(item.action.label, []).append(item)
    return tuple(MenuLine(tuple(each)) for each in lines.values())


def columns_of(lines: Sequence[MenuLine], width: int) -> tuple[tuple[MenuLine, ...], ...]:
    """Arrange lines in as many columns as fit, filled top to bottom.

    Args:
        lines: The lines.
        width: Available cells.
    """
    if not lines:
        return ()
    count = max(width // (cells_of(lines) + GAP), 1)
    height = -(-len(lines) // count)
    return tuple(tuple(lines[start : start + height]) for start in range(0, len(lines), height))


def cells_of(lines: Sequence[MenuLine]) -> int:
    """Return the width of the widest line in cells."""
    return keys_cells(lines) + 2 + max((len(line.label) for line in lines), default=0)


def keys_cells(lines: Sequence[MenuLine]) -> int:
    """Return the width of the widest letters in cells."""
    return max((len(line.keys) for line in lines), default=0)
