"""Entries of the plan's dialogs: strategies, built-in and saved plans, and the session's tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import expand_user
from inspector.strategies.core.parameters import Parameter, ParameterKind
from inspector.strategies.plan import Plan, PlanError
from inspector.strategies.presets import PRESETS, SavedPlan, display_name
from inspector.strategies.registry import PLUG_INS, STRATEGIES, value_of, with_values
from inspector.ui.part_names import DialogChoice

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.strategies.core.strategy import Strategy
    from inspector.strategies.history.history import History


READY = "ready:"
FILE = "file:"
"""Prefix of identifiers of plan files. Strategies are identified by name."""


def strategy_choices() -> list[DialogChoice]:
    return [
        DialogChoice(each.name, each.name, each.title, f"{each.summary}\nSource: {each.source}{_package(each.name)}")
        for each in STRATEGIES.values()
    ]


def _package(name: str) -> str:
    plug_in = PLUG_INS.plug_in(name)
    return "" if plug_in is None else f"\nPackage: {plug_in.label}"


def ready_choices() -> list[DialogChoice]:
    """Return an entry for every preset."""
    return [
        DialogChoice(
            f"{READY}{preset.name}",
            display_name(preset.name),
            preset.summary,
            _plan_help(f"Built-in plan. {preset.summary}", preset.specs),
        )
        for preset in PRESETS.values()
    ]


def saved_choices(saved: list[SavedPlan]) -> list[DialogChoice]:
    """Return an entry for every saved plan."""
    choices = []
    for each in saved:
        specs = () if each.plan is None else each.plan.to_specs()
        help_text = _plan_help(each.problem or f"Saved as {each.path}", specs)
        choices.append(DialogChoice(f"{FILE}{each.path}", each.name, "your plan", help_text))
    return choices


def _plan_help(summary: str, specs: tuple[str, ...] | list[str]) -> str:
    return "\n".join([summary, *specs]) if specs else summary


def file_choice(text: str) -> DialogChoice | None:
    """Return the entry for a typed path of a plan file; None if the text is not one."""
    path = expand_user(text)
    try:
        is_file = path.suffix == ".toml" and path.is_file()
    except OSError:
        return None
    return DialogChoice(f"{FILE}{path}", path.name, "a plan file", str(path)) if is_file else None


def chosen_plan(identifier: str, session: Session | None) -> Plan:
    """Load the plan of an identifier.

    Raises:
        OSError: The file cannot be read.
        PlanError: The file holds no valid plan.
    """
    if identifier.startswith(READY):
        return PRESETS[identifier.removeprefix(READY)].plan(session)
    path = Path(identifier.removeprefix(FILE))
    try:
        return Plan.from_toml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise PlanError(f"{path} is not a text file") from None


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
