"""The keys of the screens over the main one: those that study its session, the list of sessions, and the dialogs."""

from __future__ import annotations

from typing import Final

from inspector.ui.actions.action import Named, Table, UserAction, move
from inspector.ui.actions.main_screen import FAR

DIVISIONS: Final = ("role", "tool", "file", "tier", "age", "repeats")
"""What a prompt is divided by, in the order of their keys: the values of `Grouping`."""
SECTIONS: Final = ("totals", "parts", "tiers", "results", "compactions", "forecast", "assumptions")
"""The sections of the cost screen, in the order of their keys: the values of `Section`."""

STUDY: Table = (
    UserAction(
        "study.help", "question_mark,f1", "app.help", "help", "Show what the keys do here", is_shown=True, rank=2
    ),
    UserAction(
        "study.close",
        "escape,q",
        "close",
        "back",
        "Back to the session",
        is_shown=True,
        rank=4,
        named=Named("session: Back", "Close this screen"),
    ),
    UserAction("study.explain", "E", "explain", "explain", "How the figures here are calculated", is_shown=True),
    UserAction("study.picture", "P", "app.picture", "picture", "Save a picture of the screen"),
    UserAction("study.undo", "ctrl+z", "undo", "undo", "Undo a change of the plan"),
    UserAction("study.redo", "ctrl+y,ctrl+shift+z", "redo", "redo", "Redo the change"),
    UserAction("study.compare", "c", "study('compare')", "compare", "Compare plans"),
    UserAction("study.tune", "t", "study('tune')", "tune", "Find the value of a limit"),
    UserAction("study.costs", "dollar_sign", "study('costs')", "costs", "Every figure"),
    UserAction("study.window", "v", "study('composition')", "window", "What fills the window"),
)
"""Every screen that studies the session."""

COMPARE: Table = (
    UserAction("compare.take", "enter", "screen.take", "use it", "Use this plan", is_shown=True),
    UserAction(
        "compare.add", "plus", "screen.add", "add it", "Add this plan's strategies to the current plan", is_shown=True
    ),
    UserAction(
        "compare.best",
        "asterisk",
        "screen.best",
        "best",
        "To the plan that saves most without cutting what a later call needed",
        is_shown=True,
    ),
    UserAction(
        "compare.fold", "underscore", "screen.fold", "never applied", "Show plans that never applied, or fold them"
    ),
)
"""The table of plans on the compare screen."""

TUNE_CURVES: Table = (
    UserAction("tune.apply", "enter", "screen.apply", "apply", "Give the plan this value", is_shown=True),
    UserAction("tune.lower", "left", "screen.step(-1)", "move", "Look at a lower value", is_shown=True, rank=8),
    UserAction("tune.raise", "right", "screen.step(1)", "move", "Look at a higher value", is_shown=True, rank=8),
    UserAction("tune.far-lower", "shift+left", "screen.step(-10)", "far", "Ten steps lower"),
    UserAction("tune.far-higher", "shift+right", "screen.step(10)", "far", "Ten steps higher"),
    UserAction("tune.lowest", "home", "screen.edge(0)", "lowest", "To the lowest value"),
    UserAction("tune.highest", "end", "screen.edge(1)", "highest", "To the highest value"),
    UserAction("tune.next", "tab", "screen.next_limit(1)", "limit", "The next limit of the plan", is_shown=True),
    UserAction("tune.previous", "shift+tab", "screen.next_limit(-1)", "limit", "The limit before"),
    UserAction("tune.map", "h", "screen.map", "map", "Two limits at once, as a map", is_shown=True),
    UserAction("tune.tool", "o", "screen.one_tool", "one tool", "Find a limit for one tool alone", is_shown=True),
    UserAction("tune.knee", "k", "screen.mark('knee')", "knee", "To the knee", is_shown=True),
    UserAction("tune.least", "l", "screen.mark('least')", "least", "To the value of the least cost", is_shown=True),
    UserAction("tune.plan", "u", "screen.mark('plan')", "plan's", "Back to the plan's value"),
    UserAction(
        "tune.most", "asterisk", "screen.most", "matters most", "To the limit that matters most for this session"
    ),
)
"""A limit over its range, on the tune screen."""

