"""Strategies, named plans, and how a session's tools are classed, as text for people and data for programs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.report.layout import HEADING, LABEL, LEFT, RIGHT, WIDTH, WRAPPED, Page, broken_after_commas
from inspector.report.numbers import IN_TEXT
from inspector.session.model import BlockKind
from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.history.tools import Meaning, meaning_of
from inspector.strategies.library.tiered_stale import TieredStale
from inspector.strategies.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.model import Session
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
    if note := note_of(strategy):
        page.line(note, indent=2)
    page.line(f"Source: {strategy.source}", LABEL, indent=2)
    page.line()
    page.line("parameters" if strategy.parameters else "no parameters", HEADING)
    rows: list[tuple[str, str]] = []
    for parameter in strategy.parameters:
        rows += [
            (parameter.name, parameter.help),
            ("", f"default {_written(parameter, parameter.default)}; {parameter.range}"),
        ]
    page.table(None, rows, LEFT + WRAPPED)
    page.line()
    page.line("in one line", HEADING)
    page.line(_example(strategy), indent=2)
    return page.text()


def note_of(strategy: StrategyType) -> str:
    """What an API may refuse of the lists a strategy leaves; empty for nothing."""
    note: str = getattr(strategy, "note", "")
    return note


def strategy_data(strategy: StrategyType) -> dict[str, Any]:
    """One strategy as plain data."""
    return {
        "name": strategy.name,
        "title": strategy.title,
        "summary": strategy.summary,
        "source": strategy.source,
        "note": note_of(strategy),
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


def _written(parameter: Parameter, value: ParameterValue) -> str:
    """A value as it is written in the one-line form of a plan."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(value) or "none"
    if parameter.kind is ParameterKind.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _example(strategy: StrategyType) -> str:
    """The strategy in its one-line form with its first number written out."""
    for parameter in strategy.parameters:
        if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
            return f"{strategy.name}:{parameter.name}={_written(parameter, parameter.default)}"
    return strategy.name


class KnownPlan(NamedTuple):
    """A plan that has a name.

    Attributes:
        name: How it is asked for.
        summary: What it is, or what is wrong with it.
        specs: Its strategies in their one-line form.
    """

    name: str
    summary: str
    specs: tuple[str, ...]


def plans_text(plans: Iterable[KnownPlan], *, color: bool = False) -> str:
    """A list of plans: name, what it is, what it is made of."""
    page = Page(WIDTH, color=color)
    for index, plan in enumerate(plans):
        if index:
            page.line()
        page.line(plan.name, HEADING)
        page.line(plan.summary, indent=2)
        for spec in plan.specs:
            for line in broken_after_commas(spec, WIDTH - 2):
                page.line(line, LABEL, indent=2)
    return page.text()


def plan_data(plan: KnownPlan) -> dict[str, Any]:
    """One plan as plain data."""
    return {"name": plan.name, "summary": plan.summary, "strategies": list(plan.specs)}


@dataclass(frozen=True, slots=True)
class ClassedTool:
    """One tool of a session.

    Attributes:
        name: As the session names it.
        calls: How often it was called.
        results: How many results it gave.
        meaning: What it is taken to do.
        tier: The tier of tiered truncation its stale results fall in.
    """

    name: str
    calls: int
    results: int
    meaning: Meaning
    tier: str


def classed_tools(session: Session) -> tuple[ClassedTool, ...]:
    """A session's tools, those called most first."""
    counts = Counter((block.tool_name, block.kind) for block in session.blocks if block.tool_name)
    names = sorted({name for name, _ in counts}, key=lambda name: (-counts[name, BlockKind.TOOL_CALL], name))
    tiers = TieredStale.for_session(session)
    return tuple(
        ClassedTool(
            name,
            counts[name, BlockKind.TOOL_CALL],
            counts[name, BlockKind.TOOL_RESULT],
            meaning_of(name),
            tiers.tier_of(name),
        )
        for name in names
    )


def tools_text(session: Session, width: int = WIDTH, *, color: bool = False) -> str:
    """The classes as a table, and the tools nobody has classed."""
    tools = classed_tools(session)
    page = Page(width, color=color)
    if not tools:
        page.line("The session calls no tools.")
        return page.text()
    rows = [(tool.name, tool.meaning.value, tool.tier, f"{tool.calls:,}", f"{tool.results:,}") for tool in tools]
    page.table(("tool", "taken to", "tier", "calls", "results"), rows, LEFT + LEFT + LEFT + RIGHT + RIGHT)
    unknown = [tool.name for tool in tools if tool.meaning is Meaning.OTHER]
    page.line()
    if unknown:
        page.line(f"{IN_TEXT.plural(len(unknown), 'tool')} not known: {', '.join(unknown)}", HEADING)
        page.line(
            "Strategies treat them as their documents treat an unknown tool. To class one, name it in a plan:", LABEL
        )
        page.line(f"tiered-stale:data-tools={unknown[0]}", indent=2)
    else:
        page.line("Every tool is known.")
    return page.text()


def tools_data(session: Session) -> list[dict[str, Any]]:
    """The classes as plain data."""
    return [
        {
            "name": tool.name,
            "meaning": tool.meaning.value,
            "tier": tool.tier,
            "calls": tool.calls,
            "results": tool.results,
        }
        for tool in classed_tools(session)
    ]
