"""Keys of the screens over the main screen: analysis screens, the session list and dialogs."""

from __future__ import annotations

from typing import Any, Final

from inspector.ui.actions.action import PaletteName, Table, UserAction, move
from inspector.ui.part_names import FAR

DIVISIONS: Final = ("role", "tool", "file", "tier", "age", "repeats")
"""Groupings of a prompt, in the order of their keys: the values of `Grouping`."""
DIVISION_LETTERS: Final = "rtfiad"
"""Letters of the groupings in the menu."""
SECTIONS: Final = ("totals", "parts", "tiers", "results", "compactions", "forecast", "assumptions")
"""Sections of the cost screen, in the order of their keys: the values of `Section`."""
SECTION_LETTERS: Final = "tpircfa"
"""Letters of the sections in the menu."""

STUDY: Table = (
    UserAction(
        "study.help", "question_mark", "app.help", "help", "Show the keys available here", True, 0, is_looked_up=False
    ),
    UserAction(
        "study.close",
        "escape",
        "close",
        "back",
        "Go back to the previous screen",
        is_shown=True,
        rank=3,
        named=PaletteName("Go back", "Close this screen"),
    ),
    UserAction("study.quit", "q", "close", "quit", "Close this screen, like esc", is_looked_up=False),
    UserAction(
        "study.explain",
        "E",
        "explain",
        "explain",
        "Explain how the figures here are calculated",
        is_shown=True,
        rank=4,
        also="why how cost",
    ),
    UserAction("study.picture", "", "app.picture", "picture", "Save a picture of the screen", is_looked_up=False),
    UserAction("study.undo", "ctrl+z", "undo", "undo", "Undo the last change"),
    UserAction("study.redo", "ctrl+y", "redo", "redo", "Redo the undone change"),
    UserAction("study.compare", "c", "analysis('compare')", "compare", "Compare plans", also="best cheaper save"),
    UserAction("study.tune", "t", "analysis('tune')", "tune", "Tune a limit", also="knee best"),
    UserAction(
        "study.costs", "dollar_sign", "analysis('costs')", "costs", "Show every figure", also="expensive cost why"
    ),
    UserAction(
        "study.window",
        "v",
        "analysis('composition')",
        "window",
        "Show the contents of the context window",
        also="expensive cost why",
    ),
    UserAction(
        "study.misses",
        "M",
        "analysis('misses')",
        "cost drivers",
        "Show the cost drivers",
        also="expensive why",
    ),
    UserAction(
        "study.files",
        "",
        "analysis('files')",
        "files",
        "Show the files the tools used",
        named=PaletteName("Show the files", "Files that tools read and edited, and their text in the context"),
        also="read edit write stale changelog history",
    ),
)
"""Keys of every analysis screen."""


def _quit(room: str) -> UserAction[Any]:
    """Build the action that closes a screen with the quit key."""
    return UserAction(f"{room}.quit", "q", "dismiss", "quit", "Close, like esc", is_looked_up=False)


def _again(room: str, key: str, label: str) -> UserAction[Any]:
    """Build the action that closes a screen with the key that opened it."""
    return UserAction(f"{room}.again", key, "dismiss", label, "Close", is_looked_up=False)


COMPARE: Table = (
    UserAction("compare.take", "enter", "screen.take", "use it", "Use this plan", is_shown=True, rank=0),
    UserAction(
        "compare.add",
        "plus",
        "screen.add",
        "add",
        "Add this plan's strategies to the current plan",
        is_shown=True,
        rank=4,
    ),
    UserAction(
        "compare.best",
        "asterisk",
        "screen.best",
        "best",
        "Use the best plan that the agent can apply, otherwise the best of all",
        is_shown=True,
        rank=1,
    ),
    UserAction(
        "compare.front",
        "F",
        "screen.front",
        "front",
        "Show only the Pareto front (saving against needed later), or all plans",
        is_shown=True,
        rank=3,
        current_label=lambda screen: "all plans" if screen.shows_front else "front",
        also="pareto risk needed why best careful bold",
    ),
    UserAction("compare.fold", "underscore", "screen.fold", "fold", "Show or fold plans that were never applied"),
    UserAction(
        "compare.read-on",
        "tab",
        "screen.read_on",
        "more below",
        "Scroll the details of this plan",
        is_shown=True,
        rank=2,
    ),
)
"""Keys of the table of plans on the compare screen."""

