"""List the keys available in the focused pane, for the help screen, the status line and the documentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from textual.keys import REPLACED_KEYS
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from inspector.ui.actions.action import ACTIONS_BY_NAME, KEYLESS, UserAction
from inspector.ui.menu import shown_key
from inspector.ui.toolkit.status_bar import KeyHint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import App
    from textual.binding import Binding
    from textual.dom import DOMNode

    AnyApp = App[Any]


class HelpRow(NamedTuple):
    """Row of the help: keys and their effect.

    Attributes:
        keys: Keys as displayed: `[`, `shift+←`, `g f`; empty for a command without keys.
        name: Name of the action, for keymaps.
        text: Description.
        label: One-word description of the current effect.
        is_shown: True if the status line shows it now.
        press: First key as Textual names it; for a menu the keys in order, separated by blanks.
        rank: Position in the status line, lowest first; None for last.
        is_in_menu: True if a menu runs it.
        is_move: True if it only moves a cursor.
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
    """Keys of one part of the screen.

    Attributes:
        title: Name of the part.
        text: Purpose of the part; may be empty.
        rows: Its keys.
        is_everywhere: True if its keys work in every pane.
    """

    title: str
    text: str
    rows: tuple[HelpRow, ...]
    is_everywhere: bool


def help_sections(app: AnyApp) -> list[HelpSection]:
    """Return the current keys: of the focused widget first, then of its ancestors, then global ones."""
    screen = app.screen
    by_node: dict[DOMNode, dict[str, list[Binding]]] = {}
    types = screen.focused is not None and screen.focused.check_consume_key("slash", "/")
    for active in screen.active_bindings.values():
        if types and active.binding.key in REPLACED_KEYS:
            continue  # inserted into the input, although Textual has no character names for these
        if isinstance(active.node, Input):
            continue  # line editing keys are common knowledge, and would precede the keys specific to this screen
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
    """Return True if a widget defines named keys. Keys inherited from Textual's widgets are not listed."""
    return type(node).__module__.startswith("inspector.")


def _merged(rows: Iterable[HelpRow]) -> tuple[HelpRow, ...]:
    """Merge numbered rows with keys (`plan.switch-1` to `-9`) into one."""
    merged: list[HelpRow] = []
    for row in rows:
        if merged and row.keys and not row.is_in_menu and (family := _family(row)) and family == _family(merged[-1]):
            first = merged[-1].keys.split("…")[0]
            merged[-1] = merged[-1]._replace(keys=f"{first}…{row.keys}", text=merged[-1].text.replace(" 1 ", " N "))
        else:
            merged.append(row)
    return tuple(merged)


def _family(row: HelpRow) -> str:
    match = re.fullmatch(r"(.*)-\d+", row.name)
    return match[1] if match else ""


def _row(app: AnyApp, bindings: list[Binding]) -> HelpRow:
    first = bindings[0]
    keys = " or ".join(dict.fromkeys(key_of(app, binding) for binding in bindings if "super+" not in binding.key))
    action = ACTIONS_BY_NAME.get(first.id or "")
    by_menu = action is not None and bool(action.menu) and first.key.startswith(KEYLESS)
    return HelpRow(
        keys,
        first.id or "",
        first.tooltip or first.description,
        first.description if action is None or action.current_label is None else action.current_label(app.screen),
        first.show and (action is None or action.when(app.screen)),
        action.menu if action is not None and by_menu else first.key,
        None if action is None else action.rank,
        by_menu,
        action is not None and action.is_move,
    )


def key_of(app: AnyApp, binding: Binding) -> str:
    """Return the displayed key of a binding, or its key sequence in a menu; empty for none."""
    if binding.key.startswith(KEYLESS):
        action = ACTIONS_BY_NAME.get(binding.id or "")
        return menu_keys(action) if action is not None else ""
    display = app.get_key_display(binding)
    return display.replace("^", "ctrl+") if display.startswith("^") and len(display) > 1 else display


def menu_keys(action: UserAction[Any]) -> str:
    """Return the displayed key sequence of a menu action, such as `g f`; empty for none."""
    return " ".join(shown_key(key) for key in action.menu_keys)


def _title(node: DOMNode) -> str:
    if isinstance(node, Screen) or not isinstance(node, Widget):
        return "Everywhere"
    if node.border_title:
        return str(node.border_title)
    words = getattr(node, "TITLE_IN_HELP", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__)).lower()
    return words[:1].upper() + words[1:]


MAX_KEY_HINTS: Final = 5
"""Number of keys in the status line in addition to help."""
AFTER_RANKS: Final = 10
"""Added to the position of actions without a rank."""
COMES_LATE: Final = 90
"""Minimum rank of keys that appear only once some result is available. They come last so that no other key moves."""
FIRST_RANK: Final = 2
"""Highest rank in the line. Help is dropped last of all keys, before the row counts."""


