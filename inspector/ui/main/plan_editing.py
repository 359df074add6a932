"""What the plan panel asks for, done to the plan: one handler for each kind of change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work

from inspector.ui.controller.messages import PlanSizesFound, RivalReplayed
from inspector.ui.main.session_screen import SessionScreen
from inspector.ui.plan.history import PlanHistory

if TYPE_CHECKING:
    from textual.timer import Timer

    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.plan import Plan
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.controls import TextControl
    from inspector.ui.plan.difference import Rival
    from inspector.ui.plan.entry import StrategyToggle
    from inspector.ui.plan.panel import PlanPanel
    from inspector.ui.plan.sizes import PlanSizes

SECONDS_TO_SETTLE = 1.0
"""Key presses on one control with no longer pause between them are one change to take back."""


class PlanEditing(SessionScreen):
    """A session screen with a plan panel."""

    panel: PlanPanel | None = None
    """Shows the plan; None before there is a session to plan for."""

    plan_letter = "A"
    """Which of the two plans is shown."""

    rival: Rival | None = None
    """What the plan put aside would come to; None while there is none or it is not known."""

    _other: PlanHistory | None = None
    _sizes: PlanSizes | None = None
    _settling: Timer | None = None

    @property
    def plan(self) -> Plan | None:
        """The plan; None before there is one."""
        return None if self.plans is None else self.plans.plan

    def edit_plan(self, plan: Plan, *, merge: str = "") -> None:
        """Take a changed plan, and keep it for the next time this session is opened."""
        self.change_plan(plan, merge=merge)
        self.keep_state()

    def action_swap_plan(self) -> None:
        """Put the plan aside and take the other one; at first, a copy of it to change."""
        if self.plans is None:
            return
        other = self._other or PlanHistory(self.plans.plan)
        self._other, self.plan_letter = self.plans, self.other_letter
        self.rival = None
        self.take_plans(other)
        self.show_plan()
        self.show_rival()
        if self.outcome is not None and self.outcome.plan == other.plan:
            self.measure(self.outcome)
        self.keep_state()
        self.show_notice(
            f"this is plan {self.plan_letter} now: A shows what it differs in from plan {self.other_letter}"
        )

    @property
    def other_letter(self) -> str:
        """What the plan put aside is called."""
        return "B" if self.plan_letter == "A" else "A"

    def measure(self, outcome: Outcome) -> None:
        """Find out what each limit is about, and what the plan put aside would come to."""
        known, other = self._sizes, None if self._other is None else (self.other_letter, self._other.plan)

        def work() -> None:
            from inspector.ui.controller import jobs

            jobs.measure(outcome, known, other, self.post_message)

        self._work(work, "measure", "measure the plan")

    @on(PlanSizesFound)
    def _sizes_found(self, message: PlanSizesFound) -> None:
        self._sizes = message.sizes
        if self.plan is not None and self.panel is not None and message.sizes.serves(message.sizes.history, self.plan):
            self.panel.show_sizes(message.sizes.of)

    @on(RivalReplayed)
    def _rival_replayed(self, message: RivalReplayed) -> None:
        is_newest = self.outcome is not None and message.outcome.replay is self.outcome.replay
        if is_newest and message.rival.letter == self.other_letter:
            self.rival = message.rival
            self.show_rival()

    def show_rival(self) -> None:
        """Below the plan."""
        from inspector.ui.plan.difference import brief

        if self.panel is not None:
            rival, outcome = self.rival, self.outcome
            self.panel.show_rival("" if rival is None or outcome is None else brief(outcome.totals, rival))

    def action_show_difference(self) -> None:
        """Everything the two plans differ in."""
        from inspector.ui.plan.difference import figure_rows, setting_rows
        from inspector.ui.plan.difference_dialog import DifferenceScreen

        if self.rival is None or self.outcome is None or self.plan is None:
            self.show_notice("there is one plan yet: a puts it aside and takes another, to compare")
            return
        figures = figure_rows(self.outcome.totals, self.rival.totals)
        settings = setting_rows(self.plan, self.rival.plan)
        self.app.push_screen(DifferenceScreen(self.plan_letter, self.other_letter, figures, settings))

    def keep_state(self) -> None:
        """Something changed that should be as it is now the next time the session is opened."""
        raise NotImplementedError

    def on_plan_panel_value_changed(self, event: PlanPanel.ValueChanged) -> None:
        """A control was moved."""
        self.set_value(event.entry, event.parameter, event.value, is_final=event.is_final)

    def set_value(self, entry: int, parameter: str, value: ParameterValue, *, is_final: bool = True) -> None:
        """Give a parameter another value. A strategy whose limit is moved is switched on: nobody drags for nothing."""
        from inspector.strategies.registry import with_value

        if self.plan is None or self.plans is None:
            return
        strategy = with_value(self.plan.entries[entry].strategy, parameter, value)
        plan = self.plan.with_strategy(entry, strategy)
        if plan != self.plan and not plan.entries[entry].enabled:
            plan = plan.toggled(entry)
        self.edit_plan(plan, merge=f"{entry} {parameter}")
        if self._settling is not None:
            self._settling.stop()
            self._settling = None
        if is_final:
            self._settling = self.set_timer(SECONDS_TO_SETTLE, self._settle)

    def _settle(self) -> None:
        self._settling = None
        if self.plans is not None:
            self.plans = self.plans.settled()

    def on_strategy_toggle_switched(self, event: StrategyToggle.Switched) -> None:
        """A strategy was switched."""
        self.action_switch(event.entry)

    def action_switch(self, entry: int) -> None:
        """Switch a strategy on or off."""
        if self.plan is not None and entry < len(self.plan.entries):
            self.edit_plan(self.plan.toggled(entry))

    def on_strategy_toggle_removed(self, event: StrategyToggle.Removed) -> None:
        """A strategy was taken out."""
        if self.plan is not None and self.panel is not None:
            name = self.plan.entries[event.entry].strategy.name
            self.edit_plan(self.plan.removed(event.entry))
            self.panel.focus_control()
            self.show_notice(f"{name} is out of the plan: ctrl+z brings it back")

    async def on_strategy_toggle_moved(self, event: StrategyToggle.Moved) -> None:
        """A strategy was given another place."""
        target = event.entry + event.places
        if self.plan is not None and self.panel is not None and 0 <= target < len(self.plan.entries):
            self.edit_plan(self.plan.moved(event.entry, target))
            await self.panel.show(self.plan)
            self.panel.focus_control(target)

    def on_text_control_edit_requested(self, event: TextControl.EditRequested) -> None:
        """A text, or a list of tools, should be edited."""
        from inspector.strategies.core.parameters import ParameterKind

        if event.text_control.parameter.kind is ParameterKind.TOOLS:
            self._edit_tools(event.text_control)
        else:
            self._edit_text(event.text_control)

    @work(group="dialog", exclusive=True, description="edit a list of tools", exit_on_error=False)
    async def _edit_tools(self, control: TextControl) -> None:
        from inspector.ui.plan.tools import tool_choices, with_tools
        from inspector.ui.plan.tools_dialog import ToolsDialog

        if self.plan is None or self.history is None or not isinstance(control.value, tuple):
            return
        parameter, strategy = control.parameter, self.plan.entries[control.entry].strategy
        tools = tool_choices(self.history, strategy, parameter)
        title = f"{strategy.name}: {parameter.name.replace('-', ' ')}"
        chosen = await self.app.push_screen_wait(ToolsDialog(title, parameter.help, tools, control.value))
        if chosen is None or chosen == control.value:
            return
        entry = self.plan.entries[control.entry] if control.entry < len(self.plan.entries) else None
        if entry is not None and entry.strategy.name == strategy.name:
            self.edit_plan(self.plan.with_strategy(control.entry, with_tools(entry.strategy, parameter, chosen)))

    @work(group="dialog", exclusive=True, description="edit a value", exit_on_error=False)
    async def _edit_text(self, control: TextControl) -> None:
        from inspector.strategies.core.parameters import ParameterError
        from inspector.ui.dialogs.value_dialog import ValueDialog

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
            self.set_value(control.entry, parameter.name, parameter.parsed(text))
