"""Tune screen: the results of one limit over its whole range, or of two limits as a map, moved by keys or dragging."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events, on
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from inspector.replay.analysis.sweep import POINTS, Grid, TunableLimit
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.strategies.core.parameters import ParameterError
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import TUNE_CURVES, TUNE_MAP
from inspector.ui.analysis_screen import AnalysisScreen
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.help.palette import PaletteCommand
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.line_view import strip_of
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText, set_title
from inspector.ui.toolkit.status_bar import StatusBar, WorkProgress
from inspector.ui.tune.drawing import (
    LABELS,
    HeatChart,
    Place,
    TuneChart,
    draw_heat,
    draw_tuning,
    fitting,
    place_at,
    plot_columns,
)
from inspector.ui.tune.rows import (
    chart_of,
    heat_of,
    legend_of_values,
    marked_pairs,
    marked_values,
    nothing_to_tune,
    rows_of,
)
from inspector.ui.tune.sweeps import LimitRanking, Limits, Sweeps, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.ui.chart.drawing import ChartRun
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain import Explained
    from inspector.ui.tune.rows import SeparatedTool


class CurveWidget(Widget, can_focus=True):
    """Base of the curves and the map. A subclass defines `subject`, `draw` and `point`."""

    DEFAULT_CSS = """
    CurveWidget {
        height: 1fr;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._drawn: tuple[tuple[ChartRun, ...], ...] = ()
        self._drawn_of: tuple[object, int, int] | None = None
        self._is_dragging = False

    @property
    def subject(self) -> object | None:
        """Data to draw, replaced whenever it must be redrawn; None for nothing."""
        raise NotImplementedError

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        """Return `height` rows of exactly `width` cells."""
        raise NotImplementedError

    def point(self, x: int, y: int) -> None:
        """Handle a press or drag at a cell, which may lie outside the drawing."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self.subject is None or y >= height:
            return Strip.blank(width, self.rich_style)
        if self._drawn_of != (self.subject, width, height):
            self._drawn, self._drawn_of = self.draw(width, height), (self.subject, width, height)
        plain = self.rich_style
        parts = ((run.text, self.get_component_rich_style(run.style) if run.style else plain) for run in self._drawn[y])
        return strip_of(parts, width, plain)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point at the cell, and follow the mouse until released."""
        offset = event.get_content_offset(self)
        if offset is not None and event.button == 1 and self.subject is not None:
            self.capture_mouse()
            self._is_dragging = True
            self.point(offset.x, offset.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragging:
            self.point(event.x - self.gutter.left, event.y - self.gutter.top)

    def on_mouse_up(self) -> None:
        if self._is_dragging:
            self._is_dragging = False
            self.release_mouse()


class TuneCurves(CurveWidget):
    """Curves of a sweep, set as `chart`. The mouse posts another value; the parent then sets a new chart."""

    HELP = """Cost, prompt tokens and changed prompts of this session over the whole range of one limit. Each dot is a
    replay or interpolated between two. Each curve is scaled from its minimum to its maximum, which are shown next to
    it; the dotted line is the session with nothing cut. ~ marks estimates. ◆ is the selected value, ▲ the plan's, ▾ the
    best tried one. ◇ is the knee: the point where the curve is furthest below the straight line between its
    ends, with both axes scaled to the same length. Beyond it, loosening the limit costs more than on average. The
    histogram below shows the sizes the limit applies to: everything right of the value is cut."""

    DEFAULT_CSS = """
    TuneCurves {
        & > .tune--cost { color: $cost; }
        & > .tune--tokens { color: $sent; }
        & > .tune--breaks { color: $miss; }
        & > .tune--net { color: $success; }
        & > .tune--refetch { color: $warning; }
        & > .tune--level { color: $text-muted; }
        & > .tune--number { color: $text-muted; }
        & > .tune--label { color: $text-muted; }
        & > .tune--axis { color: $text-disabled; }
        & > .tune--cursor { color: $foreground; }
        & > .tune--here { color: $foreground; text-style: bold; }
        & > .tune--plan { color: $text-primary; text-style: bold; }
        & > .tune--knee { color: $knee; }
        & > .tune--least { color: $least; text-style: bold; }
        & > .tune--whole { color: $sent; }
        & > .tune--cut { color: $cut; }
        &:focus > .tune--cursor { color: $primary; }
        &:focus > .tune--here { color: $primary; }
        &:nocolor > .tune--here { text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tune--cost",
        "tune--tokens",
        "tune--breaks",
        "tune--net",
        "tune--refetch",
        "tune--level",
        "tune--number",
        "tune--label",
        "tune--axis",
        "tune--cursor",
        "tune--here",
        "tune--plan",
        "tune--knee",
        "tune--least",
        "tune--whole",
        "tune--cut",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(TUNE_CURVES)

    chart: reactive[TuneChart | None] = reactive[TuneChart | None](None, init=False)
    """The data on display."""

    @dataclass
    class Moved(Message):
        """Posted to select another value.

        Attributes:
            curves: The widget.
            chart: The chart at the time of the event; it may have been replaced since.
            value: The value.
        """

        curves: TuneCurves
        chart: TuneChart
        value: float

        @property
        def control(self) -> TuneCurves:
            return self.curves

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest value matters during a drag."""
            return isinstance(message, TuneCurves.Moved) and message.curves is self.curves

    @property
    def subject(self) -> TuneChart | None:
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        return draw_tuning(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:  # noqa: ARG002  a value has no height
        """Post the value under the mouse."""
        if self.chart is not None:
            value = self.chart.value_at(x - LABELS, plot_columns(self.size.width))
            if value != self.chart.here:
                self.post_message(self.Moved(self, self.chart, value))


class HeatMap(CurveWidget):
    """Map of a grid, set as `chart`. Keys and the mouse post another pair; the parent then sets a new chart."""

    HELP = """Cost of the session (or its prompt tokens, without a price) for pairs of values of two limits. Denser
    glyphs mean more: · ░ ▒ ▓ █ are equal steps from the minimum to the maximum, which are shown below the map. ◆ is the
    selected pair, ▲ the plan's, ▾ the best tried one. Every pair is a replay of the whole session. Faint pairs are not
    replayed yet and show the value of their neighbor."""

    DEFAULT_CSS = """
    HeatMap {
        & > .heat--label { color: $text-muted; }
        & > .heat--0 { color: $text-success; }
        & > .heat--1 { color: $text-success; }
        & > .heat--2 { color: $text-warning; }
        & > .heat--3 { color: $text-warning; }
        & > .heat--4 { color: $text-error; }
        & > .heat--waiting { color: $waiting; }
        & > .heat--mark { color: $foreground; text-style: bold; }
        & > .heat--here { color: $foreground; text-style: bold; }
        &:focus > .heat--here { color: $primary; text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "heat--label",
        *(f"heat--{level}" for level in range(5)),
        "heat--waiting",
        "heat--mark",
        "heat--here",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(TUNE_MAP)

    chart: reactive[HeatChart | None] = reactive[HeatChart | None](None, init=False)
    """The data on display."""

    @dataclass
    class Moved(Message):
        """Posted to select another pair.

        Attributes:
            heat_map: The widget.
            grid: The grid at the time of the event; it may have been replaced since.
            place: Row and column of the pair.
        """

        heat_map: HeatMap
        grid: Grid
        place: Place

        @property
        def control(self) -> HeatMap:
            return self.heat_map

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest pair matters during a drag."""
            return isinstance(message, HeatMap.Moved) and message.heat_map is self.heat_map

    @property
    def subject(self) -> HeatChart | None:
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        return draw_heat(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:
        """Post the pair under the mouse."""
        if self.chart is not None:
            self._move(place_at(self.chart, *self.size, x, y))

    def action_step(self, down: int, across: int) -> None:
        """Move by pairs."""
        if self.chart is not None:
            rows, columns = self.chart.grid.cost.shape
            row, column = self.chart.here
            self._move((min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1)))

    def _move(self, place: Place) -> None:
        if self.chart is not None and place != self.chart.here:
            self.post_message(self.Moved(self, self.chart.grid, place))


ONE_TOOL = (
    "The plan on trial gives the tool its own tier, or adds a copy of the strategy that skips all other tools of the "
    "session. Nothing changes until enter applies it."
)
CELLS_AROUND_TITLE = 6
MARKS = "◆ here  ▲ plan  ◇ knee  ▾ best tried"


class TuneScreen(AnalysisScreen):
    """Curves of one limit, or a map of two."""

    screen_name = "tune"

    DEFAULT_CSS = """
    TuneScreen {
        #tune { height: 1fr; }
        #tune-why { height: 1; padding: 0 1; color: $text-muted; }
        #tune-values { height: 7; }
        #tune-values FigureTable { overflow-y: hidden; }
    }
    """

    def __init__(self, controller: SessionController, preferred: tuple[int, str] | None = None) -> None:
        """Create the screen.

        Args:
            controller: The open session, with an outcome to show.
            preferred: Initial limit: its strategy's index in the plan and its name, empty for the strategy's first;
                None for any. It takes precedence over the limit with the largest effect.
        """
        super().__init__(controller)
        self.sweeps = Sweeps(self.jobs, self._show_found, self.show_notice)
        self.ranking = LimitRanking(self.jobs, self._show_ranking)
        self.limits = Limits.of(self.outcome.plan)
        """The plan's limits and the selected values."""
        self._has_chosen = preferred is not None and bool(preferred[1])
        """True once the user selected a limit or pressed any key. The screen then selects no other limit."""
        if preferred is not None:
            self.limits = self.limits.preferring(*preferred)
        self._is_map = False
        self._separate_tool: SeparatedTool | None = None

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Tune", id="tune"):
            yield ChoiceStrip()
            yield Static(id="tune-why", markup=False)
            yield Placeholder()
            yield TuneCurves(id="curves")
            yield HeatMap(id="map")
        with Pane("Values", id="tune-values"):
            yield FigureTable()
        yield StatusBar()

    @property
    def curves(self) -> TuneCurves:
        return self.query_one(TuneCurves)

    @property
    def heat_map(self) -> HeatMap:
        return self.query_one(HeatMap)

    def on_mount(self) -> None:
        """Hide the cursor in the table of values, which is not selectable."""
        values = self.query_one(FigureTable)
        values.can_focus = values.shows_cursor = False

    def show_outcome(self) -> None:
        """Show the limits of the current plan."""
        plan = self.controller.plan or self.outcome.plan
        if self._separate_tool is not None and plan not in (self._separate_tool.before, self._separate_tool.plan):
            self._separate_tool = None
        self._take(Limits.of(plan if self._separate_tool is None else self._separate_tool.plan, self.limits))
        if self._separate_tool is None:
            self.ranking.search(self.limits, self.outcome)
            self._show_reason()

    def on_key(self, event: events.Key) -> None:
        """Keep the selected limit from the first key press on."""
        del event
        self._has_chosen = True

    def _show_ranking(self) -> None:
        """Select the limit with the largest effect, unless the user selected one already."""
        most = self.ranking.most
        if most is not None and not self._has_chosen:
            self._take(self.limits.preferring(most.axis.entry, most.axis.parameter.name))
        self._show_reason()

    def _show_reason(self) -> None:
        self.query_one("#tune-why", Static).update(Content(self.ranking.words(self.limits) if self.limits.axes else ""))

    def action_most(self) -> None:
        """Select the limit with the largest effect."""
        most = self.ranking.most
        if most is None:
            self.show_notice(
                self.ranking.words(self.limits) or "finding the limit with the largest effect took too long"
            )
        else:
            self._take(self.limits.preferring(most.axis.entry, most.axis.parameter.name))

    def _take(self, limits: Limits) -> None:
        """Show other limits or values, and replay those without results."""
        self.limits = limits
        there = bool(limits.axes)
        placeholder = self.query_one(Placeholder)
        placeholder.word = PlaceholderText("nothing to tune", nothing_to_tune(limits.plan))
        placeholder.display = not there
        self.query_one("#tune-why").display = there
        self._show_reason()
        self.curves.display, self.heat_map.display = there and not self._is_map, there and self._is_map
        names = tuple((axis.strategy, axis.parameter.name) for axis in limits.axes)
        second = limits.second if self._is_map and limits.second != limits.first else -1
        self.query_one(ChoiceStrip).choices = Choices(names, limits.first if names else -1, second)
        if not there:
            return
        shown = self.heat_map if self._is_map else self.curves
        if not shown.has_focus:
            shown.focus()
        self._show()
        if self._is_map:
            width, height = self.query_one("#tune", Pane).content_size
            self.sweeps.map(limits, self.outcome, *fitting(width, height - 1))
        else:
            self.sweeps.sweep(limits, self.outcome)
            self.sweeps.probe(limits, self.outcome)

    def _show_found(self) -> None:
        """Show new results of a curve or the map."""
        self._take(self.limits)

    def _show(self) -> None:
        axis, pane = self.limits.axis, self.query_one("#tune", Pane)
        in_plan = "in the plan" if self.limits.plan.entries[axis.entry].enabled else "plan, if on"
        set_title(pane, f"Tune {axis.strategy}: {axis.parameter.name.replace('-', ' ')}{self._only(axis)}")
        pane.border_subtitle = Content(MARKS)
        help_of_axis = _fitted_help(axis.parameter.help, self.size.width - CELLS_AROUND_TITLE)
        self.query_one("#tune-values", Pane).border_title = Content(help_of_axis)
        self.status.progress = None
        if self._is_map:
            self._show_map(in_plan)
        else:
            self._show_curves(in_plan)

    def _only(self, axis: TunableLimit) -> str:
        separate = self._separate_tool
        if (
            separate is None
            or axis.entry != separate.entry
            or not (separate.is_copy or axis.parameter.name == separate.limit)
        ):
            return ""
        return f", only {one_line(separate.tool)}"

    def _show_map(self, in_plan: str) -> None:
        limits, across, down = self.limits, self.limits.axis, self.limits.down
        self.query_one("#tune", Pane).border_title = Content(f"Tune {_name(across)} (→) and {_name(down)} (↓)")
        if self.sweeps.grid is None:
            return
        help_of_both = f"→ {across.parameter.help}  ↓ {down.parameter.help}"
        self.query_one("#tune-values", Pane).border_title = Content(help_of_both)
        found = self.sweeps.grid.found
        here, plan = ((value(across), value(down)) for value in (limits.here, limits.in_plan))
        self.heat_map.chart = chart = heat_of(found, here, plan)
        marked = marked_pairs(chart, in_plan)
        self.query_one(FigureTable).table = rows_of(marked, self.outcome.baseline.figures, "→, ↓")
        if not found.is_complete:
            self.status.progress = WorkProgress("replaying pairs", found.done / found.cost.size)

    def _show_curves(self, in_plan: str) -> None:
        limits, axis, values = self.limits, self.limits.axis, self.query_one(FigureTable)
        baseline, known = self.outcome.baseline.figures, self.sweeps.curves.get(key_of(axis))
        if known is None:
            self.curves.chart = None
            values.table = rows_of([], baseline, axis.unit_in(limits.plan))
            self.status.progress = WorkProgress("replaying values", 0.0)
            return
        here, plan = limits.here(axis), limits.in_plan(axis)
        self.curves.chart = chart_of(known.found, baseline, known.sizes, here, plan)
        marked = marked_values(known.found, here, plan, in_plan)
        values.table = rows_of(marked, baseline, axis.unit_in(limits.plan))
        self.query_one("#tune-values", Pane).border_subtitle = Content(legend_of_values(marked, values.table))
        if not known.found.is_complete:
            self.status.progress = WorkProgress("replaying values", len(known.found.points) / POINTS)

    @on(TuneCurves.Moved)
    def _value_moved(self, event: TuneCurves.Moved) -> None:
        asked = event.chart.axis
        if self.limits.axes and asked is not None and key_of(asked) == key_of(self.limits.axis):
            self._has_chosen = True
            self._take(self.limits.looking(self.limits.axis, event.value))

    @on(HeatMap.Moved)
    def _pair_moved(self, event: HeatMap.Moved) -> None:
        self._look_at_pair(event.grid, event.place)

    def _look_at_pair(self, found: Grid, place: tuple[int, int]) -> None:
        """Select a pair of the map, unless other limits have been selected."""
        (row, column), limits = place, self.limits
        mapped = [key_of(found.across), key_of(found.down)]
        if len(limits.axes) > 1 and mapped == [key_of(limits.axis), key_of(limits.down)]:
            limits = limits.looking(limits.axis, float(found.columns[column]))
            self._take(limits.looking(limits.down, float(found.rows[row])))

    @on(ChoiceStrip.Chosen)
    def _limit_chosen(self, event: ChoiceStrip.Chosen) -> None:
        self._has_chosen = True
        self.action_choose(event.place)

    def action_choose(self, place: int) -> None:
        self._take(self.limits.with_selection(place))

    def action_next_limit(self, step: int) -> None:
        """Select the next or the previous limit."""
        if self.limits.axes:
            self.action_choose(self.limits.first + step)

    def action_next_down(self, step: int) -> None:
        """Select another second limit for the map."""
        limits = self.limits
        if len(limits.axes) > 2:
            second = (limits.second + step) % len(limits.axes)
            self._take(limits.with_selection(limits.first, second if second != limits.first else second + step))

    def action_one_tool(self) -> None:
        """Choose a tool to tune separately. The plan on trial treats it apart from the others."""
        self.run_dialog(self._choose_tool(), "choose a tool")

    async def _choose_tool(self) -> None:
        from inspector.ui.dialogs import Picker
        from inspector.ui.part_names import DialogChoice
        from inspector.ui.tune.rows import entry_to_separate, separate_tool, tools_with_results

        plan, history = self.controller.plan or self.outcome.plan, self.outcome.inputs.history
        axis = self.limits.axis if self.limits.axes else None
        looked_at = None if axis is None or axis.entry >= len(plan.entries) else axis.entry
        entry = entry_to_separate(plan, looked_at)
        if entry is None:
            names = ", ".join(dict.fromkeys(each.strategy.name for each in plan.entries)) or "the plan"
            self.show_notice(f"{names}: no tiers and no list of excluded tools, so no tool can have its own limit")
            return
        name = plan.entries[entry].strategy.name
        choices = [
            DialogChoice(
                each.name, one_line(each.name), f"{ON_SCREEN.plural(each.results, 'result')}, {each.place}", ONE_TOOL
            )
            for each in tools_with_results(plan, history, entry)
        ]
        if not choices:
            self.show_notice("no tool has results in this session")
            return
        tool = await self.app.push_screen_wait(Picker(f"Tune {name} for one tool", choices))
        if tool is None:
            return
        limit = axis.parameter.name if axis is not None and entry == looked_at else ""
        separate = separate_tool(plan, history, tool, entry, limit)
        if separate is None:
            self.show_notice(f"every tier of {name} has other tools of this session; none is free for {tool}")
            return
        self._separate_tool, self._is_map = separate, False
        self._take(Limits.of(separate.plan, self.limits).preferring(separate.entry, separate.limit))

    def action_step(self, steps: int) -> None:
        """Move the limit by steps of its range, even before its curve is computed."""
        if self.limits.axes:
            axis = self.limits.axis
            self._take(self.limits.looking(axis, axis.scale.stepped(self.limits.here(axis), steps)))

    def action_edge(self, end: int) -> None:
        """Move the limit to its minimum (0) or its maximum."""
        if self.limits.axes:
            scale = self.limits.axis.scale
            self._take(self.limits.looking(self.limits.axis, scale.maximum if end else scale.minimum))

    def action_map(self) -> None:
        """Toggle between the map of two limits and the curves of one."""
        self._is_map = not self._is_map
        self._take(self.limits)

    def action_mark(self, name: Literal["knee", "least", "plan"]) -> None:
        """Select a marked value."""
        limits = self.limits
        if not limits.axes:
            return
        known = self.sweeps.curves.get(key_of(limits.axis))
        if name == "plan":
            for axis in (limits.axis, limits.down):
                limits = limits.looking(axis, limits.in_plan(axis))
            self._take(limits)
        elif self._is_map:
            self._go_to_best_pair()
        elif known is not None:
            point = known.found.knee if name == "knee" else known.found.least
            if limits.axis.parameter.is_assumed:
                self.show_notice("this is an assumption, not a limit: no value of it is better than another")
            elif point is None and name == "least":
                self.show_notice("no value that cuts anything has been tried in public")
            elif point is None:
                self.show_notice("the curve has no knee: it is nowhere well below the straight line between its ends")
            else:
                self._take(limits.looking(limits.axis, point.value))

    def _go_to_best_pair(self) -> None:
        """Select the best tried pair of the map, once it is known."""
        grid = self.sweeps.grid
        if grid is not None and grid.found.least is not None:
            self._look_at_pair(grid.found, grid.found.least)
        elif grid is not None:
            self.show_notice("no pair that cuts anything has been tried in public")

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """Return a function that explains the plan with the selected value."""
        from inspector.ui.explain import explained_plan

        limits = self.limits
        if not limits.axes:
            return super().explains()
        axes: tuple[TunableLimit, ...] = (limits.axis, limits.down) if self._is_map else (limits.axis,)
        try:
            plan = limits.applied(*axes)
        except ParameterError:
            return super().explains()
        terms, runs = self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(self.outcome.replay.history)
        return partial(explained_plan, self.outcome, plan, terms, runs, search)

    def action_apply(self) -> None:
        """Apply the selected values to the plan."""
        limits = self.limits
        axes: tuple[TunableLimit, ...] = (limits.axis, limits.down) if self._is_map else (limits.axis,)
        try:
            plan = limits.applied(*axes)
        except ParameterError as error:
            self.show_notice(str(error), is_problem=True)
            return
        if plan == (limits.plan if self._separate_tool is None else self._separate_tool.before):
            self.show_notice("the plan already has this value")
            return
        self.controller.edit_plan(plan)
        if self._separate_tool is not None:
            self._separate_tool = replace(self._separate_tool, before=plan, plan=plan)
        self.show_outcome()
        self.show_notice("applied to the plan; ctrl+z undoes it, esc goes back to the session")

    def action_undo(self) -> None:
        super().action_undo()
        self.show_outcome()

    def action_redo(self) -> None:
        super().action_redo()
        self.show_outcome()

    def commands(self) -> Iterable[PaletteCommand]:
        for place, axis in enumerate(self.limits.axes):
            yield PaletteCommand(
                f"Tune {_name(axis)}",
                axis.parameter.help,
                partial(self.action_choose, place),
                also="limit",
                section="Plan",
            )
        yield from super().commands()


def _name(axis: TunableLimit) -> str:
    return f"{axis.strategy} {axis.parameter.name.replace('-', ' ')}"


def _fitted_help(text: str, width: int) -> str:
    """Return the help of a parameter, without its second clause if it does not fit."""
    text = text.removesuffix(".")
    return text if len(text) <= width else text.partition(";")[0]
