"""Studies opened out of one another: where leaving them leads."""

import pytest

from inspector.strategies.plan import Plan
from inspector.ui.compare import screen as compare_screen
from tests.ui.studies import BASELINE, Compare, Costs, Tune

PLAN = Plan.from_specs(["tiered-stale:confirmation=150"])


@pytest.fixture(autouse=True)
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    plans_to_compare = compare_screen.plans_to_compare
    monkeypatch.setattr(compare_screen, "plans_to_compare", lambda session: plans_to_compare(session)[:3])


@pytest.mark.parametrize("other", [Tune, Costs])
async def test_escape_goes_back_to_the_study_it_was_opened_from_as_it_was_and_then_to_the_session(
    running, session_file, other
) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        compare = await Compare.opened(run)
        await run.tap("right", "right", "end", "up")
        row, column = compare.table.row_here, compare.table.sorting.column
        await other.opened(run)
        await run.tap("escape")
        await run.until(lambda: compare.is_on_top)
        assert (compare.table.row_here, compare.table.sorting.column) == (row, column)
        await run.tap("escape")
        await run.until_open("session")


async def test_a_study_that_was_come_back_to_is_closed_to_the_session_whatever_is_below(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        await Compare.opened(run)
        tune = await Tune.opened(run)
        await Costs.opened(run)
        await run.tap("escape")
        await run.until(lambda: tune.is_on_top)
        await run.tap("escape")
        await run.until_open("session")


async def test_the_key_of_a_study_that_is_below_leads_back_to_it(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        compare = await Compare.opened(run)
        await Tune.opened(run)
        await Costs.opened(run)
        await run.tap("c")
        await run.until(lambda: compare.is_on_top)
        await run.tap("c")
        await run.until_open("session")


async def test_going_to_a_row_or_taking_a_plan_leads_to_the_session_from_a_study_over_another(
    running, session_file
) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        await Tune.opened(run)
        compare = await Compare.opened(run)
        compare.table.go_to(next(key for key in compare.every_key()[2:]))
        await run.tap("enter")
        await run.until_open("session")
        assert run.plan != PLAN

        await Compare.opened(run)
        costs = await Costs.opened(run)
        await run.tap("g", "r")
        await costs.shown()
        await run.tap("home", "enter")
        await run.until_open("session")
        assert run.timeline.has_focus


async def test_a_study_below_shows_what_changed_once_it_is_come_back_to(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        compare = await Compare.opened(run)
        calls = compare.found(BASELINE).figures.calls.value
        costs = await Costs.opened(run)
        session_file.turn()
        await run.until(lambda: run.history.call_count == calls + 1)
        await costs.shown()
        assert compare.found(BASELINE).figures.calls.value == calls
        await run.tap("escape")
        await run.until(lambda: compare.is_on_top)
        await run.until(lambda: compare.found(BASELINE).figures.calls.value == calls + 1)