def key_hints(sections: Sequence[HelpSection]) -> tuple[KeyHint, ...]:
    """Return the keys for the status line: help and the next few keys, starting with the focused widget's.

    Keys with the same label share a place: `[ ] call`. On narrow screens the last ones are dropped first, help last.
    """
    hints: list[KeyHint] = []
    for section in sections:
        reported = len(hints)
        for row in section.rows:
            if not row.is_shown or not row.keys:
                continue
            label = row.label.lower()
            key = row.keys.split(" or ")[0].split("…")[0]
            same = next((place for place, hint in enumerate(hints) if hint.label == label), None)
            if same is None:
                rank = AFTER_RANKS + len(hints) if row.rank is None else row.rank
                hints.append(KeyHint(key, label, row.press, rank))
            elif same >= reported and key not in hints[same].key.split():
                hints[same] = hints[same]._replace(key=f"{hints[same].key} {key}")
    shown = [hint for hint in hints if hint.label == "help"]
    others = sorted((hint for hint in hints if hint.label != "help"), key=lambda hint: hint.rank)
    shown += [hint for hint in others if hint.rank < COMES_LATE][:MAX_KEY_HINTS]
    shown += [hint for hint in others if hint.rank >= COMES_LATE]
    return tuple(hint._replace(rank=FIRST_RANK + place) for place, hint in enumerate(shown))


MENU_OF_JUMPS: Final = "menu.go"

GROUPS: Final = {
    "Go to": ("call", "timeline", "session", "pane", "rows.next-match", "rows.previous-match", MENU_OF_JUMPS),
    "Rows and text": ("rows", "detail", "chart", "menu.view", "menu.read"),
    "Plan": ("plan", "strategy", "slider", "menu.files"),
    "Analysis": ("study", "cost", "costs", "composition", "compare", "misses", "marks"),
}
"""Groups of the help after the focused pane's, with their names and name prefixes. The last group has the rest."""
LAST_GROUP: Final = "Program"
GROUP_OF_PANE: Final = {
    "Timeline": "Rows and text",
    "Detail": "Rows and text",
    "Context": "Go to",
    "Plan": "Plan",
    "Cost": "Analysis",
}
"""Group shown together with a focused pane of the main screen, by the start of the pane's title."""


def help_groups(sections: Sequence[HelpSection], belongs: str = "") -> list[HelpSection]:
    """Group the keys for the help: the focused pane first, then everything else in at most five groups.

    Menu entries are left to the menu. Keys that the focused pane overrides are not repeated.

    Args:
        sections: Result of `help_sections`.
        belongs: Group shown together with the focused pane; empty for none.
    """
    here = [section for section in sections if not section.is_everywhere]
    rest = _shown_rows([section for section in sections if section.is_everywhere])
    groups = []
    if here:
        text = " ".join(section.text for section in here if section.text)
        own = _with_moves_in_one(_shown_rows(here))
        keys = {key for row in own for key in row.keys.split(" or ")}
        rest = tuple(row for row in rest if row.keys not in keys)
        # Put the menu of jumps first, because it works from any place.
        rest = tuple(sorted(rest, key=lambda row: row.name != MENU_OF_JUMPS))
        mine = [group_of(row.name) == belongs or (bool(belongs) and row.name == MENU_OF_JUMPS) for row in rest]
        own += tuple(row for row, is_mine in zip(rest, mine, strict=True) if is_mine)
        rest = tuple(row for row, is_mine in zip(rest, mine, strict=True) if not is_mine)
        groups.append(HelpSection(f"Here: {here[0].title}", text, own, False))
    for title in (*GROUPS, LAST_GROUP):
        rows = tuple(row for row in rest if group_of(row.name) == title and not (here and title == belongs))
        if rows:
            groups.append(HelpSection(title, "", rows, True))
    return groups


def group_of_focused_pane(app: AnyApp) -> str:
    """Return the help group of the focused pane of the main screen; empty on other screens."""
    frames = (
        (str(node.border_title) for node in app.focused.ancestors if isinstance(node, Widget)) if app.focused else ()
    )
    return next((group for frame in frames for title, group in GROUP_OF_PANE.items() if frame.startswith(title)), "")


def _shown_rows(sections: Sequence[HelpSection]) -> tuple[HelpRow, ...]:
    rows = (row for section in sections for row in section.rows if row.keys and not row.is_in_menu)
    return tuple({row.text: row for row in reversed(list(rows))}.values())[::-1]


def _with_moves_in_one(rows: Sequence[HelpRow]) -> tuple[HelpRow, ...]:
    """Merge the rows that only move a cursor into one, placed last."""
    moves = [row.keys.split(" or ")[0] for row in rows if row.is_move]
    others = tuple(row for row in rows if not row.is_move)
    if not moves:
        return others
    also = f"; also {' '.join(moves[2:])}" if moves[2:] else ""
    return (*others, HelpRow(" ".join(moves[:2]), "", f"Move{also}", "", False))


def group_of(name: str) -> str:
    """Return the help group of an action."""
    room = name.partition(".")[0]
    whole = next((title for title, names in GROUPS.items() if name in names), "")
    return whole or next((title for title, rooms in GROUPS.items() if room in rooms), LAST_GROUP)
