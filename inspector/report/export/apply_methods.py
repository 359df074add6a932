"""Ways to apply a plan other than an agent's settings: your own code, or a hook that trims results on arrival."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.hook.compiled import applied, left_out, partly_applied
from inspector.report.export.target import Exported, ExportError
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OWN_CODE, HOOK = "python", "hook"

CUT_AT_ONCE = "trim-at-insertion, store-large"
"""The most useful strategies that cut results on arrival."""

PLAN_FILE = "plan.toml"
"""File name of the plan in the instructions for the hook."""


@dataclass(frozen=True, slots=True)
class ApplyMethod:
    """A way to apply a plan other than an agent's settings.

    Attributes:
        name: Identifier.
        title: Display name.
        takes: The plans it applies, in words.
        export: Writes a plan for it; raises `ExportError` if it can apply no part of the plan.
    """

    name: str
    title: str
    takes: str
    export: Callable[[Plan], Exported]


def _own_code(plan: Plan) -> Exported:
    specs = "".join(
        f"        {json.dumps(spec, ensure_ascii=False)},\n" for spec in Plan.of(*plan.strategies).to_specs()
    )
    text = (
        "from inspector import Plan, compact\n\n"
        f"PLAN = Plan.from_specs(\n    [\n{specs}    ]\n)\n\n"
        "# The whole conversation, before every call. Claude caches only up to blocks with cache_control: set it on\n"
        "# the system prompt and on the last block of the last message, as the figures of the plan assume.\n"
        "messages_to_send = compact(messages, PLAN)\n"
    )
    where = (
        "In code that calls the model, before every call. Adapters do this for SDKs and frameworks: "
        "inspector help adapters"
    )
    return Exported(text, "python", where, (), plan.strategies)


def _hook(plan: Plan) -> Exported:
    lacking = left_out(plan)
    if len(lacking) == len(plan.strategies):
        raise ExportError(
            "a hook can do nothing in this plan, because it cuts results on arrival and changes nothing later; use "
            f"{CUT_AT_ONCE}"
        )
    text = (
        f"cat > {PLAN_FILE} <<'END'\n{plan.to_toml()}END\n"
        f"inspector hook install --agent claude-code --plan {PLAN_FILE}  # or --agent opencode, --agent hermes\n"
    )
    where = (
        "In a shell, for Claude Code, OpenCode or Hermes. It shows the changes to their settings and asks first; from "
        "then on results are cut before the model sees them: inspector help hook"
    )
    parts = (*lacking, *partly_applied(plan))
    left = tuple(f"{each.name}: {each.reason}" for each in parts)
    return Exported(text, "sh", where, left, applied(plan).strategies)


APPLY_METHODS: Mapping[str, ApplyMethod] = {
    OWN_CODE: ApplyMethod(OWN_CODE, "your own code", "any plan", _own_code),
    HOOK: ApplyMethod(HOOK, "a hook in the live agent", "strategies that cut results on arrival", _hook),
}
"""Ways by name, in display order."""

OF_AGENTS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (HOOK,),
    "codex": ("codex",),
    "gemini-cli": ("gemini-cli",),
    "hermes": (HOOK, "hermes"),
    "opencode": (HOOK, "opencode"),
    "openhands": ("openhands",),
    "openhands-v0": ("openhands",),
    "swe-agent": ("swe-agent",),
}
"""Export formats for each agent, by the name of its session format; others are undocumented."""
