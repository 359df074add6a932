"""Short forms of parameters, one a kind: what a field of a strategy is set to."""

from __future__ import annotations

from typing import Any

from inspector.strategies.parameters import UNITS, Parameter, ParameterKind
from inspector.strategies.tunable import setting

_LOGARITHMIC_FROM = 1_000


def whole(
    name: str,
    default: int,
    text: str,
    unit: str,
    *,
    maximum: int,
    minimum: int = 0,
    group: str = "",
) -> Any:
    """The field of a whole number; controls of large ranges move in ratios."""
    kind, logarithmic = ParameterKind.WHOLE_NUMBER, maximum > _LOGARITHMIC_FROM
    return setting(Parameter(name, kind, default, text, unit, minimum, maximum, group=group, logarithmic=logarithmic))


def number(
    name: str, default: float, text: str, unit: str = "", *, minimum: float, maximum: float, group: str = ""
) -> Any:
    """The field of a number."""
    return setting(Parameter(name, ParameterKind.NUMBER, default, text, unit, minimum, maximum, group=group))


def switch(name: str, default: bool, text: str, *, group: str = "") -> Any:
    """The field of something that is on or off."""
    return setting(Parameter(name, ParameterKind.SWITCH, default, text, group=group))


def choice(name: str, choices: tuple[str, ...], text: str, *, default: str = "", group: str = "") -> Any:
    """The field of one of several values, the first where no default is given."""
    value = default or choices[0]
    return setting(Parameter(name, ParameterKind.CHOICE, value, text, choices=choices, group=group))


def limit_unit(what: str = "its limits", *, group: str = "") -> Any:
    """The field of what limits count: characters or tokens."""
    return choice("unit", UNITS, f"What {what} count.", group=group)


def tools(name: str, default: tuple[str, ...], text: str, *, group: str = "") -> Any:
    """The field of a list of tool names."""
    return setting(Parameter(name, ParameterKind.TOOLS, default, text, group=group))


def written(name: str, default: str, text: str, *, group: str = "") -> Any:
    """The field of a text."""
    return setting(Parameter(name, ParameterKind.TEXT, default, text, group=group))


def model_window() -> Any:
    """The field of the window that fractions are of."""
    text = "Size of the model's window; 0 for the one the chart and the report name."
    return whole("window", 0, text, "tokens", maximum=10_000_000)


def summary_length() -> Any:
    """The field of how long a summary comes out, which no plan can know."""
    text = "How long each summary is taken to be; as the session's own, where it recorded any."
    return whole("summary-tokens", 1_500, text, "tokens", minimum=50, maximum=50_000)
