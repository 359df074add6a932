"""Strategies as frozen dataclasses with one field per parameter, each described exactly once.

A field gives its kind, default, help sentence and range. The parameter's name is the attribute's name with hyphens:

    keep: int = integer(3, "How many of the newest results stay.", "results", maximum=1_000)
"""

from __future__ import annotations

from dataclasses import Field, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from inspector.strategies.core.parameters import UNITS, Parameter, ParameterKind, ParameterValue, ToolList

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import AgentSettings
    from inspector.strategies.history.history import History

_LOGARITHMIC_FROM = 1_000


class Parametrized:
    """Base of the strategies here: collects the parameters of its fields and validates every value on construction.

    An invalid value raises `ParameterError` from the constructor, so an existing strategy is valid. The class
    attributes are described in `Strategy`. A strategy that another system's configuration can express also has a
    `agent_settings`. `note` holds details of variants, and whether an API can refuse the messages.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    note: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    agent_settings: ClassVar[AgentSettings | None] = None

    def __init_subclass__(cls) -> None:
        own = tuple(
            replace(value.metadata["parameter"], name=name.replace("_", "-"))
            for name, value in vars(cls).items()
            if isinstance(value, Field) and "parameter" in value.metadata
        )
        # Shared parameters come after the strategy's own.
        cls.parameters = (*own, *cls.parameters)

    def __post_init__(self) -> None:
        for parameter in self.parameters:
            value = parameter.checked(getattr(self, parameter.field))
            object.__setattr__(self, parameter.field, value)


def integer(
    default: int,
    text: str,
    unit: str,
    *,
    maximum: int,
    minimum: int = 0,
    group: str = "",
    logarithmic: bool | None = None,
    is_assumed: bool = False,
) -> Any:
    """Declare a whole number; controls of large ranges move in ratios unless `logarithmic` is given."""
    ratios = maximum > _LOGARITHMIC_FROM if logarithmic is None else logarithmic
    described = (text, unit, minimum, maximum)
    kind = ParameterKind.WHOLE_NUMBER
    return _field(kind, default, *described, group=group, logarithmic=ratios, is_assumed=is_assumed)


def number(default: float, text: str, unit: str = "", *, minimum: float, maximum: float, group: str = "") -> Any:
    return _field(ParameterKind.NUMBER, default, text, unit, minimum, maximum, group=group)


def switch(default: bool, text: str, *, group: str = "") -> Any:
    return _field(ParameterKind.SWITCH, default, text, group=group)


def choice(choices: tuple[str, ...], text: str, *, default: str = "", group: str = "") -> Any:
    """Declare a choice of several values; the first is the default if none is given."""
    return _field(ParameterKind.CHOICE, default or choices[0], text, choices=choices, group=group)


def limit_unit(what: str = "the limits", *, group: str = "") -> Any:
    return choice(UNITS, f"Unit of {what}.", group=group)


def tools(default: tuple[str, ...], text: str, *, about: ToolList = ToolList.OTHER, group: str = "") -> Any:
    return _field(ParameterKind.TOOLS, default, text, group=group, about=about)


def string(default: str, text: str, *, group: str = "") -> Any:
    return _field(ParameterKind.TEXT, default, text, group=group)


def model_window(*, group: str = "") -> Any:
    """Declare the context window that fractions refer to."""
    text = "The model's context window; 0 for the size shown in chart and report."
    return integer(0, text, "tokens", maximum=10_000_000, group=group, is_assumed=True)


DEFAULT_WINDOW = 200_000
"""Context window in tokens if both the plan and the session leave it open."""


def window_of(history: History, given: int) -> int:
    """Return the window in tokens: the plan's value, otherwise the session model's, otherwise the usual one."""
    return given or history.window or history.session.window or DEFAULT_WINDOW


def summary_length() -> Any:
    """Declare the length of a summary, which no plan can know."""
    text = "Assumed summary length; defaults to that of recorded summaries, if any."
    return integer(1_500, text, "tokens", minimum=50, maximum=50_000, is_assumed=True)


def _field(kind: ParameterKind, default: ParameterValue, text: str, *described: Any, **named: Any) -> Any:
    """Build the dataclass field for a parameter; the parameter is named after the attribute later."""
    parameter = Parameter("", kind, default, text, *described, **named)
    return field(default=default, metadata={"parameter": parameter})
