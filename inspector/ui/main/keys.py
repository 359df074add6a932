"""The keys of the main screen: their names, by which a keymap may give them others, and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.binding import Binding, BindingType

from inspector.ui.controller.session import FAR
from inspector.ui.plan.history import NUMBERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.ui.main.screen import InspectScreen


class Key(NamedTuple):
    """A key that works wherever the focus is.

    Attributes:
        keys: The keys, with commas between them.
        name: What a keymap in the settings goes by.
        label: What it does, in a word.
        text: The same in a sentence.
        run: Does it.
        show: The status line names it.
        needs_session: It does nothing without a session.
    """

    keys: str
    name: str
    label: str
    text: str
    run: Callable[[InspectScreen], object]
    show: bool = False
    needs_session: bool = True

    @property
    def binding(self) -> Binding:
        """The same for Textual."""
        return Binding(self.keys, f"do('{self.name}')", self.label, id=self.name, tooltip=self.text, show=self.show)


def _switch(place: int) -> Callable[[InspectScreen], object]:
    return lambda main: main.plan.switch(place)


KEYS = (
    Key(
        "question_mark,f1",
        "app.help",
        "help",
        "Show what the keys do here",
        lambda main: main.run_action("app.help"),
        show=True,
        needs_session=False,
    ),
    *(
        Key(
            str(number),
            f"plan.switch-{number}",
            "strategy",
            f"Switch strategy {number} of the plan on or off",
            _switch(number - 1),
            show=number == 1,
        )
        for number in range(1, NUMBERED + 1)
    ),
    Key(
        "p",
        "plan.show",
        "plan",
        "Go to the plan and back; on narrow screens it is a drawer",
        lambda main: main.pane_focus.give_to_plan_or_back(),
        show=True,
    ),
    Key(
        "v",
        "study.open-composition",
        "window",
        "What fills the window, and what it costs",
        lambda main: main.study("composition"),
        show=True,
    ),
    Key(
        "left_square_bracket",
        "call.previous",
        "call",
        "As of the call before",
        lambda main: main.controller.look_further(-1),
        show=True,
    ),
    Key(
        "right_square_bracket",
        "call.next",
        "call",
        "As of the call after",
        lambda main: main.controller.look_further(1),
        show=True,
    ),
    Key(
        "left_curly_bracket",
        "call.back",
        "far",
        "As of ten calls before",
        lambda main: main.controller.look_further(-FAR),
    ),
    Key(
        "right_curly_bracket", "call.on", "far", "As of ten calls after", lambda main: main.controller.look_further(FAR)
    ),
    Key(
        "equals_sign",
        "call.here",
        "here",
        "As of the call that first sends this row",
        lambda main: main.chart.to_call_here(),
    ),
    Key("end", "call.now", "now", "As of now, and follow what is added", lambda main: main.chart.to_now()),
    Key(
        "space",
        "call.play",
        "play",
        "Play the session call by call, or stop",
        lambda main: main.chart.play(),
        show=True,
    ),
    Key("less_than_sign", "call.slower", "slower", "Play slower", lambda main: main.chart.play_faster(-1)),
    Key("greater_than_sign", "call.faster", "faster", "Play faster", lambda main: main.chart.play_faster(1)),
    Key(
        "T",
        "chart.axis",
        "time axis",
        "Let the chart run over time, or over calls",
        lambda main: main.chart.turn_axis(),
    ),
    Key(
        "x",
        "timeline.next-cut",
        "cuts",
        "To the next row the plan changed",
        lambda main: main.timeline.to_cut(1),
        show=True,
    ),
    Key(
        "X",
        "timeline.previous-cut",
        "cuts",
        "To the row before that the plan changed",
        lambda main: main.timeline.to_cut(-1),
    ),
    Key(
        "b",
        "timeline.next-compaction",
        "compaction",
        "To the next compaction or subagent",
        lambda main: main.timeline.to_boundary(1),
    ),
    Key(
        "B",
        "timeline.previous-compaction",
        "compaction",
        "To the compaction or subagent before",
        lambda main: main.timeline.to_boundary(-1),
    ),
    Key("f", "timeline.next-error", "error", "To the next failed tool result", lambda main: main.timeline.to_error(1)),
    Key(
        "F",
        "timeline.previous-error",
        "error",
        "To the failed tool result before",
        lambda main: main.timeline.to_error(-1),
    ),
    Key(
        "r",
        "timeline.next-rise",
        "rise",
        "To the next of the places where the context grew most",
        lambda main: main.timeline.to_rise(1),
    ),
    Key("R", "timeline.previous-rise", "rise", "To the one before of them", lambda main: main.timeline.to_rise(-1)),
    Key(
        "full_stop",
        "timeline.next-break",
        "break",
        "To the next call that loses what a cache held",
        lambda main: main.timeline.to_break(1),
    ),
    Key(
        "comma",
        "timeline.previous-break",
        "break",
        "To the call before that does",
        lambda main: main.timeline.to_break(-1),
    ),
    Key(
        "h",
        "timeline.next-risk",
        "risk",
        "To the next row at which the plan may go wrong",
        lambda main: main.timeline.to_risk(1),
    ),
    Key(
        "H",
        "timeline.previous-risk",
        "risk",
        "To the row before at which it may",
        lambda main: main.timeline.to_risk(-1),
    ),
    Key(
        "s",
        "rows.order",
        "order",
        "Order rows as recorded, by size, or by what they cost to carry",
        lambda main: main.timeline.next_order(),
    ),
    Key("u", "timeline.next-pin", "pin", "To the next pinned row", lambda main: main.timeline.to_pin(1)),
    Key("U", "timeline.previous-pin", "pin", "To the pinned row before", lambda main: main.timeline.to_pin(-1)),
    Key("slash", "rows.find", "find", "Search the rows", lambda main: main.timeline.find(is_filter=False), show=True),
    Key(
        "ampersand",
        "rows.filter",
        "filter",
        "Show only rows that match",
        lambda main: main.timeline.find(is_filter=True),
        show=True,
    ),
    Key(
        "n",
        "rows.next-match",
        "match",
        "To the next row that matches the search",
        lambda main: main.timeline.to_match(1),
    ),
    Key("N", "rows.previous-match", "match", "To the matching row before", lambda main: main.timeline.to_match(-1)),
    Key("plus", "plan.add", "add", "Add a strategy to the plan", lambda main: main.plan.add(), show=True),
    Key(
        "ctrl+z",
        "plan.undo",
        "undo",
        "Take back the last change of the plan",
        lambda main: main.controller.undo(),
        show=True,
    ),
    Key("ctrl+y,ctrl+shift+z", "plan.redo", "redo", "Make the change again", lambda main: main.controller.redo()),
    Key(
        "o",
        "session.open",
        "sessions",
        "Open another session, beside this one",
        lambda main: main.run_action("app.sessions"),
        needs_session=False,
    ),
    Key(
        "ctrl+o",
        "session.open-subagent",
        "subagent",
        "Open the subagent it started",
        lambda main: main.related.open_subagent(),
        show=True,
    ),
    Key(
        "backspace",
        "session.open-parent",
        "parent",
        "Open the session that started it",
        lambda main: main.related.open_parent(),
        show=True,
    ),
    Key(
        "i",
        "session.diagnostics",
        "diagnostics",
        "How the file was read, and what could not be",
        lambda main: main.related.show_diagnostics(main),
        needs_session=False,
    ),
    Key(
        "ctrl+pagedown",
        "session.next-tab",
        "tab",
        "To the next open session",
        lambda main: main.run_action("app.tab(1)"),
        needs_session=False,
    ),
    Key(
        "ctrl+pageup",
        "session.previous-tab",
        "tab",
        "To the open session before",
        lambda main: main.run_action("app.tab(-1)"),
        needs_session=False,
    ),
    Key(
        "ctrl+w",
        "session.close-tab",
        "close",
        "Close this session",
        lambda main: main.run_action("app.close_tab"),
        needs_session=False,
    ),
    Key(
        "c",
        "study.open-compare",
        "compare",
        "Every strategy and this plan in a table",
        lambda main: main.study("compare"),
        show=True,
    ),
    Key(
        "t",
        "study.open-tune",
        "tune",
        "A limit over its whole range: cost, tokens, breaks",
        lambda main: main.study("tune"),
        show=True,
    ),
    Key(
        "a",
        "plan.swap",
        "A/B",
        "Put this plan aside and take the other one, to compare",
        lambda main: main.plan.swap(),
        show=True,
    ),
    Key(
        "A",
        "plan.difference",
        "difference",
        "What plans A and B differ in, and what comes of it",
        lambda main: main.plan.show_difference(),
    ),
    Key("w", "plan.save", "save plan", "Save the plan under a name, or in a file", lambda main: main.plan.save()),
    Key(
        "O",
        "plan.open",
        "open plan",
        "Take a saved plan, a ready one, or one in a file",
        lambda main: main.plan.open_other(),
    ),
    Key(
        "e",
        "plan.export",
        "export",
        "The plan as other agents' configuration, with a preview",
        lambda main: main.plan.export(),
    ),
    Key(
        "P",
        "app.picture",
        "picture",
        "Save a picture of the screen or of the context chart",
        lambda main: main.run_action("app.picture"),
        needs_session=False,
    ),
    Key(
        "dollar_sign",
        "study.open-costs",
        "costs",
        "Every figure of the plan, what it is projected to, and on which terms",
        lambda main: main.study("costs"),
        show=True,
    ),
    Key(
        "E",
        "cost.explain",
        "explain",
        "How the figure under the cursor came about",
        lambda main: main.explain(),
        show=True,
    ),
    Key("d", "cost.runs", "runs a day", "Say how many such sessions run in a day", lambda main: main.cost.ask_runs()),
    Key(
        "z",
        "pane.zoom",
        "zoom",
        "Give this part the whole screen, or give it back",
        lambda main: main.zoom(main.pane_focus.pane),
        show=True,
        needs_session=False,
    ),
    Key(
        "tab",
        "pane.next",
        "pane",
        "The next part of the screen",
        lambda main: main.pane_focus.give_to_next(1),
        needs_session=False,
    ),
    Key(
        "shift+tab",
        "pane.previous",
        "pane",
        "The part before",
        lambda main: main.pane_focus.give_to_next(-1),
        needs_session=False,
    ),
    Key(
        "escape", "app.leave", "leave", "Stop counting; leave the plan", lambda main: main.leave(), needs_session=False
    ),
    Key(
        "q",
        "app.quit",
        "quit",
        "Leave inspector",
        lambda main: main.run_action("app.quit"),
        show=True,
        needs_session=False,
    ),
)
"""Every key that works wherever the focus is."""

BY_NAME = {key.name: key for key in KEYS}
BINDINGS: list[BindingType] = [key.binding for key in KEYS]
