"""Keys of the main screen's panes and of widgets used on several screens."""

from __future__ import annotations

from typing import Any

from inspector.ui.actions.action import Table, UserAction, move

TIMELINE: Table = (
    move("timeline.up", "up", "cursor(-1)", "Up", "Move to the row above"),
    move("timeline.down", "down", "cursor(1)", "Down", "Move to the row below"),
    move("timeline.page-up", "pageup", "page(-1)", "Page up", "Move up by a page"),
    move("timeline.page-down", "pagedown", "page(1)", "Page down", "Move down by a page"),
    move("timeline.first", "home", "first", "First", "Move to the first row"),
    move("timeline.last", "end", "last", "Follow", "Move to the last row and follow"),
    UserAction("timeline.open", "enter", "open", "Open", "Open the row's text, or the subagent's session"),
    UserAction("timeline.fold", "", "fold", "Fold", "Fold or unfold the message or subagent"),
    UserAction("timeline.close", "left", "fold(1)", "Fold", "Fold the message or subagent"),
    UserAction("timeline.unfold", "right", "fold(0)", "Unfold", "Unfold the message or subagent"),
)

DETAIL: Table = (
    UserAction("detail.previous-view", "left", "other(-1)", "View", "Show the view to the left", is_shown=True, rank=1),
    UserAction("detail.next-view", "right", "other(1)", "View", "Show the view to the right", is_shown=True, rank=1),
    UserAction("detail.close", "enter", "screen.do('app.leave')", "Close", "Close the text"),
    UserAction("detail.find", "slash", "find", "Find", "Search this text", is_shown=True, rank=3),
    UserAction("detail.next-match", "n", "to_found(1)", "Next", "Go to the next match in the text"),
    UserAction("detail.previous-match", "N", "to_found(-1)", "Before", "Go to the previous match in the text"),
    move("detail.up", "up", "scroll(-1)", "Up", "Scroll up"),
    move("detail.down", "down", "scroll(1)", "Down", "Scroll down"),
    move("detail.page-up", "pageup", "page(-1)", "Page up", "Scroll up by a page"),
    move("detail.page-down", "pagedown", "page(1)", "Page down", "Scroll down by a page"),
    move("detail.first", "home", "first", "Top", "Go to the beginning"),
    move("detail.last", "end", "last", "End", "Go to the end"),
)
"""Keys of the detail pane."""

CHART: Table = (
    move("chart.before", "left", "select(-1)", "Call", "Go to the previous call", is_shown=True, rank=1),
    move("chart.after", "right", "select(1)", "Call", "Go to the next call", is_shown=True, rank=1),
    UserAction("chart.ten-before", "shift+left", "select(-10)", "Far", "Go back 10 calls"),
    UserAction("chart.ten-after", "shift+right", "select(10)", "Far", "Go forward 10 calls"),
    move("chart.first", "home", "edge(0)", "First call", "Go to the first call"),
    UserAction("chart.now", "end", "edge(1)", "Now", "Go to the next prompt"),
)

COST_BAR: Table = (
    move(
        "cost.open", "enter", "screen.do('study.open-costs')", "All figures", "Show every figure", is_shown=True, rank=3
    ),
)

FAILURE: Table = (
    move("failure.retry", "enter", "retry", "Try again", "Try the failed part again", is_shown=True, rank=0),
)
"""Keys of the placeholder for a failed pane."""

FIND_BAR: Table = (
    UserAction("find.close", "escape", "close", "Close", "Clear the search and show all rows", is_shown=True),
)
"""Keys of the search line for rows."""

TEXT_FIND: Table = (UserAction("text-find.close", "escape", "close", "Close", "Close the search", is_shown=True),)
"""Keys of the search line in a text."""

PLAN_PANEL: Table = (
    move("plan.up", "up", "move_focus(-1)", "Up", "Move to the control above"),
    move("plan.down", "down", "move_focus(1)", "Down", "Move to the control below"),
    UserAction(
        "plan.switch",
        "space",
        "switch_focused",
        "Switch",
        "Switch the strategy under the cursor on or off",
        is_shown=True,
        rank=1,
    ),
)
"""Keys that work anywhere in the plan pane."""

