"""Types and helpers of export targets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.strategies.core.parametrized import Parametrized
from inspector.strategies.registry import SYSTEMS, value_of, with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.core.strategy import AgentSettings, Strategy
    from inspector.strategies.plan import Plan


class ExportError(InspectorError):
    """Unsupported export; the message explains the reason and the remedy."""

    advice = "`inspector export --list` lists the targets"


@dataclass(frozen=True, slots=True)
class Exported:
    """A plan in another system's configuration format.

    Attributes:
        text: The configuration, with a trailing newline.
        language: Its language: `python`, `json`, `yaml`, `toml`, `rust`.
        where: Its destination, in a sentence.
        left_out: Unsupported parts of the plan, one sentence each.
        applied: The strategies it contains, with their effective values.
    """

    text: str
    language: str
    where: str
    left_out: tuple[str, ...]
    applied: tuple[Strategy, ...] = ()


@dataclass(frozen=True)
class Target:
    """A system a plan can be exported to. Each strategy names its `agent_settings` in that system.

    Attributes:
        name: Identifier, as in `SYSTEMS`: `langchain`.
        title: Display name.
        language: Language of its configuration.
        where: Destination of the configuration, in a sentence.
        write: Writes the configuration of strategies, by name, in the order of `takes`.
        one_at_a_time: Only one strategy can be configured; the plan's first counts.
    """

    name: str
    title: str
    language: str
    where: str
    write: Callable[[Mapping[str, Strategy]], str]
    one_at_a_time: bool = False

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the strategies it supports."""
        return SYSTEMS[self.name]


def export_to(target: Target, plan: Plan) -> Exported:
    """Export a plan to a system.

    Raises:
        ExportError: The system has no counterpart of any strategy in the plan.
    """
    chosen: dict[str, Strategy] = {}
    left_out: list[str] = []
    for strategy in plan.strategies:
        if strategy.name not in target.takes:
            left_out.append(f"{strategy.name}: {target.title} has no counterpart")
        elif chosen and target.one_at_a_time:
            left_out.append(f"{strategy.name}: only one strategy can be configured, and the plan's first is used")
        elif strategy.name in chosen:
            left_out.append(f"{strategy.name}: only the first of several can be configured")
        else:
            chosen[strategy.name] = strategy
            left_out.extend(_left_out(strategy))
    if not chosen:
        takes = ", ".join(target.takes)
        raise ExportError(f"{target.title} supports nothing in this plan; it takes {takes}")
    text = target.write({name: chosen[name] for name in target.takes if name in chosen})
    applied = tuple(_applied(strategy) for strategy in chosen.values())
    return Exported(text, target.language, target.where, tuple(left_out), applied)


def _left_out(strategy: Strategy) -> list[str]:
    agent_settings = agent_settings_of(strategy)
    sentences = []
    for parameter in _unsupported(strategy):
        why = "is a constant there" if parameter.name in agent_settings.constants else "has no counterpart there"
        value = _shown(value_of(strategy, parameter))
        sentences.append(f"{strategy.name}: {parameter.name}={value} {why} ({parameter.default!r} applies)")
    return sentences


def _unsupported(strategy: Strategy) -> list[Parameter]:
    """Return unsupported parameters with values that differ from the system's."""
    names = agent_settings_of(strategy).names
    return [
        parameter
        for parameter in strategy.parameters
        if parameter.name not in names and value_of(strategy, parameter) != parameter.default
    ]


def _applied(strategy: Strategy) -> Strategy:
    return with_values(strategy, {parameter.name: parameter.default for parameter in _unsupported(strategy)})


def _shown(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value)


def agent_settings_of(strategy: Strategy) -> AgentSettings:
    """Return a strategy's counterpart in the configuration of its system."""
    agent_settings = strategy.agent_settings if isinstance(strategy, Parametrized) else None
    if agent_settings is None:
        raise AssertionError(f"{strategy.name} is in SYSTEMS and has no counterpart")
    return agent_settings


def settings_of(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's settings by the names of its system."""
    agent_settings = agent_settings_of(strategy)
    values = {name: value_of(strategy, parameter) for parameter, name in agent_settings.names.items() if name}
    return {**agent_settings.always, **values}


def sections(written: Mapping[str, Any]) -> dict[str, Any]:
    """Nest settings in the sections that their names contain."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        *outer, last = name.split(".")
        section = found
        for each in outer:
            section = section.setdefault(each, {})
        section[last] = value
    return found


def json_settings(chosen: Mapping[str, Strategy]) -> str:
    """Write strategies as the settings of a program that stores them in JSON."""
    written = {name: value for strategy in chosen.values() for name, value in settings_of(strategy).items()}
    return json.dumps(sections(written), indent=2) + "\n"


def values(strategy: Strategy) -> dict[str, Any]:
    """Return every parameter's value by its field name."""
    return {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}