TUNE_MAP: Table = (
    UserAction("heat.apply", "enter", "screen.apply", "apply both", "Give the plan both values", is_shown=True),
    UserAction("heat.left", "left", "step(0, -1)", "move", "A lower value of the limit across", is_shown=True, rank=8),
    UserAction(
        "heat.right", "right", "step(0, 1)", "move", "A higher value of the limit across", is_shown=True, rank=8
    ),
    UserAction(
        "heat.up",
        "up",
        "step(-1, 0)",
        "move",
        "A lower value of the limit down",
        is_shown=True,
        rank=8,
        is_looked_up=False,
    ),
    UserAction(
        "heat.down",
        "down",
        "step(1, 0)",
        "move",
        "A higher value of the limit down",
        is_shown=True,
        rank=8,
        is_looked_up=False,
    ),
    UserAction("heat.across", "tab", "screen.next_limit(1)", "across", "Another limit across", is_shown=True),
    UserAction("heat.limit-down", "shift+tab", "screen.next_down(1)", "down", "Another limit down", is_shown=True),
    UserAction("heat.curves", "h", "screen.map", "curve", "One limit over its range again", is_shown=True),
    UserAction("heat.least", "l", "screen.mark('least')", "least", "To the pair of the least cost", is_shown=True),
    UserAction("heat.plan", "u", "screen.mark('plan')", "plan's", "Back to the plan's pair"),
)
"""Two limits at once, on the tune screen."""

COMPOSITION: Table = (
    *(
        UserAction(
            f"composition.divide-{place}",
            str(place),
            f"divide({name!r})",
            "by",
            f"Divide it by {place}",
            is_shown=True,
        )
        for place, name in enumerate(DIVISIONS, start=1)
    ),
    UserAction("composition.scope", "s", "scope", "session", "This window, or everything ever sent", is_shown=True),
    UserAction("composition.other", "tab,shift+tab", "other", "pane", "To the other table", is_shown=True),
    UserAction("composition.call-before", "left_square_bracket", "call(-1)", "call", "Previous call", is_shown=True),
    UserAction("composition.call-after", "right_square_bracket", "call(1)", "call", "Next call", is_shown=True),
    UserAction("composition.far-before", "left_curly_bracket", f"call(-{FAR})", "far", f"Back {FAR} calls"),
    UserAction("composition.far-after", "right_curly_bracket", f"call({FAR})", "far", f"Forward {FAR} calls"),
)
"""What fills the window."""

COMPOSITION_PARTS: Table = (
    UserAction("composition.enter", "enter", "screen.enter", "blocks", "To the blocks of this part", is_shown=True),
)
"""Its upper table."""

COMPOSITION_BLOCKS: Table = (
    UserAction(
        "composition.jump", "enter", "screen.jump", "to its row", "To this block in the timeline", is_shown=True
    ),
)
"""Its lower table."""

COSTS: Table = (
    *(
        UserAction(f"costs.section-{place}", str(place), f"section({name!r})", "section", f"Show {name}")
        for place, name in enumerate(SECTIONS, start=1)
    ),
    UserAction("costs.next-section", "tab", "turn(1)", "section", "The next section", is_shown=True),
    UserAction("costs.section-before", "shift+tab", "turn(-1)", "section", "The section before", is_shown=True),
    UserAction("costs.runs", "d", "ask_runs", "runs", "Set how many such sessions run a day", is_shown=True),
)
"""Every figure of the plan."""

COSTS_FIGURES: Table = (
    UserAction("costs.enter", "enter", "screen.enter", "change", "Change this, go there, or explain it", is_shown=True),
)
"""The table of figures there."""

