"""Conditions for offering the main screen's actions and for showing them in the status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.part_names import COST, DETAIL, PLAN

if TYPE_CHECKING:
    from inspector.ui.app import InspectorApp
    from inspector.ui.main.screen import InspectScreen


def has_tabs(app: InspectorApp) -> bool:
    return app.has_tabs


def has_outcome(main: InspectScreen) -> bool:
    """Return True if the session was replayed."""
    return main.controller.outcome is not None


def has_plan(main: InspectScreen) -> bool:
    """Return True if there is a plan to change."""
    return main.controller.plans is not None


def has_strategies(main: InspectScreen) -> bool:
    """Return True if a strategy of the plan is on."""
    return main.controller.plans is not None and bool(main.controller.plans.plan.strategies)


def has_none_on(main: InspectScreen) -> bool:
    """Return True if no strategy of the plan is on."""
    return not has_strategies(main)


def has_best_with_none_on(main: InspectScreen) -> bool:
    """Return True if no strategy is on and a plan is recommended."""
    found = main.controller.answers.best
    return has_none_on(main) and found is not None and found.recommended is not None


def shows_compare_hint(main: InspectScreen) -> bool:
    """Return True if the cost pane shows no key for the comparison next to the best plan."""
    return not has_best_with_none_on(main)


def was_compacted_with_none_on(main: InspectScreen) -> bool:
    """Return True if no strategy is on and the session was compacted."""
    session = main.controller.session
    return has_none_on(main) and session is not None and bool(session.compactions)


def can_undo(main: InspectScreen) -> bool:
    """Return True if a change to the plan or to an assumption can be undone."""
    return main.controller.can_undo


def can_redo(main: InspectScreen) -> bool:
    """Return True if an undone change can be redone."""
    return main.controller.can_redo


def has_other_plan(main: InspectScreen) -> bool:
    """Return True if there is a second plan."""
    return main.controller.other_result is not None


def is_at_earlier_call(main: InspectScreen) -> bool:
    """Return True if an earlier call is selected, not the next prompt."""
    return main.controller.call is not None


def has_session(main: InspectScreen) -> bool:
    """Return True if a session was read."""
    return main.controller.session is not None


def has_none(main: InspectScreen) -> bool:
    """Return True if no session could be opened."""
    return main.controller.is_unopened


def is_in_plan_to_undo(main: InspectScreen) -> bool:
    """Return True if the plan has the focus and was changed."""
    return can_undo(main) and main.pane_focus.is_in(PLAN)


def is_in_plan(main: InspectScreen) -> bool:
    return main.pane_focus.is_in(PLAN)


def has_strategies_or_is_in_plan(main: InspectScreen) -> bool:
    return has_strategies(main) or is_in_plan(main)


def is_in_detail(main: InspectScreen) -> bool:
    return main.pane_focus.is_in(DETAIL)


def is_in_cost(main: InspectScreen) -> bool:
    return main.pane_focus.is_in(COST)