ADD_STRATEGY: Table = (
    move("plan.add-here", "enter", "add", "Choose", "Choose a strategy to add to the plan", is_shown=True, rank=0),
)
"""Keys of the row that adds a strategy."""

STRATEGY: Table = (
    UserAction(
        "strategy.switch", "space,enter", "switch", "Switch", "Switch the strategy on or off", is_shown=True, rank=0
    ),
    UserAction(
        "strategy.remove",
        "minus,delete",
        "remove",
        "Remove",
        "Remove the strategy from the plan",
        is_shown=True,
        rank=2,
        also="delete drop",
    ),
    UserAction("strategy.earlier", "shift+up", "move(-1)", "Earlier", "Move the strategy up, before the one above"),
    UserAction("strategy.later", "shift+down", "move(1)", "Later", "Move the strategy down, after the one below"),
)
"""Keys of a strategy's row in the plan."""

MORE_SETTINGS: Table = (
    UserAction(
        "strategy.more", "enter", "fold", "More", "Show or hide the strategy's other settings", is_shown=True, rank=0
    ),
)
"""Keys of the row that shows a strategy's other settings."""


def _reset(kind: str) -> UserAction[Any]:
    """Build the action that resets a setting to its default."""
    return UserAction(f"{kind}.reset", "", "reset", "reset this limit", "Reset this limit to its default", menu="w r")


SLIDER: Table = (
    UserAction(
        "slider.lower-much", "left", "stride(-1)", "Move", "Lower the limit by a coarse step", is_shown=True, rank=0
    ),
    UserAction(
        "slider.raise-much", "right", "stride(1)", "Move", "Raise the limit by a coarse step", is_shown=True, rank=0
    ),
    UserAction("slider.lower", "shift+left", "step(-1)", "Fine", "Lower by a fine step, like the wheel"),
    UserAction("slider.raise", "shift+right", "step(1)", "Fine", "Raise by a fine step, like the wheel"),
    UserAction("slider.lowest", "home", "edge(0)", "Lowest", "Set the lowest value"),
    UserAction("slider.highest", "end", "edge(1)", "Highest", "Set the highest value on the slider"),
    _reset("slider"),
)
"""Keys of a limit."""

SWITCH: Table = (
    UserAction("switch.switch", "enter", "switch", "Switch", "Switch the setting on or off", is_shown=True, rank=0),
    _reset("switch"),
)
"""Keys of a parameter that is on or off."""

CHOICE: Table = (
    UserAction("choice.previous", "left", "turn(-1)", "Choice", "Select the previous choice", is_shown=True, rank=0),
    UserAction("choice.next", "right,enter", "turn(1)", "Choice", "Select the next choice", is_shown=True, rank=0),
    _reset("choice"),
)
"""Keys of a parameter with a few values."""

TEXT: Table = (
    UserAction("text.edit", "enter", "edit", "Edit", "Edit the value", is_shown=True, rank=0),
    _reset("text"),
)
"""Keys of a text parameter."""

FIGURE_TABLE: Table = (
    move("table.up", "up", "cursor(-1)", "Up", "Move to the row above"),
    move("table.down", "down", "cursor(1)", "Down", "Move to the row below"),
    move("table.page-up", "pageup", "page(-1)", "Page up", "Move up by a page"),
    move("table.page-down", "pagedown", "page(1)", "Page down", "Move down by a page"),
    move("table.first", "home", "first", "First", "Move to the first row"),
    move("table.last", "end", "last", "Last", "Move to the last row"),
    UserAction("table.sort-left", "left", "sort(-1)", "Sort by", "Sort by the column to the left", is_shown=True),
    UserAction("table.sort-right", "right", "sort(1)", "Sort by", "Sort by the column to the right", is_shown=True),
    UserAction("table.reverse", "s", "reverse", "Sort", "Reverse the sort order"),
    UserAction("table.scale", "L", "scale", "Log", "Switch bars between linear and logarithmic scale"),
)
"""Keys of every table of figures."""
