"""Strategy parameters, described once for controls, command-line help, documentation and validation; their scales.

A scale gives the position of a value and the next value, for sliders, curves and sweeps. A logarithmic scale moves in
ratios, so that 150 and 600 are as far apart as 15,000 and 60,000. Its lower end may be 0: positions use
`value - minimum + 1`. Steps are round numbers of the value's own magnitude: a fine one leads from 40 to 41 and from
40,000 to 41,000, a coarse one from 40 to 50 and from 40,000 to 50,000.
"""

from __future__ import annotations

import math
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
        """Return the value in its proper type. Raises `ParameterError` for other types or out of range."""
        if not self._fits(value):
            raise ParameterError(
                f"{self.name}: {value!r} is not allowed; it takes {self.range} (default {self.default!r})"
            )
        return float(value) if self.kind is ParameterKind.NUMBER and isinstance(value, int) else value

    def parsed(self, text: str) -> ParameterValue:
        """Parse the value from a plan's text. Raises `ParameterError` if it is not valid, or out of range."""
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


LARGE_STEP = 10
"""Fine steps per coarse step on a logarithmic scale."""

_LINEAR_STEPS = 200
_COARSE_LINEAR_STEPS = 20


@dataclass(frozen=True, slots=True)
class ValueScale:
    """A range of numbers mapped to a line, its maximum above its minimum; equal ratios if logarithmic."""

    minimum: float
    maximum: float
    logarithmic: bool = False
    whole: bool = True

    @classmethod
    def of(cls, parameter: Parameter, value: float) -> ValueScale:
        """Build a parameter's scale with room for `value`: sixteen times the larger of it and the default."""
        default = parameter.default if isinstance(parameter.default, int | float) else 0
        minimum = parameter.minimum if parameter.minimum is not None else min(0, value, default)
        maximum = parameter.maximum
        if maximum is None:
            reach = max(abs(default), abs(value), 1)
            maximum = minimum + 16 * 2 ** math.ceil(math.log2(reach))
        whole = parameter.kind == "whole number"
        return cls(float(minimum), float(maximum if maximum > minimum else minimum + 1), parameter.logarithmic, whole)

    def fraction(self, value: float) -> float:
        """Return the position of a value on the line, 0 to 1."""
        span = self.maximum - self.minimum
        above = min(max(value - self.minimum, 0.0), span)
        if self.logarithmic:
            return math.log1p(above) / math.log1p(span)
        return above / span

    def value(self, fraction: float) -> float:
        """Return the value at a position on the line, rounded to at most two significant digits."""
        span = self.maximum - self.minimum
        fraction = min(max(fraction, 0.0), 1.0)
        if fraction in (0.0, 1.0):
            return self._fitted(self.minimum + span * fraction)
        above = math.expm1(fraction * math.log1p(span)) if self.logarithmic else span * fraction
        raw = self.minimum + above
        unit = self._unit_at(raw)
        return self._fitted(round(raw / unit) * unit)

    def stepped(self, value: float, steps: int, *, coarse: bool = False) -> float:
        """Return the value some round steps up or down, clamped; `coarse` ones have one significant digit."""
        upward = steps > 0
        for _ in range(abs(steps)):
            unit = self._unit_at(value if upward else value * (1 - 1e-9), coarse=coarse)
            position = value / unit
            value = (math.floor(position + 1e-6) + 1 if upward else math.ceil(position - 1e-6) - 1) * unit
        return self._fitted(value)

    def _unit_at(self, value: float, *, coarse: bool = False) -> float:
        """Return the unit that values near this one are multiples of."""
        if not self.logarithmic:
            return self._linear_step(_COARSE_LINEAR_STEPS if coarse else _LINEAR_STEPS)
        unit = 10.0 ** math.floor(math.log10(max(abs(value), 1.0))) / (1 if coarse else LARGE_STEP)
        finest = 10.0 ** math.floor(math.log10((self.maximum - self.minimum) / 1e6))
        return max(unit, 1.0 if self.whole else finest)

    def _linear_step(self, steps: int) -> float:
        rough = (self.maximum - self.minimum) / steps
        unit = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
        unit = next((unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough), unit * 10)
        return max(unit, 1.0) if self.whole else unit

    def _fitted(self, value: float) -> float:
        if value <= self.minimum or value >= self.maximum:
            return self.minimum if value <= self.minimum else self.maximum
        rounded = float(round(value)) if self.whole else float(f"{value:.6g}")
        return min(max(rounded, self.minimum), self.maximum)
