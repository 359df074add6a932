"""One entry of the plan: the strategy's switch and a control for each of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical

from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import ParameterKind
from inspector.ui import numbers
from inspector.ui.widgets.choice_control import ChoiceControl, SwitchControl, TextControl
from inspector.ui.widgets.fold_row import FoldRow
from inspector.ui.widgets.limit_slider import LimitSlider
from inspector.ui.widgets.parameter_control import NO_EFFECT, Effect, ParameterControl
from inspector.ui.widgets.strategy_toggle import StrategyToggle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from textual.app import ComposeResult

    from inspector.replay.replay import GroupOutcome
    from inspector.replay.sizes import Sizes
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.plan import PlanEntry
    from inspector.ui.plan.sizes import LimitName

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
            control.is_off = not entry.enabled

    def show_sizes(self, sizes: Mapping[LimitName, Sizes]) -> None:
        """Show how large the results are that each limit is about."""
        for control in self._parameters:
            if isinstance(control, LimitSlider):
                control.sizes = sizes.get((self.index, control.parameter.name))

    def show_outcomes(self, outcomes: Mapping[str, GroupOutcome]) -> None:
        """Show what each part of the strategy does, by the part's name."""
        if not self._toggle.is_mounted:
            return  # not composed yet; whoever mounts it shows the outcomes again
        tiers = {control.parameter.group for control in self._parameters} - {""}
        for control in self._parameters:
            group = control.parameter.group
            if control.parameter.kind in _NUMBERS and group:
                control.effect = effect_of(outcomes.get(group)) if self.entry.enabled else NO_EFFECT
        rest = [outcome for group, outcome in outcomes.items() if group not in tiers and outcome.results]
        self._toggle.effect = effect_of(rest[0]) if len(rest) == 1 and self.entry.enabled else NO_EFFECT


def main_parameters(parameters: Sequence[Parameter]) -> list[Parameter]:
    """What is shown at once: a strategy's first few limits. When it may edit, which many strategies share, is not."""
    limits = [parameter for parameter in parameters if parameter.kind in _NUMBERS and parameter.group != BATCHING]
    return limits[:MOST_LIMITS]


def value_of(entry: PlanEntry, parameter: Parameter) -> ParameterValue:
    """The value an entry's strategy has for a parameter."""
    value: ParameterValue = getattr(entry.strategy, parameter.field)
    return value


def effect_of(outcome: GroupOutcome | None) -> Effect:
    """An outcome in words."""
    if outcome is None:
        return NO_EFFECT
    if not outcome.results:
        return Effect("no results", brief="no results")
    brief = f"{numbers.whole(outcome.touched)} of {numbers.whole(outcome.results)}"
    touched = f"{numbers.whole(outcome.touched)} of {numbers.plural(outcome.results, 'result')}"
    sign = "+" if outcome.tokens_cut < 0 else ""
    return Effect(touched, f"{sign}{numbers.short(-outcome.tokens_cut)} tk", brief)
