"""The keys of the main screen."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from inspector.ui.plan.history import NUMBERED

FAR = 10
"""Calls a large step passes over."""


def _key(keys: str, action: str, label: str, name: str, text: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=name, tooltip=text, show=show)


INSPECT_BINDINGS: list[BindingType] = [
    _key("question_mark,f1", "app.help", "help", "app.help", "Show what the keys do here", show=True),
    *(
        _key(
            str(number),
            f"switch({number - 1})",
            "strategy",
            f"plan.switch-{number}",
            f"Switch strategy {number} of the plan on or off",
            show=number == 1,
        )
        for number in range(1, NUMBERED + 1)
    ),
    _key("p", "plan", "plan", "plan.show", "Go to the plan and back; on narrow screens it is a drawer", show=True),
    _key(
        "v",
        "study('composition')",
        "window",
        "study.open-composition",
        "What fills the window, and what it costs",
        show=True,
    ),
    _key("left_square_bracket", "call(-1)", "call", "call.previous", "As of the call before", show=True),
    _key("right_square_bracket", "call(1)", "call", "call.next", "As of the call after", show=True),
    _key("left_curly_bracket", f"call(-{FAR})", "far", "call.back", "As of ten calls before"),
    _key("right_curly_bracket", f"call({FAR})", "far", "call.on", "As of ten calls after"),
    _key("equals_sign", "call_here", "here", "call.here", "As of the call that first sends this row"),
    _key("end", "now", "now", "call.now", "As of now, and follow what is added"),
    _key("space", "play", "play", "call.play", "Play the session call by call, or stop", show=True),
    _key("less_than_sign", "speed(-1)", "slower", "call.slower", "Play slower"),
    _key("greater_than_sign", "speed(1)", "faster", "call.faster", "Play faster"),
    _key("T", "chart_axis", "time axis", "chart.axis", "Let the chart run over time, or over calls"),
    _key("x", "to_changed(1)", "cuts", "timeline.next-cut", "To the next row the plan changed", show=True),
    _key("X", "to_changed(-1)", "cuts", "timeline.previous-cut", "To the row before that the plan changed"),
    _key("b", "to_boundary(1)", "compaction", "timeline.next-compaction", "To the next compaction or subagent"),
    _key("B", "to_boundary(-1)", "compaction", "timeline.previous-compaction", "To the compaction or subagent before"),
    _key("f", "to_error(1)", "error", "timeline.next-error", "To the next failed tool result"),
    _key("F", "to_error(-1)", "error", "timeline.previous-error", "To the failed tool result before"),
    _key("r", "to_rise(1)", "rise", "timeline.next-rise", "To the next of the places where the context grew most"),
    _key("R", "to_rise(-1)", "rise", "timeline.previous-rise", "To the one before of them"),
    _key("full_stop", "to_break(1)", "break", "timeline.next-break", "To the next call that loses what a cache held"),
    _key("comma", "to_break(-1)", "break", "timeline.previous-break", "To the call before that does"),
    _key("h", "to_risk(1)", "risk", "timeline.next-risk", "To the next row at which the plan may go wrong"),
    _key("H", "to_risk(-1)", "risk", "timeline.previous-risk", "To the row before at which it may"),
    _key("s", "order", "order", "rows.order", "Order rows as recorded, by size, or by what they cost to carry"),
    _key("u", "to_pin(1)", "pin", "timeline.next-pin", "To the next pinned row"),
    _key("U", "to_pin(-1)", "pin", "timeline.previous-pin", "To the pinned row before"),
    _key("slash", "find", "find", "rows.find", "Search the rows", show=True),
    _key("ampersand", "find(1)", "filter", "rows.filter", "Show only rows that match", show=True),
    _key("n", "to_found(1)", "match", "rows.next-match", "To the next row that matches the search"),
    _key("N", "to_found(-1)", "match", "rows.previous-match", "To the matching row before"),
    _key("plus", "add_strategy", "add", "plan.add", "Add a strategy to the plan", show=True),
    _key("ctrl+z", "undo", "undo", "plan.undo", "Take back the last change of the plan", show=True),
    _key("ctrl+y,ctrl+shift+z", "redo", "redo", "plan.redo", "Make the change again"),
    _key("o", "app.sessions", "sessions", "session.open", "Open another session, beside this one"),
    _key("ctrl+o", "open_subagent", "subagent", "session.open-subagent", "Open the subagent it started", show=True),
    _key("backspace", "open_parent", "parent", "session.open-parent", "Open the session that started it", show=True),
    _key("i", "diagnostics", "diagnostics", "session.diagnostics", "How the file was read, and what could not be"),
    _key("ctrl+pagedown", "app.tab(1)", "tab", "session.next-tab", "To the next open session"),
    _key("ctrl+pageup", "app.tab(-1)", "tab", "session.previous-tab", "To the open session before"),
    _key("ctrl+w", "app.close_tab", "close", "session.close-tab", "Close this session"),
    _key(
        "c", "study('compare')", "compare", "study.open-compare", "Every strategy and this plan in a table", show=True
    ),
    _key(
        "t", "study('tune')", "tune", "study.open-tune", "A limit over its whole range: cost, tokens, breaks", show=True
    ),
    _key("a", "swap_plan", "A/B", "plan.swap", "Put this plan aside and take the other one, to compare", show=True),
    _key("A", "show_difference", "difference", "plan.difference", "What plans A and B differ in, and what comes of it"),
    _key("w", "save_plan", "save plan", "plan.save", "Save the plan under a name, or in a file"),
    _key("O", "open_plan", "open plan", "plan.open", "Take a saved plan, a ready one, or one in a file"),
    _key("e", "export_plan", "export", "plan.export", "The plan as other agents' configuration, with a preview"),
    _key("P", "app.picture", "picture", "app.picture", "Save a picture of the screen or of the context chart"),
    _key(
        "dollar_sign",
        "study('costs')",
        "costs",
        "study.open-costs",
        "Every figure of the plan, what it is projected to, and on which terms",
        show=True,
    ),
    _key("E", "explain", "explain", "cost.explain", "How the figure under the cursor came about", show=True),
    _key("d", "ask_runs", "runs a day", "cost.runs", "Say how many such sessions run in a day"),
    _key("z", "zoom", "zoom", "pane.zoom", "Give this part the whole screen, or give it back", show=True),
    _key("tab", "pane(1)", "pane", "pane.next", "The next part of the screen"),
    _key("shift+tab", "pane(-1)", "pane", "pane.previous", "The part before"),
    _key("escape", "leave", "leave", "app.leave", "Stop counting; leave the plan"),
    _key("q", "app.quit", "quit", "app.quit", "Leave inspector", show=True),
]
"""Every key that works wherever the focus is. Names are what a keymap in the settings goes by."""
