"""What the keys do where the focus is: for the help screen, the status line and the documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from textual.keys import REPLACED_KEYS
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from inspector.ui.actions.action import BOUND, KEYLESS
from inspector.ui.menu.items import shown_key
from inspector.ui.toolkit.status_bar import KeyHint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import App
    from textual.binding import Binding
    from textual.dom import DOMNode

    from inspector.ui.actions.action import UserAction

    AnyApp = App[Any]


class HelpRow(NamedTuple):
    """One row of the help: keys and what they do.

    Attributes:
        keys: The keys, as people write them: `[`, `shift+←`, `g f`; empty where only a command does it.
        name: The action's name, by which a keymap may give it other keys.
        text: What it does.
        label: The same in a word, as the key does it now.
        is_shown: The status line teaches it now.
        press: The first of its keys, as Textual names it; those of a menu one after the other, blanks between them.
        rank: In the status line the lowest comes first; None for after all that have one.
        is_in_menu: A menu does it.
        is_move: It only moves a cursor.
    """

    keys: str
    name: str
    text: str
    label: str
    is_shown: bool
    press: str = ""
    rank: int | None = None
    is_in_menu: bool = False
    is_move: bool = False


class HelpSection(NamedTuple):
    """What one part of the screen understands.

    Attributes:
        title: The part.
        text: What it is for; empty where there is nothing to say.
        rows: What it does.
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
        if isinstance(active.node, Input):
            continue  # how a line is edited is known, and would stand before what only this screen does
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
    """Whether a part has keys with names; those it has from what Textual makes it of are no use there."""
    return type(node).__module__.startswith("inspector.")


def _merged(rows: Iterable[HelpRow]) -> tuple[HelpRow, ...]:
    """The rows, numbered ones that have keys (`plan.switch-1` to `-9`) as one."""
    merged: list[HelpRow] = []
    for row in rows:
        if merged and row.keys and not row.is_in_menu and (family := _family(row)) and family == _family(merged[-1]):
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
    keys = " or ".join(dict.fromkeys(key_of(app, binding) for binding in bindings if "super+" not in binding.key))
    action = BOUND.get(first.id or "")
    by_menu = action is not None and bool(action.menu) and first.key.startswith(KEYLESS)
    return HelpRow(
        keys,
        first.id or "",
        first.tooltip or first.description,
        first.description if action is None or action.label_now is None else action.label_now(app.screen),
        first.show and (action is None or action.when(app.screen)),
        action.menu if action is not None and by_menu else first.key,
        None if action is None else action.rank,
        by_menu,
        action is not None and action.is_move,
    )


def key_of(app: AnyApp, binding: Binding) -> str:
    """The key of a binding as people write it, or those that lead to it by a menu; empty for none."""
    if binding.key.startswith(KEYLESS):
        action = BOUND.get(binding.id or "")
        return menu_keys(action) if action is not None else ""
    display = app.get_key_display(binding)
    return display.replace("^", "ctrl+") if display.startswith("^") and len(display) > 1 else display


def menu_keys(action: UserAction[Any]) -> str:
    """The keys that do something by a menu, as people write them: `g f`; empty for none."""
    return " ".join(shown_key(key) for key in action.menu_keys)


def _title(node: DOMNode) -> str:
    if isinstance(node, Screen) or not isinstance(node, Widget):
        return "Everywhere"
    if node.border_title:
        return str(node.border_title)
    words = getattr(node, "TITLE_IN_HELP", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__)).lower()
    return words[:1].upper() + words[1:]


MOST_TAUGHT: Final = 5
"""Keys the status line teaches besides that of the help: the next ones, not all there are."""
AFTER_RANKS: Final = 10
"""Added to the place of what has no rank of its own."""
COMES_LATE: Final = 90
"""From this rank on a key is taught only once something is known: it stands last, and moves no other as it comes."""
FIRST_RANK: Final = 2
"""In the line help gives way after the counts of rows, the last key before them."""