TUNE_CURVES: Table = (
    UserAction("tune.apply", "enter", "screen.apply", "apply", "Set this value in the plan", is_shown=True, rank=1),
    UserAction("tune.lower", "left", "screen.step(-1)", "move", "Move to a lower value", is_shown=True, rank=0),
    UserAction("tune.raise", "right", "screen.step(1)", "move", "Move to a higher value", is_shown=True, rank=0),
    UserAction("tune.far-lower", "shift+left", "screen.step(-10)", "far", "Move ten steps lower"),
    UserAction("tune.far-higher", "shift+right", "screen.step(10)", "far", "Move ten steps higher"),
    UserAction("tune.lowest", "home", "screen.edge(0)", "lowest", "Move to the lowest value"),
    UserAction("tune.highest", "end", "screen.edge(1)", "highest", "Move to the highest value"),
    UserAction(
        "tune.next", "tab", "screen.next_limit(1)", "limit", "Go to the next limit of the plan", is_shown=True, rank=2
    ),
    UserAction("tune.previous", "shift+tab", "screen.next_limit(-1)", "limit", "Go to the previous limit of the plan"),
    UserAction("tune.map", "m", "screen.map", "map", "Show a map of two limits", is_shown=True, rank=5),
    UserAction("tune.tool", "b", "screen.one_tool", "by tool", "Tune a limit for one tool only"),
    UserAction("tune.menu", "g", "screen.menu('g')", "go to", "Go to the knee, the best tried or the plan's value"),
    UserAction("tune.knee", "", "screen.mark('knee')", "knee", "Go to the knee", menu="g k", also="best"),
    UserAction(
        "tune.least", "", "screen.mark('least')", "best tried", "Go to the best value that has been tried", menu="g l"
    ),
    UserAction("tune.plan", "", "screen.mark('plan')", "plan's value", "Go back to the plan's value", menu="g p"),
    UserAction(
        "tune.most", "asterisk", "screen.most", "best", "Go to the limit with the largest effect on this session"
    ),
)
"""Keys of a limit's curve on the tune screen."""

TUNE_MAP: Table = (
    UserAction(
        "heat.apply", "enter", "screen.apply", "apply both", "Set both values in the plan", is_shown=True, rank=1
    ),
    UserAction(
        "heat.left",
        "left",
        "step(0, -1)",
        "move",
        "Move to a lower value of the horizontal limit",
        is_shown=True,
        rank=0,
    ),
    UserAction(
        "heat.right",
        "right",
        "step(0, 1)",
        "move",
        "Move to a higher value of the horizontal limit",
        is_shown=True,
        rank=0,
    ),
    UserAction(
        "heat.up",
        "up",
        "step(-1, 0)",
        "move",
        "Move to a lower value of the vertical limit",
        is_shown=True,
        rank=0,
        is_looked_up=False,
    ),
    UserAction(
        "heat.down",
        "down",
        "step(1, 0)",
        "move",
        "Move to a higher value of the vertical limit",
        is_shown=True,
        rank=0,
        is_looked_up=False,
    ),
    UserAction(
        "heat.across",
        "tab",
        "screen.next_limit(1)",
        "across",
        "Select the next horizontal limit",
        is_shown=True,
        rank=2,
    ),
    UserAction("heat.limit-down", "shift+tab", "screen.next_down(1)", "down", "Select the next vertical limit"),
    UserAction("heat.curves", "m", "screen.map", "map", "Show the curve of one limit again", is_shown=True, rank=5),
    UserAction("heat.menu", "g", "screen.menu('g')", "go to", "Go to the best tried or the plan's pair"),
    UserAction(
        "heat.least", "", "screen.mark('least')", "best tried", "Go to the best pair that has been tried", menu="g l"
    ),
    UserAction("heat.plan", "", "screen.mark('plan')", "plan's pair", "Go back to the plan's pair", menu="g p"),
)
"""Keys of the map of two limits on the tune screen."""

