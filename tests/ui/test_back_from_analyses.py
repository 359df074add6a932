"""Studies opened out of one another: where leaving them leads."""

from functools import partial

import pytest

from inspector.replay.analysis.sweep import COARSE, sweep
from inspector.strategies.plan import Plan
from inspector.ui.compare import screen as compare_screen
from inspector.ui.tune import sweeps
from tests.ui.studies import BASELINE, Compare, Costs, Tune

pytestmark = pytest.mark.usefixtures("unweighed")

PLAN = Plan.from_specs(["tiered-stale:confirmation=150"])


@pytest.fixture(autouse=True)
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    plans_to_compare = compare_screen.plans_to_compare
    monkeypatch.setattr(compare_screen, "plans_to_compare", lambda session: plans_to_compare(session)[:3])
    monkeypatch.setattr(sweeps, "sweep", partial(sweep, points=COARSE))


async def test_escape_goes_back_as_it_was_a_key_goes_back_to_its_study_and_both_to_the_session(
    running, session_file
) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        compare = await Compare.opened(run)
        await run.tap("right", "right", "end", "up")
        row, column = compare.table.row_here, compare.table.sorting.column
        for other in (Tune, Costs):
            await other.opened(run)
            await run.tap("escape")
            await run.until(lambda: compare.is_on_top)
            assert (compare.table.row_here, compare.table.sorting.column) == (row, column)
        await run.tap("escape")
        await run.until_open("session")

        await Compare.opened(run)
        tune = await Tune.opened(run)
        await Costs.opened(run)
        await run.tap("escape")
        await run.until(lambda: tune.is_on_top)
        # A study that was come back to is closed to the session, whatever is below.
        await run.tap("escape")
        await run.until_open("session")

        compare = await Compare.opened(run)
        await Tune.opened(run)
        await Costs.opened(run)
        await run.tap("c")
        await run.until(lambda: compare.is_on_top)
        await run.tap("c")
        await run.until_open("session")


async def test_a_study_below_shows_what_changed_and_going_to_a_row_or_taking_a_plan_over_it_leads_to_the_session(
    running, session_file
) -> None:
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
        await run.tap("escape")
        await run.until_open("session")

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
