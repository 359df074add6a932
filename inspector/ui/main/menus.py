"""Menus of the main screen: go to a place, change the view, read a text in another form, save and open.

A menu waits for a letter. In the go-to menu a capital letter goes to the previous place, and `n` and `N` continue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from inspector.ui.actions.action import PaletteName, UserAction
from inspector.ui.main.base_screen import (
    BaseInspectScreen,
    has_other_plan,
    has_outcome,
    has_plan,
    has_session,
    has_strategies,
    was_compacted_with_none_on,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.ui.detail.views import Shown

    Row: TypeAlias = UserAction[BaseInspectScreen]


def _pair(
    noun: str,
    letter: str,
    label: str,
    what: str,
    go: Callable[[BaseInspectScreen, int], object],
    also: str,
    hinted_when: Callable[[BaseInspectScreen], bool] | None = None,
) -> tuple[Row, Row]:
    """Build the actions for the next and the previous place of a kind.

    The status line shows the first one while `hinted_when` returns True; None for never.
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
            is_shown=hinted_when is not None,
            rank=None if hinted_when is None else 5,
            when=hinted_when or has_session,
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
        "big increase",
        "large increase of the context",
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
        "Go to the next of the results with the highest resend cost",
        menu="g $",
        also="expensive why large biggest dollars money tokens",
    ),
    UserAction(
        "call.here",
        "",
        lambda main: main.chart.to_call_here(),
        "this row's call",
        "Go to the first call that sends this row",
        menu="g h",
        also="when first sent",
    ),
    UserAction(
        "call.go-to",
        "",
        lambda main: main.ask_call(),
        "call by number",
        "Go to a call by its number",
        named=PaletteName("Go to a call by its number", "Shows the prompt of that call", has_outcome),
        menu="g t",
        also="time travel",
    ),
    UserAction(
        "study.open-files",
        "",
        lambda main: main.study("files"),
        "files",
        "Show the files the tools used, starting with this row's",
        named=PaletteName(
            "Show the files", "Files that tools read and edited, and their text in the context", has_outcome
        ),
        menu="g l",
        also="file read edit write stale changelog history known state",
    ),
    UserAction(
        "session.open-subagent",
        "",
        lambda main: main.related.open_subagent(),
        "open subagent",
        "Open the subagent this call started",
        is_shown=True,
        rank=0,
        named=PaletteName(
            "Open the subagent", "The session this call started", lambda main: main.related.subagent is not None
        ),
        menu="g s",
        also="child task agent",
    ),
    UserAction(
        "session.open-parent",
        "",
        lambda main: main.related.open_parent(),
        "parent",
        "Open the session that started this one",
        is_shown=True,
        rank=0,
        named=PaletteName(
            "Open the parent session", "The session that started this one", lambda main: main.related.parent is not None
        ),
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
        "Zoom this pane in or out",
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
        "Switch bars between linear and logarithmic scale",
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
        "runs per day",
        "Set the number of such sessions per day",
        named=PaletteName(
            "Set the runs per day", "Number of such sessions per day, for projected savings", has_outcome
        ),
        menu="z d",
        also="month forecast projection cost",
    ),
    UserAction(
        "cost.price-as",
        "",
        lambda main: main.cost.ask_model(),
        "price as",
        "Price every call as another model",
        named=PaletteName(
            "Price as another model", "Rates and cache rules of another model, with unchanged prompts", has_outcome
        ),
        menu="z m",
        also="cost cheaper expensive switch rates opus sonnet haiku fable gpt",
    ),
    UserAction(
        "session.diagnostics",
        "",
        lambda main: main.related.show_diagnostics(main),
        "file info",
        "Show how the file was read, and its unreadable records",
        needs_session=False,
        named=PaletteName(
            "Show how the file was read",
            "Detected format, contents, and unreadable records",
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
        f"detail.{name}", "", lambda main: main.read_as(shown), label, text, menu=f"r {letter}", also=also
    )


READ: Final[tuple[Row, ...]] = (
    _read("raw", "r", "raw", "raw", "Show the text as recorded", "original whole"),
    _read("sent", "s", "sent", "as sent", "Show the text as the plan sends it", "pruned cut"),
    _read("difference", "d", "difference", "difference", "Show the recorded text next to the sent one", "diff compare"),
    _read("json", "j", "laid", "formatted", "Show the text formatted: JSON, tool input, edits", "pretty"),
    _read("markdown", "m", "markdown", "Markdown", "Show the text as Markdown"),
    _read("record", "R", "record", "file record", "Show the record as stored in the file", "json line source"),
    UserAction(
        "detail.next-cut",
        "",
        lambda main: main.detail.to_next_cut(),
        "next cut in it",
        "Go to the next cut in this text",
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
        "Save the plan under a name or in a file",
        named=PaletteName("Save the plan", "Under a name or in a file", has_plan),
        menu="w s",
        also="write keep",
    ),
    UserAction(
        "plan.open",
        "",
        lambda main: main.plan.open_other(),
        "open plan",
        "Open a saved plan, a built-in plan or a file",
        named=PaletteName("Open a plan", "A saved plan, a built-in plan or a file", has_plan),
        menu="w o",
        also="load preset",
    ),
    UserAction(
        "plan.export",
        "",
        lambda main: main.plan.export(),
        "use in an agent",
        "Use the plan in an agent: as code, as a hook, or in its settings",
        named=PaletteName("Use the plan in an agent", "As code, as a hook, or in its settings", has_strategies),
        menu="w e",
        also="export apply deploy config configuration write code hook settings",
    ),
    UserAction(
        "plan.difference",
        "",
        lambda main: main.plan.show_difference(),
        "compare A and B",
        "Compare plans A and B",
        named=PaletteName("Compare plans A and B", "All differences between the two plans", has_other_plan),
        menu="w d",
        also="difference diff",
    ),
    UserAction(
        "session.report",
        "",
        lambda main: main.save_report(),
        "save report",
        "Save a report of this session: HTML page, Markdown, CSV, JSON",
        named=PaletteName("Save a report", "HTML page with charts, Markdown, text, CSV or JSON", has_outcome),
        menu="w w",
        also="share page html export stakeholder send markdown csv json savings",
    ),
    UserAction(
        "session.open-page",
        "",
        lambda main: main.open_page(),
        "open saved page",
        "Open the last saved page in the browser, or copy its path",
        named=PaletteName("Open the saved page", "In the browser; without one, copies the path", has_outcome),
        menu="w b",
        also="browser report html view show path copy",
    ),
    UserAction(
        "app.picture",
        "",
        "app.picture",
        "picture",
        "Save a picture of the screen or of the context chart",
        named=PaletteName("Save a picture", "The screen or the context chart as an SVG file"),
        menu="w p",
        also="screenshot svg image share send",
    ),
    UserAction(
        "session.close-tab",
        "",
        "app.close_tab",
        "close session",
        "Close this session",
        named=PaletteName("Close this session", "The others stay open", lambda app: app.has_tabs),
        menu="w c",
        also="tab",
    ),
)
"""Actions that save, open and close."""