COMPOSITION: Table = (
    UserAction(
        "composition.menu",
        "g",
        "menu('g')",
        "go to",
        "Group the prompt by role, tool, file …",
        is_looked_up=False,
    ),
    *(
        UserAction(
            f"composition.divide-{place}",
            "",
            f"divide({name!r})",
            f"by {name}",
            f"Group the prompt by {name}",
            menu=f"g {letter}",
            also="expensive why group",
        )
        for place, (name, letter) in enumerate(zip(DIVISIONS, DIVISION_LETTERS, strict=True), start=1)
    ),
    UserAction(
        "composition.scope",
        "e",
        "scope",
        "everything",
        "Switch between this window and everything ever sent",
        is_shown=True,
        rank=2,
    ),
    UserAction(
        "composition.largest",
        "P",
        "largest",
        "largest prompt",
        "Go to the call with the largest prompt, or back to the next prompt",
        is_shown=True,
        rank=3,
        current_label=lambda screen: "next prompt" if screen.is_at_largest else "largest prompt",
    ),
    UserAction("composition.other", "tab,shift+tab", "other", "table", "Go to the other table", is_shown=True, rank=5),
    UserAction("composition.call-before", "left_square_bracket", "call(-1)", "call", "Go to the previous call"),
    UserAction("composition.call-after", "right_square_bracket", "call(1)", "call", "Go to the next call"),
    UserAction("composition.far-before", "shift+left", f"call(-{FAR})", "far", f"Go back {FAR} calls"),
    UserAction("composition.far-after", "shift+right", f"call({FAR})", "far", f"Go forward {FAR} calls"),
)
"""Keys of the context composition screen."""

COMPOSITION_PARTS: Table = (
    UserAction(
        "composition.enter", "enter", "screen.enter", "blocks", "Go to the blocks of this part", is_shown=True, rank=0
    ),
)
"""Keys of its upper table."""

COMPOSITION_BLOCKS: Table = (
    UserAction(
        "composition.jump",
        "enter",
        "screen.jump",
        "to its row",
        "Go to this block in the timeline",
        is_shown=True,
        rank=0,
    ),
)
"""Keys of its lower table."""

COSTS: Table = (
    UserAction("costs.menu", "g", "menu('g')", "go to", "Go to a section", is_shown=True, rank=2, is_looked_up=False),
    *(
        UserAction(
            f"costs.section-{place}",
            "",
            f"section({name!r})",
            name,
            f"Show {name}",
            menu=f"g {letter}",
        )
        for place, (name, letter) in enumerate(zip(SECTIONS, SECTION_LETTERS, strict=True), start=1)
    ),
    UserAction("costs.next-section", "tab", "turn(1)", "section", "Show the next section", is_shown=True, rank=1),
    UserAction("costs.section-before", "shift+tab", "turn(-1)", "section", "Show the previous section"),
    UserAction("costs.runs", "d", "ask_runs", "runs per day", "Set the number of such sessions per day"),
)
"""Keys of the cost screen."""

COSTS_FIGURES: Table = (
    UserAction(
        "costs.enter",
        "enter",
        "screen.enter",
        "change",
        "Change the assumption, go to the row, or explain the figure",
        is_shown=True,
        rank=0,
    ),
)
"""Keys of the table on the cost screen."""

MISSES: Table = (
    UserAction("misses.other", "tab,shift+tab", "other", "table", "Go to the other table", is_shown=True, rank=5),
    UserAction(
        "misses.bill",
        "B",
        "bill",
        "bill",
        "Show or hide the cost of every call",
        is_shown=True,
        rank=1,
        when=lambda screen: screen.has_bill,
        current_label=lambda screen: "hide bill" if screen.is_bill_shown else "bill",
        also="chart over calls grew",
    ),
    UserAction(
        "misses.model",
        "S",
        "model",
        "switch model",
        "Price the session with another model from a call on, or all calls if they have no price",
        is_shown=True,
        rank=2,
        current_label=lambda screen: "set a price" if screen.is_unpriced else "switch model",
        also="switch cheaper sonnet haiku mini",
    ),
    UserAction("misses.fold", "underscore", "fold", "fold", "Show or fold unavoidable misses"),
)
"""Keys of the cache miss screen."""

MISSES_CAUSES: Table = (
    UserAction(
        "misses.enter", "enter", "screen.enter", "calls", "Go to the calls of this cause", is_shown=True, rank=0
    ),
)
"""Keys of its upper table."""

