"""An entry of the plan: the strategy's switch and a control for each of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style

from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import ParameterKind
from inspector.ui.actions.action import bindings
from inspector.ui.actions.main_screen import NUMBERED
from inspector.ui.actions.parts import STRATEGY
from inspector.ui.plan.controls import (
    FOCUS_MARK,
    ChoiceControl,
    FoldRow,
    ParameterControl,
    PlanControl,
    SwitchControl,
    TextControl,
)
from inspector.ui.plan.hint_drawing import clipped
from inspector.ui.plan.slider import LimitSlider
from inspector.ui.plan.slider_drawing import NO_EFFECT, Effect, effect_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from inspector.replay.engine.replay import GroupEffect
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.plan import PlanEntry
    from inspector.ui.plan.sizes import PlanSizes


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
        self.explanation = f"{strategy.title}. {strategy.summary} Source: {strategy.source}"
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
            control = self._control(parameter, value_of(self.entry, parameter))
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
                return LimitSlider(self.index, parameter, value)
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
            control.value = value_of(entry, control.parameter)
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


def value_of(entry: PlanEntry, parameter: Parameter) -> ParameterValue:
    """Return the value of a parameter in an entry's strategy."""
    value: ParameterValue = getattr(entry.strategy, parameter.field)
    return value
