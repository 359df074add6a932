"""Strategy parameters, described once for controls, command-line help, documentation and validation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from inspector.errors import InspectorError

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
        unit: `characters`, `tokens`, `calls`, …; empty if there is none.
        minimum: Smallest value, None for no bound.
        maximum: Largest value, None for no bound.
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
