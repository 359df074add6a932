"""Choosing, opening, saving and exporting plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.atomic_files import write_user_file
from inspector.session.files import expanded, is_file
from inspector.ui.download import deliver_in_browser

if TYPE_CHECKING:
    from textual.app import App

    from inspector.strategies.plan import Plan
    from inspector.ui.controller.session import SessionController
    from inspector.ui.plan.export_dialog import Export


async def add_strategy(app: App[Any], controller: SessionController) -> bool:
    """Prompt for a strategy and append it to the plan, switched on, or replace the plan by a built-in plan.

    Returns:
        True if a strategy was added.
    """
    from inspector.strategies.registry import strategy_for
    from inspector.ui.dialogs.picker import Picker
    from inspector.ui.plan.choices import READY, ready_choices, strategy_choices

    if controller.plan is None:
        return False
    choices = [*strategy_choices(), *ready_choices()]
    picker = Picker("Add a strategy, or use a built-in plan", choices, verb="adds it")
    chosen = await app.push_screen_wait(picker)
    if chosen is None:
        return False
    if chosen.startswith(READY):
        open_chosen_plan(controller, chosen)
        return False
    if controller.session is not None:
        controller.edit_plan(controller.plan.added(strategy_for(chosen, controller.session)))
    return controller.session is not None


async def open_plan(app: App[Any], controller: SessionController) -> None:
    """Prompt for a saved plan, a built-in plan or a plan file, and make it the current plan."""
    from inspector.ui.dialogs.picker import Picker
    from inspector.ui.plan.choices import file_choice, ready_choices, saved_choices
    from inspector.ui.plan.saved_plans import saved_plans

    if controller.plan is None:
        return
    choices = [*saved_choices(saved_plans()), *ready_choices()]
    hint = "filter, or path of a plan file"
    chosen = await app.push_screen_wait(Picker("Open a plan", choices, hint=hint, typed=file_choice))
    if chosen is not None:
        open_chosen_plan(controller, chosen)


def open_chosen_plan(controller: SessionController, identifier: str) -> None:
    """Replace the plan by another one; see `chosen_plan` for the identifier."""
    from inspector.strategies.plan import PlanError
    from inspector.ui.plan.choices import chosen_plan

    try:
        plan = chosen_plan(identifier, controller.session)
    except OSError as error:
        controller.host.tell(f"cannot read the plan: {error.strerror}", is_problem=True)
    except PlanError as error:
        controller.host.tell(f"not a valid plan: {error.message}", is_problem=True)
    else:
        use_plan(controller, plan)


def use_plan(controller: SessionController, plan: Plan) -> None:
    """Make a plan the current one and report how to undo that and whether the session's agent can apply it."""
    from inspector.report.export import describe_applied_plan

    controller.names.note(plan)
    controller.edit_plan(plan)
    controller.host.tell(describe_applied_plan(plan.name or "another plan", plan, controller.session))


async def save_plan(app: App[Any], controller: SessionController) -> None:
    from inspector.ui.dialogs.dialog import ValueDialog
    from inspector.ui.plan.saved_plans import problem_with_name, save_named

    if controller.plan is None:
        return
    text = (
        "A name saves it with your plans: w o opens them in any session, c compares them. "
        "A path (plans/mine.toml) writes a file for `inspector report --plan` or for a colleague."
    )
    suggested = controller.plan.name or "mine"
    dialog = ValueDialog("Save the plan as", text, suggested, problem_with_name, remark=_replaces)
    name = await app.push_screen_wait(dialog)
    if not name:
        return
    try:
        path = save_named(controller.plan, name)
    except OSError as error:
        controller.host.tell(f"cannot save the plan: {error.strerror}", is_problem=True)
    else:
        controller.name_plan(path.stem)
        controller.host.tell(f"plan saved to {path}")


async def export_plan(app: App[Any], controller: SessionController) -> None:
    """Show how the session's agent can apply the plan, then save or copy the exported text."""
    from inspector.report.export import answer_for
    from inspector.ui.plan.export_dialog import ExportScreen

    plan, session = controller.plan, controller.session
    if plan is None or session is None or not plan.strategies:
        controller.host.tell("nothing to export: no strategy of the plan is on; * uses the best plan")
        return
    export = await app.push_screen_wait(ExportScreen(plan, answer_for(session.format, plan)))
    if export is not None and export.is_copied:
        app.copy_to_clipboard(export.text)
        controller.host.tell("copied, if the terminal allows it; enter saves to a file instead")
    elif export is not None:
        await _save_export(app, controller, export)


async def _save_export(app: App[Any], controller: SessionController, export: Export) -> None:
    from inspector.ui.dialogs.dialog import ValueDialog

    text = "Saves the text of the preview."
    dialog = ValueDialog("Save as", text, export.file_name, _problem_with_file, remark=_replaces)
    name = await app.push_screen_wait(dialog)
    if not name:
        return
    path = expanded(name)
    if deliver_in_browser(app, export.text, path):
        controller.host.tell("sent to the browser")
        return
    try:
        write_user_file(path, export.text.encode())
    except OSError as error:
        controller.host.tell(f"cannot write {path}: {error.strerror}", is_problem=True)
    else:
        controller.host.tell(f"saved to {path}")


def _problem_with_file(text: str) -> str:
    from inspector.session.overwrite_guard import problem_with_target

    if not text.strip():
        return "enter a file name"
    problem = problem_with_target(expanded(text))
    return f"that {problem}" if problem else ""


def _replaces(text: str) -> str:
    from inspector.ui.plan.saved_plans import target_of

    is_path = Path(text).suffix not in ("", ".toml")
    path = expanded(text) if is_path else target_of(text)
    return f"overwrites {path}" if text.strip() and is_file(path) else ""
