"""The keys of the main screen, which work wherever the focus is unless the part that has it takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.ui.actions.action import Named, UserAction

if TYPE_CHECKING:
    from inspector.ui.app import InspectorApp
    from inspector.ui.main.screen import InspectScreen

FAR: Final = 10
"""Calls a large step passes over."""
NUMBERED: Final = 9
"""Strategies that a number key switches."""


def _has_tabs(app: InspectorApp) -> bool:
    return app.has_tabs


def _has_outcome(main: InspectScreen) -> bool:
    return main.controller.outcome is not None


def _has_plan(main: InspectScreen) -> bool:
    return main.controller.plans is not None


def _has_strategies(main: InspectScreen) -> bool:
    return main.controller.plans is not None and bool(main.controller.plans.plan.strategies)


def _has_past(main: InspectScreen) -> bool:
    return main.controller.plans is not None and bool(main.controller.plans.shown.past)


def _has_future(main: InspectScreen) -> bool:
    return main.controller.plans is not None and bool(main.controller.plans.shown.future)


def _swap_title(main: InspectScreen) -> str:
    return f"plan: Swap for {'' if main.controller.plans is None else main.controller.plans.other_letter}"


def _switch(number: int) -> UserAction[InspectScreen]:
    return UserAction(
        f"plan.switch-{number}",
        str(number),
        lambda main: main.plan.switch(number - 1),
        "strategy",
        f"Switch strategy {number} of the plan on or off",
        is_shown=number == 1,
        rank=5,
        is_looked_up=False,
    )


MAIN: Final[tuple[UserAction[InspectScreen], ...]] = (
    UserAction(
        "app.help",
        "question_mark,f1",
        "app.help",
        "help",
        "Show what the keys do here",
        is_shown=True,
        rank=2,
        named=Named("help: Show keys", "What the keys do where the focus is"),
    ),
    *(_switch(number) for number in range(1, NUMBERED + 1)),
    UserAction(
        "plan.show",
        "p",
        lambda main: main.pane_focus.give_to_plan_or_back(),
        "plan",
        "Go to the plan and back; on narrow screens it is a drawer",
        is_shown=True,
        rank=6,
    ),
    UserAction(
        "study.open-composition",
        "v",
        lambda main: main.study("composition"),
        "window",
        "Show what fills the window, and what it costs",
        is_shown=True,
        rank=7,
        named=Named(
            "call: Composition",
            "What the prompt is made of, what of it costs most, and what is in it twice",
            _has_outcome,
        ),
    ),
    UserAction(
        "call.previous",
        "left_square_bracket",
        lambda main: main.chart.step(-1),
        "call",
        "Previous call",
        is_shown=True,
    ),
    UserAction(
        "call.next",
        "right_square_bracket",
        lambda main: main.chart.step(1),
        "call",
        "Next call",
        is_shown=True,
    ),
    UserAction(
        "call.back",
        "left_curly_bracket",
        lambda main: main.chart.step(-FAR),
        "far",
        "Back 10 calls",
    ),
    UserAction("call.on", "right_curly_bracket", lambda main: main.chart.step(FAR), "far", "Forward 10 calls"),
    UserAction(
        "call.here",
        "equals_sign",
        lambda main: main.chart.to_call_here(),
        "here",
        "The call that first sends this row",
    ),
    UserAction(
        "call.now",
        "end",
        lambda main: main.chart.to_now(),
        "now",
        "Next prompt, and follow what is added",
        named=Named(
            "call: Now",
            "Show the next prompt",
            lambda main: main.controller.call is not None,
        ),
    ),
    UserAction(
        "call.play",
        "space",
        lambda main: main.chart.play(),
        "play",
        "Play the session call by call, or stop",
        is_shown=True,
    ),
    UserAction("call.slower", "less_than_sign", lambda main: main.chart.play_faster(-1), "slower", "Play slower"),
    UserAction("call.faster", "greater_than_sign", lambda main: main.chart.play_faster(1), "faster", "Play faster"),
    UserAction(
        "chart.axis",
        "T",
        lambda main: main.chart.turn_axis(),
        "time axis",
        "Switch the chart between calls and time",
    ),
    UserAction(
        "timeline.next-cut",
        "x",
        lambda main: main.timeline.to_cut(1),
        "cuts",
        "To the next row the plan changed",
        is_shown=True,
    ),
    UserAction(
        "timeline.previous-cut",
        "X",
        lambda main: main.timeline.to_cut(-1),
        "cuts",
        "To the row before that the plan changed",
    ),
    UserAction(
        "timeline.next-compaction",
        "b",
        lambda main: main.timeline.to_boundary(1),
        "compaction",
        "To the next compaction or subagent",
    ),
    UserAction(
        "timeline.previous-compaction",
        "B",
        lambda main: main.timeline.to_boundary(-1),
        "compaction",
        "To the compaction or subagent before",
    ),
    UserAction(
        "timeline.next-error", "f", lambda main: main.timeline.to_error(1), "error", "To the next failed tool result"
    ),
    UserAction(
        "timeline.previous-error",
        "F",
        lambda main: main.timeline.to_error(-1),
        "error",
        "To the failed tool result before",
    ),
    UserAction(
        "timeline.next-rise",
        "r",
        lambda main: main.timeline.to_rise(1),
        "rise",
        "To the next of the places where the context grew most",
    ),
    UserAction(
        "timeline.previous-rise", "R", lambda main: main.timeline.to_rise(-1), "rise", "To the one before of them"
    ),
    UserAction(
        "timeline.next-break",
        "full_stop",
        lambda main: main.timeline.to_break(1),
        "miss",
        "To the next cache miss",
    ),
    UserAction(
        "timeline.previous-break",
        "comma",
        lambda main: main.timeline.to_break(-1),
        "miss",
        "To the cache miss before",
    ),
    UserAction(
        "timeline.next-risk",
        "h",
        lambda main: main.timeline.to_risk(1),
        "risk",
        "To the next risk",
    ),
    UserAction(
        "timeline.previous-risk",
        "H",
        lambda main: main.timeline.to_risk(-1),
        "risk",
        "To the risk before",
    ),
    UserAction(
        "rows.order",
        "s",
        lambda main: main.timeline.next_order(),
        "order",
        "Sort rows as recorded, by size, or by token-calls",
    ),
    UserAction(
        "rows.fold-removed",
        "underscore",
        lambda main: main.timeline.fold_removed(),
        "removed",
        "Fold away rows that are no longer sent, or show them",
        named=Named("rows: Fold removed", "Rows a compaction removed from the prompt, or show them again"),
    ),
    UserAction("timeline.next-pin", "u", lambda main: main.timeline.to_pin(1), "pin", "To the next pinned row"),
    UserAction("timeline.previous-pin", "U", lambda main: main.timeline.to_pin(-1), "pin", "To the pinned row before"),
    UserAction(
        "rows.find", "slash", lambda main: main.timeline.find(is_filter=False), "find", "Search the rows", is_shown=True
    ),
    UserAction(
        "rows.filter",
        "ampersand",
        lambda main: main.timeline.find(is_filter=True),
        "filter",
        "Show only rows that match",
        is_shown=True,
    ),
    UserAction(
        "rows.next-match",
        "n",
        lambda main: main.timeline.to_match(1),
        "match",
        "To the next row that matches the search",
    ),
    UserAction(
        "rows.previous-match", "N", lambda main: main.timeline.to_match(-1), "match", "To the matching row before"
    ),
    UserAction(
        "plan.add",
        "plus",
        lambda main: main.plan.add(),
        "add",
        "Add a strategy to the plan",
        is_shown=True,
        named=Named("plan: Add strategy", "Choose a strategy to add to the plan", _has_plan),
    ),
    UserAction(
        "plan.undo",
        "ctrl+z",
        lambda main: main.controller.undo(),
        "undo",
        "Undo the last change of the plan",
        is_shown=True,
        named=Named(
            "plan: Undo",
            "Undo the last change of the plan",
            _has_past,
        ),
    ),
    UserAction(
        "plan.redo",
        "ctrl+y,ctrl+shift+z",
        lambda main: main.controller.redo(),
        "redo",
        "Redo the change",
        named=Named("plan: Redo", "Redo the change", _has_future),
    ),
    UserAction(
        "session.open",
        "o",
        "app.sessions",
        "sessions",
        "Open another session, beside this one",
        named=Named("session: Open another", "Choose from a list of sessions"),
    ),
    UserAction(
        "session.open-subagent",
        "ctrl+o",
        lambda main: main.related.open_subagent(),
        "subagent",
        "Open the subagent it started",
        is_shown=True,
        named=Named("session: Open subagent", "Started by this call", lambda main: main.related.subagent is not None),
    ),
    UserAction(
        "session.open-parent",
        "backspace",
        lambda main: main.related.open_parent(),
        "parent",
        "Open the session that started it",
        is_shown=True,
        named=Named("session: Open parent", "It started this session", lambda main: main.related.parent is not None),
    ),
    UserAction(
        "session.diagnostics",
        "i",
        lambda main: main.related.show_diagnostics(main),
        "diagnostics",
        "Show how the file was read, and what could not be",
        needs_session=False,
        named=Named(
            "session: Diagnostics",
            "What the file was taken for, what is in it, what could not be read",
            lambda main: main.controller.session is not None,
        ),
    ),
    UserAction(
        "session.next-tab",
        "ctrl+pagedown",
        "app.tab(1)",
        "tab",
        "To the next open session",
        named=Named("session: Next tab", "Show the next open session", _has_tabs),
    ),
    UserAction("session.previous-tab", "ctrl+pageup", "app.tab(-1)", "tab", "To the open session before"),
    UserAction(
        "session.close-tab",
        "ctrl+w",
        "app.close_tab",
        "close",
        "Close this session",
        named=Named("session: Close tab", "Close this session", _has_tabs),
    ),
    UserAction(
        "study.open-compare",
        "c",
        lambda main: main.study("compare"),
        "compare",
        "Compare every strategy with this plan",
        is_shown=True,
        named=Named("plan: Compare", "Compare every strategy with this plan, as a table", _has_outcome),
    ),
    UserAction(
        "study.open-tune",
        "t",
        lambda main: main.study("tune"),
        "tune",
        "A limit over its whole range: cost, tokens, cache misses",
        is_shown=True,
        named=Named("plan: Tune", "What a limit of the plan comes to over its whole range", _has_outcome),
    ),
    UserAction(
        "plan.swap",
        "a",
        lambda main: main.plan.swap(),
        "A/B",
        "Switch plan A/B",
        is_shown=True,
        named=Named(_swap_title, "Switch plan A/B", _has_plan),
    ),
    UserAction(
        "plan.difference",
        "A",
        lambda main: main.plan.show_difference(),
        "difference",
        "Compare plans A and B",
        named=Named("plan: Difference", "Compare plans A and B", lambda main: main.controller.rival is not None),
    ),
    UserAction(
        "plan.save",
        "w",
        lambda main: main.plan.save(),
        "save plan",
        "Save the plan under a name, or in a file",
        named=Named("plan: Save as", "Save the plan under a name, or in a file", _has_plan),
    ),
    UserAction(
        "plan.open",
        "O",
        lambda main: main.plan.open_other(),
        "open plan",
        "Open a saved plan, a ready one, or a file",
        named=Named("plan: Open", "Open a saved plan, a ready one, or a file", _has_plan),
    ),
    UserAction(
        "plan.export",
        "e",
        lambda main: main.plan.export(),
        "export",
        "Export the plan as another agent's configuration",
        named=Named(
            "plan: Export",
            "Export the plan as another agent's configuration",
            _has_strategies,
        ),
    ),
    UserAction(
        "app.picture",
        "P",
        "app.picture",
        "picture",
        "Save a picture of the screen or of the context chart",
        named=Named("picture: Save", "The screen or the context chart as an SVG file"),
    ),
    UserAction(
        "study.open-costs",
        "dollar_sign",
        lambda main: main.study("costs"),
        "costs",
        "Every figure of the plan, its forecast and its assumptions",
        is_shown=True,
        named=Named("cost: Figures", "Every figure of the plan, its forecast and its assumptions", _has_outcome),
    ),
    UserAction(
        "cost.carried",
        "C",
        lambda main: main.cost.to_carried(),
        "carried",
        "To the next of the results that cost most to resend",
        named=Named("cost: Go to what cost most", "Results that were resent for the most dollars", _has_outcome),
    ),
    UserAction(
        "cost.explain",
        "E",
        lambda main: main.explain(),
        "explain",
        "How the figure under the cursor is calculated",
        is_shown=True,
        named=Named("cost: Explain", "How the figures under the cursor are calculated", _has_outcome),
    ),
    UserAction(
        "cost.runs",
        "d",
        lambda main: main.cost.ask_runs(),
        "runs a day",
        "Set how many such sessions run a day",
        named=Named("cost: Set runs a day", "Set how many runs a day a saving is projected to", _has_outcome),
    ),
    UserAction(
        "pane.zoom",
        "z",
        lambda main: main.zoom(main.pane_focus.pane),
        "zoom",
        "Zoom this pane, or unzoom it",
        is_shown=True,
        needs_session=False,
    ),
    UserAction(
        "pane.next",
        "tab",
        lambda main: main.pane_focus.give_to_next(1),
        "pane",
        "Next pane",
        needs_session=False,
    ),
    UserAction(
        "pane.previous",
        "shift+tab",
        lambda main: main.pane_focus.give_to_next(-1),
        "pane",
        "Previous pane",
        needs_session=False,
    ),
    UserAction(
        "app.leave",
        "escape",
        lambda main: main.leave(),
        "leave",
        "Stop counting; leave the plan",
        needs_session=False,
        is_looked_up=False,
    ),
    UserAction(
        "app.quit",
        "q",
        "app.quit",
        "quit",
        "Quit inspector",
        is_shown=True,
        rank=4,
        named=Named("inspector: Quit", "Leave"),
    ),
)
"""Every key that works wherever the focus is."""
