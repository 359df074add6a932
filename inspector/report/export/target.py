"""What it takes to write a plan for another system."""

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
    from inspector.strategies.core.strategy import Counterpart, Strategy
    from inspector.strategies.plan import Plan


class ExportError(InspectorError):
    """A plan cannot be written for a system; the message says why and what to do."""

    advice = "`inspector export --list` names what can be written"


@dataclass(frozen=True, slots=True)
class Exported:
    """A plan as another system's configuration.

    Attributes:
        text: The configuration, with a line end.
        language: What it is written in: `python`, `json`, `yaml`, `toml`, `rust`.
        where: Where it goes, in a sentence.
        left_out: What of the plan cannot be said there, one sentence each.
        applied: What of the plan's strategies it says, with the values that apply there.
    """

    text: str
    language: str
    where: str
    left_out: tuple[str, ...]
    applied: tuple[Strategy, ...] = ()


@dataclass(frozen=True)
class Target:
    """A system a plan can be written for. What its strategies are called there stands beside them, as `counterpart`.

    Attributes:
        name: How it is chosen, as in `SYSTEMS`: `langchain`.
        title: The system, in words.
        language: What its configuration is written in.
        where: Where the configuration goes, in a sentence.
        write: Writes the configuration of the given strategies, by name, in the order of `takes`.
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
        """The strategies it has."""
        return SYSTEMS[self.name]


def export_to(target: Target, plan: Plan) -> Exported:
    """Write a plan for a system.

    Raises:
        ExportError: Nothing in the plan has a counterpart there.
    """
    chosen: dict[str, Strategy] = {}
    left_out: list[str] = []
    for strategy in plan.strategies:
        if strategy.name not in target.takes:
            left_out.append(f"{strategy.name}: {target.title} has nothing like it")
        elif chosen and target.one_at_a_time:
            left_out.append(f"{strategy.name}: only one strategy can be configured there, and the plan's first counts")
        elif strategy.name in chosen:
            left_out.append(f"{strategy.name}: only the first of several can be said")
        else:
            chosen[strategy.name] = strategy
            left_out.extend(_left_out(strategy))
    if not chosen:
        takes = ", ".join(target.takes)
        raise ExportError(f"nothing in this plan can be said to {target.title}; it takes {takes}")
    text = target.write({name: chosen[name] for name in target.takes if name in chosen})
    applied = tuple(_applied(strategy) for strategy in chosen.values())
    return Exported(text, target.language, target.where, tuple(left_out), applied)


def _left_out(strategy: Strategy) -> list[str]:
    counterpart = counterpart_of(strategy)
    sentences = []
    for parameter in _not_said(strategy):
        why = "is a constant there" if parameter.name in counterpart.constants else "has no counterpart there"
        value = _shown(value_of(strategy, parameter))
        sentences.append(f"{strategy.name}: {parameter.name}={value} {why} ({parameter.default!r} applies)")
    return sentences


def _not_said(strategy: Strategy) -> list[Parameter]:
    """Parameters whose values cannot be said there, and are others than there."""
    names = counterpart_of(strategy).names
    return [
        parameter
        for parameter in strategy.parameters
        if parameter.name not in names and value_of(strategy, parameter) != parameter.default
    ]


def _applied(strategy: Strategy) -> Strategy:
    return with_values(strategy, {parameter.name: parameter.default for parameter in _not_said(strategy)})


def _shown(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value)


def counterpart_of(strategy: Strategy) -> Counterpart:
    """What a strategy is in the configuration of the system that has it."""
    counterpart = strategy.counterpart if isinstance(strategy, Parametrized) else None
    if counterpart is None:
        raise AssertionError(f"{strategy.name} is in SYSTEMS and has no counterpart")
    return counterpart


def said(strategy: Strategy) -> dict[str, Any]:
    """What is written for a strategy, by the names of the system that has it."""
    counterpart = counterpart_of(strategy)
    values = {name: value_of(strategy, parameter) for parameter, name in counterpart.names.items() if name}
    return {**counterpart.always, **values}


def sections(written: Mapping[str, Any]) -> dict[str, Any]:
    """What is written, in the sections its names lead into."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        *outer, last = name.split(".")
        section = found
        for each in outer:
            section = section.setdefault(each, {})
        section[last] = value
    return found


def json_settings(chosen: Mapping[str, Strategy]) -> str:
    """The strategies' values as the settings of a program that keeps them in JSON."""
    written = {name: value for strategy in chosen.values() for name, value in said(strategy).items()}
    return json.dumps(sections(written), indent=2) + "\n"


def values(strategy: Strategy) -> dict[str, Any]:
    """Every parameter's value by its field name."""
    return {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}
