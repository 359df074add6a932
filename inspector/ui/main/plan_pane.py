"""The plan pane: edits the plan from its controls and shows the results next to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import NOTHING_WORTHWHILE
from inspector.ui.controller.changes import Change
from inspector.ui.main import plan_files
from inspector.ui.main.session_pane import SessionPane
from inspector.ui.session_screen import scale_words
from inspector.ui.toolkit.pane import set_subtitle, set_title
from inspector.ui.toolkit.single_result_screen import open_over

if TYPE_CHECKING:
    from inspector.ui.controller.session import SessionController
    from inspector.ui.plan.controls import TextControl
    from inspector.ui.plan.entry import StrategyToggle
    from inspector.ui.plan.panel import PlanPanel


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
            early, self._switched_early = self._switched_early, []
            for entry in early:
                self.switch(entry)

    def _show_outcome(self) -> None:
        outcome = self.controller.outcome
        if outcome is not None and self._panel is not None:
            self._panel.show_outcomes(outcome.replay.groups)
            set_subtitle(self, scale_words(outcome.inputs.scale))

    def _show_risks(self) -> None:
        if self._panel is not None:
            risks = self.controller.risks
            self._panel.show_risks(() if risks is None else risks.lines())

    def _show_sizes(self) -> None:
        sizes, plan = self.controller.sizes, self.controller.plan
        if sizes is not None and plan is not None and self._panel is not None and sizes.serves(sizes.history, plan):
            self._panel.show_sizes(sizes)

    def _show_other_result(self) -> None:
        from inspector.ui.plan.difference import brief

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
            self.show_notice(f"{each.strategy.name} {'on' if each.enabled else 'off'}; ctrl+z to undo")

    def use_best(self) -> None:
        """Replace the plan by the recommended one: the agent's own, otherwise the best."""
        controller = self.controller
        found, plan = controller.answers.best, controller.plan
        if plan is None:
            return
        recommended = None if found is None else found.recommended
        if recommended is not None and recommended.plan.strategies == plan.strategies:
            self.show_notice("this is already the best plan")
        elif recommended is not None:
            plan_files.use_plan(controller, recommended.plan)
        elif found is not None and found.is_complete:
            self.show_notice(f"{NOTHING_WORTHWHILE}; c compares the plans")
        elif found is not None and not controller.answers.is_searching:
            self.show_notice("session too long to try every plan; c compares them")
        elif plan.strategies:
            self.show_notice("no search for a better plan while one is on; c compares all plans")
        else:
            tried = controller.answers.tried
            far = "" if tried is None else f", {ON_SCREEN.whole(tried[0])} of {ON_SCREEN.whole(tried[1])} plans tried"
            self.show_notice(f"still searching for the best plan{far}; the Cost pane will show it")

    def on_strategy_toggle_removed(self, event: StrategyToggle.Removed) -> None:
        """Remove a strategy, unless a repeated key has already removed it."""
        plan = self.controller.plan
        if plan is not None and event.entry < len(plan.entries):
            name = plan.entries[event.entry].strategy.name
            self.controller.edit_plan(plan.removed(event.entry))
            self.focus_control()
            self.show_notice(f"{name} removed; ctrl+z to undo")

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
        from inspector.ui.plan.tools import tool_choices, with_tools
        from inspector.ui.plan.tools_dialog import ToolsDialog

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
        from inspector.ui.dialogs.dialog import ValueDialog

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

    def swap(self) -> None:
        """Switch between plan A and B; B starts as a copy of A."""
        self.controller.swap_plans()
        plans = self.controller.plans
        if plans is not None:
            letter = plans.letter
            self.show_notice(f"this is plan {letter}; w d compares it with plan {plans.other_letter}")

    def show_difference(self) -> None:
        from inspector.ui.plan.difference import figure_rows, setting_rows
        from inspector.ui.plan.difference_dialog import DifferenceScreen

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
        if await plan_files.add_strategy(self.app, self.controller) and self.controller.plan is not None:
            await self._show_at_once(len(self.controller.plan.entries) - 1)

    def open_other(self) -> None:
        """Replace the plan by a saved plan, a built-in plan or one from a file."""
        self.run_dialog(plan_files.open_plan(self.app, self.controller), "open a plan")

    def save(self) -> None:
        self.run_dialog(plan_files.save_plan(self.app, self.controller), "save the plan")

    def export(self) -> None:
        """Show how an agent can use the plan, with the text to save or copy."""
        self.run_dialog(plan_files.export_plan(self.app, self.controller), "export the plan")
