"""Compile a plan's insertion strategies into simple rules for the hook.

The rules come from the strategies, so the hook and a replay of the plan agree. All other parts of a plan are
reported, with the place where they can run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.hook.records import open_regular
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import CutText, CutTokens, make_cut
from inspector.strategies.core.parameters import CHARACTERS, TOKENS
from inspector.strategies.history.tools import tool_kind_mask
from inspector.strategies.library.at_insertion import (
    StoreLarge,
    TrimAtInsertion,
    TrimText,
    budgets_for_window,
    hard_cap,
)
from inspector.strategies.library.gemini import GeminiTruncate
from inspector.strategies.library.langchain import DeepagentsEvict
from inspector.strategies.library.micro_x import CapAtInsertion
from inspector.strategies.library.opencode import OpenCodeTruncate
from inspector.strategies.plan import Plan
from inspector.strategies.presets import preset_named

if TYPE_CHECKING:
    from inspector.hook.rules import Adaptive, Cut, Store
    from inspector.strategies.core.strategy import Strategy

_STORING = StoreLarge | DeepagentsEvict | OpenCodeTruncate | GeminiTruncate
"""Strategies that store the original in a file; the hook stores it in its own folder."""

AT_INSERTION = {
    "codex-truncate": "Codex shortens results itself",
    "pi-truncate": "it depends on the file and lines that were read, which a hook does not see",
    "strands-offload": "it stores results under references that only Strands resolves",
}
"""Strategies that act at insertion in the real system, with the reason why the hook does not apply them."""


_ANY_BATCH = 10_000_000
"""The maximum batch budget of `store-large`, in characters, which no batch of results exceeds."""


class UnusedStrategy(NamedTuple):
    """A strategy of a plan that the hook does not apply. `reason`: the reason, and where it can run."""

    name: str
    reason: str


def read_plan(plan: str) -> Plan:
    """Read a plan from a file or by a built-in name. Raises `PlanError`, or `OSError` if it is unreadable."""
    preset = preset_named(plan)
    if preset is not None and not Path(plan).exists():
        return preset.plan()
    with open(plan, encoding="utf-8", opener=open_regular) as file:
        return Plan.from_toml(file.read())


def cuts_of(plan: Plan, tool: str) -> list[Cut | Store]:
    """Return a plan's cuts of a tool's results at insertion, in order."""
    return [cut for strategy in plan.strategies for cut in _cuts(strategy, tool)]


def left_out(plan: Plan) -> list[UnusedStrategy]:
    """Return the strategies of a plan that the hook does not apply, with reasons."""
    return [
        UnusedStrategy(strategy.name, reason) for strategy in plan.strategies if (reason := _why_left_out(strategy))
    ]


def partly_applied(plan: Plan) -> list[UnusedStrategy]:
    """Return the strategies of a plan that the hook applies in part, with reasons."""
    parts = []
    for strategy in plan.strategies:
        if isinstance(strategy, StoreLarge) and strategy.batch_budget < _ANY_BATCH:
            parts.append(UnusedStrategy(strategy.name, "its batch budget depends on later results"))
        elif isinstance(strategy, DeepagentsEvict) and strategy.message_limit:
            parts.append(UnusedStrategy(strategy.name, "user messages stay whole: a hook sees only results"))
    return parts


def applied(plan: Plan) -> Plan:
    return Plan.of(*(_applied(strategy) for strategy in plan.strategies if not _why_left_out(strategy)))


def _applied(strategy: Strategy) -> Strategy:
    if isinstance(strategy, StoreLarge):
        limit = budgets_for_window(strategy.window, strategy.limit, strategy.batch_budget).result
        return replace(strategy, limit=limit, window=0, batch_budget=_ANY_BATCH)
    return replace(strategy, message_limit=0) if isinstance(strategy, DeepagentsEvict) else strategy


def _why_left_out(strategy: Strategy) -> str:
    if isinstance(strategy, TrimAtInsertion | CapAtInsertion | _STORING):
        return ""
    if strategy.name in AT_INSERTION:
        return f"{AT_INSERTION[strategy.name]}; use it there, or in an adapter (inspector help adapters)"
    return "it changes results the model has already seen, which only an adapter can do (inspector help adapters)"


def _cuts(strategy: Strategy, tool: str) -> list[Cut | Store]:
    if _why_left_out(strategy):
        return []
    if isinstance(strategy, _STORING):
        return _stores(strategy, tool)
    if isinstance(strategy, CapAtInsertion):
        cap = strategy.cut()
        return [_cut(cap)] if cap is not None else []
    if not isinstance(strategy, TrimAtInsertion):
        return []
    operation = strategy.decision(strategy.profile_or_exempt(tool)).operation
    if isinstance(operation, TrimText):
        kept = operation.threshold, operation.head, operation.tail
        trim = make_cut(operation.unit, *kept, operation.marker, numbered=True)
        return [_cut(trim, _adaptive(strategy)), _cut(hard_cap(operation.cap, operation.unit))]
    if not isinstance(operation, CutText | CutTokens):
        return []
    is_exempt = strategy.profile_or_exempt(tool) == "exempt"
    return [_cut(operation, None if is_exempt else _adaptive(strategy))]


def _stores(strategy: StoreLarge | DeepagentsEvict | OpenCodeTruncate | GeminiTruncate, tool: str) -> list[Cut | Store]:
    if isinstance(strategy, GeminiTruncate):
        is_meant = bool(strategy.limit) and (strategy.applies_to == "all" or bool(strategy.chosen((tool,))[0]))
        return [_store(strategy.name, strategy.limit)] if is_meant else []
    if tool_kind_mask((tool,), (), strategy.exempt_tools)[0]:
        return []
    if isinstance(strategy, StoreLarge):
        limit = budgets_for_window(strategy.window, strategy.limit, strategy.batch_budget).result
        limit = strategy.limit_for(tool, limit)
        return [_store(strategy.name, limit, strategy.preview, saves=bool(strategy.folder))]
    if isinstance(strategy, DeepagentsEvict):
        limit = strategy.limit * CHARACTERS_PER_TOKEN
        return [_store(strategy.name, limit, strategy.head, strategy.tail)] if limit else []
    from_end, hint = strategy.direction == "tail", strategy.hint_for("{path}")
    return [_store(strategy.name, strategy.max_bytes, strategy.max_lines, from_end=from_end, hint=hint)]


def _store(
    rule: str, limit: int, head: int = 0, tail: int = 0, *, from_end: bool = False, hint: str = "", saves: bool = True
) -> Store:
    return {
        "rule": rule,
        "limit": limit,
        "head": head,
        "tail": tail,
        "from_end": from_end,
        "hint": hint,
        "saves": saves,
    }


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
