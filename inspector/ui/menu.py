"""Menu at the bottom of a screen: it waits for a letter, runs its action and closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct
from textual.containers import Vertical
from textual.content import Content
from textual.keys import format_key
from textual.screen import ModalScreen, Screen
from textual.style import Style
from textual.widget import Widget

from inspector.ui.actions.action import ACTIONS_BY_NAME, UserAction, bindings, key_name
from inspector.ui.actions.screens import MENU
from inspector.ui.toolkit.one_line import ACTION
from inspector.ui.toolkit.pane import set_subtitle
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.dom import DOMNode
    from textual.geometry import Size


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


class MenuLetters(Widget):
    """Letters and labels in columns; each is clickable."""

    DEFAULT_CSS = """
    MenuLetters {
        width: 1fr;
        height: auto;
        & > .menu--key { color: $accent; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"menu--key"}

    def __init__(self, items: Sequence[MenuItem]) -> None:
        super().__init__()
        self._lines = lines_of(items)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  signature required by Textual
        return max((len(column) for column in columns_of(self._lines, width)), default=1)

    def render(self) -> Content:
        columns = columns_of(self._lines, self.content_size.width)
        style, cells, letters = self.get_visual_style("menu--key"), cells_of(self._lines), keys_cells(self._lines)
        rows = []
        for place in range(max((len(column) for column in columns), default=0)):
            row = Content("")
            for column in columns:
                if place < len(column):
                    line = column[place]
                    keys = Content("")
                    for item in line.items:
                        click = Style.from_meta({ACTION: f"take({item.action.name!r})"})
                        keys += Content.styled(item.letter, style + click) + Content(" ")
                    label = Style.from_meta({ACTION: f"take({line.items[0].action.name!r})"})
                    reported = keys.pad_right(letters + 1 - len(line.keys)) + Content.styled(line.label, label)
                    row += reported.pad_right(cells + 2 - reported.cell_length)
            rows.append(row)
        return Content("\n").join(rows)


class MenuScreen(ModalScreen[None], SingleResultScreen[None]):
    """Menu over the screen that owns its actions."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = bindings(MENU)

    def __init__(self, key: str, title: str, items: Sequence[MenuItem]) -> None:
        """Create the menu.

        Args:
            key: The key that opened it.
            title: Title of the menu.
            items: Entries.
        """
        super().__init__()
        self._key, self._title = key, title
        self._items = {item.action.name: item for item in items}

    def compose(self) -> ComposeResult:
        with Vertical(id="menu", classes="section") as box:
            box.border_title = Content(f"{self._key}  {self._title}")
            pairs = any(len(line.items) > 1 for line in lines_of(self._items.values()))
            text = "capital letter: previous · n N repeat · " if pairs else ""
            box.border_subtitle = Content(f"{text}esc closes the menu")
            yield MenuLetters(tuple(self._items.values()))

    async def action_take(self, name: str) -> None:
        """Close the menu and run the action."""
        item = self._items[name]
        self.dismiss(None)
        await self.app.run_action(item.action.binding.action, item.node)

    async def on_key(self, event: events.Key) -> None:
        """Run the letter's action. Other keys leave the menu open."""
        if await self.press(event.key):
            event.stop()

    async def press(self, key: str) -> bool:
        """Handle a key; return True if it was consumed: run a letter's action, ignore an unknown letter.

        A key with a modifier, such as the palette's, closes the menu and is not consumed.

        Args:
            key: The key, as Textual names it.
        """
        item = next((item for item in self._items.values() if item.key == key), None)
        if item is not None:
            await self.action_take(item.action.name)
            return True
        if "+" in key or key in self._bindings.key_to_bindings:
            self.dismiss(None)
            return "+" not in key
        letters = " ".join(item.letter for item in self._items.values())
        set_subtitle(self.query_one("#menu"), f"{shown_key(key)} is not in this menu ({letters}) · esc closes it")
        return True

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked entry; close the menu on a click outside."""
        event.stop()
        if action := event.style.meta.get(ACTION):
            await self.run_action(action)
        elif event.widget is self:
            self.dismiss(None)
