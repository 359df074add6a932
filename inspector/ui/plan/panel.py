"""Plan pane: the strategies as a list, with a control for every limit and its effect."""

from __future__ import annotations

from asyncio import Lock
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import Parameter, ParameterKind, ParameterValue
from inspector.strategies.registry import unit_of, value_of
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import ADD_STRATEGY, PLAN_PANEL, STRATEGY
from inspector.ui.part_names import NUMBERED
from inspector.ui.plan.controls import (
    FOCUS_MARK,
    ChoiceControl,
    FoldRow,
    LimitSlider,
    ParameterControl,
    PlanControl,
    SwitchControl,
    TextControl,
)
from inspector.ui.plan.limits import NO_EFFECT, Effect, PlanSizes, clipped, effect_of, hint_lines, risk_lines
from inspector.ui.toolkit.one_line import ACTION, clickable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from inspector.replay.engine.replay import GroupEffect
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.plan import Plan, PlanEntry


_DOES = "inspector_does"
"""Style metadata key: the effect of a click on a cell, if it is not switching."""
MOVES = (("↑", "earlier"), ("↓", "later"), ("×", "remove"))  # noqa: RUF001  a cross is meant
MOVES_CELLS = 2 * len(MOVES)


class StrategyToggle(PlanControl):
    """Row such as `[x] tiered-stale 1`: checkbox, strategy name, and the number key that switches it."""

    TITLE_IN_HELP = "A strategy"
    HELP = "Space or a click switches the strategy, delete removes it. The arrows and the cross are clickable."

    DEFAULT_CSS = """
    StrategyToggle { height: auto; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(STRATEGY)

    enabled: reactive[bool] = reactive(False)
    """True if the strategy is on."""
    effect: reactive[Effect] = reactive(NO_EFFECT)
    """Effect of the whole strategy, if it has no tiers with their own effects."""

    @dataclass
    class Switched(Message):
        """Posted to switch the strategy on or off."""

        entry: int

    @dataclass
    class Removed(Message):
        """Posted to remove the strategy from the plan."""

        entry: int

    @dataclass
    class Moved(Message):
        """Posted to move the strategy: -1 is up, 1 is down."""

        entry: int
        places: int

    def __init__(self, entry: int, strategy: Strategy, *, enabled: bool) -> None:
        super().__init__()
        self._title = "" if has_tiers(strategy) else strategy.title
        self.entry = entry
        """Index of the plan's entry."""
        self.strategy_name = strategy.name
        """Name of the strategy in plans."""
        self.explanation = f"{strategy.summary} Source: {strategy.source}"
        """Description and source of the strategy."""
        self.set_reactive(StrategyToggle.enabled, enabled)
        self._pressed = ""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  the height is fixed
        """Return two rows if no limit shows the effect of its tier, even while there is no effect to show."""
        return 2 if self._title else 1

    def render(self) -> Content:
        """Render the row, and below it the effect or the title of a strategy without tiers."""
        key = str(self.entry + 1) if self.entry < NUMBERED else " "
        width = self.content_size.width
        moves = self._moves() if self.has_focus or self.mouse_hover else ()
        doing = "" if moves or self._title else self.effect.within(width - 9 - len(self.strategy_name))
        name_width = max(width - 8 - (MOVES_CELLS if moves else len(doing)), 4)
        row = Content.assemble(
            f"{FOCUS_MARK if self.has_focus else ' '} ",
            (
                f"[{'x' if self.enabled else ' '}] {clipped(self.strategy_name, name_width):<{name_width}}",
                self.get_visual_style("strategy--on" if self.enabled else "strategy--off"),
            ),
            (doing, self.get_visual_style("strategy--effect")),
            *moves,
            (f" {key}", self.get_visual_style("strategy--key")),
        )
        if not self._title:
            return row
        below = self.effect.line(width) if self.effect.is_known else f"      {clipped(self._title, width - 6)}"
        return Content("\n").join([row, Content.styled(below, self.get_visual_style("strategy--effect"))])

    def _moves(self) -> list[Content]:
        """Build the glyphs to move the strategy up or down or to remove it."""
        style = self.get_visual_style("strategy--key")
        return [Content.styled(f" {glyph}", style + Style.from_meta({_DOES: does})) for glyph, does in MOVES]

    def watch_mouse_hover(self, _: bool) -> None:
        self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Store the glyph under the mouse, because focusing the row may shift it before the click arrives."""
        self._pressed = event.style.meta.get(_DOES, "")

    def on_click(self) -> None:
        """Switch, or run the action of the clicked glyph."""
        pressed, self._pressed = self._pressed, ""
        match pressed:
            case "remove":
                self.action_remove()
            case "earlier":
                self.action_move(-1)
            case "later":
                self.action_move(1)
            case _:
                self.action_switch()

    def action_switch(self) -> None:
        self.post_message(self.Switched(self.entry))

    def action_remove(self) -> None:
        self.post_message(self.Removed(self.entry))

    def action_move(self, places: int) -> None:
        self.post_message(self.Moved(self.entry, places))


NARROWEST_LABEL, WIDEST_LABEL = 8, 14
MOST_SHOWN = 2
"""Number of non-limit parameters that are shown without folding."""

MOST_LIMITS = 6
"""Maximum number of unfolded sliders."""

_NUMBERS = (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER)


class PlanEntryView(Vertical):
    """Controls of an entry, built from the parameters of its strategy."""

    DEFAULT_CSS = """
    PlanEntryView {
        height: auto;
        width: 1fr;
        margin-bottom: 1;
        .folded { height: auto; display: none; }
        &.-open .folded { display: block; }
    }
    """

    def __init__(self, index: int, entry: PlanEntry) -> None:
        super().__init__()
        self.index = index
        """Index of the plan's entry."""
        self.entry = entry
        """The entry on display."""
        self._toggle = StrategyToggle(index, entry.strategy, enabled=entry.enabled)
        self._parameters: list[ParameterControl] = []

    def compose(self) -> ComposeResult:
        """Compose the switch, the limits, and the other parameters, which are folded if there are many."""
        strategy = self.entry.strategy
        self._parameters = []
        yield self._toggle
        limits = main_parameters(strategy.parameters)
        others = [parameter for parameter in strategy.parameters if parameter not in limits]
        yield from self._controls(limits)
        if len(others) > MOST_SHOWN:
            yield FoldRow(len(others))
            with Vertical(classes="folded"):
                yield from self._controls(others)
        else:
            yield from self._controls(others)

    def _controls(self, parameters: Sequence[Parameter]) -> Iterator[ParameterControl]:
        widest = max((len(parameter.name) for parameter in parameters), default=0)
        for parameter in parameters:
            control = self._control(parameter, value_of(self.entry.strategy, parameter))
            control.label_width = min(max(widest, NARROWEST_LABEL), WIDEST_LABEL)
            control.set_reactive(ParameterControl.is_off, not self.entry.enabled)
            self._parameters.append(control)
            yield control

    @on(FoldRow.Folded)
    def _folded(self, event: FoldRow.Folded) -> None:
        event.stop()
        self.set_class(event.is_open, "-open")
        self._show_switch()

    def _control(self, parameter: Parameter, value: ParameterValue) -> ParameterControl:
        match parameter.kind:
            case ParameterKind.WHOLE_NUMBER | ParameterKind.NUMBER:
                return LimitSlider(self.index, parameter, value, unit_of(self.entry.strategy, parameter))
            case ParameterKind.SWITCH:
                return SwitchControl(self.index, parameter, value)
            case ParameterKind.CHOICE:
                return ChoiceControl(self.index, parameter, value)
            case ParameterKind.TEXT | ParameterKind.TOOLS:
                return TextControl(self.index, parameter, value)

    def show(self, entry: PlanEntry) -> None:
        """Show new values of the same strategy."""
        self.entry = entry
        self._toggle.enabled = entry.enabled
        for control in self._parameters:
            control.value = value_of(entry.strategy, control.parameter)
            if isinstance(control, LimitSlider):
                control.unit = unit_of(entry.strategy, control.parameter)
        self._show_switch()

    def _show_switch(self) -> None:
        """Dim the controls if the strategy is off. Folded ones are many, so update them when unfolded."""
        for control in self._parameters:
            if control.parent is self or self.has_class("-open"):
                control.is_off = not self.entry.enabled

    def show_sizes(self, sizes: PlanSizes) -> None:
        """Show the sizes of the results that each limit applies to."""
        for control in self._limits:
            name = self.index, control.parameter.name
            control.sizes, control.largest = sizes.of.get(name), sizes.largest.get(name)

    def show_outcomes(self, outcomes: Mapping[str, GroupEffect]) -> None:
        """Show the effect of each tier of the strategy, by name."""
        if not self._toggle.is_mounted:
            return  # not composed yet; the effects are shown again after mounting
        for control in self._limits:
            group = control.parameter.group
            if group:
                control.effect = effect_of(outcomes.get(group)) if self.entry.enabled else NO_EFFECT
        tiers = {parameter.group for parameter in self.entry.strategy.parameters} - {""}
        rest = [outcome for group, outcome in outcomes.items() if group not in tiers and outcome.results]
        # A group without a limit that changed nothing is not worth showing if other groups changed something.
        is_shown = len(rest) == 1 and (rest[0].touched or not any(each.touched for each in outcomes.values()))
        self._toggle.effect = effect_of(rest[0]) if is_shown and self.entry.enabled else NO_EFFECT

    @property
    def _limits(self) -> list[LimitSlider]:
        return [control for control in self._parameters if isinstance(control, LimitSlider)]