MISSES_CALLS: Table = (
    UserAction(
        "misses.jump", "enter", "screen.jump", "to its row", "Go to this call in the timeline", is_shown=True, rank=0
    ),
)
"""Keys of its lower table."""

FILES: Table = (
    UserAction("files.other", "tab", "other(1)", "table", "Go to the next part", is_shown=True, rank=5),
    UserAction("files.before", "shift+tab", "other(-1)", "table", "Go to the previous part"),
    UserAction(
        "files.call-before", "left_square_bracket", "call(-1)", "call", "Go to the previous call", is_shown=True, rank=2
    ),
    UserAction(
        "files.call-after", "right_square_bracket", "call(1)", "call", "Go to the next call", is_shown=True, rank=2
    ),
)
"""Keys of the screen of files."""

FILES_TABLE: Table = (
    UserAction("files.enter", "enter", "screen.enter", "history", "Go to the file's history", is_shown=True, rank=0),
)
"""Keys of its table of files."""

FILES_HISTORY: Table = (
    UserAction(
        "files.jump", "enter", "screen.jump", "to its row", "Go to this row in the timeline", is_shown=True, rank=0
    ),
)
"""Keys of its table of one file's history."""

FILES_CONTENT: Table = (
    move("known.up", "up", "scroll(-1)", "Up", "Scroll up"),
    move("known.down", "down", "scroll(1)", "Down", "Scroll down"),
    move("known.page-up", "pageup", "page(-1)", "Page up", "Scroll up by a page"),
    move("known.page-down", "pagedown", "page(1)", "Page down", "Scroll down by a page"),
    move("known.first", "home", "first", "Top", "Go to the beginning"),
    move("known.last", "end", "last", "End", "Go to the end"),
)
"""Keys of its view of a file's content as the agent saw it."""

SESSIONS: Table = (
    move("sessions.down", "down", "move(1)", "Down", "Move to the next session", is_first=True),
    move("sessions.up", "up", "move(-1)", "Up", "Move to the previous session", is_first=True),
    move("sessions.page-down", "pagedown", "page(1)", "Page down", "Move down by a page", is_first=True),
    move("sessions.page-up", "pageup", "page(-1)", "Page up", "Move up by a page", is_first=True),
    move("sessions.first", "ctrl+home", "move(-1000000)", "First", "Move to the first session", is_first=True),
    move("sessions.last", "ctrl+end", "move(1000000)", "Last", "Move to the last session", is_first=True),
    UserAction(
        "sessions.help", "f1", "app.help", "Help", "Show the keys available here", is_first=True, is_looked_up=False
    ),
    UserAction("sessions.sort", "ctrl+s", "sort", "Sort", "Sort by cost or by age", is_first=True),
    UserAction("sessions.unfold", "tab", "unfold", "Subagents", "Show or hide its subagents", is_first=True),
    UserAction(
        "sessions.back",
        "escape",
        "back",
        "Back",
        "Clear the filter, go back, or quit if no session is open",
        is_shown=True,
        rank=4,
    ),
    UserAction("sessions.quit", "ctrl+q", "app.quit", "Quit", "Quit inspector"),
    UserAction("sessions.where", "ctrl+o", "where", "Where", "Show the searched folders", is_first=True),
    UserAction("sessions.live", "ctrl+l", "app.live", "Live", "Watch every running session", is_first=True),
)

LIVE: Table = (
    move("live.down", "down,j", "move(1)", "Down", "Move to the next session", is_first=True),
    move("live.up", "up,k", "move(-1)", "Up", "Move to the previous session", is_first=True),
    move("live.page-down", "pagedown", "page(1)", "Page down", "Move down by a page", is_first=True),
    move("live.page-up", "pageup", "page(-1)", "Page up", "Move up by a page", is_first=True),
    move("live.first", "home", "move(-1000000)", "First", "Move to the most urgent session", is_first=True),
    move("live.last", "end", "move(1000000)", "Last", "Move to the last session", is_first=True),
    UserAction("live.open", "enter", "open", "Open", "Open the session in a tab", is_shown=True, rank=0),
    UserAction("live.next", "n", "next", "Next", "Go to the next session that needs attention", is_shown=True, rank=1),
    UserAction("live.away", "i", "away", "Pause", "Show the cost of a pause", is_shown=True, rank=3),
    UserAction("live.sessions", "o", "app.sessions", "Sessions", "List all sessions", is_shown=True, rank=2),
    UserAction("live.help", "question_mark", "app.help", "Help", "Show the keys available here", is_looked_up=False),
    UserAction("live.back", "escape", "back", "Back", "Go back, or quit if no session is open", is_shown=True, rank=4),
    UserAction("live.quit", "q", "back", "quit", "Go back, like esc", is_looked_up=False),
)

