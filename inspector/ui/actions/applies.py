"""When actions of the main screen apply, and when the status line teaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.part_names import COST, DETAIL, PLAN

if TYPE_CHECKING:
    from inspector.ui.app import InspectorApp
    from inspector.ui.main.screen import InspectScreen


def has_tabs(app: InspectorApp) -> bool:
    """More than one session is open."""
    return app.has_tabs


def has_outcome(main: InspectScreen) -> bool:
    """The session was replayed."""
    return main.controller.outcome is not None


def has_plan(main: InspectScreen) -> bool:
    """There is a plan to change."""
    return main.controller.plans is not None


def has_strategies(main: InspectScreen) -> bool:
    """A strategy of the plan is on."""
    return main.controller.plans is not None and bool(main.controller.plans.plan.strategies)


def has_none_on(main: InspectScreen) -> bool:
    """No strategy of the plan is on."""
    return not has_strategies(main)


def has_best_with_none_on(main: InspectScreen) -> bool:
    """No strategy is on, and it is known which plan saves most."""
    found = main.controller.answers.best
    return has_none_on(main) and found is not None and found.best is not None


def asks_for_compare(main: InspectScreen) -> bool:
    """The cost pane does not name the key of the comparison beside the best plan."""
    return not has_best_with_none_on(main)


def was_compacted_with_none_on(main: InspectScreen) -> bool:
    """No strategy is on, and the session was compacted."""
    session = main.controller.session
    return has_none_on(main) and session is not None and bool(session.compactions)


def has_past(main: InspectScreen) -> bool:
    """A change of the plan can be undone."""
    return main.controller.plans is not None and bool(main.controller.plans.shown.past)


def has_future(main: InspectScreen) -> bool:
    """A change of the plan was undone."""
    return main.controller.plans is not None and bool(main.controller.plans.shown.future)


def has_rival(main: InspectScreen) -> bool:
    """There is a second plan."""
    return main.controller.rival is not None


def looks_back(main: InspectScreen) -> bool:
    """A call that was made is looked at, not the next prompt."""
    return main.controller.call is not None


def has_session(main: InspectScreen) -> bool:
    """A session was read."""
    return main.controller.session is not None


def has_none(main: InspectScreen) -> bool:
    """No session could be opened."""
    return main.controller.is_unopened


def is_in_plan_to_undo(main: InspectScreen) -> bool:
    """The plan has the focus, and was changed."""
    return has_past(main) and main.pane_focus.is_in(PLAN)


def is_in_plan(main: InspectScreen) -> bool:
    """The plan has the focus."""
    return main.pane_focus.is_in(PLAN)


def has_strategies_or_is_in_plan(main: InspectScreen) -> bool:
    """A strategy of the plan is on, or the plan has the focus."""
    return has_strategies(main) or is_in_plan(main)


def is_in_detail(main: InspectScreen) -> bool:
    """The text of a block has the focus."""
    return main.pane_focus.is_in(DETAIL)


def is_in_cost(main: InspectScreen) -> bool:
    """The costs have the focus."""
    return main.pane_focus.is_in(COST)
