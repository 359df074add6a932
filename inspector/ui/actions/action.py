"""What one row of the table of actions says, and what becomes of it: a binding, and the name a command goes by."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct
from textual.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType

Node = TypeVar("Node")
"""The screen or widget whose action it is."""

KEYLESS: Final = "keyless:"
"""Begins what stands for the key of an action without keys."""


def _always(_: object) -> bool:
    return True


class Named(Struct, Generic[Node], frozen=True):
    """What an action is called in the command palette, where its own name does not say it.

    Attributes:
        title: A verb first, as in `Compare plans`; a function of the screen where it changes.
        text: One sentence.
        is_offered: Whether it applies now; asked with the screen, or with the app if the app does it.
    """

    title: str | Callable[[Node], str]
    text: str
    is_offered: Callable[[Any], bool] = _always


class UserAction(Struct, Generic[Node], frozen=True):
    """Something keys do on a screen or in a widget.

    Attributes:
        name: `plan.undo`: what a keymap in the settings, the help and the documents go by. No other action has it.
        keys: Its keys by default, as Textual names them, with commas between them; empty where a menu or the palette
            does it, and a keymap may give it one.
        run: What it does, given the screen; `do` runs it. Or as Textual writes it: an action of the widget itself
            (`step(1)`), of the screen it is on (`screen.take`) or of the app (`app.help`).
        label: In a word or two, for the status line and menus. A key has one label, whatever has the focus.
        text: In a sentence that begins with a verb, for the help, the palette and the documents.
        is_shown: It belongs in the status line.
        rank: In the status line the lowest comes first, and only the first few are there; None for after all that
            have one.
        menu: The key of a menu it is in, and its own there, with a blank between them: `g f`; empty for none.
        also: What else somebody may look for in the palette to find it.
        when: Whether the status line teaches it now; asked with the screen.
        label_now: What the status line calls it where its key undoes what it did; asked with the screen, None where its
            label always says it.
        is_first: Its keys are taken before what has the focus gets them.
        needs_session: On the main screen: without a session it says that there is none.
        named: What it is called in the command palette; None for what is made of its name.
        is_looked_up: It is in the command palette.
        is_move: It only moves a cursor: the help says it in one line with the others that do.
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
    named: Named[Node] | None = None
    is_looked_up: bool = True
    is_move: bool = False
    menu: str = ""
    also: str = ""
    when: Callable[[Any], bool] = _always
    label_now: Callable[[Any], str] | None = None

    @property
    def binding(self) -> Binding:
        """The same as Textual takes it. Without keys it stands under one no keyboard has, for keymaps to find."""
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
        """Its keys by default, one by one."""
        return tuple(binding.key for binding in Binding.make_bindings([self.binding])) if self.keys else ()

    @property
    def menu_keys(self) -> tuple[str, ...]:
        """The keys that do it by a menu, one after the other; none without one."""
        return tuple(self.menu.split())

    @property
    def is_of_app(self) -> bool:
        """The application itself does it, whatever screen is shown."""
        return isinstance(self.run, str) and self.run.startswith("app.")


Table: TypeAlias = tuple[UserAction[Any], ...]
"""The actions of one screen or widget, in the order of the help."""


def key_name(key: str) -> str:
    """A key as Textual names it, by its name or its character."""
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
    """An action that only moves a cursor: nobody looks it up by its name."""
    return UserAction(name, keys, run, label, text, is_shown, rank, is_first, is_looked_up=False, is_move=True)


BOUND: Final[dict[str, UserAction[Any]]] = {}
"""The actions of the screens and widgets that were imported so far, by their names."""


def bindings(actions: Table) -> list[BindingType]:
    """The `BINDINGS` of a screen or widget."""
    for action in actions:
        BOUND[action.name] = action
    return [action.binding for action in actions]


async def do(node: object, name: str) -> None:
    """Run an action that is a function.

    Args:
        node: The screen whose action it is.
        name: The action's name.
    """
    run = BOUND[name].run
    if isinstance(run, str):
        raise AssertionError(f"Textual runs {name} itself")
    done = run(node)
    if isawaitable(done):
        await done
