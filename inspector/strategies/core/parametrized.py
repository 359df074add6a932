"""Strategies as frozen dataclasses with one field per parameter, each described exactly once.

A field gives its kind, default, help sentence and range. The parameter's name is the attribute's name with hyphens:

    keep: int = integer(3, "How many of the newest results stay.", "results", maximum=1_000)
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import AgentSettings
    from inspector.strategies.history.history import History


CHARACTERS, TOKENS = "characters", "tokens"
UNITS = (CHARACTERS, TOKENS)
"""Units that limits can be counted in, if a strategy lets the user choose."""

ParameterValue = int | float | bool | str | tuple[str, ...]


class ParameterKind(StrEnum):
    """Type of a parameter's value, which decides the control used."""

    WHOLE_NUMBER = "whole number"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    TEXT = "text"
    TOOLS = "tools"
    """Tool names, in order, as a tuple of strings."""


class ToolList(StrEnum):
    """Effect of a `TOOLS` parameter on the tools it names."""

    LEFT_ALONE = "left alone"
    """The strategy leaves these tools unchanged."""
    ONLY = "only"
    """The strategy affects only these tools; all tools if the list is empty."""
    OTHER = "other"


class ParameterError(InspectorError, ValueError):
    """An invalid value; the message names the parameter, the value and the allowed values."""

    advice = "`inspector strategies NAME` lists the parameters with their ranges"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a strategy.

    Attributes:
        name: Name in plans: `confirmation`, `keep`, `confirmation-tools`.
        kind: Type of its values.
        default: Value if none is given.
        help: Description in one sentence.
        unit: `characters`, `tokens`, `calls`, …; empty if there is none.
        minimum: Smallest value, None for no bound.
        maximum: Largest value, None for no bound.
        choices: The values a choice may take.
        group: The part of the strategy it tunes (a tier), matching `Decision.group`; empty for the whole strategy.
        logarithmic: True if controls should move in ratios, because small values matter as much as large ones.
        about: Effect on the tools named, for a list of tools.
        is_assumed: True for an assumption such as the model's window: no value is better than another, so it is not
            tuned.
    """

    name: str
    kind: ParameterKind
    default: ParameterValue
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    group: str = ""
    logarithmic: bool = False
    about: ToolList = ToolList.OTHER
    is_assumed: bool = False

    @property
    def field(self) -> str:
        """Name of the strategy's attribute that holds the value."""
        return self.name.replace("-", "_")

    @property
    def range(self) -> str:
        """Allowed values in words: `0 to 100,000 characters`."""
        if self.kind is ParameterKind.CHOICE:
            return "one of " + ", ".join(self.choices)
        if self.kind is ParameterKind.SWITCH:
            return "true or false"
        if self.kind in (ParameterKind.TEXT, ParameterKind.TOOLS):
            return "tool names" if self.kind is ParameterKind.TOOLS else "any text"
        unit = f" {self.unit}" if self.unit else ""
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum:,} to {self.maximum:,}{unit}"
        if self.minimum is not None:
            return f"{self.minimum:,}{unit} or more"
        if self.maximum is not None:
            return f"at most {self.maximum:,}{unit}"
        return f"any {self.kind}{unit}"

    def checked(self, value: ParameterValue) -> ParameterValue:
        """Return the value converted to its proper type.

        Raises:
            ParameterError: The value is of another type or out of range.
        """
        if not self._fits(value):
            raise ParameterError(
                f"{self.name}: {value!r} is not allowed; it takes {self.range} (default {self.default!r})"
            )
        return float(value) if self.kind is ParameterKind.NUMBER and isinstance(value, int) else value

    def parsed(self, text: str) -> ParameterValue:
        """Parse the value from the text of a one-line plan.

        Raises:
            ParameterError: The text is not a valid value, or out of range.
        """
        try:
            value = self._from_text(text.strip())
        except ValueError:
            raise ParameterError(f"{self.name}: {text!r} is not a {self.kind}; it takes {self.range}") from None
        return self.checked(value)

    def _from_text(self, text: str) -> ParameterValue:
        match self.kind:
            case ParameterKind.WHOLE_NUMBER:
                return int(text.replace("_", ""))
            case ParameterKind.NUMBER:
                return float(text.replace("_", ""))
            case ParameterKind.SWITCH:
                words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
                if text.lower() not in words:
                    raise ValueError(text)
                return words[text.lower()]
            case ParameterKind.TOOLS:
                return tuple(name for name in text.split("+") if name)
            case ParameterKind.CHOICE | ParameterKind.TEXT:
                return text

    def _fits(self, value: ParameterValue) -> bool:
        match self.kind:
            case ParameterKind.SWITCH:
                return isinstance(value, bool)
            case ParameterKind.CHOICE:
                return value in self.choices
            case ParameterKind.TEXT:
                return isinstance(value, str)
            case ParameterKind.TOOLS:
                return isinstance(value, tuple) and all(isinstance(name, str) for name in value)
            case ParameterKind.WHOLE_NUMBER | ParameterKind.NUMBER:
                numeric = (int,) if self.kind is ParameterKind.WHOLE_NUMBER else (int, float)
                if isinstance(value, bool) or not isinstance(value, numeric) or value != value:
                    return False
                return (self.minimum is None or value >= self.minimum) and (
                    self.maximum is None or value <= self.maximum
                )


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