def key_hints(sections: Sequence[HelpSection]) -> tuple[KeyHint, ...]:
    """The keys for the status line: help, and the next few for where one is, those of the focused part first.

    Keys with one label share a place: `[ ] call`. On narrow screens the last ones give way first, help last.
    """
    hints: list[KeyHint] = []
    for section in sections:
        told = len(hints)
        for row in section.rows:
            if not row.is_shown or not row.keys:
                continue
            label = row.label.lower()
            key = row.keys.split(" or ")[0].split("…")[0]
            same = next((place for place, hint in enumerate(hints) if hint.label == label), None)
            if same is None:
                rank = AFTER_RANKS + len(hints) if row.rank is None else row.rank
                hints.append(KeyHint(key, label, row.press, rank))
            elif same >= told and key not in hints[same].key.split():
                hints[same] = hints[same]._replace(key=f"{hints[same].key} {key}")
    shown = [hint for hint in hints if hint.label == "help"]
    others = sorted((hint for hint in hints if hint.label != "help"), key=lambda hint: hint.rank)
    shown += [hint for hint in others if hint.rank < COMES_LATE][:MOST_TAUGHT]
    shown += [hint for hint in others if hint.rank >= COMES_LATE]
    return tuple(hint._replace(rank=FIRST_RANK + place) for place, hint in enumerate(shown))


MENU_OF_JUMPS: Final = "menu.go"

GROUPS: Final = {
    "Go to": ("call", "timeline", "session", "pane", "rows.next-match", "rows.previous-match", MENU_OF_JUMPS),
    "Rows and text": ("rows", "detail", "chart", "menu.view", "menu.read"),
    "Plan": ("plan", "strategy", "slider", "menu.files"),
    "Look closer": ("study", "cost", "costs", "composition", "compare", "misses", "marks"),
}
"""The groups of the help after that of the focused part, and the rooms and names in each; others are in the last."""
LAST_GROUP: Final = "Program"
BELONGS: Final = {
    "Timeline": "Rows and text",
    "Detail": "Rows and text",
    "Context": "Go to",
    "Plan": "Plan",
    "Cost": "Look closer",
}
"""The group that belongs to a part of the main screen, by how its frame's title begins, and stands with it."""


def help_groups(sections: Sequence[HelpSection], belongs: str = "") -> list[HelpSection]:
    """What the help shows: the part that has the focus, then what else can be done, in five groups at most.

    What a menu does stands in the menu. What the focused part takes for itself is not said again.

    Args:
        sections: As `help_sections` gives them.
        belongs: The group that stands with the focused part; empty for none.
    """
    here = [section for section in sections if not section.is_everywhere]
    rest = _shown_rows([section for section in sections if section.is_everywhere])
    groups = []
    if here:
        text = " ".join(section.text for section in here if section.text)
        own = _with_moves_in_one(_shown_rows(here))
        keys = {key for row in own for key in row.keys.split(" or ")}
        rest = tuple(row for row in rest if row.keys not in keys)
        # The menu of jumps starts from wherever one is.
        rest = tuple(sorted(rest, key=lambda row: row.name != MENU_OF_JUMPS))
        mine = [_group(row) == belongs or (bool(belongs) and row.name == MENU_OF_JUMPS) for row in rest]
        own += tuple(row for row, is_mine in zip(rest, mine, strict=True) if is_mine)
        rest = tuple(row for row, is_mine in zip(rest, mine, strict=True) if not is_mine)
        groups.append(HelpSection(f"Here: {here[0].title}", text, own, False))
    for title in (*GROUPS, LAST_GROUP):
        rows = tuple(row for row in rest if _group(row) == title and not (here and title == belongs))
        if rows:
            groups.append(HelpSection(title, "", rows, True))
    return groups


def belonging(app: AnyApp) -> str:
    """The group of the help that stands with the part of the main screen that has the focus; empty on others."""
    frames = (
        (str(node.border_title) for node in app.focused.ancestors if isinstance(node, Widget)) if app.focused else ()
    )
    return next((group for frame in frames for title, group in BELONGS.items() if frame.startswith(title)), "")


def _shown_rows(sections: Sequence[HelpSection]) -> tuple[HelpRow, ...]:
    rows = (row for section in sections for row in section.rows if row.keys and not row.is_in_menu)
    return tuple({row.text: row for row in reversed(list(rows))}.values())[::-1]


def _with_moves_in_one(rows: Sequence[HelpRow]) -> tuple[HelpRow, ...]:
    """The rows, those that only move a cursor as one, the last."""
    moves = [row.keys.split(" or ")[0] for row in rows if row.is_move]
    others = tuple(row for row in rows if not row.is_move)
    if not moves:
        return others
    also = f"; also {' '.join(moves[2:])}" if moves[2:] else ""
    return (*others, HelpRow(" ".join(moves[:2]), "", f"Move{also}", "", False))


def _group(row: HelpRow) -> str:
    room = row.name.partition(".")[0]
    whole = next((title for title, names in GROUPS.items() if row.name in names), "")
    return whole or next((title for title, rooms in GROUPS.items() if room in rooms), LAST_GROUP)
