"""Export of plans as code, a hook or an agent's own settings, with a list of unsupported parts."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from inspector.report.export.apply_methods import APPLY_METHODS, CUT_AT_ONCE, HOOK, OF_AGENTS, OWN_CODE
from inspector.report.export.coding_agents import CODING_AGENTS
from inspector.report.export.design_documents import FOUNDING
from inspector.report.export.frameworks import FRAMEWORKS
from inspector.report.export.target import Exported, ExportError, Target, export_to
from inspector.session.registry import format_named
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Session
    from inspector.strategies.core.strategy import Strategy

TARGETS: dict[str, Target] = {target.name: target for target in (*FOUNDING, *FRAMEWORKS, *CODING_AGENTS)}
"""Every system with settings for plans, by name, in display order."""

TITLES: Mapping[str, str] = {
    **{way.name: way.title for way in APPLY_METHODS.values()},
    **{target.name: target.title for target in TARGETS.values()},
}
"""Titles of all export formats by name: code and hooks first, since settings of a system do not limit them."""


def export_plan(plan: Plan, name: str) -> Exported:
    """Export a plan.

    Args:
        plan: The plan; strategies that are switched off are left out.
        name: One of `TITLES`.

    Raises:
        ExportError: The name is unknown, or the target supports nothing in the plan.
    """
    if name in APPLY_METHODS:
        return APPLY_METHODS[name].export(plan)
    if name not in TARGETS:
        near = get_close_matches(name, TITLES, n=1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise ExportError(f"no system named {name!r}{meant} There are: {', '.join(TITLES)}")
    return export_to(TARGETS[name], plan)


NONE_THAT_SAVES = "no plan that saves"
"""Plans an agent can apply natively, if all of them would save nothing."""
NONE_THAT_SAVES_NET = "no plan with a net saving"
"""Longer form that mentions recoveries."""


class AgentSupport(NamedTuple):
    """Ability of a session's agent to apply a plan.

    Attributes:
        verdict: A short answer: `Claude Code cannot apply it`.
        advice: Next step for the user, in a sentence.
        names: Export formats, most fitting first; `OWN_CODE` if the agent cannot apply it.
        agent: Display name of the agent.
        applied: The strategies the agent would apply, with their effective values; None if unknown.
        is_whole: True if they are the whole plan.
    """

    verdict: str
    advice: str
    names: tuple[str, ...]
    agent: str
    applied: tuple[Strategy, ...] | None
    is_whole: bool = False

    @property
    def is_lacking(self) -> bool:
        """True if the agent's abilities are documented and do not cover the whole plan."""
        return self.applied is not None and not self.is_whole

    @property
    def can(self) -> str:
        """Prefix of the phrase: `Claude Code can apply`."""
        return f"{self.agent} can apply"

    def can_apply(self, what: str) -> str:
        """Describe the natively applicable plan, or `NONE_THAT_SAVES`: `Claude Code can apply vercel-prune`."""
        return f"{self.can} {what}"

    def in_a_row(self, what: str) -> tuple[str, str]:
        """Return it as label and value, for short labels."""
        return ("the agent can", f"apply {what}")

    @property
    def in_short(self) -> str:
        """Short answer, with an alternative way to apply the plan if the agent cannot."""
        return f"{self.verdict}; your own code can" if self.names == (OWN_CODE,) else self.verdict

    @property
    def sentence(self) -> str:
        return f"{_capital(self.in_short)}."

    @property
    def in_full(self) -> str:
        """Answer and advice, in sentences."""
        return f"{_capital(self.verdict)}. {self.advice}"


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def describe_applied_plan(name: str, plan: Plan, session: Session | None) -> str:
    """Report in one line that a plan was made current, whether the agent can apply it, and how to undo it.

    Args:
        name: Name of the plan; may be a user's.
        plan: The plan.
        session: The session it applies to; None if there is none yet.
    """
    verdict = "" if session is None else f"; {answer_for(session.format, plan).verdict}: w e"
    return f"{name} is active{verdict}; ctrl+z to undo"


@lru_cache(maxsize=512)
def answer_for(name: str, plan: Plan) -> AgentSupport:
    """Determine whether the agent that wrote a session can apply a plan, and how.

    Args:
        name: The format of the session.
        plan: The plan.
    """
    known = format_named(name)
    agent = name if known is None else known.title
    names = OF_AGENTS.get(name)
    own_code = "Your own code can apply any plan: inspector help apply."
    if names is None:
        return AgentSupport("unknown if this agent can apply it", own_code, (OWN_CODE,), agent, None)
    made = {each: exported for each in names if (exported := _exported(plan, each)) is not None}
    whole = tuple(each for each, exported in made.items() if not exported.left_out)
    if whole:
        by = f"Through {TITLES[whole[0]]}."
        return AgentSupport(f"{agent} can apply it", by, whole, agent, plan.strategies, is_whole=True)
    if made:
        name, exported = next(iter(made.items()))
        only = ", ".join(strategy.name for strategy in exported.applied)
        by = f"Through {TITLES[name]}: {only}, which compare (c) shows separately."
        return AgentSupport(f"{agent} can apply part of it", by, tuple(made), agent, exported.applied)
    takes = f"{APPLY_METHODS[HOOK].takes}: {CUT_AT_ONCE}" if HOOK in names else ", ".join(TARGETS[names[0]].takes)
    advice = f"Supported: {takes}. {own_code}"
    return AgentSupport(f"{agent} cannot apply it", advice, (OWN_CODE,), agent, ())


def part_of(name: str, plan: Plan) -> Plan | None:
    """Return the part of a plan that the agent that wrote a session can apply natively; the same object if that is all.

    Args:
        name: The format of the session.
        plan: The plan.

    Returns:
        None if it can apply no part of it, or its abilities are unknown.
    """
    answer = answer_for(name, plan)
    if answer.is_whole:
        return plan
    return Plan.of(*answer.applied, name=f"part of {plan.name}") if answer.applied else None


def _exported(plan: Plan, name: str) -> Exported | None:
    try:
        return export_plan(plan, name)
    except ExportError:
        return None


__all__ = [
    "APPLY_METHODS",
    "NONE_THAT_SAVES",
    "NONE_THAT_SAVES_NET",
    "TARGETS",
    "TITLES",
    "AgentSupport",
    "ExportError",
    "Exported",
    "Target",
    "answer_for",
    "describe_applied_plan",
    "export_plan",
    "part_of",
]
