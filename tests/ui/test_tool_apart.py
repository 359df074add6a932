"""A single tool in a separate tier."""

import pytest

from inspector.replay.engine.replay import Replay, replay
from inspector.strategies.core.operations import Action
from inspector.strategies.plan import Plan
from inspector.strategies.registry import parameter_of, value_of
from inspector.ui.tune.rows import separate_tool, tools_with_results
from tests.ui.studies import Tune

pytestmark = pytest.mark.usefixtures("unweighed")

SPEC = "tiered-stale:tool-set=coding,lists=true,data=70,default=70"


async def tune_alone(run, tool: str) -> None:
    """Look for limits for one tool."""
    await run.tap("t")
    await run.until_open("tune")
    tune = Tune(run)
    await run.tap("b")
    await run.until_open("picker")
    await run.tap(*tool, "enter")
    await run.until(lambda: tune.is_on_top)
    await run.until(lambda: tune.title.endswith(f"only {tool}"))


async def test_a_tool_is_tuned_alone_and_enter_keeps_it(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        plan, history = run.plan, run.history
        tool = tools_with_results(plan, history)[0].name
        await tune_alone(run, tool)
        assert run.plan == plan

        await run.tap("right", "enter")
        await run.settled()
        strategy, before = run.plan.entries[0].strategy, plan.entries[0].strategy
        tier = strategy.tier_of(tool)
        assert strategy.limit(tier) > before.limit(before.tier_of(tool))
        for other in tools_with_results(plan, history)[1:]:
            assert strategy.tier_of(other.name) != tier
            assert strategy.limit(strategy.tier_of(other.name)) == before.limit(before.tier_of(other.name))


async def test_a_tool_apart_is_cut_as_before_until_its_limit_is_moved(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        plan, history, inputs = run.plan, run.history, run.inputs
        for each in tools_with_results(plan, history):
            apart = separate_tool(plan, history, each.name)
            assert apart is not None
            assert replay(inputs, apart.plan).figures == replay(inputs, plan).figures


async def test_where_all_tools_are_treated_alike_it_is_stated_that_none_can_be_tuned_alone(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["clear-old"])) as run:
        assert tools_with_results(run.plan, run.history) == []
        assert separate_tool(run.plan, run.history, "Bash") is None
        await run.tap("t")
        await run.until_open("tune")
        await run.tap("b")
        await run.until_shown("clear-old: no tiers and no list of excluded tools")


@pytest.mark.parametrize(
    "spec",
    [
        "trim-at-insertion:threshold=200,head=50,tail=20",
        "deepagents-evict:limit=100",
        "openclaw-prune:allow=*,threshold=100",
    ],
)
async def test_a_strategy_that_leaves_tools_alone_is_copied_for_one_tool(running, session_file, spec) -> None:
    async with running(session_file.path, plan=Plan.from_specs([spec])) as run:
        plan, history, inputs = run.plan, run.history, run.inputs
        tool = tools_with_results(plan, history)[0].name
        apart = separate_tool(plan, history, tool)
        assert apart is not None
        first, copy = (replay(inputs, Plan.of(entry.strategy)) for entry in apart.plan.entries)
        changed = [{_tool(each, block) for block in _changed(each)} for each in (first, copy)]
        assert tool not in changed[0]
        assert changed[1] <= {tool}
        assert changed[0] | changed[1] == {_tool(first, block) for block in _changed(replay(inputs, plan))}


async def test_the_copy_for_one_tool_is_tuned_and_applied(running, session_file) -> None:
    plan = Plan.from_specs(["clear-old", "trim-at-insertion:threshold=200,head=50,tail=20"])
    async with running(session_file.path, plan=plan) as run:
        tool = tools_with_results(plan, run.history)[0].name
        await tune_alone(run, tool)
        await run.tap("shift+right", "enter")
        await run.settled()
        names = [entry.strategy.name for entry in run.plan.entries]
        assert names == ["clear-old", "trim-at-insertion", "trim-at-insertion"]
        kept, copied = (run.plan.entries[place].strategy for place in (1, 2))
        assert tool in value_of(kept, parameter_of(kept, "exempt-tools"))
        assert tool not in value_of(copied, parameter_of(copied, "exempt-tools"))
        limit = parameter_of(copied, "threshold")
        assert value_of(kept, limit) == 200
        assert value_of(copied, limit) > 200


def _changed(replayed: Replay) -> list[int]:
    state = replayed.state(replayed.history.call_count)
    return [block for block in range(len(state.action)) if state.action[block] != Action.WHOLE]


def _tool(replayed: Replay, block: int) -> str:
    return replayed.history.tool_names[replayed.history.tool[block]]


async def test_a_tier_is_found_while_its_strategy_is_off(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([f"{SPEC},enabled=false"])) as run:
        strategy, tools = run.plan.entries[0].strategy, tools_with_results(run.plan, run.history)
        tier = strategy.tier_of(tools[0].name)
        await run.press("f", *f"tier:{tier}", "enter")
        expected = sum(each.results for each in tools if strategy.tier_of(each.name) == tier)
        await run.until(lambda: run.view.count == expected)
