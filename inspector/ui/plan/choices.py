"""What a plan can be made of, for the lists to choose from: strategies, ready plans, saved plans, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import expanded
from inspector.strategies.plan import Plan, PlanError
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES
from inspector.ui.dialogs.choice import DialogChoice

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.ui.plan.saved_plans import SavedPlan

READY = "ready:"
FILE = "file:"
"""What identifiers of plans begin with; those of strategies are their names."""


def strategy_choices() -> list[DialogChoice]:
    """Every strategy."""
    return [
        DialogChoice(each.name, each.name, each.title, f"{each.summary}\nFrom {each.source}")
        for each in STRATEGIES.values()
    ]


def ready_choices() -> list[DialogChoice]:
    """Every plan that comes with the program."""
    return [
        DialogChoice(
            f"{READY}{preset.name}",
            preset.name,
            preset.summary,
            _plan_help(f"Ready plan. {preset.summary}", preset.specs),
        )
        for preset in PRESETS.values()
    ]


def saved_choices(saved: list[SavedPlan]) -> list[DialogChoice]:
    """The plans a user saved."""
    choices = []
    for each in saved:
        specs = () if each.plan is None else each.plan.to_specs()
        help_text = _plan_help(each.problem or f"Saved as {each.path}", specs)
        choices.append(DialogChoice(f"{FILE}{each.path}", each.name, "your plan", help_text))
    return choices


def _plan_help(summary: str, specs: tuple[str, ...] | list[str]) -> str:
    return "\n".join([summary, *specs]) if specs else summary


def file_choice(text: str) -> DialogChoice | None:
    """The plan file a text names; None where it names none."""
    path = expanded(text)
    try:
        is_file = path.suffix == ".toml" and path.is_file()
    except OSError:
        return None
    return DialogChoice(f"{FILE}{path}", path.name, "a plan file", str(path)) if is_file else None


def chosen_plan(identifier: str, session: Session | None) -> Plan:
    """The plan an identifier stands for.

    Raises:
        OSError: Its file cannot be read.
        PlanError: What is in it is no plan.
    """
    if identifier.startswith(READY):
        return PRESETS[identifier.removeprefix(READY)].plan(session)
    path = Path(identifier.removeprefix(FILE))
    try:
        return Plan.from_toml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise PlanError(f"{path}: is no text") from None
