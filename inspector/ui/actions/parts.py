"""The keys of the parts of the main screen, and of what stands on several screens."""

from __future__ import annotations

from inspector.ui.actions.action import Table, UserAction, move

TIMELINE: Table = (
    move("timeline.up", "up,k", "cursor(-1)", "Up", "Move to the row above"),
    move("timeline.down", "down,j", "cursor(1)", "Down", "Move to the row below"),
    move("timeline.page-up", "pageup", "page(-1)", "Page up", "Move up by a page"),
    move("timeline.page-down", "pagedown", "page(1)", "Page down", "Move down by a page"),
    move("timeline.first", "home,g", "first", "First", "Move to the first row"),
    move("timeline.last", "end,G", "last", "Follow", "Move to the last row and follow"),
    UserAction("timeline.fold", "enter", "fold", "Fold", "Fold or unfold the message or subagent"),
    UserAction("timeline.close", "left", "fold(1)", "Fold", "Fold the message or subagent"),
    UserAction("timeline.unfold", "right", "fold(0)", "Unfold", "Unfold it"),
    UserAction("timeline.fold-all", "minus", "fold_all", "All", "Fold or unfold every message"),
    UserAction("timeline.pin", "m", "pin", "Pin", "Pin or unpin the row"),
    UserAction("timeline.scale", "l", "scale", "Log", "Switch bars between linear and logarithmic"),
)
"""The rows."""

DETAIL: Table = (
    UserAction("detail.raw", "r", "show('raw')", "Raw", "Show the text as recorded", is_shown=True),
    UserAction("detail.sent", "s", "show('sent')", "As sent", "Show what the plan sends of it", is_shown=True),
    UserAction("detail.difference", "d", "show('difference')", "Difference", "Show both side by side", is_shown=True),
    UserAction(
        "detail.json", "j", "show('laid')", "Formatted", "Format it: JSON, a tool's input, an edit", is_shown=True
    ),
    UserAction("detail.markdown", "m", "show('markdown')", "Markdown", "Show the text as Markdown", is_shown=True),
    UserAction("detail.record", "R", "show('record')", "Record", "Show the record in the file", is_shown=True),
    UserAction("detail.previous-view", "left", "other(-1)", "View", "The view to the left"),
    UserAction("detail.next-view", "right", "other(1)", "View", "The view to the right"),
    UserAction(
        "detail.next-cut", "x", "next_note", "Next cut", "Go to the next place something was cut", is_shown=True
    ),
    UserAction("detail.find", "slash", "find", "Find", "Search this text", is_shown=True),
    UserAction("detail.next-match", "n", "to_found(1)", "Match", "To the next match"),
    UserAction("detail.previous-match", "N", "to_found(-1)", "Match", "To the match before"),
    UserAction("detail.copy", "y", "copy", "Copy", "Copy what is shown to the clipboard", is_shown=True),
    UserAction("detail.pager", "vertical_line", "pager", "Pager", "Open what is shown in $PAGER", is_shown=True),
    move("detail.up", "up,k", "scroll(-1)", "Up", "Scroll up"),
    move("detail.down", "down", "scroll(1)", "Down", "Scroll down"),
    move("detail.page-up", "pageup", "page(-1)", "Page up", "Scroll up by a page"),
    move("detail.page-down", "pagedown", "page(1)", "Page down", "Scroll down by a page"),
    move("detail.first", "home,g", "first", "Top", "Go to the beginning"),
    move("detail.last", "end,G", "last", "End", "Go to the end"),
)
"""The block under the cursor."""

CHART: Table = (
    move("chart.before", "left", "select(-1)", "Call before", "Previous call", is_shown=True),
    move("chart.after", "right", "select(1)", "Call after", "Next call", is_shown=True),
    UserAction("chart.ten-before", "shift+left", "select(-10)", "Ten before", "Back 10 calls"),
    UserAction("chart.ten-after", "shift+right", "select(10)", "Ten after", "Forward 10 calls"),
    move("chart.first", "home", "edge(0)", "First call", "Look at the first call"),
    UserAction("chart.now", "end", "edge(1)", "Now", "Look at the next prompt"),
)
"""The chart of prompts."""

COST_BAR: Table = (
    move("cost.runs-here", "enter", "ask_runs", "Runs a day", "Set how many such sessions run a day", is_shown=True),
)
"""The cost line."""

FIND_BAR: Table = (
    UserAction("find.close", "escape", "close", "Close", "Clear the search and show all rows", is_shown=True),
)
"""The line rows are searched with."""

