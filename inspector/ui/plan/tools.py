"""Tools of a session and the lists of a strategy they are in, for the dialog that edits such a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.registry import value_of, with_values

if TYPE_CHECKING:
    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.history.history import History


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool that may be added to the list.

    Attributes:
        name: Name of the tool; session text.
        results: Number of its results in the session.
        place: Its current list or tier if not in the edited list, in words; may be empty.
    """

    name: str
    results: int
    place: str = ""


def tool_choices(history: History, strategy: Strategy, parameter: Parameter) -> list[ToolChoice]:
    """Return the session's tools, those with the most results first, and the list each is in.

    Args:
        history: History of the session.
        strategy: Strategy with the edited list.
        parameter: The list.
    """
    import numpy as np

    tools = history.tool[history.results]
    counts = np.bincount(tools[tools >= 0], minlength=len(history.tool_names)).tolist()
    named = sorted(zip(history.tool_names, counts, strict=True), key=lambda each: (-each[1], each[0]))
    return [ToolChoice(name, count, _place(strategy, parameter, name)) for name, count in named if name]


def _place(strategy: Strategy, edited: Parameter, tool: str) -> str:
    for parameter in _lists(strategy):
        if parameter.name != edited.name and tool in _tools(strategy, parameter):
            return f"in {parameter.name.replace('-', ' ')}"
    tier_of = getattr(strategy, "tier_of", None)
    if edited.group and callable(tier_of):
        tier = tier_of(tool)
        return "in it by default" if tier == edited.group else f"now {tier}"
    return ""


def with_tools(strategy: Strategy, edited: Parameter, tools: tuple[str, ...]) -> Strategy:
    """Return the strategy with another list of tools. In tiered strategies a tool is in one list at most.

    Raises:
        ParameterError: The strategy rejects the list.
    """
    values: dict[str, tuple[str, ...]] = {edited.name: tools}
    if edited.group:
        added = set(tools) - set(_tools(strategy, edited))
        for parameter in _lists(strategy):
            if parameter.name != edited.name and parameter.group:
                kept = tuple(tool for tool in _tools(strategy, parameter) if tool not in added)
                values[parameter.name] = kept
    return with_values(strategy, values)


def _lists(strategy: Strategy) -> list[Parameter]:
    return [parameter for parameter in strategy.parameters if parameter.kind is ParameterKind.TOOLS]


def _tools(strategy: Strategy, parameter: Parameter) -> tuple[str, ...]:
    value = value_of(strategy, parameter)
    return value if isinstance(value, tuple) else ()
