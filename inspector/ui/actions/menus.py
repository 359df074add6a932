"""Menus of the main screen: go to a place, change the view, read a text in another form, save and open.

A menu waits for a letter. In the go-to menu a capital letter goes to the previous place, and `n` and `N` continue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.ui.actions.action import Named, UserAction
from inspector.ui.actions.applies import (
    has_other_plan,
    has_outcome,
    has_plan,
    has_session,
    has_strategies,
    was_compacted_with_none_on,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from inspector.ui.detail.views import Shown
    from inspector.ui.main.screen import InspectScreen

    Row: TypeAlias = UserAction[InspectScreen]

MENUS: Final = {"g": "Go to", "z": "View", "r": "Read the text as", "w": "Save and open"}
"""Menu titles by key."""


def _pair(
    noun: str,
    letter: str,
    label: str,
    what: str,
    go: Callable[[InspectScreen, int], object],
    also: str,
    taught: Callable[[InspectScreen], bool] | None = None,
) -> tuple[Row, Row]:
    """Build the actions for the next and the previous place of a kind.

    The status line shows the first one while `taught` returns True; None for never.
    """
    return (
        UserAction(
            f"timeline.next-{noun}",
            "",
            lambda main: go(main, 1),
            label,
            f"Go to the next {what}",
            menu=f"g {letter}",
            also=also,
            is_shown=taught is not None,
            rank=None if taught is None else 5,
            when=taught or has_session,
        ),
        UserAction(
            f"timeline.previous-{noun}",
            "",
            lambda main: go(main, -1),
            label,
            f"Go to the previous {what}",
            menu=f"g {letter.upper()}",
        ),
    )


_PLACES: Final[tuple[Row, ...]] = (
    *_pair(
        "cut",
        "x",
        "cut",
        "row the plan changed",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_cut, step),
        "pruned removed why",
    ),
    *_pair(
        "compaction",
        "c",
        "compaction",
        "compaction",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_compaction, step),
        "compacted summary summarized forgot lost clear removed",
        was_compacted_with_none_on,
    ),
    *_pair(
        "error",
        "f",
        "failure",
        "failed tool result",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_error, step),
        "error exception broken why",
    ),
    *_pair(
        "break",
        "m",
        "cache miss",
        "cache miss",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_miss, step),
        "expensive cost why break rewrite",
    ),
    *_pair(
        "risk",
        "r",
        "risk",
        "risk",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_risk, step),
        "danger needed wrong hazard lose loss",
    ),
    *_pair(
        "rise",
        "b",
        "big rise",
        "place where the context grew most",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_growth, step),
        "expensive why jump large biggest",
    ),
    *_pair(
        "pin",
        "p",
        "pinned row",
        "pinned row",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_pin, step),
        "bookmark mark",
    ),
)

JUMPS: Final[tuple[Row, ...]] = (
    *_PLACES,
    *_pair(
        "subagent",
        "a",
        "subagent",
        "subagent",
        lambda main, step: main.timeline.jumps.go(main.timeline.jumps.to_subagent, step),
        "child task agent",
    ),
    UserAction(
        "cost.carried",
        "",
        lambda main: main.timeline.jumps.go(main.cost.to_most_resent, 1),
        "costliest result",
        "Go to the next of the results that cost most to resend",
        menu="g $",
        also="expensive why large biggest dollars money tokens",
    ),
    UserAction(
        "call.here",
        "",
        lambda main: main.chart.to_call_here(),
        "this row's call",
        "Go to the call that first sends this row",
        menu="g h",
        also="when first sent",
    ),
    UserAction(
        "call.go-to",
        "",
        lambda main: main.ask_call(),
        "call by number",
        "Go to a call by its number",
        named=Named("Go to a call by its number", "Shows the prompt of that call", has_outcome),
        menu="g t",
        also="time travel",
    ),
    UserAction(
        "study.open-files",
        "",
        lambda main: main.study("files"),
        "files",
        "Show what tools did to each file, first to that of this row",
        named=Named("Show the files", "What tools read and edited, and what of it is in the context", has_outcome),
        menu="g l",
        also="file read edit write stale changelog history known state",
    ),
    UserAction(
        "study.open-marks",
        "",
        lambda main: main.study("marks"),
        "cache marks",
        "Show where cache marks go, and what they would hold",
        named=Named(
            "Show the cache marks", "Where rules put cache control marks, and what they would hold", has_outcome
        ),
        menu="g k",
        also="cache_control breakpoint breakpoints anthropic hermes swe-agent",
    ),
    UserAction(
        "session.open-subagent",
        "",
        lambda main: main.related.open_subagent(),
        "open subagent",
        "Open the subagent it started",
        is_shown=True,
        rank=0,
        named=Named("Open the subagent", "Started by this call", lambda main: main.related.subagent is not None),
        menu="g s",
        also="child task agent",
    ),
    UserAction(
        "session.open-parent",
        "",
        lambda main: main.related.open_parent(),
        "up to parent",
        "Open the session that started it",
        is_shown=True,
        rank=0,
        named=Named("Open the parent session", "It started this session", lambda main: main.related.parent is not None),
        menu="g u",
        also="up",
    ),
    UserAction(
        "call.play",
        "",
        lambda main: main.chart.play(),
        "play, stop",
        "Play the session call by call, or stop",
        menu="g space",
        also="replay watch animate run",
    ),
    UserAction(
        "call.slower",
        "",
        lambda main: main.chart.play_faster(-1),
        "slower",
        "Play slower",
        menu="g <",
    ),
    UserAction(
        "call.faster",
        "",
        lambda main: main.chart.play_faster(1),
        "faster",
        "Play faster",
        menu="g >",
    ),
)
"""Actions of the go-to menu."""

VIEWS: Final[tuple[Row, ...]] = (
    UserAction(
        "pane.zoom",
        "",
        lambda main: main.zoom(main.pane_focus.pane),
        "zoom",
        "Zoom this pane, or unzoom it",
        needs_session=False,
        menu="z z",
        also="enlarge full screen bigger maximize",
    ),
    UserAction(
        "rows.order",
        "",
        lambda main: main.timeline.next_order(),
        "sort rows",
        "Sort rows as recorded, by size, or by token-calls",
        menu="z s",
        also="order largest biggest expensive",
    ),
    UserAction(
        "timeline.fold-all",
        "",
        lambda main: main.timeline.ask_rows(lambda rows: rows.action_fold_all()),
        "fold all",
        "Fold or unfold every message",
        menu="z f",
        also="collapse expand",
    ),
    UserAction(
        "timeline.pin",
        "",
        lambda main: main.timeline.ask_rows(lambda rows: rows.action_pin()),
        "pin row",
        "Pin or unpin the row",
        menu="z p",
        also="bookmark mark star",
    ),
    UserAction(
        "timeline.scale",
        "",
        lambda main: main.timeline.ask_rows(lambda rows: rows.action_scale()),
        "log bars",
        "Switch bars between linear and logarithmic",
        menu="z l",
        also="scale",
    ),
    UserAction(
        "chart.axis",
        "",
        lambda main: main.chart.turn_axis(),
        "time axis",
        "Switch the chart between calls and time",
        menu="z t",
        also="clock when duration",
    ),
    UserAction(
        "cost.runs",
        "",
        lambda main: main.cost.ask_runs(),
        "runs a day",
        "Set how many such sessions run a day",
        named=Named("Set the runs a day", "How many runs a day a saving is projected to", has_outcome),
        menu="z d",
        also="month forecast projection cost",
    ),
    UserAction(
        "session.diagnostics",
        "",
        lambda main: main.related.show_diagnostics(main),
        "how read",
        "Show how the file was read, and what could not be",
        needs_session=False,
        named=Named(
            "Show how the file was read",
            "What the file was taken for, what is in it, what could not be read",
            has_session,
        ),
        menu="z i",
        also="diagnostics format skipped unreadable info usage",
    ),
)
"""Actions of the view menu."""


def _read(name: str, letter: str, shown: Shown, label: str, text: str, also: str = "") -> Row:
    """Build the action that selects a view of the text under the cursor."""
    return UserAction(
        f"detail.{name}", "", lambda main: main.detail.show(shown), label, text, menu=f"r {letter}", also=also
    )


READ: Final[tuple[Row, ...]] = (
    _read("raw", "r", "raw", "raw", "Show the text as recorded", "original whole"),
    _read("sent", "s", "sent", "as sent", "Show the text as the plan sends it", "pruned cut"),
    _read("difference", "d", "difference", "difference", "Show the text as recorded beside as sent", "diff compare"),
    _read("json", "j", "laid", "formatted", "Show the text formatted: JSON, a tool's input, an edit", "pretty"),
    _read("markdown", "m", "markdown", "Markdown", "Show the text as Markdown"),
    _read("record", "R", "record", "record in the file", "Show the record in the file", "json line source"),
    UserAction(
        "detail.next-cut",
        "",
        lambda main: main.detail.to_next_cut(),
        "next cut in it",
        "Go to the next place something was cut in the text",
        menu="r x",
    ),
    UserAction(
        "detail.copy",
        "",
        lambda main: main.detail.copy(),
        "copy",
        "Copy the text to the clipboard",
        menu="r y",
        also="yank",
    ),
    UserAction(
        "detail.pager",
        "",
        lambda main: main.detail.page_out(),
        "open in $PAGER",
        "Open the text in $PAGER",
        menu="r p",
        also="less",
    ),
)
"""Actions that change the form of the text under the cursor."""

FILES: Final[tuple[Row, ...]] = (
    UserAction(
        "plan.save",
        "",
        lambda main: main.plan.save(),
        "save plan",
        "Save the plan under a name, or in a file",
        named=Named("Save the plan", "Under a name, or in a file", has_plan),
        menu="w s",
        also="write keep",
    ),
    UserAction(
        "plan.open",
        "",
        lambda main: main.plan.open_other(),
        "open plan",
        "Open a saved plan, a ready one, or a file",
        named=Named("Open a plan", "A saved one, a ready one, or a file", has_plan),
        menu="w o",
        also="load preset",
    ),
    UserAction(
        "plan.export",
        "",
        lambda main: main.plan.export(),
        "use in an agent",
        "Use the plan in an agent: in code, by a hook, or in its own settings",
        named=Named("Use the plan in an agent", "In code, by a hook, or in its own settings", has_strategies),
        menu="w e",
        also="export apply deploy config configuration write code hook settings",
    ),
    UserAction(
        "plan.difference",
        "",
        lambda main: main.plan.show_difference(),
        "compare A and B",
        "Compare plans A and B",
        named=Named("Compare plans A and B", "Everything the two plans differ in", has_other_plan),
        menu="w d",
        also="difference diff",
    ),
    UserAction(
        "session.report",
        "",
        lambda main: main.save_report(),
        "report to send",
        "Save a report of this session: a page to send, Markdown, CSV, JSON",
        named=Named("Save a report to send", "A page with charts, Markdown, text, CSV or JSON", has_outcome),
        menu="w w",
        also="share page html export stakeholder send markdown csv json savings",
    ),
    UserAction(
        "session.open-page",
        "",
        lambda main: main.open_page(),
        "open saved page",
        "Open the page that was saved last in the browser, or copy its path where none can be opened",
        named=Named("Open the saved page", "In the browser; its path is copied where none can be opened", has_outcome),
        menu="w b",
        also="browser report html view show path copy",
    ),
    UserAction(
        "app.picture",
        "",
        "app.picture",
        "picture",
        "Save a picture of the screen or of the context chart",
        named=Named("Save a picture", "The screen or the context chart as an SVG file"),
        menu="w p",
        also="screenshot svg image share send",
    ),
    UserAction(
        "session.close-tab",
        "",
        "app.close_tab",
        "close session",
        "Close this session",
        named=Named("Close this session", "The others stay open", lambda app: app.has_tabs),
        menu="w c",
        also="tab",
    ),
)
"""Actions that save, open and close."""