TEXT_FIND: Table = (UserAction("text-find.close", "escape", "close", "Close", "Close the search", is_shown=True),)
"""The line a text is searched with."""

PLAN_PANEL: Table = (
    move("plan.up", "up", "move_focus(-1)", "Up", "The control above"),
    move("plan.down", "down", "move_focus(1)", "Down", "The control below"),
    UserAction(
        "plan.switch", "space", "switch_focused", "Switch", "Switch the strategy the cursor is in", is_shown=True
    ),
)
"""The plan, whatever of it has the focus."""

ADD_STRATEGY: Table = (
    move("plan.add-here", "enter,space", "add", "Add", "Choose a strategy to add to the plan", is_shown=True),
)
"""The row that adds a strategy."""

STRATEGY: Table = (
    UserAction("strategy.switch", "space,enter", "switch", "Switch", "Switch the strategy on or off", is_shown=True),
    UserAction(
        "strategy.remove", "delete,backspace", "remove", "Remove", "Remove the strategy from the plan", is_shown=True
    ),
    UserAction("strategy.earlier", "shift+up", "move(-1)", "Earlier", "Apply it before the one above", is_shown=True),
    UserAction("strategy.later", "shift+down", "move(1)", "Later", "Apply it after the one below", is_shown=True),
)
"""The row of a strategy in the plan."""

MORE_SETTINGS: Table = (
    UserAction(
        "strategy.more", "enter,space", "fold", "More", "Show or hide the strategy's other settings", is_shown=True
    ),
)
"""The row that shows a strategy's other settings."""

SLIDER: Table = (
    UserAction(
        "slider.lower-much", "left", "stride(-1)", "Move", "Lower the limit by a coarse step", is_shown=True, rank=8
    ),
    UserAction(
        "slider.raise-much", "right", "stride(1)", "Move", "Raise the limit by a coarse step", is_shown=True, rank=8
    ),
    UserAction("slider.lower", "shift+left", "step(-1)", "Fine", "Lower by a fine step, as the wheel does"),
    UserAction("slider.raise", "shift+right", "step(1)", "Fine", "Raise by a fine step, as the wheel does"),
    UserAction("slider.lowest", "home", "edge(0)", "Lowest", "Set the lowest value"),
    UserAction("slider.highest", "end", "edge(1)", "Highest", "Set the highest value the slider shows"),
    UserAction("slider.reset", "u", "reset", "Reset", "Reset to the default", is_shown=True),
)
"""A limit of a strategy."""

SWITCH: Table = (
    UserAction("switch.switch", "enter", "switch", "Switch", "Switch it on or off", is_shown=True),
    UserAction("switch.reset", "u", "reset", "Reset", "Reset to the default", is_shown=True),
)
"""A parameter that is on or off."""

CHOICE: Table = (
    UserAction("choice.previous", "left", "turn(-1)", "Previous", "The previous choice", is_shown=True),
    UserAction("choice.next", "right,enter", "turn(1)", "Next", "The next choice", is_shown=True),
    UserAction("choice.reset", "u", "reset", "Reset", "Reset to the default", is_shown=True),
)
"""A parameter with a few values."""

TEXT: Table = (
    UserAction("text.edit", "enter", "edit", "Edit", "Edit the value", is_shown=True),
    UserAction("text.reset", "u", "reset", "Reset", "Reset to the default", is_shown=True),
)
"""A parameter that is typed."""

FIGURE_TABLE: Table = (
    move("table.up", "up,k", "cursor(-1)", "Up", "Move to the row above"),
    move("table.down", "down,j", "cursor(1)", "Down", "Move to the row below"),
    move("table.page-up", "pageup", "page(-1)", "Page up", "Move up by a page"),
    move("table.page-down", "pagedown", "page(1)", "Page down", "Move down by a page"),
    move("table.first", "home,g", "first", "First", "Move to the first row"),
    move("table.last", "end,G", "last", "Last", "Move to the last row"),
    UserAction("table.sort-left", "left", "sort(-1)", "Sort", "Sort by the column to the left", is_shown=True),
    UserAction("table.sort-right", "right", "sort(1)", "Sort", "Sort by the column to the right", is_shown=True),
    UserAction("table.reverse", "r", "reverse", "Reverse", "Sort the other way round", is_shown=True),
    UserAction("table.scale", "l", "scale", "Log", "Switch bars between linear and logarithmic"),
)
"""A table of figures, wherever it stands."""
