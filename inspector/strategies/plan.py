"""A plan: strategies in order, with their parameters. What is edited on screen, saved to a file and exported.

A plan has two written forms that hold the same. The one-line form is for command lines, one strategy each, and names
only values that differ from the defaults:

    tiered-stale:confirmation=150,data-tools=query+fetch,marker="cut, as of now"

A value that holds a comma, a plus sign (in a list of tools), or blanks at its ends stands in double quotes, written as
a JSON string. `enabled=false` keeps a strategy in the plan without using it. The TOML form is for files and names every
value, so that a saved plan keeps its meaning when a default changes:

    name = "mine"

    [[strategies]]
    name = "tiered-stale"
    enabled = true
    confirmation = 150
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from inspector.errors import InspectorError
from inspector.strategies import registry
from inspector.strategies.core.parameters import ParameterError, ParameterKind
from inspector.strategies.core.parametrized import USUAL_WINDOW
from inspector.strategies.core.strategy import WaitingStrategy
from inspector.strategies.specification import SpecificationError, read_specification, write_specification

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.model import Session
    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.core.strategy import Strategy

_SWITCH_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class PlanError(InspectorError, ValueError):
    """A plan that cannot be read.

    Attributes:
        message: One line: where, what, and what is allowed.
    """

    advice = "`inspector strategies --plans` lists the plans there are"


class Trigger(NamedTuple):
    """A prompt size at which a strategy of a plan begins to act.

    Attributes:
        tokens: The size, above 0.
        entry: Index of the strategy among the plan's entries.
        name: The strategy's name.
    """

    tokens: int
    entry: int
    name: str


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A strategy's place in a plan.

    Attributes:
        strategy: The strategy with its values.
        enabled: Whether the plan uses it.
    """

    strategy: Strategy
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Strategies in the order they apply; each sees what the ones before it left.

    Attributes:
        entries: The strategies, those that are switched off included.
        name: What the user calls the plan; empty for none.
    """

    entries: tuple[PlanEntry, ...] = ()
    name: str = ""

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategies in use, in order."""
        return tuple(entry.strategy for entry in self.entries if entry.enabled)

    def toggled(self, index: int) -> Plan:
        """The plan with one strategy switched on or off."""
        entry = self.entries[index]
        return self._with_entry(index, replace(entry, enabled=not entry.enabled))

    def with_strategy(self, index: int, strategy: Strategy) -> Plan:
        """The plan with another strategy, or another value of it, in one place."""
        return self._with_entry(index, replace(self.entries[index], strategy=strategy))

    def moved(self, index: int, to: int) -> Plan:
        """The plan with one strategy taken out and put in again so that it stands at `to`."""
        entries = list(self.entries)
        entries.insert(to, entries.pop(index))
        return replace(self, entries=tuple(entries))

    def added(self, strategy: Strategy) -> Plan:
        """The plan with one more strategy at its end."""
        return replace(self, entries=(*self.entries, PlanEntry(strategy)))

    def removed(self, index: int) -> Plan:
        """The plan without one of its strategies."""
        entries = list(self.entries)
        del entries[index]
        return replace(self, entries=tuple(entries))

    def _with_entry(self, index: int, entry: PlanEntry) -> Plan:
        entries = list(self.entries)
        entries[index] = entry
        return replace(self, entries=tuple(entries))

    def triggers(self, window: int | None) -> tuple[Trigger, ...]:
        """Where the strategies in use begin to act, smallest prompt first.

        Args:
            window: Size of the model's window as recorded, in tokens; None where the session does not say.
        """
        found = {
            Trigger(round(tokens), index, entry.strategy.name)
            for index, entry in enumerate(self.entries)
            if entry.enabled and isinstance(entry.strategy, WaitingStrategy)
            for tokens in entry.strategy.triggers(window or USUAL_WINDOW)
            if tokens >= 1
        }
        return tuple(sorted(found))

    @classmethod
    def of(cls, *strategies: Strategy, name: str = "") -> Plan:
        """The plan of these strategies, all in use."""
        return cls(tuple(PlanEntry(strategy) for strategy in strategies), name)

    @classmethod
    def from_specs(cls, specs: Iterable[str], *, session: Session | None = None) -> Plan:
        """The plan written in the one-line form, one line a strategy.

        Args:
            specs: The lines.
            session: Where given, values that are not named take the defaults that fit this session's tools.

        Raises:
            PlanError: A line cannot be read; the message names the strategy, the parameter, the value and the range.
        """
        return cls(tuple(_entry_from_spec(spec, session) for spec in specs))

    def to_specs(self) -> list[str]:
        """The one-line form of every strategy; the plan's name is not part of it."""
        return [_spec_of(entry) for entry in self.entries]

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """The plan written as TOML.

        Raises:
            PlanError: It cannot be read; the message names the strategy, the parameter, the value and the range.
        """
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"the plan is not TOML: {error}") from None
        for key in document:
            if key not in ("name", "strategies"):
                raise PlanError(f"a plan has no key {key!r}{registry.suggestion(key, ('name', 'strategies'))}")
        name, tables = document.get("name", ""), document.get("strategies", [])
        if not isinstance(name, str):
            raise PlanError(f"name: {name!r} is not allowed; a plan's name is text")
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise PlanError("strategies: a plan lists its strategies as [[strategies]] tables")
        return cls(tuple(_entry_from_table(position, table) for position, table in enumerate(tables, start=1)), name)

    def to_toml(self) -> str:
        """The TOML form."""
        document: dict[str, Any] = {"name": self.name} if self.name else {}
        document["strategies"] = [
            {"name": entry.strategy.name, "enabled": entry.enabled, **_values(entry.strategy)} for entry in self.entries
        ]
        return tomli_w.dumps(document)


