"""Listings of strategies, named plans, and tool classes of a session, as text and data."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.report.layout import HEADING, LABEL, LEFT, RIGHT, WIDTH, WRAPPED, Page, broken_after_commas
from inspector.report.numbers import IN_TEXT
from inspector.report.session_listings import plug_in_problems
from inspector.session.model import BlockKind
from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.history.tools import ToolKind, tool_kind
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import PLUG_INS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.model import Session
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.registry import StrategyType


def strategies_text(strategies: Iterable[StrategyType], width: int = WIDTH, *, color: bool = False) -> str:
    """List strategies: name, summary, origin."""
    page = Page(width, color=color)
    for index, strategy in enumerate(strategies):
        if index:
            page.line()
        page.line(f"{strategy.name}: {strategy.title}", HEADING)
        page.line(strategy.summary, indent=2)
        page.line(f"Source: {strategy.source}{_package(strategy)}", LABEL, indent=2)
    page.line()
    page.line("built-in plans", HEADING)
    page.line(", ".join(PRESETS), indent=2)
    page.line("Use one with --plan NAME; 'inspector strategies --plans' describes them.", LABEL, indent=2)
    plug_in_problems(page, PLUG_INS.problems())
    return page.text()


def _package(strategy: StrategyType) -> str:
    package = package_of(strategy)
    return f". Package: {package}" if package else ""


def package_of(strategy: StrategyType) -> str:
    """Return package and version of a strategy from another package; empty for built-in ones."""
    plug_in = PLUG_INS.plug_in(strategy.name)
    return "" if plug_in is None else plug_in.label


def strategy_text(strategy: StrategyType, width: int = WIDTH, *, color: bool = False) -> str:
    """Describe one strategy with all its parameters."""
    page = Page(width, color=color)
    page.line(f"{strategy.name}: {strategy.title}", HEADING)
    page.line(strategy.summary, indent=2)
    if note := note_of(strategy):
        page.line(note, indent=2)
    page.line(f"Source: {strategy.source}{_package(strategy)}", LABEL, indent=2)
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
    page.line("one-line form", HEADING)
    page.line(_example(strategy), indent=2)
    return page.text()


def note_of(strategy: StrategyType) -> str:
    """Describe possible API errors for the message lists a strategy produces; empty if there are none."""
    note: str = getattr(strategy, "note", "")
    return note


def strategy_data(strategy: StrategyType) -> dict[str, Any]:
    """Convert one strategy to plain data."""
    return {
        "name": strategy.name,
        "title": strategy.title,
        "summary": strategy.summary,
        "source": strategy.source,
        "note": note_of(strategy),
        "package": package_of(strategy),
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
    """Format a value for the one-line form of a plan."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(value) or "none"
    if parameter.kind is ParameterKind.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _example(strategy: StrategyType) -> str:
    """Return the one-line form of the strategy with its first number as an example."""
    for parameter in strategy.parameters:
        if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
            return f"{strategy.name}:{parameter.name}={_written(parameter, parameter.default)}"
    return strategy.name


class KnownPlan(NamedTuple):
    """A named plan.

    Attributes:
        name: Name on the command line.
        summary: Description, or the reason why it is invalid.
        specs: Its strategies in their one-line form.
    """

    name: str
    summary: str
    specs: tuple[str, ...]


def plans_text(plans: Iterable[KnownPlan], *, color: bool = False) -> str:
    """List plans: name, description, strategies."""
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
    """Convert one plan to plain data."""
    return {"name": plan.name, "summary": plan.summary, "strategies": list(plan.specs)}


@dataclass(frozen=True, slots=True)
class ClassedTool:
    """One tool of a session.

    Attributes:
        name: Name in the session.
        calls: Number of calls.
        results: Number of results.
        meaning: Assumed purpose.
        tier: Tier of its stale results in tiered truncation.
    """

    name: str
    calls: int
    results: int
    meaning: ToolKind
    tier: str


def classed_tools(session: Session) -> tuple[ClassedTool, ...]:
    """Return a session's tools, most calls first."""
    counts = Counter((block.tool_name, block.kind) for block in session.blocks if block.tool_name)
    names = sorted({name for name, _ in counts}, key=lambda name: (-counts[name, BlockKind.TOOL_CALL], name))
    tiers = TieredStale.for_session(session)
    return tuple(
        ClassedTool(
            name,
            counts[name, BlockKind.TOOL_CALL],
            counts[name, BlockKind.TOOL_RESULT],
            tool_kind(name),
            tiers.tier_of(name),
        )
        for name in names
    )


def tools_text(session: Session, width: int = WIDTH, *, color: bool = False) -> str:
    """Format the classes as a table, and list unclassified tools."""
    tools = classed_tools(session)
    page = Page(width, color=color)
    if not tools:
        page.line("The session calls no tools.")
        return page.text()
    rows = [(tool.name, tool.meaning.value, tool.tier, f"{tool.calls:,}", f"{tool.results:,}") for tool in tools]
    page.table(("tool", "class", "tier", "calls", "results"), rows, LEFT + LEFT + LEFT + RIGHT + RIGHT)
    unknown = [tool.name for tool in tools if tool.meaning is ToolKind.OTHER]
    page.line()
    if unknown:
        page.line(f"{IN_TEXT.plural(len(unknown), 'unknown tool')}: {', '.join(unknown)}", HEADING)
        page.line("Strategies treat these as unknown tools. To classify one, name it in a plan:", LABEL)
        page.line(f"tiered-stale:data-tools={unknown[0]}", indent=2)
    else:
        page.line("All tools are classified.")
    return page.text()


def tools_data(session: Session) -> list[dict[str, Any]]:
    """Convert the classes to plain data."""
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
