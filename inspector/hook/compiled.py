"""What a plan's strategies of insertion do to the results of a tool, told in the hook's own few words.

The strategies are asked, so that the hook does what a replay of the same plan says. What a plan has besides is named,
with where it can run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.strategies.core.operations import CutText, CutTokens, cut_in
from inspector.strategies.core.parameters import CHARACTERS, TOKENS
from inspector.strategies.library.token_budget import CapAtInsertion
from inspector.strategies.library.trim_at_insertion import TrimAtInsertion, TrimText, hard_cap
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS

if TYPE_CHECKING:
    from inspector.hook.rules import Adaptive, Cut
    from inspector.strategies.core.strategy import Strategy

AT_INSERTION = {
    "store-large",
    "deepagents-evict",
    "opencode-truncate",
    "gemini-truncate",
    "codex-truncate",
    "pi-truncate",
    "strands-offload",
}
"""Strategies that act at insertion in the system they describe, which is where they run."""


class UnusedStrategy(NamedTuple):
    """A strategy of a plan that the hook does not apply.

    Attributes:
        name: The strategy.
        reason: Why, and where it can run.
    """

    name: str
    reason: str


def read_plan(plan: str) -> Plan:
    """The plan in a file, or the ready one of that name.

    Raises:
        PlanError: It is none.
        OSError: The file cannot be read.
    """
    if plan in PRESETS and not Path(plan).exists():
        return PRESETS[plan].plan()
    return Plan.from_toml(Path(plan).read_text(encoding="utf-8"))


def cuts_of(plan: Plan, tool: str) -> list[Cut]:
    """The cuts a plan makes of a tool's results at insertion, in order."""
    return [cut for strategy in plan.strategies for cut in _cuts(strategy, tool)]


def left_out(plan: Plan) -> list[UnusedStrategy]:
    """What of a plan the hook does not apply, and where it can run."""
    return [
        UnusedStrategy(strategy.name, reason) for strategy in plan.strategies if (reason := _why_left_out(strategy))
    ]


def _why_left_out(strategy: Strategy) -> str:
    if isinstance(strategy, TrimAtInsertion | CapAtInsertion):
        return ""
    if strategy.name in AT_INSERTION:
        return "it works as the system it describes does, in that system or an adapter (docs/adapters.md)"
    return "it changes results the model has seen, which a hook cannot; an adapter can (docs/adapters.md)"


def _cuts(strategy: Strategy, tool: str) -> list[Cut]:
    if _why_left_out(strategy):
        return []
    if isinstance(strategy, CapAtInsertion):
        cap = strategy.cut()
        return [_cut(cap)] if cap is not None else []
    if not isinstance(strategy, TrimAtInsertion):
        return []
    operation = strategy.decision(strategy.profile_or_exempt(tool)).operation
    if isinstance(operation, TrimText):
        kept = operation.threshold, operation.head, operation.tail
        trim = cut_in(operation.unit, *kept, operation.marker, numbered=True)
        return [_cut(trim, _adaptive(strategy)), _cut(hard_cap(operation.cap, operation.unit))]
    if not isinstance(operation, CutText | CutTokens):
        return []
    is_exempt = strategy.profile_or_exempt(tool) == "exempt"
    return [_cut(operation, None if is_exempt else _adaptive(strategy))]


def _adaptive(strategy: TrimAtInsertion) -> Adaptive | None:
    if strategy.adaptive == "off":
        return None
    return {
        "by": strategy.adaptive,
        "share": strategy.adaptive_share,
        "least": strategy.adaptive_least,
        "window": strategy.window,
    }


def _cut(cut: CutText | CutTokens, adaptive: Adaptive | None = None) -> Cut:
    unit = TOKENS if isinstance(cut, CutTokens) else CHARACTERS
    return {
        "unit": unit,
        "limit": cut.limit,
        "head": cut.head,
        "tail": cut.tail,
        "marker": cut.marker,
        "adaptive": adaptive,
    }
