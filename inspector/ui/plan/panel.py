"""Plan pane: the strategies as a list, with a control for every limit and its effect."""

from __future__ import annotations

from asyncio import Lock
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import ADD_STRATEGY, PLAN_PANEL
from inspector.ui.plan.controls import FoldRow, ParameterControl
from inspector.ui.plan.entry import PlanEntryView, StrategyToggle
from inspector.ui.plan.hint_drawing import hint_lines, risk_lines
from inspector.ui.plan.slider import LimitSlider
from inspector.ui.toolkit.one_line import ACTION, clickable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.replay.engine.replay import GroupEffect
    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.plan import Plan
    from inspector.ui.plan.sizes import PlanSizes


INTRODUCTION = (
    "A plan decides which text to leave out of prompts. Switch a strategy on by its number or a click, and drag its "
    "limits: every call is replayed."
)
WITH_STRATEGIES_ON = "Drag a limit or type a value: every call is replayed."


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

    def compose(self) -> ComposeResult:
        with PlanList(id="plan-entries"):
            yield AddStrategy(Content("  + add a strategy"), id="add-strategy")
            yield PlanActions()
        yield ReservedLines(risk_lines, id="plan-risks")
        yield Static(Content(""), id="plan-other-result", markup=False)
        yield ReservedLines(hint_lines, INTRODUCTION, id="plan-hint")

    def show_soon(self, plan: Plan) -> None:
        """Schedule `show` without waiting for it."""
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
            if shape_of(plan) == self._shape:
                self._show_values(plan)
            else:
                with self.app.batch_update():
                    await self._show_other(plan, focus)
            if focus is not None:
                self.focus_control(focus)

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
            self.show_message(WITH_STRATEGIES_ON if any(entry.enabled for entry in plan.entries) else INTRODUCTION)
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
        """Show help for the focused control."""
        widget = event.widget
        self._last_focused = widget
        # A new control has no position yet.
        self.call_after_refresh(self.query_one(PlanList).scroll_to_focus)
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
