"""Strategies as frozen dataclasses whose fields are their parameters, each described exactly once."""

from __future__ import annotations

from dataclasses import Field, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from inspector.strategies.parameters import Parameter


def setting(parameter: Parameter, *, keyword_only: bool = False) -> Any:
    """The dataclass field that holds a parameter's value, with the parameter's default."""
    return field(default=parameter.default, metadata={"parameter": parameter}, kw_only=keyword_only)


class Tunable:
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
