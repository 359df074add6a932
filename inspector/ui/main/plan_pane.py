"""The plan pane: edits the plan from its controls and shows the results next to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.atomic_files import write_user_file
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import NOTHING_WORTHWHILE, searching_words
from inspector.session.files import expand_user, is_file
from inspector.ui.controller.host import Change
from inspector.ui.main.session_pane import SessionPane
from inspector.ui.served import deliver_in_browser
from inspector.ui.toolkit.pane import set_title
from inspector.ui.toolkit.single_result_screen import open_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from inspector.replay.analysis.best_plan import BestPlan
    from inspector.strategies.plan import Plan
    from inspector.ui.controller.session import SessionController
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.controls import TextControl
    from inspector.ui.plan.dialogs import Export
    from inspector.ui.plan.panel import PlanPanel, StrategyToggle


async def add_strategy(app: App[Any], controller: SessionController) -> bool:
    """Prompt for a strategy and append it to the plan, switched on, or replace the plan by a built-in plan.

    Returns:
        True if a strategy was added.
    """
    from inspector.strategies.registry import strategy_for
    from inspector.ui.dialogs import Picker
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
    from inspector.strategies.presets import saved_plans
    from inspector.ui.dialogs import Picker
    from inspector.ui.plan.choices import file_choice, ready_choices, saved_choices

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
        controller.host.show_notice(f"cannot read the plan: {error.strerror}", is_problem=True)
    except PlanError as error:
        controller.host.show_notice(f"not a valid plan: {error.message}", is_problem=True)
    else:
        controller.use_plan(plan)


async def save_plan(app: App[Any], controller: SessionController) -> None:
    from inspector.strategies.presets import problem_with_name, save_named
    from inspector.ui.dialogs import ValueDialog

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
        controller.host.show_notice(f"cannot save the plan: {error.strerror}", is_problem=True)
    else:
        controller.name_plan(path.stem)
        controller.host.show_notice(f"plan saved to {path}")


async def export_plan(app: App[Any], controller: SessionController) -> None:
    """Show how the session's agent can apply the plan, then save or copy the exported text."""
    from inspector.report.export import answer_for
    from inspector.ui.plan.dialogs import ExportScreen

    plan, session = controller.plan, controller.session
    if plan is None or session is None or not plan.strategies:
        controller.host.show_notice("nothing to export: no strategy of the plan is on; * uses the best plan")
        return
    export = await app.push_screen_wait(ExportScreen(plan, answer_for(session.format, plan)))
    if export is not None and export.is_copied:
        app.copy_to_clipboard(export.text)
        controller.host.show_notice("copied, if the terminal allows it; enter saves to a file instead")
    elif export is not None:
        await _save_export(app, controller, export)


async def _save_export(app: App[Any], controller: SessionController, export: Export) -> None:
    from inspector.ui.dialogs import ValueDialog

    text = "Saves the text of the preview."
    dialog = ValueDialog("Save as", text, export.file_name, _problem_with_file, remark=_replaces)
    name = await app.push_screen_wait(dialog)
    if not name:
        return
    path = expand_user(name)
    if deliver_in_browser(app, export.text, path):
        controller.host.show_notice("sent to the browser")
        return
    try:
        write_user_file(path, export.text.encode())
    except OSError as error:
        controller.host.show_notice(f"cannot write {path}: {error.strerror}", is_problem=True)
    else:
        controller.host.show_notice(f"saved to {path}")


def _problem_with_file(text: str) -> str:
    from inspector.session.registry import problem_with_target

    if not text.strip():
        return "enter a file name"
    problem = problem_with_target(expand_user(text))
    return f"that {problem}" if problem else ""


def _replaces(text: str) -> str:
    from inspector.strategies.presets import target_of

    is_path = Path(text).suffix not in ("", ".toml")
    path = expand_user(text) if is_path else target_of(text)
    return f"overwrites {path}" if text.strip() and is_file(path) else ""


