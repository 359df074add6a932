"""A row of the action table, its Textual binding, and its name in the command palette."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct
from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from collections.abc import Callable


Node = TypeVar("Node")
"""The screen or widget that owns the action."""

KEYLESS: Final = "keyless:"
"""Prefix of the placeholder key of an action without keys."""


def _always(_: object) -> bool:
    return True


class PaletteName(Struct, Generic[Node], frozen=True):
    """Name of an action in the command palette, where the action's own name is not clear enough.

    Attributes:
        title: Starts with a verb, as in `Compare plans`; a function of the screen if it changes.
        text: One sentence.
        is_offered: Returns True if the action applies now. Called with the screen, or with the app for app actions.
    """

    title: str | Callable[[Node], str]
    text: str
    is_offered: Callable[[Any], bool] = _always


class UserAction(Struct, Generic[Node], frozen=True):
    """A key action of a screen or widget.

    Attributes:
        name: Unique identifier such as `plan.undo`, used by keymaps, the help and the documentation.
        keys: Default keys as Textual names them, separated by commas; empty if only a menu or the palette runs it. A
            keymap may assign one.
        run: Function of the screen, run by `do`. Or a Textual action of the widget (`step(1)`), of its screen
            (`screen.take`) or of the app (`app.help`).
        label: One or two words for the status line and menus. A key has the same label in every pane.
        text: A sentence that starts with a verb, for the help, the palette and the documentation.
        is_shown: True if it belongs in the status line.
        rank: Position in the status line, lowest first; only the first few fit. None sorts last.
        menu: Key of the menu and key in the menu, separated by a blank: `g f`; empty if not in a menu.
        also: More search terms for the palette.
        when: Returns True if the status line shows it now. Called with the screen.
        current_label: Returns the status line label if the key would undo its effect, None for `label`. Called with the
            screen.
        is_first: True for a priority binding, which runs before the focused widget sees the key.
        needs_session: On the main screen, True to show a notice if no session is open.
        named: Name in the command palette; None to derive it from `name`.
        is_looked_up: True if it is in the command palette.
        is_move: True if it only moves a cursor; the help groups these in one line.
    """

    name: str
    keys: str
    run: str | Callable[[Node], object]
    label: str
    text: str
    is_shown: bool = False
    rank: int | None = None
    is_first: bool = False
    needs_session: bool = True
    named: PaletteName[Node] | None = None
    is_looked_up: bool = True
    is_move: bool = False
    menu: str = ""
    also: str = ""
    when: Callable[[Any], bool] = _always
    current_label: Callable[[Any], str] | None = None

    @property
    def binding(self) -> Binding:
        """Textual binding. Without keys it has a placeholder that no keyboard sends, so keymaps can assign a key."""
        return Binding(
            self.keys or f"{KEYLESS}{self.name}",
            self.run if isinstance(self.run, str) else f"do({self.name!r})",
            self.label,
            id=self.name,
            tooltip=self.text,
            show=self.is_shown,
            priority=self.is_first,
        )

    @property
    def each_key(self) -> tuple[str, ...]:
        """The default keys, separately."""
        return tuple(binding.key for binding in Binding.make_bindings([self.binding])) if self.keys else ()

    @property
    def menu_keys(self) -> tuple[str, ...]:
        """Key sequence that runs it from a menu; empty if not in a menu."""
        return tuple(self.menu.split())

    @property
    def is_of_app(self) -> bool:
        """True if the app runs it, on any screen."""
        return isinstance(self.run, str) and self.run.startswith("app.")


Table: TypeAlias = tuple[UserAction[Any], ...]
"""Actions of one screen or widget, in the order of the help."""


def key_name(key: str) -> str:
    """Return Textual's name of a key, given its name or its character."""
    return next(iter(Binding.make_bindings([Binding(key, "")]))).key


def move(
    name: str,
    keys: str,
    run: str,
    label: str,
    text: str,
    *,
    is_shown: bool = False,
    is_first: bool = False,
    rank: int | None = None,
) -> UserAction[Any]:
    """Build an action that only moves a cursor and is not in the palette."""
    return UserAction(name, keys, run, label, text, is_shown, rank, is_first, is_looked_up=False, is_move=True)


ACTIONS_BY_NAME: Final[dict[str, UserAction[Any]]] = {}
"""Actions of the screens and widgets imported so far, by name."""


def bindings(actions: Table) -> list[BindingType]:
    """Register the actions, and return the `BINDINGS` of their screen or widget."""
    for action in actions:
        ACTIONS_BY_NAME[action.name] = action
    return [action.binding for action in actions]


async def do(node: object, name: str) -> None:
    """Run an action with a function as its `run`.

    Args:
        node: The screen that owns the action.
        name: Name of the action.
    """
    run = ACTIONS_BY_NAME[name].run
    if isinstance(run, str):
        raise AssertionError(f"Textual runs {name} itself")
    done = run(node)
    if isawaitable(done):
        await done