HELP: Table = (
    UserAction("help.close", "escape", "dismiss", "Close", "Go back", is_shown=True),
    _again("help", "question_mark", "help"),
    _quit("help"),
)

DIAGNOSTICS: Table = (
    UserAction("diagnostics.close", "escape", "dismiss", "Close", "Go back to the session", is_shown=True),
    _quit("diagnostics"),
)
"""Keys of the report on how the file was read."""

EXPLAIN: Table = (
    UserAction("explain.close", "escape", "dismiss", "Close", "Go back", is_shown=True),
    _again("explain", "E", "explain"),
    _quit("explain"),
)
"""Keys of the explanation of a figure."""

DIFFERENCE: Table = (
    UserAction("difference.close", "escape,enter", "dismiss", "Close", "Go back to the session", is_shown=True),
    _quit("difference"),
    UserAction("difference.swap", "a", "swap", "A/B", "Switch to the other plan and close", is_shown=True),
)
"""Keys of the differences between two plans."""

EXPORT: Table = (
    UserAction("export.close", "escape", "dismiss", "Close", "Go back to the session", is_shown=True),
    _quit("export"),
    UserAction("export.save", "enter", "save", "Save", "Save to a file", is_shown=True, rank=0, is_first=True),
    UserAction("export.copy", "y", "copy", "Copy", "Copy to the clipboard", is_shown=True),
    move("export.down", "pagedown", "scroll(1)", "Down", "Scroll the preview down", is_shown=True, is_first=True),
    move("export.up", "pageup", "scroll(-1)", "Up", "Scroll the preview up", is_shown=True, is_first=True),
)
"""Keys of the export screen."""

PICKER: Table = (
    UserAction("picker.cancel", "escape", "cancel", "Cancel", "Close without choosing", is_shown=True),
    move("picker.down", "down", "move(1)", "Down", "Move to the next entry", is_shown=True, is_first=True),
    move("picker.up", "up", "move(-1)", "Up", "Move to the previous entry", is_shown=True, is_first=True),
    move("picker.page-down", "pagedown", "page(1)", "Page down", "Move down by a page", is_first=True),
    move("picker.page-up", "pageup", "page(-1)", "Page up", "Move up by a page", is_first=True),
)
"""Keys of a dialog to pick an entry of a list."""

TOOLS: Table = (
    UserAction("tools.cancel", "escape", "cancel", "Cancel", "Close without changes", is_shown=True),
    UserAction("tools.done", "ctrl+d", "accept", "Done", "Apply the list", is_shown=True, is_first=True),
    move("tools.down", "down", "move(1)", "Down", "Move to the next tool", is_first=True),
    move("tools.up", "up", "move(-1)", "Up", "Move to the previous tool", is_first=True),
)
"""Keys of a dialog to choose tools."""

VALUE: Table = (UserAction("dialog.cancel", "escape", "cancel", "Cancel", "Close without changes", is_shown=True),)
"""Keys of a dialog to type a value."""

PICTURE: Table = (
    UserAction("picture.cancel", "escape", "cancel", "Cancel", "Close without saving", is_shown=True),
    UserAction(
        "picture.turn", "tab,shift+tab", "turn(1)", "Subject", "Select another subject", is_shown=True, is_first=True
    ),
)
"""Keys of the picture dialog."""

REPORT: Table = (
    UserAction("report.cancel", "escape", "cancel", "Cancel", "Close without saving", is_shown=True),
    UserAction("report.next", "tab", "turn(1)", "Format", "Select the next format", is_shown=True, is_first=True),
    UserAction("report.previous", "shift+tab", "turn(-1)", "Format", "Select the previous format", is_first=True),
)
"""Keys of the report dialog."""

MENU: Table = (
    UserAction("menu.leave", "escape", "dismiss", "Close", "Close the menu", is_shown=True, is_looked_up=False),
)
"""Keys of a menu."""
