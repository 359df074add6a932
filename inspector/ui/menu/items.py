"""What a menu holds, and how that stands in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from textual.keys import format_key

from inspector.ui.actions.action import BOUND, key_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.dom import DOMNode
    from textual.screen import Screen

    from inspector.ui.actions.action import UserAction

GAP: Final = 2
"""Cells between two columns, at least."""


class MenuItem(Struct, frozen=True):
    """Something a letter does.

    Attributes:
        action: What it does.
        node: The screen or widget whose action it is.
    """

    action: UserAction[Any]
    node: DOMNode

    @property
    def key(self) -> str:
        """Its letter, as Textual names it."""
        return key_name(self.action.menu_keys[-1])

    @property
    def letter(self) -> str:
        """The same as it is shown."""
        return shown_key(self.action.menu_keys[-1])


class MenuLine(Struct, frozen=True):
    """A line of a menu.

    Attributes:
        items: What its letters do: one, or the next and the one before.
    """

    items: tuple[MenuItem, ...]

    @property
    def keys(self) -> str:
        """The letters."""
        return " ".join(item.letter for item in self.items)

    @property
    def label(self) -> str:
        """What they do."""
        return self.items[0].action.label


def shown_key(key: str) -> str:
    """A key of a menu as people write it."""
    return format_key(key_name(key))


def items_of(screen: Screen[Any], menu: str) -> tuple[MenuItem, ...]:
    """What a menu holds on a screen now: of what has the focus and what holds it, what applies.

    Args:
        screen: The screen.
        menu: The key that opens the menu.
    """
    items: dict[str, MenuItem] = {}
    for active in screen.active_bindings.values():
        action = BOUND.get(active.binding.id or "")
        if action is not None and active.enabled and action.menu_keys[:1] == (menu,):
            items.setdefault(action.name, MenuItem(action, active.node))
    order = {name: place for place, name in enumerate(BOUND)}
    return tuple(sorted(items.values(), key=lambda item: order[item.action.name]))


def lines_of(items: Iterable[MenuItem]) -> tuple[MenuLine, ...]:
    """The lines of a menu: what has one label, as the next and the one before, stands in one."""
    lines: dict[str, list[MenuItem]] = {}
    for item in items:
        lines.setdefault(item.action.label, []).append(item)
    return tuple(MenuLine(tuple(each)) for each in lines.values())


def columns_of(lines: Sequence[MenuLine], width: int) -> tuple[tuple[MenuLine, ...], ...]:
    """The lines side by side, as many columns as have room, read downwards.

    Args:
        lines: The lines.
        width: Cells there are.
    """
    if not lines:
        return ()
    count = max(width // (cells_of(lines) + GAP), 1)
    height = -(-len(lines) // count)
    return tuple(tuple(lines[start : start + height]) for start in range(0, len(lines), height))


def cells_of(lines: Sequence[MenuLine]) -> int:
    """The cells of the widest line."""
    return keys_cells(lines) + 2 + max((len(line.label) for line in lines), default=0)


def keys_cells(lines: Sequence[MenuLine]) -> int:
    """The cells of the widest letters."""
    return max((len(line.keys) for line in lines), default=0)
