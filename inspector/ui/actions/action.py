"""What one row of the table of actions says, and what becomes of it: a binding, and the name a command goes by."""

from __future__ import annotations

from inspect import isawaitable
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from textual.actions import parse
from textual.binding import Binding

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.dom import DOMNode

KNOWN_TO_TEXTUAL = ("", "app", "screen")
"""What may stand before the name of an action and a full stop, for Textual to find whose it is."""


class Named(NamedTuple):
    """What an action is called in the command palette, where its own name does not say it.

    Attributes:
        title: As `noun: Verb`; `{0.plan_letter}` stands for an attribute of the screen.
        text: One sentence.
        only_with: It is offered while the screen (the app, if the app does it) has this: the name of an attribute, or a
            path of names, of something that is neither None nor empty nor false. Always, if empty.
    """

    title: str
    text: str
    only_with: str = ""


class Action(NamedTuple):
    """Something keys do on a screen or in a widget.

    Attributes:
        name: `plan.undo`: what a keymap in the settings, the help and the documents go by. No other action has it.
        keys: Its keys by default, as Textual names them, with commas between them.
        run: What it runs, as Textual writes it: an action of the screen or widget itself (`switch(0)`), of the app
            (`app.help`) or of the screen (`screen.take`). An action of a part of the main screen has the part's name
            before it (`timeline.pin`), and is run by `do`.
        label: In a word or two, for the status line.
        text: In a sentence, for the help, the palette and the documents.
        is_shown: It belongs in the status line.
        rank: In the status line the highest gives way first; None for after all that have one.
        is_first: Its keys are taken before what has the focus gets them.
        needs_session: On the main screen: where the app does not run it, it says without a session that there is none.
        named: What it is called in the command palette; None for what is made of its name.
        is_looked_up: It is in the command palette.
    """

    name: str
    keys: str
    run: str
    label: str
    text: str
    is_shown: bool = False
    rank: int | None = None
    is_first: bool = False
    needs_session: bool = True
    named: Named | None = None
    is_looked_up: bool = True

    @property
    def binding(self) -> Binding:
        """The same as Textual takes it."""
        return Binding(
            self.keys,
            self.run if parse(self.run)[0] in KNOWN_TO_TEXTUAL else f"do({self.name!r})",
            self.label,
            id=self.name,
            tooltip=self.text,
            show=self.is_shown,
            priority=self.is_first,
        )

    @property
    def each_key(self) -> tuple[str, ...]:
        """Its keys by default, one by one."""
        return tuple(binding.key for binding in Binding.make_bindings([self.binding]))

    @property
    def is_of_app(self) -> bool:
        """The application itself does it, whatever screen is shown."""
        return self.run.startswith("app.")

    @property
    def title(self) -> str:
        """What it is called in the command palette if nothing else is said: `rows.next-match` is `rows: Next match`."""
        room, _, verb = self.name.partition(".")
        return f"{room}: {verb.replace('-', ' ').capitalize()}"


Table: TypeAlias = tuple[Action, ...]
"""The actions of one screen or widget, in the order of the help."""


def move(
    name: str, keys: str, run: str, label: str, text: str, *, is_shown: bool = False, is_first: bool = False
) -> Action:
    """An action that only moves a cursor: nobody looks it up by its name."""
    return Action(name, keys, run, label, text, is_shown=is_shown, is_first=is_first, is_looked_up=False)


BOUND: Final[dict[str, Action]] = {}
"""The actions of the screens and widgets that were imported so far, by their names."""


def bindings(actions: Table) -> list[BindingType]:
    """The `BINDINGS` of a screen or widget."""
    for action in actions:
        BOUND[action.name] = action
    return [action.binding for action in actions]


async def do(node: DOMNode, name: str) -> None:
    """Run an action of a part of a screen.

    Args:
        node: The screen, which has its parts as attributes.
        name: The action's name.
    """
    part, run, arguments = parse(BOUND[name].run)
    made = getattr(attrgetter(part)(node), f"action_{run}")(*arguments)
    if isawaitable(made):
        await made


def is_there(node: object, path: str) -> bool:
    """Whether something has what a path of attributes leads to, and that is neither None nor empty nor false."""
    for name in path.split(".") if path else ():
        node = getattr(node, name)
        if node is None or node is False or (isinstance(node, tuple) and not node):
            return False
    return True
