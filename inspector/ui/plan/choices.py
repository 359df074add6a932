"""Picker entries for building a plan: strategies, presets, saved plans and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import expand_user
from inspector.strategies.plan import Plan, PlanError
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import PLUG_INS, STRATEGIES
from inspector.ui.dialogs.choice import DialogChoice

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.ui.plan.saved_plans import SavedPlan

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
            preset.name,
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
