"""What it takes to write a plan for another system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.strategies.registry import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.strategies.core.strategy import Strategy
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
    """

    text: str
    language: str
    where: str
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A system a plan can be written for.

    Attributes:
        name: How it is chosen: `langchain`.
        title: The system, in words.
        language: What its configuration is written in.
        where: Where the configuration goes, in a sentence.
        covers: The strategies it has, each with the parameters that have a counterpart there.
        write: Writes the configuration of the given strategies, by name.
        fixed: Parameters that are constants there, by strategy: other values are left out, saying so.
        one_at_a_time: Only one strategy can be configured; the plan's first counts.
    """

    name: str
    title: str
    language: str
    where: str
    covers: Mapping[str, tuple[str, ...]]
    write: Callable[[Mapping[str, Strategy]], str]
    fixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    one_at_a_time: bool = False


def export_to(target: Target, plan: Plan) -> Exported:
    """Write a plan for a system.

    Raises:
        ExportError: Nothing in the plan has a counterpart there.
    """
    chosen: dict[str, Strategy] = {}
    left_out: list[str] = []
    for strategy in plan.strategies:
        if strategy.name not in target.covers:
            left_out.append(f"{strategy.name}: {target.title} has nothing like it")
        elif chosen and target.one_at_a_time:
            left_out.append(f"{strategy.name}: only one strategy can be configured there, and the plan's first counts")
        elif strategy.name in chosen:
            left_out.append(f"{strategy.name}: only the first of several can be said")
        else:
            chosen[strategy.name] = strategy
            left_out.extend(_left_out(target, strategy))
    if not chosen:
        takes = ", ".join(target.covers)
        raise ExportError(f"nothing in this plan can be said to {target.title}; it takes {takes}")
    return Exported(target.write(chosen), target.language, target.where, tuple(left_out))


def _left_out(target: Target, strategy: Strategy) -> list[str]:
    said = target.covers[strategy.name]
    fixed = target.fixed.get(strategy.name, ())
    sentences = []
    for parameter in strategy.parameters:
        value = value_of(strategy, parameter)
        if parameter.name in said or value == parameter.default:
            continue
        why = "is a constant there" if parameter.name in fixed else "has no counterpart there"
        sentences.append(f"{strategy.name}: {parameter.name}={_shown(value)} {why} ({parameter.default!r} applies)")
    return sentences


def _shown(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value)


def values(strategy: Strategy) -> dict[str, Any]:
    """Every parameter's value by its field name."""
    return {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}
