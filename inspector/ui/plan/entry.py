"""One entry of the plan: the strategy's switch and a control for each of its parameters."""

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
"""Says in a cell what a click on it does, other than switching."""
MOVES = (("↑", "earlier"), ("↓", "later"), ("×", "remove"))  # noqa: RUF001  a cross is meant
MOVES_CELLS = 2 * len(MOVES)


class StrategyToggle(PlanControl):
    """`[x] tiered-stale 1`: a box, the strategy's name, and the number key that switches it from anywhere."""

    TITLE_IN_HELP = "A strategy"
    HELP = "Space or a click switches the strategy, delete takes it out. The arrows and the cross in it can be clicked."

    DEFAULT_CSS = """
    StrategyToggle { height: auto; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(STRATEGY)

    enabled: reactive[bool] = reactive(False)
    """Whether the strategy is on."""
    effect: reactive[Effect] = reactive(NO_EFFECT)
    """What the strategy as a whole does, where it has no tiers to say it."""

    @dataclass
    class Switched(Message):
        """The strategy should be switched."""

        entry: int

    @dataclass
    class Removed(Message):
        """The strategy should leave the plan."""

        entry: int

    @dataclass
    class Moved(Message):
        """The strategy should change places: by -1 up, by 1 down."""

        entry: int
        places: int

    def __init__(self, entry: int, strategy: Strategy, *, enabled: bool) -> None:
        super().__init__()
        self._title = "" if has_tiers(strategy) else strategy.title
        self.entry = entry
        """Index of the plan's entry."""
        self.strategy_name = strategy.name
        """The strategy's name in plans."""
        self.explanation = f"{strategy.title}. {strategy.summary} From {strategy.source}"
        """What it is and where it comes from."""
        self.set_reactive(StrategyToggle.enabled, enabled)
        self._pressed = ""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  rows alone decide
        """Two rows where no limit says what its tier does, whether there is anything to say or not."""
        return 2 if self._title else 1

    def render(self) -> Content:
        """The row; below it what the strategy does, or would, where no limit tells."""
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
        """What the mouse can do besides: move the strategy up or down, take it out."""
        style = self.get_visual_style("strategy--key")
        return [Content.styled(f" {glyph}", style + Style.from_meta({_DOES: does})) for glyph, does in MOVES]

    def watch_mouse_hover(self, _: bool) -> None:
        """Show what the mouse can do here, or not any more."""
        self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remember what is under the mouse: the focus may make room for an explanation, and shift the row."""
        self._pressed = event.style.meta.get(_DOES, "")

    def on_click(self) -> None:
        """Switch, or do what the glyph says that was clicked."""
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
        """Ask for the other state."""
        self.post_message(self.Switched(self.entry))

    def action_remove(self) -> None:
        """Ask to be taken out."""
        self.post_message(self.Removed(self.entry))

    def action_move(self, places: int) -> None:
        """Ask for another place."""
        self.post_message(self.Moved(self.entry, places))


NARROWEST_LABEL, WIDEST_LABEL = 8, 14
MOST_SHOWN = 2
"""Other parameters that are still shown unfolded."""

MOST_LIMITS = 6
"""Sliders shown unfolded."""

_NUMBERS = (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER)


class PlanEntryView(Vertical):
    """The controls of one entry, made from the descriptions of its strategy's parameters."""

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
        """The entry's place in the plan."""
        self.entry = entry
        """What is shown."""
        self._toggle = StrategyToggle(index, entry.strategy, enabled=entry.enabled)
        self._parameters: list[ParameterControl] = []

    def compose(self) -> ComposeResult:
        """The switch, the limits, and the other parameters, folded away where there are many."""
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
        """Show other values of the same strategy."""
        self.entry = entry
        self._toggle.enabled = entry.enabled
        for control in self._parameters:
            control.value = value_of(entry, control.parameter)
        self._show_switch()

    def _show_switch(self) -> None:
        """Draw controls faintly where the strategy is off; those folded away, once they are seen: there are many."""
        for control in self._parameters:
            if control.parent is self or self.has_class("-open"):
                control.is_off = not self.entry.enabled

    def show_sizes(self, sizes: PlanSizes) -> None:
        """Show how large the results are that each limit is about."""
        for control in self._limits:
            name = self.index, control.parameter.name
            control.sizes, control.largest = sizes.of.get(name), sizes.largest.get(name)

    def show_outcomes(self, outcomes: Mapping[str, GroupEffect]) -> None:
        """Show what each part of the strategy does, by the part's name."""
        if not self._toggle.is_mounted:
            return  # not composed yet; whoever mounts it shows the outcomes again
        for control in self._limits:
            group = control.parameter.group
            if group:
                control.effect = effect_of(outcomes.get(group)) if self.entry.enabled else NO_EFFECT
        tiers = {parameter.group for parameter in self.entry.strategy.parameters} - {""}
        rest = [outcome for group, outcome in outcomes.items() if group not in tiers and outcome.results]
        # What a part without a limit left alone says nothing where the others changed something.
        is_told = len(rest) == 1 and (rest[0].touched or not any(each.touched for each in outcomes.values()))
        self._toggle.effect = effect_of(rest[0]) if is_told and self.entry.enabled else NO_EFFECT

    @property
    def _limits(self) -> list[LimitSlider]:
        return [control for control in self._parameters if isinstance(control, LimitSlider)]


def has_tiers(strategy: Strategy) -> bool:
    """Whether a strategy has limits of parts, each of which says what its part does."""
    return any(each.kind in _NUMBERS and each.group not in ("", BATCHING) for each in strategy.parameters)


def main_parameters(parameters: Sequence[Parameter]) -> list[Parameter]:
    """What is shown at once: a strategy's first few limits. When it may edit, which many strategies share, is not."""
    limits = [parameter for parameter in parameters if parameter.kind in _NUMBERS and parameter.group != BATCHING]
    return limits[:MOST_LIMITS]


def value_of(entry: PlanEntry, parameter: Parameter) -> ParameterValue:
    """The value an entry's strategy has for a parameter."""
    value: ParameterValue = getattr(entry.strategy, parameter.field)
    return value