SESSIONS: Table = (
    move("sessions.down", "down", "move(1)", "Down", "The next session", is_first=True),
    move("sessions.up", "up", "move(-1)", "Up", "The one before", is_first=True),
    move("sessions.page-down", "pagedown", "page(1)", "Page down", "A page on", is_first=True),
    move("sessions.page-up", "pageup", "page(-1)", "Page up", "A page back", is_first=True),
    move("sessions.first", "ctrl+home", "move(-1000000)", "First", "The newest session", is_first=True),
    move("sessions.last", "ctrl+end", "move(1000000)", "Last", "The oldest session", is_first=True),
    UserAction("sessions.sort", "ctrl+s", "sort", "Sort", "Sort by cost, or by age again", is_first=True),
    UserAction("sessions.unfold", "tab", "unfold", "Subagents", "Show or hide the sessions it started", is_first=True),
    UserAction(
        "sessions.back",
        "escape",
        "back",
        "Back",
        "Clear the filter; go back; quit where no session is open",
        is_shown=True,
        rank=4,
    ),
    UserAction("sessions.quit", "ctrl+q", "app.quit", "Quit", "Quit inspector"),
)
"""The list of sessions."""

HELP: Table = (
    UserAction("help.close", "escape,question_mark,q,f1", "dismiss", "Close", "Back to where you were", is_shown=True),
)
"""The help."""

DIAGNOSTICS: Table = (
    UserAction("diagnostics.close", "escape,i,q", "dismiss", "Close", "Back to the session", is_shown=True),
)
"""How the file was read."""

EXPLAIN: Table = (
    UserAction("explain.close", "escape,E,q", "dismiss", "Close", "Back to where you were", is_shown=True),
)
"""How a figure is calculated."""

DIFFERENCE: Table = (
    UserAction("difference.close", "escape,q,A,enter", "dismiss", "Close", "Back to the session", is_shown=True),
    UserAction("difference.swap", "a", "swap", "Switch A/B", "Switch plan A/B, and close", is_shown=True),
)
"""What two plans differ in."""

EXPORT: Table = (
    UserAction("export.close", "escape,q,e", "dismiss", "Close", "Back to the session", is_shown=True),
    UserAction("export.save", "enter", "save", "Save", "Save it in a file", is_shown=True, rank=8, is_first=True),
    UserAction("export.copy", "y", "copy", "Copy", "Copy it to the clipboard", is_shown=True),
    move("export.down", "pagedown", "scroll(1)", "Down", "On in the preview", is_shown=True, is_first=True),
    move("export.up", "pageup", "scroll(-1)", "Up", "Back in the preview", is_shown=True, is_first=True),
)
"""The plan as other agents' configuration."""

PICKER: Table = (
    UserAction("picker.cancel", "escape", "cancel", "Cancel", "Close without choosing", is_shown=True),
    move("picker.down", "down", "move(1)", "Down", "The next one", is_shown=True, is_first=True),
    move("picker.up", "up", "move(-1)", "Up", "The one before", is_shown=True, is_first=True),
    move("picker.page-down", "pagedown", "page(1)", "Page down", "Further", is_first=True),
    move("picker.page-up", "pageup", "page(-1)", "Page up", "Back", is_first=True),
)
"""A choice from a list."""

TOOLS: Table = (
    UserAction("tools.cancel", "escape", "cancel", "Cancel", "Close without a change", is_shown=True),
    UserAction("tools.done", "ctrl+s", "accept", "Done", "Apply the list", is_shown=True, is_first=True),
    move("tools.down", "down", "move(1)", "Down", "The next tool", is_first=True),
    move("tools.up", "up", "move(-1)", "Up", "The tool before", is_first=True),
)
"""A list of tools."""

VALUE: Table = (UserAction("dialog.cancel", "escape", "cancel", "Cancel", "Close without a change", is_shown=True),)
"""A value that is typed."""

PICTURE: Table = (
    UserAction("picture.cancel", "escape", "cancel", "Cancel", "Close without a change", is_shown=True),
    UserAction("picture.turn", "tab,shift+tab", "turn", "Other", "Make it of the other", is_shown=True, is_first=True),
)
"""A picture to be saved."""
