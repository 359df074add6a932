"""Where plans come from and go to: strategies, ready and saved plans, files, other agents' configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work

from inspector.session.files import is_file
from inspector.ui.download import deliver_in_browser
from inspector.ui.main.plan_editing import PlanEditing
from inspector.ui.plan.library import PlanNames

if TYPE_CHECKING:
    from inspector.ui.plan.export_dialog import Export


class PlanFiles(PlanEditing):
    """A session screen whose plan can be saved, opened and exported."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.plan_names = PlanNames()

    @property
    def plan_title(self) -> str:
        """The plan's letter and name, and whether it was changed since it was saved or opened."""
        return "Plan" if self.plan is None else self.plan_names.title(self.plan_letter, self.plan, self.session)

    def on_add_strategy_pressed(self) -> None:
        """A strategy should be added."""
        self.action_add_strategy()

    @work(group="dialog", exclusive=True, description="choose a strategy", exit_on_error=False)
    async def action_add_strategy(self) -> None:
        """Choose a strategy and put it at the end of the plan, switched on; or take a ready plan in its place."""
        from inspector.ui.dialogs.picker import Picker
        from inspector.ui.plan.choices import READY, ready_choices, strategy_choices

        if self.plan is None:
            return
        choices = [*strategy_choices(), *ready_choices()]
        picker = Picker("Add a strategy, or take a ready plan", choices, verb="adds it")
        chosen = await self.app.push_screen_wait(picker)
        if chosen is not None and chosen.startswith(READY):
            self.take_plan(chosen)
        elif chosen is not None:
            await self._add(chosen)

    async def _add(self, name: str) -> None:
        from inspector.strategies.registry import strategy_for

        if self.plan is not None and self.session is not None and self.panel is not None:
            self.edit_plan(self.plan.added(strategy_for(name, self.session)))
            await self.panel.show(self.plan)
            self.panel.focus_control(len(self.plan.entries) - 1)

    @work(group="dialog", exclusive=True, description="open a plan", exit_on_error=False)
    async def action_open_plan(self) -> None:
        """Take a saved plan, a ready one, or one in a file, in place of this one."""
        from inspector.ui.dialogs.picker import Picker
        from inspector.ui.plan.choices import file_choice, ready_choices, saved_choices
        from inspector.ui.plan.library import saved_plans

        if self.plan is None:
            return
        choices = [*saved_choices(saved_plans()), *ready_choices()]
        hint = "filter, or the path of a plan file"
        chosen = await self.app.push_screen_wait(Picker("Open a plan", choices, hint=hint, typed=file_choice))
        if chosen is not None:
            self.take_plan(chosen)

    def take_plan(self, identifier: str) -> None:
        """Use another plan in place of this one; see `chosen_plan` for the identifier."""
        from inspector.strategies.plan import PlanError
        from inspector.ui.plan.choices import chosen_plan

        try:
            plan = chosen_plan(identifier, self.session)
        except OSError as error:
            self.show_notice(f"the plan cannot be read: {error.strerror}", is_problem=True)
        except PlanError as error:
            self.show_notice(f"that is no plan: {error.message}", is_problem=True)
        else:
            self.plan_names.note(plan)
            self.edit_plan(plan)
            self.show_notice(f"the plan is {plan.name or 'another one'} now: ctrl+z brings yours back")

    @work(group="dialog", exclusive=True, description="save the plan", exit_on_error=False)
    async def action_save_plan(self) -> None:
        """Save the plan under a name, or in a file of the user's choice."""
        from inspector.ui.dialogs.value_dialog import ValueDialog
        from inspector.ui.plan.library import problem_with_name, save_named

        if self.plan is None:
            return
        text = (
            "A name keeps it with your plans: O opens them on any session, c compares them. "
            "A path (plans/mine.toml) is a file for `inspector report --plan`, or for a colleague."
        )
        name = await self.app.push_screen_wait(
            ValueDialog("Save the plan as", text, self.plan.name or "mine", problem_with_name, remark=_replaces)
        )
        if not name or self.plan is None:
            return
        try:
            path = save_named(self.plan, name)
        except OSError as error:
            self.show_notice(f"the plan was not saved: {error.strerror}", is_problem=True)
        else:
            self._take_name(path.stem)
            self.show_notice(f"plan saved to {path}")

    def _take_name(self, name: str) -> None:
        """The plan was saved under a name, and has it from now on; that is no change to take back."""
        if self.plans is not None:
            named = replace(self.plans.plan, name=name)
            self.plan_names.note(named)
            self.take_plans(self.plans._replace(plan=named))
            self.show_plan()
            self.keep_state()

    @work(group="dialog", exclusive=True, description="export the plan", exit_on_error=False)
    async def action_export_plan(self) -> None:
        """Show the plan as other agents' configuration, to save or to copy."""
        from inspector.ui.plan.export_dialog import ExportScreen

        if self.plan is None or not self.plan.strategies:
            self.show_notice("there is nothing to export: the plan has no strategy switched on")
            return
        export = await self.app.push_screen_wait(ExportScreen(self.plan))
        if export is not None and export.is_copied:
            self.app.copy_to_clipboard(export.text)
            self.show_notice("copied, if the terminal lets programs copy: enter saves it in a file instead")
        elif export is not None:
            await self._save_export(export)

    async def _save_export(self, export: Export) -> None:
        from inspector.ui.dialogs.value_dialog import ValueDialog

        text = "The configuration, as in the preview."
        dialog = ValueDialog("Save the configuration as", text, export.file_name, _problem_with_file, remark=_replaces)
        name = await self.app.push_screen_wait(dialog)
        if not name:
            return
        path = Path(name).expanduser()
        if deliver_in_browser(self.app, export.text, path):
            self.show_notice("configuration sent to the browser")
            return
        try:
            path.write_text(export.text, encoding="utf-8")
        except OSError as error:
            self.show_notice(f"{path} could not be written: {error.strerror}", is_problem=True)
        else:
            self.show_notice(f"configuration saved to {path}")


def _problem_with_file(text: str) -> str:
    from inspector.session.overwrite_guard import problem_with_target

    if not text.strip():
        return "name a file"
    problem = problem_with_target(Path(text).expanduser())
    return f"that {problem}" if problem else ""


def _replaces(text: str) -> str:
    from inspector.ui.plan.library import target_of

    is_path = Path(text).suffix not in ("", ".toml")
    path = Path(text).expanduser() if is_path else target_of(text)
    return f"replaces {path}" if text.strip() and is_file(path) else ""
