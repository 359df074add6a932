"""Entries of the catalogue of figures, and results with such entries.

A result is a `Struct` with a field per figure; the annotation is its entry: a label, a unit, a sentence of help.
The entry defines the JSON field and its JSON Schema, titles of tables, and columns of the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Flag, StrEnum, auto
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, structs

from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DOLLAR_DIGITS: Final = 6
PERCENT_DIGITS: Final = 4
SHARE_DIGITS: Final = 6
"""Digits of figures in data output: enough for any use, without floating-point noise."""

How = Literal["exact", "calibrated", "estimated", "projected"]

Count = Annotated[int, Meta(ge=0)]


class Unit(StrEnum):
    """Unit of a figure, which decides its format and rounding."""

    TOKENS = "tokens"
    DOLLARS = "$"
    SHARE = "share"
    """A part of 1, written as a percentage."""
    PERCENT = "percent"
    CALLS = "calls"
    CALL = "call"
    """The number of a call, counted from 1."""
    COUNT = ""
    """A count of the things that the label names."""
    FREE = "number"
    """A number in the form the user gave."""


class Output(Flag):
    """Outputs of a total in addition to JSON."""

    TEXT = auto()
    PAGE = auto()
    """Markdown and HTML."""
    SHEET = auto()
    """CSV."""
    SCREEN = auto()


ON_PAPER: Final = Output.TEXT | Output.PAGE | Output.SHEET
EVERYWHERE: Final = ON_PAPER | Output.SCREEN


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure's entry.

    Attributes:
        label: Display label.
        help: One sentence of help.
        name: JSON name.
        short: Label for a narrow column.
        part_of: Name of the total that it is a part of; empty for none.
        as_part: Label in a line below that total.
        explained: Name in explanations; defaults to `name`.
        saves: A negative value is a loss, and shown as one.
        opposite: Label of a negative value if `label` would contradict its sign; empty to use `label`.
        missing: Text for a missing value; defaults to the unit's.
        hides_zero: Zero is written as an empty text.
        combined: How figures of several sessions are combined: `sum` or `max`.
        shown: Outputs of a total.
    """

    label: str
    unit: Unit
    help: str
    name: str = ""
    short: str = ""
    part_of: str = ""
    as_part: str = ""
    explained: str = ""
    saves: bool = False
    opposite: str = ""
    missing: str = ""
    hides_zero: bool = False
    combined: Callable[[Iterable[Any]], Any] = sum
    shown: Output = EVERYWHERE

    @property
    def short_label(self) -> str:
        return self.short or self.label

    def rounded(self, value: float | None) -> float | None:
        if value is None:
            return None
        match self.unit:
            case Unit.DOLLARS:
                return round(value, DOLLAR_DIGITS)
            case Unit.SHARE:
                return round(value, SHARE_DIGITS)
            case Unit.PERCENT:
                return round(100 * value, PERCENT_DIGITS)
            case _:
                return round(value)

    def is_loss(self, value: float | None) -> bool:
        return self.saves and value is not None and value < 0


def about(text: str) -> Meta:
    """Describe a field that is not a figure, for the JSON Schema."""
    return Meta(description=text)


def figure(label: str, unit: Unit, text: str, **attributes: Any) -> Meta:
    """Describe a figure field; `text` is a sentence for help and JSON Schema, empty if the label suffices."""
    return Meta(description=text or None, extra={"quantity": Quantity(label, unit, text, **attributes)})


Known = Annotated[dict[str, How], about("Certainty of every non-null number above.")]


R = TypeVar("R", bound=Struct)


class FigureResult(Struct, frozen=True, kw_only=True):
    """A reported result: the certainty of its numbers in `known`, and lower bounds in `at_least`, if it has it."""

    @classmethod
    def of(cls, **values: Any) -> Self:
        known, least = dict[str, str](), []
        for name, value in values.items():
            if isinstance(value, Figure):
                values[name] = value.value
                if value.value is not None:
                    known[name] = value.known.value
                    least += [name] if value.is_lower_bound else []
        return cls(**values, known=known, **({"at_least": least} if least else {}))

    def figure(self, name: str) -> Figure:
        """Return a number with its certainty; a number that is not in `known` is exact."""
        known = getattr(self, "known").get(name, HowKnown.EXACT)  # noqa: B009  a field of every subclass
        return Figure(getattr(self, name), HowKnown(known), name in getattr(self, "at_least", ()))


def rounded_result(result: R, **changes: Any) -> R:
    """Round all numbers of a result, and of the results in its fields, for data output."""
    entries = quantities(type(result))
    for name in result.__struct_fields__:
        value = changes.get(name, getattr(result, name))
        if isinstance(value, Struct):
            changes[name] = rounded_result(value)
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Struct):
            changes[name] = [rounded_result(each) for each in value]
        elif name in entries:
            changes[name] = entries[name].rounded(value)
    return structs.replace(result, **changes)


def utc_time(seconds: float | None) -> str:
    """Format a time as ISO 8601 in UTC; empty if it is missing or out of range."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a file may contain any number
        return ""


@cache
def quantities(kind: type[Struct]) -> Mapping[str, Quantity]:
    """Return a type's figures by name, in field order."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for meta in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
            if isinstance(meta, Meta) and meta.extra is not None:
                entry: Quantity = meta.extra["quantity"]
                found[name] = replace(entry, name=name, explained=entry.explained or name)
    return found


@cache
def quantity(kind: type[Struct], path: str) -> Quantity:
    """Return the figure at the end of a path of fields such as `saved.usd`."""
    *above, name = path.split(".")
    for step in above:
        kind = _struct_of(get_type_hints(kind)[step])
    return quantities(kind)[name]


def _struct_of(hint: Any) -> type[Struct]:
    """Return the struct type of a field, which may be a list of it or optional."""
    found: type[Struct] = next((each for each in get_args(hint) if each is not NoneType), hint)
    return found
