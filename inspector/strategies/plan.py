"""Plans: ordered strategies with parameters, edited on screen, saved to files and exported.

A plan has two equivalent written forms. The one-line form is for command lines, one strategy per line. It names only
values that differ from the defaults:

    tiered-stale:confirmation=150,data-tools=query+fetch,marker="cut, as of now"

A value with a comma, a plus sign (in a list of tools), or leading or trailing blanks is quoted as a JSON string.
`enabled=false` keeps a strategy in the plan without using it. The TOML form is for files. It names every value, so a
saved plan keeps its meaning when a default changes:

    name = "mine"

    [[strategies]]
    name = "tiered-stale"
    enabled = true
    confirmation = 150
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from inspector.errors import InspectorError
from inspector.strategies import registry
from inspector.strategies.core.parameters import ParameterError, ParameterKind, ParameterValue
from inspector.strategies.core.strategy import DEFAULT_WINDOW, Strategy, TriggeredStrategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspector.session.model import Session


class SpecificationError(InspectorError, ValueError):
    """Malformed one-line form; the message gives the position."""

    advice = "`inspector strategies NAME` shows how a strategy is written"


class SpecifiedValue(NamedTuple):
    """A value, or one of several joined by plus signs, without the quotes that make it literal."""

    text: str
    written: str
    quoted: bool


def read_specification(line: str) -> tuple[str, dict[str, list[SpecifiedValue]]]:
    """Parse a line into a strategy's name and values. Raises `SpecificationError` if it is malformed."""
    name, _, rest = line.strip().partition(":")
    name = name.strip()
    if not name:
        raise SpecificationError(f"{line!r} names no strategy; write name or name:parameter=value,…")
    items: dict[str, list[SpecifiedValue]] = {}
    for item in _split(rest, ",") if rest.strip() else []:
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or not key:
            raise SpecificationError(f"{name}: {item.strip()!r} is not of the form parameter=value")
        if key in items:
            raise SpecificationError(f"{name}: {key} is given twice")
        items[key] = [_part(name, key, part) for part in _split(value, "+")]
    return name, items


def write_specification(name: str, items: Mapping[str, ParameterValue]) -> str:
    """Write a line that `read_specification` can parse."""
    written = ",".join(f"{key}={_written(value)}" for key, value in items.items())
    return f"{name}:{written}" if written else name


def _written(value: ParameterValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(_quoted_where_needed(name, ',+"') for name in value)
    return _quoted_where_needed(value, ',+"') if isinstance(value, str) else repr(value)


def _quoted_where_needed(text: str, special: str) -> str:
    plain = text and text == text.strip() and text.isprintable() and not any(character in text for character in special)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _part(name: str, key: str, written: str) -> SpecifiedValue:
    stripped = written.strip()
    if not stripped.startswith('"'):
        return SpecifiedValue(stripped, written, quoted=False)
    try:
        text = json.loads(stripped)
    except ValueError:
        raise SpecificationError(f"{name}: {key}: {stripped} is not a quoted text; write it as a JSON string") from None
    return SpecifiedValue(text, written, quoted=True)


def _split(text: str, separator: str) -> list[str]:
    """Split `text` at separators outside quotes; a quote opens only at the start of a value."""
    parts, start, quoted, opens, position = [], 0, False, True, 0
    while position < len(text):
        character = text[position]
        if quoted:
            if character == "\\":
                position += 1
            elif character == '"':
                quoted = False
        elif character == '"' and opens:
            quoted = True
        elif character == separator:
            parts.append(text[start:position])
            start = position + 1
        opens = not quoted and (character in "=+," or (opens and character.isspace()))
        position += 1
    parts.append(text[start:])
    return parts


THEN = " + "
"""Separator of strategies in one line. Tool names are joined by a plus without spaces."""

_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')

_SWITCH_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class PlanError(InspectorError, ValueError):
    """A plan that cannot be read. `message`: one line: the position, the problem, and the allowed values."""

    advice = "`inspector strategies --plans` lists the available plans"


class Trigger(NamedTuple):
    """A prompt size above 0 at which the strategy at an index of the plan's entries begins to act."""

    tokens: int
    entry: int
    name: str


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A strategy in a plan, enabled or not."""

    strategy: Strategy
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Strategies in the order they apply; each sees the output of those before it.

    Attributes:
        entries: All strategies, including disabled ones.
        name: The user's name for the plan; empty if unnamed.
    """

    entries: tuple[PlanEntry, ...] = ()
    name: str = ""

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(entry.strategy for entry in self.entries if entry.enabled)

    def toggled(self, index: int) -> Plan:
        entry = self.entries[index]
        return self._with_entry(index, replace(entry, enabled=not entry.enabled))

    def with_strategy(self, index: int, strategy: Strategy) -> Plan:
        return self._with_entry(index, replace(self.entries[index], strategy=strategy))

    def moved(self, index: int, to: int) -> Plan:
        """Return the plan with one strategy moved to position `to`."""
        entries = list(self.entries)
        entries.insert(to, entries.pop(index))
        return replace(self, entries=tuple(entries))

    def added(self, strategy: Strategy) -> Plan:
        return replace(self, entries=(*self.entries, PlanEntry(strategy)))

    def removed(self, index: int) -> Plan:
        entries = list(self.entries)
        del entries[index]
        return replace(self, entries=tuple(entries))

    def _with_entry(self, index: int, entry: PlanEntry) -> Plan:
        entries = list(self.entries)
        entries[index] = entry
        return replace(self, entries=tuple(entries))

    def triggers(self, window: int | None) -> tuple[Trigger, ...]:
        """Return where enabled strategies begin to act, smallest prompt first, in a window; None if not recorded."""
        found = {
            Trigger(round(tokens), index, entry.strategy.name)
            for index, entry in enumerate(self.entries)
            if entry.enabled and isinstance(entry.strategy, TriggeredStrategy)
            for tokens in entry.strategy.triggers(window or DEFAULT_WINDOW)
            if tokens >= 1
        }
        return tuple(sorted(found))

    @classmethod
    def of(cls, *strategies: Strategy, name: str = "") -> Plan:
        return cls(tuple(PlanEntry(strategy) for strategy in strategies), name)

    @classmethod
    def from_specs(cls, specs: Iterable[str], *, session: Session | None = None) -> Plan:
        """Parse a plan from its one-line form, one line per strategy.

        Args:
            specs: The lines.
            session: If given, values that are not named take the defaults that fit this session's tools.

        Raises:
            PlanError: A line cannot be read; the message names the strategy, the parameter, the value and the range.
        """
        return cls(tuple(_entry_from_spec(spec, session) for spec in specs))

    def to_specs(self) -> list[str]:
        """Return the one-line form of every strategy, without the plan's name."""
        return [_spec_of(entry) for entry in self.entries]

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """Parse a plan. Raises `PlanError`, which names the strategy, the parameter, the value and the range."""
        try:
            document = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:  # nested too deeply
            raise PlanError(f"the plan is not valid TOML: {error}") from None
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


def specs_of(text: str) -> list[str]:
    """Split one line into strategies in one-line form, at every ` + ` outside quotes."""
    specs = [""]
    for index, quoted_or_not in enumerate(_QUOTED.split(text)):
        first, *others = [quoted_or_not] if index % 2 else quoted_or_not.split(THEN)
        specs[-1] += first
        specs += others
    return [spec.strip() for spec in specs]
