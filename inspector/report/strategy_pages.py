"""What strategies there are, as text for people and as data for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inspector.report.layout import HEADING, LABEL, LEFT, WIDTH, WRAPPED, Page
from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.registry import StrategyType


def strategies_text(strategies: Iterable[StrategyType], width: int = WIDTH, *, color: bool = False) -> str:
    """A list of strategies: name, what it is, where it comes from."""
    page = Page(width, color=color)
    for index, strategy in enumerate(strategies):
        if index:
            page.line()
        page.line(f"{strategy.name}: {strategy.title}", HEADING)
        page.line(strategy.summary, indent=2)
        page.line(f"Source: {strategy.source}", LABEL, indent=2)
    page.line()
    page.line("plans that are ready", HEADING)
    page.line(", ".join(PRESETS), indent=2)
    page.line("Use one with --plan NAME; 'inspector strategies --plans' says what each is.", LABEL, indent=2)
    return page.text()


def strategy_text(strategy: StrategyType, width: int = WIDTH, *, color: bool = False) -> str:
    """One strategy with all its parameters."""
    page = Page(width, color=color)
    page.line(f"{strategy.name}: {strategy.title}", HEADING)
    page.line(strategy.summary, indent=2)
    page.line(f"Source: {strategy.source}", LABEL, indent=2)
    page.line()
    page.line("parameters" if strategy.parameters else "no parameters", HEADING)
    rows: list[tuple[str, str]] = []
    for parameter in strategy.parameters:
        rows += [
            (parameter.name, parameter.help),
            ("", f"default {written_value(parameter, parameter.default)}; {parameter.range}"),
        ]
    page.table(None, rows, LEFT + WRAPPED)
    page.line()
    page.line("in one line", HEADING)
    page.line(example(strategy), indent=2)
    return page.text()


def strategy_data(strategy: StrategyType) -> dict[str, Any]:
    """One strategy as plain data."""
    return {
        "name": strategy.name,
        "title": strategy.title,
        "summary": strategy.summary,
        "source": strategy.source,
        "parameters": [
            {
                "name": parameter.name,
                "kind": str(parameter.kind),
                "unit": parameter.unit,
                "default": list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default,
                "minimum": parameter.minimum,
                "maximum": parameter.maximum,
                "choices": list(parameter.choices),
                "group": parameter.group,
                "range": parameter.range,
                "help": parameter.help,
            }
            for parameter in strategy.parameters
        ],
    }


def written_value(parameter: Parameter, value: ParameterValue) -> str:
    """A value as it is written in the one-line form of a plan."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(value) or "none"
    if parameter.kind is ParameterKind.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


def example(strategy: StrategyType) -> str:
    """The strategy in its one-line form with its first number written out."""
    for parameter in strategy.parameters:
        if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
            return f"{strategy.name}:{parameter.name}={written_value(parameter, parameter.default)}"
    return strategy.name
