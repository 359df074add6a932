import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.analysis.tunable_limits import LimitSizes
from inspector.strategies.core.scale import ValueScale
from inspector.strategies.plan import Plan
from inspector.ui.plan.difference import setting_rows
from inspector.ui.plan.sizes import histogram, shape_of
from inspector.ui.plan.slider import MARK
from inspector.ui.plan.tools import tool_choices, with_tools


@given(st.lists(st.integers(0, 500_000), max_size=50), st.integers(1, 60))
def test_a_histogram_has_one_glyph_a_column_and_shows_every_size(sizes: list[int], columns: int) -> None:
    bars = histogram(
        LimitSizes(np.array(sizes, dtype=np.int64), "result"), ValueScale(0, 100_000, logarithmic=True), columns
    )

    assert len(bars) == columns
    assert bool(bars.strip()) == bool(sizes)


def test_sizes_do_not_depend_on_limits_but_on_tiers() -> None:
    one, other = Plan.from_specs(["tiered-stale:data=40"]), Plan.from_specs(["tiered-stale:data=90,enabled=false"])
    third = Plan.from_specs(["tiered-stale:data-tools=Bash"])

    assert shape_of(one) == shape_of(other)
    assert shape_of(one) != shape_of(third)


async def test_results_are_counted_by_size_under_their_limit(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.until(lambda: any(slider.has_sizes for slider in run.sliders()))
        slider = next(slider for slider in run.sliders() if slider.has_sizes)
        line, below = slider.text().split("\n")
        assert line.index("●") == below.index(MARK)
        assert below.endswith(" " * 8)
        await run.press("1")
        await run.until(lambda: slider.has_effect)
        assert " tk" in slider.text()


async def test_what_the_other_plan_would_come_to_is_on_the_screen(running, session_file) -> None:
    async with running(session_file.path) as run:
        assert "switch to" not in run.text()
        await run.press("a", "1")
        await run.until_shown("switch to A: +$")
        await run.tap("A")
        await run.until_open("difference")
        assert "by taking A" in run.text()
        await run.tap("a")
        await run.settled()
        await run.until_shown("switch to B: −$")  # noqa: RUF001  numbers have a minus sign
        assert run.plan_letter == "A"


def test_plans_differ_in_values_order_and_what_only_one_has() -> None:
    one = Plan.from_specs(["tiered-stale:data=40", "clear-old"])
    other = Plan.from_specs(["tiered-stale:data=50,enabled=false", "token-budget"])

    rows = [(row.name, row.here, row.there) for row in setting_rows(one, other)]

    assert rows == [
        ("tiered-stale", "on", "off"),
        ("tiered-stale: data", "40 characters", "50 characters"),
        ("clear-old", "on", "·"),
        ("token-budget", "·", "on"),
    ]
    assert not setting_rows(one, one)


async def test_tools_are_put_into_a_tier_and_out_of_the_others(running, session_file) -> None:
    async with running(session_file.path) as run:
        strategy = run.plan.entries[0].strategy
        data, action = (
            next(each for each in strategy.parameters if each.name == name) for name in ("data-tools", "action-tools")
        )
        named = [choice.name for choice in tool_choices(run.history, strategy, data)]
        assert named
        moved = with_tools(with_tools(strategy, data, (named[0],)), action, (named[0],))
        assert (moved.data_tools, moved.action_tools) == ((), (named[0],))


async def test_the_tools_of_the_session_are_offered_and_others_can_be_typed(running, session_file) -> None:
    async with running(session_file.path) as run:
        run.edit_tools("data-tools")
        await run.until_open("tools")
        await run.tap("enter", *"zzz-tool", "enter", "ctrl+s")
        await run.settled()
        chosen = run.plan.entries[0].strategy.data_tools
        assert len(chosen) == 2
        assert chosen[1] == "zzz-tool"
