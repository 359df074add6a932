"""Parameters of strategies, described once: controls, command-line help, documentation and validation all read this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from inspector.errors import InspectorError

CHARACTERS, TOKENS = "characters", "tokens"
UNITS = (CHARACTERS, TOKENS)
"""What limits can be counted in, where a strategy lets them."""

ParameterValue = int | float | bool | str | tuple[str, ...]


class ParameterKind(StrEnum):
    """What a parameter's value is, and so which control fits it."""

    WHOLE_NUMBER = "whole number"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    TEXT = "text"
    TOOLS = "tools"
    """Tool names, in order, as a tuple of strings."""


class ToolList(StrEnum):
    """What a strategy does with the tools that a parameter of the kind `TOOLS` names."""

    LEFT_ALONE = "left alone"
    """It leaves them as they are."""
    ONLY = "only"
    """It is about these alone; about all where none is named."""
    OTHER = "other"


class ParameterError(InspectorError, ValueError):
    """A value no parameter of that name can take; the message names the parameter, the value and what it may be."""

    advice = "`inspector strategies NAME` lists the parameters with their ranges"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a strategy.

    Attributes:
        name: As written in plans: `confirmation`, `keep`, `confirmation-tools`.
        kind: What its values are.
        default: The value when nothing is said.
        help: One sentence for people.
        unit: `characters`, `tokens`, `calls`, …; empty where there is none.
        minimum: Smallest value, None for no bound.
        maximum: Largest value, None for no bound.
        choices: The values a choice may take.
        group: The part of the strategy it tunes (a tier), matching `Decision.group`; empty for the whole strategy.
        logarithmic: Controls should move in ratios, because small values matter as much as large ones.
        about: Of a list of tools, what the strategy does with them.
        is_assumed: It says what is taken to be so, as the model's window: no value of it is better than another.
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
        """The name of the strategy's attribute that holds the value."""
        return self.name.replace("-", "_")

    @property
    def range(self) -> str:
        """What values are allowed, in words: `0 to 100,000 characters`."""
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
        """The value in its proper type.

        Raises:
            ParameterError: The value is of another type or out of range.
        """
        if not self._fits(value):
            raise ParameterError(
                f"{self.name}: {value!r} is not allowed; it takes {self.range} (default {self.default!r})"
            )
        return float(value) if self.kind is ParameterKind.NUMBER and isinstance(value, int) else value

    def parsed(self, text: str) -> ParameterValue:
        """The value written as `text` in a one-line plan.

        Raises:
            ParameterError: The text is no such value, or out of range.
        """
        try:
            value = self._from_text(text.strip())
        except ValueError:
            raise ParameterError(f"{self.name}: {text!r} is no {self.kind}; it takes {self.range}") from None
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
