"""One tool in a tier of its own."""

from inspector.replay.replay import replay
from inspector.strategies.plan import Plan
from inspector.ui.screens.picker import Picker
from inspector.ui.screens.tune import TuneScreen
from inspector.ui.tool_apart import tool_apart, tools_with_results

SPEC = "tiered-stale:tool-set=coding,lists=true,data=70,default=70"


async def test_a_tool_is_tuned_alone_and_enter_keeps_it(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        plan, history = run.screen.plan, run.screen.history
        tool = tools_with_results(plan, history)[0].name
        await run.pilot.press("t")
        await run.until(lambda: isinstance(run.app.screen, TuneScreen))
        screen = run.app.screen
        await run.pilot.press("o")
        await run.until(lambda: isinstance(run.app.screen, Picker))
        await run.pilot.press(*tool, "enter")
        await run.until(lambda: run.app.screen is screen)
        await run.until(lambda: screen.query_one("#tune").border_title.endswith(f"only {tool}"))
        assert run.screen.plan == plan

        await run.pilot.press("right", "enter")
        await run.settled()
        strategy, before = run.screen.plan.entries[0].strategy, plan.entries[0].strategy
        tier = strategy.tier_of(tool)
        assert strategy.limit(tier) > before.limit(before.tier_of(tool))
        for other in tools_with_results(plan, history)[1:]:
            assert strategy.tier_of(other.name) != tier
            assert strategy.limit(strategy.tier_of(other.name)) == before.limit(before.tier_of(other.name))


async def test_a_tool_apart_is_cut_as_before_until_its_limit_is_moved(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        plan, history, inputs = run.screen.plan, run.screen.history, run.screen.outcome.inputs
        for each in tools_with_results(plan, history):
            apart = tool_apart(plan, history, each.name)
            assert apart is not None
            assert replay(inputs, apart.plan).figures == replay(inputs, plan).figures


async def test_without_tiers_there_is_nothing_to_put_apart(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["clear-old"])) as run:
        assert tools_with_results(run.screen.plan, run.screen.history) == []
        assert tool_apart(run.screen.plan, run.screen.history, "Bash") is None


async def test_a_tier_is_found_while_its_strategy_is_off(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([f"{SPEC},enabled=false"])) as run:
        strategy, tools = run.screen.plan.entries[0].strategy, tools_with_results(run.screen.plan, run.screen.history)
        tier = strategy.tier_of(tools[0].name)
        await run.press("ampersand", *f"tier:{tier}", "enter")
        expected = sum(each.results for each in tools if strategy.tier_of(each.name) == tier)
        await run.until(lambda: run.screen.view.count == expected)