class PlanPane(SessionPane):
    """The pane with the plan's controls."""

    def __init__(self, controller: SessionController) -> None:
        super().__init__("Plan", id="plan-pane", controller=controller)
        self._panel: PlanPanel | None = None
        self._switched_early: list[int] = []
        """Places of strategies switched by key after the rows appeared but before the plan was loaded."""
        self.listen(
            controller,
            {
                Change.PLAN: self._show_plan,
                Change.OUTCOME: self._show_outcome,
                Change.RISKS: self._show_risks,
                Change.SIZES: self._show_sizes,
                Change.OTHER_RESULT: self._show_other_result,
            },
        )

    async def open(self) -> None:
        from inspector.ui.plan.panel import PlanPanel

        self._panel = PlanPanel()
        await self.mount(self._panel)

    def close(self) -> None:
        """Drop the panel and the key presses queued for it."""
        self._panel, self._switched_early = None, []

    def take_focus(self) -> None:
        """Focus the control that had the focus last."""
        if self._panel is not None:
            self._panel.focus_control()
        else:
            super().take_focus()

    @property
    def panel(self) -> PlanPanel | None:
        return self._panel

    def focus_control(self, entry: int | None = None) -> None:
        """Focus the control that had the focus last, or the switch of an entry."""
        if self._panel is not None:
            self._panel.focus_control(entry)

    def _show_plan(self) -> None:
        if self.controller.plan is not None and self._panel is not None:
            self._panel.show_soon(self.controller.plan)
            set_title(self, self.controller.plan_title)
            if self.controller.move is None:
                self._panel.show_help()
            early, self._switched_early = self._switched_early, []
            for entry in early:
                self.switch(entry)

    def _show_outcome(self) -> None:
        outcome = self.controller.outcome
        if outcome is not None and self._panel is not None:
            self._panel.show_outcomes(outcome.replay.groups)
            self._show_move(outcome)

    def _show_move(self, outcome: Outcome) -> None:
        """Show the effect of the limit being moved, compared with its value before."""
        from inspector.ui.plan.results import moved_words

        move = self.controller.move
        if move is not None and self._panel is not None and outcome.totals is not move.totals:
            self._panel.show_message(moved_words(move, outcome.plan, outcome.totals))

    def _show_risks(self) -> None:
        if self._panel is not None:
            risks = self.controller.risks
            self._panel.show_risks(() if risks is None else risks.lines())

    def _show_sizes(self) -> None:
        sizes, plan = self.controller.sizes, self.controller.plan
        if sizes is not None and plan is not None and self._panel is not None and sizes.serves(sizes.history, plan):
            self._panel.show_sizes(sizes)

    def _show_other_result(self) -> None:
        from inspector.ui.plan.results import brief

        if self._panel is not None:
            other_result, outcome, plans = self.controller.other_result, self.controller.outcome, self.controller.plans
            if plans is None or plans.other_plan is None:
                self._panel.show_other_result(None)
            else:
                self._panel.show_other_result(
                    "" if other_result is None or outcome is None else brief(outcome.totals, other_result)
                )

    def on_plan_panel_value_changed(self, event: PlanPanel.ValueChanged) -> None:
        self.controller.set_value(event.entry, event.parameter, event.value, is_final=event.is_final)

    def on_strategy_toggle_switched(self, event: StrategyToggle.Switched) -> None:
        self.switch(event.entry)

    def switch(self, entry: int) -> None:
        """Toggle the strategy at a place, if there is one; queue the toggle until the plan is loaded."""
        plan = self.controller.plan
        if plan is None and self.controller.session is not None:
            self._switched_early.append(entry)
        elif plan is not None and entry < len(plan.entries):
            switched = plan.toggled(entry)
            self.controller.edit_plan(switched)
            each = switched.entries[entry]
            self.show_notice(f"{each.strategy.name} {'on' if each.enabled else 'off'}; ctrl+z undoes it")

    def use_best(self) -> None:
        """Replace the plan by the recommended one: the agent's own, otherwise the best."""
        found, plan = self.controller.answers.best, self.controller.plan
        if plan is not None:
            recommended = None if found is None or found.recommended is None else found.recommended.plan
            why_not = self.controller.use_best(recommended, self._why_no_best(plan, found))
            if why_not:
                self.show_notice(why_not)

    def _why_no_best(self, plan: Plan, found: BestPlan | None) -> str:
        answers = self.controller.answers
        if found is not None and found.is_complete:
            return f"{NOTHING_WORTHWHILE}; c compares the plans"
        if found is not None and not answers.is_searching:
            return "session too long to try every plan; c compares them"
        if plan.strategies:
            return "no search for a better plan while one is on; c compares all plans"
        return f"{searching_words(answers.tried, ON_SCREEN)}; the Cost pane will show it"

    def on_strategy_toggle_removed(self, event: StrategyToggle.Removed) -> None:
        """Remove a strategy, unless a repeated key has already removed it."""
        plan = self.controller.plan
        if plan is not None and event.entry < len(plan.entries):
            name = plan.entries[event.entry].strategy.name
            self.controller.edit_plan(plan.removed(event.entry))
            self.focus_control()
            self.show_notice(f"{name} removed; ctrl+z undoes it")

    async def on_strategy_toggle_moved(self, event: StrategyToggle.Moved) -> None:
        plan, target = self.controller.plan, event.entry + event.places
        if plan is not None and event.entry < len(plan.entries) and 0 <= target < len(plan.entries):
            self.controller.edit_plan(plan.moved(event.entry, target))
            await self._show_at_once(target)

    async def _show_at_once(self, entry: int) -> None:
        if self._panel is not None and self.controller.plan is not None:
            await self._panel.show(self.controller.plan, entry)

    def on_text_control_edit_requested(self, event: TextControl.EditRequested) -> None:
        """Open the editor for a text or a list of tools."""
        from inspector.strategies.core.parameters import ParameterKind

        if event.text_control.parameter.kind is ParameterKind.TOOLS:
            self.run_dialog(self._edit_tools(event.text_control), "edit a list of tools")
        else:
            self.run_dialog(self._edit_text(event.text_control), "edit a value")

    async def _edit_tools(self, control: TextControl) -> None:
        from inspector.ui.plan.choices import tool_choices, with_tools
        from inspector.ui.plan.dialogs import ToolsDialog

        plan, history = self.controller.plan, self.controller.history
        if plan is None or history is None or not isinstance(control.value, tuple):
            return
        parameter, strategy = control.parameter, plan.entries[control.entry].strategy
        tools = tool_choices(history, strategy, parameter)
        title = f"{strategy.name}: {parameter.name.replace('-', ' ')}"
        chosen = await self.app.push_screen_wait(ToolsDialog(title, parameter.help, tools, control.value))
        if chosen is None or chosen == control.value:
            return
        plan = self.controller.plan or plan
        entry = plan.entries[control.entry] if control.entry < len(plan.entries) else None
        if entry is not None and entry.strategy.name == strategy.name:
            self.controller.edit_plan(plan.with_strategy(control.entry, with_tools(entry.strategy, parameter, chosen)))

    async def _edit_text(self, control: TextControl) -> None:
        from inspector.strategies.core.parameters import ParameterError
        from inspector.ui.dialogs import ValueDialog

        parameter = control.parameter

        def problem(text: str) -> str:
            try:
                parameter.parsed(text)
            except ParameterError as error:
                return str(error)
            return ""

        title, value = parameter.name.replace("-", " "), control.editable
        text = await self.app.push_screen_wait(ValueDialog(title, control.explanation, value, problem))
        if text is not None:
            self.controller.set_value(control.entry, parameter.name, parameter.parsed(text))

    def undo(self) -> None:
        self._step("undo", self.controller.undo)

    def redo(self) -> None:
        self._step("redo", self.controller.redo)

    def _step(self, name: str, step: Callable[[], None]) -> None:
        """Undo or redo a change and report it, or that there is none left."""
        from inspector.ui.cost.assumptions import terms_words
        from inspector.ui.plan.results import change_words

        plan, terms = self.controller.plan, self.controller.terms
        step()
        if plan is None or self.controller.plan is None:
            return
        changed = change_words(plan, self.controller.plan) or terms_words(terms, self.controller.terms)
        other = "ctrl+y redoes it" if name == "undo" else "ctrl+z undoes it"
        self.show_notice(f"{name}: {changed}; {other}" if changed else f"nothing to {name}")

    def swap(self) -> None:
        """Switch between plan A and B; B starts as a copy of A."""
        self.controller.swap_plans()
        plans = self.controller.plans
        if plans is not None:
            letter = plans.letter
            self.show_notice(f"this is plan {letter}; w d compares it with plan {plans.other_letter}")

    def show_difference(self) -> None:
        from inspector.ui.plan.dialogs import DifferenceScreen
        from inspector.ui.plan.results import figure_rows, setting_rows

        other_result, outcome, plans = self.controller.other_result, self.controller.outcome, self.controller.plans
        if other_result is None or outcome is None or plans is None:
            self.show_notice("there is only one plan so far; a switches to plan B")
            return
        figures, settings = (
            figure_rows(outcome.totals, other_result.totals),
            setting_rows(plans.plan, other_result.plan),
        )
        open_over(self.screen, DifferenceScreen(plans.letter, plans.other_letter, figures, settings))

    def on_add_strategy_pressed(self) -> None:
        self.add()

    def add(self) -> None:
        """Choose a strategy and append it to the plan, switched on, or replace the plan by a built-in plan."""
        self.run_dialog(self._add(), "choose a strategy")

    async def _add(self) -> None:
        if await add_strategy(self.app, self.controller) and self.controller.plan is not None:
            await self._show_at_once(len(self.controller.plan.entries) - 1)

    def open_other(self) -> None:
        """Replace the plan by a saved plan, a built-in plan or one from a file."""
        self.run_dialog(open_plan(self.app, self.controller), "open a plan")

    def save(self) -> None:
        self.run_dialog(save_plan(self.app, self.controller), "save the plan")

    def export(self) -> None:
        """Show how an agent can use the plan, with the text to save or copy."""
        self.run_dialog(export_plan(self.app, self.controller), "export the plan")