def has_tiers(strategy: Strategy) -> bool:
    """Return True if a strategy has limits per tier, each of which shows the effect of its tier."""
    return any(each.kind in _NUMBERS and each.group not in ("", BATCHING) for each in strategy.parameters)


def main_parameters(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters shown unfolded: the first few limits, without the timing of edits."""
    limits = [parameter for parameter in parameters if parameter.kind in _NUMBERS and parameter.group != BATCHING]
    return limits[:MOST_LIMITS]


INTRODUCTION = (
    "A plan decides which text to leave out of prompts. Switch a strategy on by its number or a click, and drag its "
    "limits: every call is replayed."
)


class AddStrategy(Static, can_focus=True):
    """Row that opens the list of strategies."""

    HELP = "Press enter or click to choose a strategy to add to the plan."

    ALLOW_SELECT = False  # a click presses the row instead of selecting text

    BINDINGS: ClassVar[list[BindingType]] = bindings(ADD_STRATEGY)

    class Pressed(Message):
        """Posted to add a strategy."""

    def on_click(self) -> None:
        self.action_add()

    def action_add(self) -> None:
        self.post_message(self.Pressed())


class PlanActions(Static):
    """Clickable actions on the whole plan. Each also has a key that works in every pane."""

    ALLOW_SELECT = False

    ACTIONS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("a", "A/B", "do('plan.swap')"),
        ("w", "save", "menu('w')"),
        ("w e", "use in an agent", "do('plan.export')"),
    )
    """Key, label and screen action of each entry."""

    def __init__(self) -> None:
        words = [clickable(f"{key} {name}", action) for key, name, action in self.ACTIONS]
        super().__init__(Content("  ") + Content("  ").join(words), id="plan-actions", markup=False)

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked action."""
        if action := event.style.meta.get(ACTION):
            await self.screen.run_action(action)


class ReservedLines(Widget):
    """Area of fixed height for lines, which are fitted into it."""

    lines: reactive[tuple[str, ...]] = reactive(())
    """The lines, before fitting."""

    def __init__(
        self,
        fitted: Callable[[Sequence[str], int, int], list[str]],
        *lines: str,
        id: str,  # noqa: A002  Textual's own
    ) -> None:
        super().__init__(id=id)
        self._fitted = fitted
        self.set_reactive(ReservedLines.lines, lines)

    def render(self) -> Content:
        """Render as many lines as fit."""
        return Content("\n".join(self._fitted(self.lines, *self.content_size)))


class PlanList(VerticalScroll, can_focus=False, inherit_bindings=False):
    """Scrollable list of entries. It has no keys, because its controls use the arrow keys."""

    def on_mount(self) -> None:
        """Keep the focused control visible when controls appear or disappear."""
        self.watch(self, "virtual_size", self._keep_in_sight_soon, init=False)

    def _keep_in_sight_soon(self) -> None:
        self.call_after_refresh(self.scroll_to_focus)

    def on_resize(self) -> None:
        """Keep the focused control visible in the new height."""
        self.scroll_to_focus()

    def scroll_to_focus(self) -> None:
        """Scroll to the focused control."""
        focused = self.screen.focused
        if (
            focused is not None
            and self in focused.ancestors
            and not (isinstance(focused, ParameterControl) and focused.is_held)
        ):
            focused.scroll_visible(animate=False)


def shape_of(plan: Plan) -> tuple[str, ...]:
    """Return the names of a plan's strategies, which determine its controls."""
    return tuple(entry.strategy.name for entry in plan.entries)


def _is_shown(widget: Widget) -> bool:
    """Return True if the widget and its ancestors are displayed."""
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


class PlanPanel(Vertical):
    """Show a plan and post changes to it. The plan itself is stored elsewhere and passed to `show`."""

    HELP = """Switch strategies with space, a click, or their number from any pane. Change limits by dragging, with the
    arrow keys (fine steps with shift or the wheel), or by typing a number and pressing enter."""

    # Risks, the other plan and the help have fixed heights, so that nothing moves when they appear.
    DEFAULT_CSS = """
    PlanPanel {
        #plan-entries { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
        #add-strategy { color: $text-muted; width: 1fr; pointer: pointer; }
        #add-strategy:focus { background: $primary 20%; color: $foreground; text-style: bold; }
        #plan-actions { color: $text-muted; width: 1fr; height: 1; pointer: pointer; }
        #plan-risks { height: 2; padding: 0 1; color: $warning; }
        #plan-other-result { height: 2; padding: 0 1; color: $text-muted; display: none; }
        #plan-hint { height: 5; padding: 0 1; color: $text-muted; border-top: solid $border-blurred; }
        & > .parameter--label { color: $foreground; }
        & > .parameter--value { text-style: bold; color: $foreground; }
        & > .parameter--effect { color: $text-muted; }
        & > .parameter--track { color: $text-disabled; }
        & > .parameter--filled { color: $primary; }
        & > .parameter--thumb { color: $accent; text-style: bold; }
        & > .parameter--kept { color: $text-muted; }
        & > .parameter--over { color: $warning; }
        & > .parameter--typed { text-style: bold reverse; color: $accent; }
        & > .strategy--on { text-style: bold; color: $success; }
        & > .strategy--off { color: $foreground; }
        & > .strategy--key { color: $accent; text-style: bold; }
        & > .strategy--effect { color: $text-muted; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(PLAN_PANEL)

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "parameter--label",
        "parameter--value",
        "parameter--effect",
        "parameter--track",
        "parameter--filled",
        "parameter--thumb",
        "parameter--typed",
        "parameter--kept",
        "parameter--over",
        "strategy--on",
        "strategy--off",
        "strategy--key",
        "strategy--effect",
    }
    """Component classes of the controls, which get their styles from the pane."""

    @dataclass
    class ValueChanged(Message):
        """Posted when a parameter changes.

        Attributes:
            entry: Index of the plan's entry.
            parameter: Name of the parameter.
            value: The new value.
            is_final: False during a drag.
        """

        entry: int
        parameter: str
        value: ParameterValue
        is_final: bool

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's own name
        super().__init__(id=id, classes=classes)
        self._shape: tuple[str, ...] | None = None
        self._views: tuple[PlanEntryView, ...] = ()
        self._outcomes: Sequence[GroupEffect] = ()
        self._sizes: PlanSizes | None = None
        self._last_focused: Widget | None = None
        self._showing = Lock()
        self._is_introduced = False

    def compose(self) -> ComposeResult:
        with PlanList(id="plan-entries"):
            yield AddStrategy(Content("  + add a strategy"), id="add-strategy")
            yield PlanActions()
        yield ReservedLines(risk_lines, id="plan-risks")
        yield Static(Content(""), id="plan-other-result", markup=False)
        yield ReservedLines(hint_lines, *(() if self._is_introduced else (INTRODUCTION,)), id="plan-hint")

    def show_soon(self, plan: Plan) -> None:
        """Schedule `show` without waiting for it."""
        self._introduce(plan)
        if shape_of(plan) == self._shape:
            self._show_values(plan)
        else:
            self.run_worker(self.show(plan), group="show", description="show the plan", exit_on_error=False)

    async def show(self, plan: Plan, focus: int | None = None) -> None:
        """Show a plan: with new controls if its strategies differ, otherwise with new values.

        Args:
            plan: Plan to show.
            focus: Entry to focus. By default the focus of a removed control moves to the entry that takes its position.
        """
        async with self._showing:
            self._introduce(plan)
            if shape_of(plan) == self._shape:
                self._show_values(plan)
            else:
                with self.app.batch_update():
                    await self._show_other(plan, focus)
            if focus is not None:
                self.focus_control(focus)

    def _introduce(self, plan: Plan) -> None:
        """Remove the introduction once a strategy is on."""
        if plan.strategies and not self._is_introduced:
            self._is_introduced = True
            for hint in self.query("#plan-hint").results(ReservedLines):
                hint.lines = () if hint.lines == (INTRODUCTION,) else hint.lines

    async def _show_other(self, plan: Plan, focus: int | None) -> None:
        """Mount new controls before removing the old ones, so that keys pressed meanwhile reach a focused control."""
        old, is_first, self._shape = self._views, self._shape is None, shape_of(plan)
        self._views = tuple(PlanEntryView(index, entry) for index, entry in enumerate(plan.entries))
        entries, focused = self.query_one(PlanList), self.screen.focused
        await entries.mount_all(self._views, before="#add-strategy")
        self._last_focused = None
        left = next((view.index for view in old if focused is not None and view in focused.ancestors), None)
        if focus is None and left is not None:
            focus = min(left, len(self._views) - 1)
        if focus is not None and focus >= 0:
            self.focus_control(focus)
        elif left is not None or (is_first and isinstance(focused, AddStrategy)):
            self.focus_control()  # the focus preceded the controls, or all controls are gone
        await entries.remove_children(old)
        now = self.screen.focused
        if not is_first and (now is None or self not in now.ancestors):
            # The help was about a removed control.
            self.show_message("" if self._is_introduced else INTRODUCTION)
        self.call_after_refresh(entries.scroll_to_focus)
        self.show_outcomes(self._outcomes)
        if self._sizes is not None:
            self.show_sizes(self._sizes)

    def _show_values(self, plan: Plan) -> None:
        for view, entry in zip(self._views, plan.entries, strict=True):
            if view.entry != entry:
                view.show(entry)

    def show_sizes(self, sizes: PlanSizes) -> None:
        """Show the sizes of the results that each limit applies to."""
        self._sizes = sizes
        for view in self._views:
            view.show_sizes(sizes)

    def show_other_result(self, text: str | None) -> None:
        """Show the effect of switching to the other plan; empty while unknown, None without another plan."""
        shown = self.query_one("#plan-other-result", Static)
        shown.update(Content(text or ""), layout=False)
        shown.display = text is not None

    def show_outcomes(self, outcomes: Sequence[GroupEffect]) -> None:
        """Show the effect of each part of the plan."""
        self._outcomes = outcomes
        for view in self._views:
            view.show_outcomes({outcome.group: outcome for outcome in outcomes if outcome.entry == view.index})

    def show_risks(self, lines: Sequence[str]) -> None:
        """Show the plan's risks, one per line, the worst first."""
        self.query_one("#plan-risks", ReservedLines).lines = tuple(lines)

    @property
    def controls(self) -> list[Widget]:
        """The visible focusable controls from top to bottom."""
        kinds = "StrategyToggle, ParameterControl, FoldRow"
        found = [widget for view in self._views for widget in view.query(kinds)]
        return [widget for widget in (*found, *self.query(AddStrategy)) if widget.focusable and _is_shown(widget)]

    def focus_control(self, entry: int | None = None) -> None:
        """Focus the switch of an entry, or by default the control that had the focus last."""
        controls = self.controls
        target = self._last_focused if self._last_focused in controls else None
        if entry is not None:
            target = (
                next(iter(self._views[entry].query(StrategyToggle)), target) if entry < len(self._views) else target
            )
        if target is None and controls:
            target = controls[0]
        if target is not None:
            self.screen.set_focus(target)

    def show_message(self, text: str) -> None:
        """Show a line below the controls until the focus moves."""
        self.query_one("#plan-hint", ReservedLines).lines = (text,)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._last_focused = event.widget
        # A new control has no position yet.
        self.call_after_refresh(self.query_one(PlanList).scroll_to_focus)
        self.show_help()

    def show_help(self) -> None:
        """Show help for the control that had the focus last."""
        widget = self._last_focused
        if isinstance(widget, ParameterControl | StrategyToggle):
            self.show_message(widget.explanation)
        elif isinstance(widget, FoldRow):
            self.show_message("Other settings of the strategy: tools, units, when it may act.")
        elif isinstance(widget, AddStrategy):
            self.show_message("All strategies, with their effects and sources.")

    def action_move_focus(self, places: int) -> None:
        """Move the focus up or down."""
        controls = self.controls
        focused = self.screen.focused
        if focused in controls:
            place = min(max(controls.index(focused) + places, 0), len(controls) - 1)
            self.screen.set_focus(controls[place])

    def action_switch_focused(self) -> None:
        """Switch the strategy of the focused control."""
        focused = self.screen.focused
        if isinstance(focused, ParameterControl | StrategyToggle):
            self.post_message(StrategyToggle.Switched(focused.entry))

    @on(ParameterControl.Changed)
    def _value_changed(self, event: ParameterControl.Changed) -> None:
        event.stop()
        control = event.sender_control
        self.post_message(self.ValueChanged(control.entry, control.parameter.name, event.value, event.is_final))

    @on(LimitSlider.RangeChanged)
    def _range_changed(self, event: LimitSlider.RangeChanged) -> None:
        event.stop()
        if event.slider.has_focus:
            self.show_message(event.slider.explanation)

    @on(ParameterControl.Refused)
    def _value_refused(self, event: ParameterControl.Refused) -> None:
        event.stop()
        self.show_message(event.reason)