def _values(strategy: Strategy) -> dict[str, object]:
    values = {parameter.name: registry.value_of(strategy, parameter) for parameter in strategy.parameters}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _entry_from_table(position: int, table: dict[str, Any]) -> PlanEntry:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    name, enabled = values.pop("name", None), values.pop("enabled", True)
    if not isinstance(name, str):
        raise PlanError(f"strategy {position} of the plan has no name{registry.suggestion('', registry.STRATEGIES)}")
    if not isinstance(enabled, bool):
        raise PlanError(f"{name}: enabled: {enabled!r} is not allowed; it takes true or false")
    try:
        return PlanEntry(_made(registry.strategy(name), values), enabled)
    except ParameterError as error:
        raise PlanError(str(error)) from None


def _made(base: Strategy, values: dict[str, ParameterValue]) -> Strategy:
    """`base` with some values changed; errors say whose parameter it is."""
    for name in values:
        registry.parameter_of(base, name)
    try:
        return registry.with_values(base, values)
    except ParameterError as error:
        raise ParameterError(f"{base.name}: {error}") from None


def _entry_from_spec(spec: str, session: Session | None) -> PlanEntry:
    try:
        name, items = read_specification(spec)
        base = registry.strategy_for(name, session) if session is not None else registry.strategy(name)
        enabled = True
        values: dict[str, ParameterValue] = {}
        for key, parts in items.items():
            if key == "enabled":
                word = "".join(part.text for part in parts).strip().lower()
                if word not in _SWITCH_WORDS:
                    raise ParameterError(f"{name}: enabled: {word!r} is not allowed; it takes true or false")
                enabled = _SWITCH_WORDS[word]
                continue
            parameter = registry.parameter_of(base, key)
            if parameter.kind is ParameterKind.TOOLS:
                values[key] = tuple(part.text for part in parts if part.text or part.quoted)
            elif len(parts) == 1 and parts[0].quoted:
                text = parts[0].text
                values[key] = text if parameter.kind is ParameterKind.TEXT else _parsed(base, parameter.name, text)
            else:
                values[key] = _parsed(base, parameter.name, "+".join(part.written for part in parts))
        return PlanEntry(_made(base, values), enabled)
    except (ParameterError, SpecificationError) as error:
        raise PlanError(str(error)) from None


def _parsed(strategy: Strategy, name: str, text: str) -> ParameterValue:
    try:
        return registry.parameter_of(strategy, name).parsed(text)
    except ParameterError as error:
        raise ParameterError(f"{strategy.name}: {error}") from None


def _spec_of(entry: PlanEntry) -> str:
    strategy = entry.strategy
    items: dict[str, ParameterValue] = {} if entry.enabled else {"enabled": False}
    for parameter in strategy.parameters:
        value = registry.value_of(strategy, parameter)
        if value != parameter.default:
            items[parameter.name] = value
    return write_specification(strategy.name, items)
