"""A plan written so that something applies it: code, a hook, an agent's own settings; and what cannot be said there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from inspector.report.export.coding_agents import CODING_AGENTS
from inspector.report.export.design_documents import FOUNDING
from inspector.report.export.frameworks import FRAMEWORKS
from inspector.report.export.target import Exported, ExportError, Target, export_to
from inspector.report.export.ways import HOOK, OF_AGENTS, OWN_CODE, WAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.plan import Plan

TARGETS: dict[str, Target] = {target.name: target for target in (*FOUNDING, *FRAMEWORKS, *CODING_AGENTS)}
"""Every system whose settings a plan can be written as, by name, in the order lists show them."""

TITLES: Mapping[str, str] = {
    **{way.name: way.title for way in WAYS.values()},
    **{target.name: target.title for target in TARGETS.values()},
}
"""Whatever a plan can be written for, in words, by name: code and hooks first, which no system's settings limit."""


def export_plan(plan: Plan, name: str) -> Exported:
    """Write a plan for something that applies it.

    Args:
        plan: The plan; strategies that are switched off are left out.
        name: One of `TITLES`.

    Raises:
        ExportError: There is no such name, or nothing in the plan can be said there.
    """
    if name in WAYS:
        return WAYS[name].export(plan)
    if name not in TARGETS:
        near = get_close_matches(name, TITLES, n=1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise ExportError(f"no system named {name!r}{meant} There are: {', '.join(TITLES)}")
    return export_to(TARGETS[name], plan)


class AgentsAnswer(NamedTuple):
    """Whether the agent of a session can apply a plan.

    Attributes:
        text: The answer, in a sentence or two.
        names: What to export it as, the most fitting first; `OWN_CODE` where the agent cannot.
    """

    text: str
    names: tuple[str, ...]


def answer_for_agent(plan: Plan, agent: str, title: str) -> AgentsAnswer:
    """Say whether an agent can apply a plan, and how.

    Args:
        plan: The plan.
        agent: The format of the agent's sessions.
        title: The agent, in words.
    """
    names = OF_AGENTS.get(agent)
    if names is None:
        return AgentsAnswer(
            f"Nothing is known here of how {title} is told a plan. Code of your own applies any.", (OWN_CODE,)
        )
    made = {name: exported for name in names if (exported := _exported(plan, name)) is not None}
    whole = tuple(name for name, exported in made.items() if not exported.left_out)
    if whole:
        return AgentsAnswer(f"{title} can apply this plan: {TITLES[whole[0]]}.", whole)
    if made:
        first = next(iter(made))
        return AgentsAnswer(f"{title} can apply a part of this plan: {TITLES[first]}.", tuple(made))
    takes = f"{WAYS[HOOK].takes}: careful, aggressive" if HOOK in names else ", ".join(TARGETS[names[0]].takes)
    return AgentsAnswer(
        f"{title} cannot apply this plan; it can be given {takes}. Code of your own applies any.", (OWN_CODE,)
    )


def _exported(plan: Plan, name: str) -> Exported | None:
    try:
        return export_plan(plan, name)
    except ExportError:
        return None


__all__ = [
    "TARGETS",
    "TITLES",
    "WAYS",
    "AgentsAnswer",
    "ExportError",
    "Exported",
    "Target",
    "answer_for_agent",
    "export_plan",
]
