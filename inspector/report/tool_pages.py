"""How a session's tools were classed: what strategies that tell reads from edits and output take each of them for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.report.layout import HEADING, LABEL, LEFT, RIGHT, WIDTH, Page
from inspector.report.numbers import plural
from inspector.session.model import BlockKind
from inspector.strategies.history.tools import Meaning, meaning_of
from inspector.strategies.library.tiered_stale import TieredStale

if TYPE_CHECKING:
    from inspector.session.model import Session


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
        page.line(f"{plural(len(unknown), 'tool')} not known: {', '.join(unknown)}", HEADING)
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
