"""Strategies as frozen dataclasses whose fields are their parameters, each described exactly once."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any, ClassVar

from inspector.strategies.core.parameters import UNITS, Parameter, ParameterKind


def parameter_field(parameter: Parameter, *, keyword_only: bool = False) -> Any:
    """The dataclass field that holds a parameter's value, with the parameter's default."""
    return field(default=parameter.default, metadata={"parameter": parameter}, kw_only=keyword_only)


class Parametrized:
    """Base of the strategies here: collects the parameters of its fields and checks every value when one is made.

    A value no parameter can take raises `ParameterError` from the constructor, so that a strategy that exists is valid.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init_subclass__(cls) -> None:
        described = [
            (name, value.metadata["parameter"])
            for name, value in vars(cls).items()
            if isinstance(value, Field) and "parameter" in value.metadata
        ]
        for name, parameter in described:
            if parameter.field != name:
                raise TypeError(
                    f"{cls.__name__}.{name} holds the parameter {parameter.name}, whose field is {parameter.field}"
                )
        # What a strategy shares with others comes after what is its own.
        cls.parameters = (*(parameter for _, parameter in described), *cls.parameters)

    def __post_init__(self) -> None:
        for parameter in self.parameters:
            value = parameter.checked(getattr(self, parameter.field))
            object.__setattr__(self, parameter.field, value)

    def values(self) -> dict[str, object]:
        """Every parameter's value, by the parameter's name."""
        return {parameter.name: getattr(self, parameter.field) for parameter in self.parameters}


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
    return parameter_field(
        Parameter(name, kind, default, text, unit, minimum, maximum, group=group, logarithmic=logarithmic)
    )


def number(
    name: str, default: float, text: str, unit: str = "", *, minimum: float, maximum: float, group: str = ""
) -> Any:
    """The field of a number."""
    return parameter_field(Parameter(name, ParameterKind.NUMBER, default, text, unit, minimum, maximum, group=group))


def switch(name: str, default: bool, text: str, *, group: str = "") -> Any:
    """The field of something that is on or off."""
    return parameter_field(Parameter(name, ParameterKind.SWITCH, default, text, group=group))


def choice(name: str, choices: tuple[str, ...], text: str, *, default: str = "", group: str = "") -> Any:
    """The field of one of several values, the first where no default is given."""
    value = default or choices[0]
    return parameter_field(Parameter(name, ParameterKind.CHOICE, value, text, choices=choices, group=group))


def limit_unit(what: str = "its limits", *, group: str = "") -> Any:
    """The field of what limits count: characters or tokens."""
    return choice("unit", UNITS, f"What {what} count.", group=group)


def tools(name: str, default: tuple[str, ...], text: str, *, group: str = "") -> Any:
    """The field of a list of tool names."""
    return parameter_field(Parameter(name, ParameterKind.TOOLS, default, text, group=group))


def written(name: str, default: str, text: str, *, group: str = "") -> Any:
    """The field of a text."""
    return parameter_field(Parameter(name, ParameterKind.TEXT, default, text, group=group))


def model_window() -> Any:
    """The field of the window that fractions are of."""
    text = "Size of the model's window; 0 for the one the chart and the report name."
    return whole("window", 0, text, "tokens", maximum=10_000_000)


def summary_length() -> Any:
    """The field of how long a summary comes out, which no plan can know."""
    text = "How long each summary is taken to be; as the session's own, where it recorded any."
    return whole("summary-tokens", 1_500, text, "tokens", minimum=50, maximum=50_000)
