"""The tune screen: a limit of the plan over its whole range, and two of them at once."""

from pathlib import Path

import pytest

from inspector.replay.analysis.sweep import POINTS
from inspector.replay.engine.replay import replay
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from inspector.ui.help.screen import HelpScreen
from inspector.ui.toolkit.choice_strip import ChoiceStrip
from inspector.ui.toolkit.pane import Placeholder
from inspector.ui.tune.drawing import LABELS, plot_columns
from inspector.ui.tune.limits import Limits, key_of
from inspector.ui.tune.screen import TuneScreen
from tests.hostile import DISTURBING, hostile_copy

SPEC = "tiered-stale:tool-set=coding,lists=true"


def is_swept(screen: TuneScreen) -> bool:
    known = screen.sweeps.get(key_of(screen.limits.axis))
    return known is not None and known.found.is_complete and known.subject.plan == screen.limits.plan


async def opened(run, *keys: str) -> TuneScreen:
    await run.pilot.press("t", *keys)
    await run.until(lambda: isinstance(run.app.screen, TuneScreen))
    screen = run.app.screen
    if screen.limits.axes:
        await run.until(lambda: screen.limits.axes and is_swept(screen))
        await run.pilot.pause()
    return screen


def figures_of(screen: TuneScreen, what: str) -> str:
    from inspector.ui.figure_table.widget import FigureTable

    row = next(row for row in screen.query_one(FigureTable).rows if row.key == what)
    return row.cells["tokens"].text


async def test_the_curve_of_a_limit_is_that_of_replays(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run, "tab", "tab")
        assert screen.limits.axis.parameter.name == "data"
        found = screen.sweeps[key_of(screen.limits.axis)].found
        assert len(found.points) >= POINTS
        for point in found.points[::7]:
            plan = Plan.from_specs([f"{SPEC},data={point.value:.0f}"])
            assert point.figures == replay(run.screen.outcome.inputs, plan).figures
        assert screen.curves.chart.here == screen.curves.chart.plan == 400
        assert screen.curves.chart.sizes.noun == "result"
        assert "Characters kept of a stale result" in run.text()


async def test_arrows_move_the_value_and_enter_applies_it_once(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run)
        await run.pilot.press("right", "right")
        assert (screen.limits.here(screen.limits.axis), run.screen.plan.entries[0].strategy.confirmation) == (170, 150)
        await run.until(lambda: figures_of(screen, "here") != "…")

        await run.pilot.press("enter")
        assert run.screen.plan.entries[0].strategy.confirmation == 170
        assert screen.curves.chart.plan == 170
        await run.settled()
        tokens = run.screen.outcome.replay.figures.prompt_tokens.value
        assert figures_of(screen, "in the plan") == f"{tokens:,}"

        await run.pilot.press("ctrl+z")
        assert run.screen.plan.entries[0].strategy.confirmation == 150
        assert screen.curves.chart.plan == 150
        assert screen.curves.chart.here == 170
        await run.pilot.press("u")
        assert screen.curves.chart.here == 150


async def test_applying_a_limit_does_not_replay_its_range_again(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run)
        found = screen.sweeps[key_of(screen.limits.axis)]
        await run.pilot.press("home", "enter")
        await run.settled()
        await run.pilot.pause()
        assert screen.sweeps[key_of(screen.limits.axis)].subject is found.subject
        assert run.screen.plan.entries[0].strategy.confirmation == 0


async def test_a_drag_on_the_curve_moves_the_value_and_changes_nothing_yet(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run)
        plan = run.screen.plan
        curves = screen.curves
        columns = plot_columns(curves.size.width)
        await run.pilot.mouse_down(curves, offset=(LABELS + 3, 2))
        await run.pilot.hover(curves, offset=(LABELS + columns // 2, 3))
        assert curves.chart.here == curves.chart.value_at(columns // 2, columns)
        await run.pilot.hover(curves, offset=(LABELS + columns - 1, 1))
        await run.pilot.mouse_up(curves, offset=(LABELS + columns - 1, 1))
        assert curves.chart.here == 100_000
        await run.pilot.hover(curves, offset=(LABELS + 3, 2))
        assert curves.chart.here == 100_000
        assert run.screen.plan == plan


async def test_the_marked_values_are_a_key_away(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run, "tab", "tab")
        found = screen.sweeps[key_of(screen.limits.axis)].found
        await run.pilot.press("l")
        assert screen.curves.chart.here == found.least.value
        await run.pilot.press("k")
        if found.knee is None:
            assert "no knee" in screen.status.notice
        else:
            assert screen.curves.chart.here == found.knee.value


async def test_every_limit_of_the_plan_is_reached_with_tab_or_a_click(running, session_file) -> None:
    plan = Plan.from_specs([SPEC, "keep-recent"])
    async with running(session_file.path, plan=plan, size=(200, 50)) as run:
        screen = await opened(run)
        seen = []
        for _ in screen.limits.axes:
            seen.append((screen.limits.axis.strategy, screen.limits.axis.parameter.name))
            await run.pilot.press("tab")
        assert seen == list(screen.query_one(ChoiceStrip).choices.names)
        assert screen.limits.first == 0
        strip = run.text().splitlines()[2]
        await run.pilot.click(ChoiceStrip, offset=(strip.index("search") - 1, 0))
        await run.until(lambda: screen.limits.axis.parameter.name == "search")


async def test_the_limit_that_was_being_moved_is_the_one_to_tune(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        await run.press("p", "down", "down", "down")
        name = run.app.focused.parameter.name
        screen = await opened(run)
        assert screen.limits.axis.parameter.name == name != "confirmation"


async def test_a_strategy_that_is_off_is_tuned_as_if_on_and_switched_on_by_applying(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([f"{SPEC},enabled=false"])) as run:
        screen = await opened(run)
        assert figures_of(screen, "plan, if on") != "…"
        await run.pilot.press("home", "enter")
        assert run.screen.plan.entries[0].enabled


async def test_two_limits_at_once_are_a_map_whose_pair_is_applied(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run, "tab", "tab")
        await run.pilot.press("h")
        await run.until(lambda: screen.grid is not None and screen.grid.found.is_complete)
        await run.pilot.pause()
        grid = screen.grid.found
        assert (grid.across.parameter.name, grid.down.parameter.name) == ("data", "search")
        assert screen.heat_map.chart.here == screen.heat_map.chart.plan == grid.place(400, 600)
        for (row, column), figures in list(grid.figures.items())[::23]:
            plan = Plan.from_specs([f"{SPEC},data={grid.columns[column]:.0f},search={grid.rows[row]:.0f}"])
            assert figures == replay(run.screen.outcome.inputs, plan).figures

        await run.pilot.press("l", "enter")
        row, column = grid.least
        strategy = run.screen.plan.entries[0].strategy
        assert (strategy.data, strategy.search) == (grid.columns[column], grid.rows[row])
        await run.pilot.press("ctrl+z")
        assert run.screen.plan == Plan.from_specs([SPEC])

        await run.pilot.press("u", "left", "up")
        assert screen.heat_map.chart.here == tuple(max(each - 1, 0) for each in screen.heat_map.chart.plan)
        await run.pilot.press("shift+tab")
        assert screen.limits.down.parameter.name != "search"
        await run.pilot.press("h")
        assert screen.curves.display
        assert not screen.heat_map.display


async def test_a_plan_without_limits_says_so(running, session_file) -> None:
    async with running(session_file.path, plan=Plan()) as run:
        screen = await opened(run)
        assert screen.query_one(Placeholder).display
        assert "nothing to tune" in run.text()
        await run.pilot.press("tab", "left", "enter", "h", "escape")
        await run.until(lambda: run.app.screen is run.screen)


async def test_a_session_that_grows_is_replayed_again(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await opened(run)
        calls = screen.sweeps[key_of(screen.limits.axis)].found.points[0].figures.calls.value
        session_file.turn()
        key = key_of(screen.limits.axis)
        await run.until(lambda: screen.sweeps[key].found.points[0].figures.calls.value == calls + 1)
        await run.until(lambda: screen.sweeps[key].found.is_complete)


async def test_compare_tune_and_the_session_are_a_key_apart(running, session_file) -> None:
    from inspector.ui.compare.screen import CompareScreen

    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        await opened(run)
        await run.pilot.press("question_mark")
        await run.pilot.pause()
        assert isinstance(run.app.screen, HelpScreen)
        shown = {row.name for section in run.app.screen._sections for row in section.rows}
        assert {"tune.apply", "tune.knee", "tune.map", "study.close"} <= shown
        await run.pilot.press("escape", "c")
        await run.until(lambda: isinstance(run.app.screen, CompareScreen))
        await run.pilot.press("t")
        await run.until(lambda: isinstance(run.app.screen, TuneScreen))
        await run.pilot.press("t")
        await run.until(lambda: run.app.screen is run.screen)


async def test_hostile_text_reaches_no_strip(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    async with running(path) as run:
        screen = await opened(run)
        assert DISTURBING.search(run.text().replace("\n", "")) is None
        await run.pilot.press("h")
        await run.until(lambda: screen.grid is not None)
        await run.pilot.pause()
        assert DISTURBING.search(run.text().replace("\n", "")) is None


@pytest.mark.parametrize("size", [(20, 6), (40, 10), (80, 24), (200, 60)])
async def test_every_size_of_terminal_is_drawn(running, session_file, size: tuple[int, int]) -> None:
    async with running(session_file.path, size=size, plan=Plan.from_specs([SPEC])) as run:
        await opened(run)
        assert len(run.text().split("\n")) == size[1]
        await run.pilot.press("h")
        await run.pilot.pause()
        assert len(run.text().split("\n")) == size[1]


def test_limits_stay_chosen_while_the_plan_changes_around_them() -> None:
    before = Limits.of(Plan.from_specs([SPEC, "keep-recent"])).preferring(1, "keep")
    assert before.axis.parameter.name == "keep"
    changed = Limits.of(Plan.from_specs([f"{SPEC},data=7", "keep-recent:keep=4"]), before.looking(before.axis, 9.0))
    assert (changed.axis.parameter.name, changed.here(changed.axis), changed.in_plan(changed.axis)) == ("keep", 9, 4)
    fewer = Limits.of(Plan.from_specs([SPEC]), changed)
    assert fewer.axis.parameter.name == "confirmation"
    assert Limits.of(Plan(), fewer).axes == ()


def test_two_limits_are_never_the_same_one() -> None:
    limits = Limits.of(Plan.of(*(STRATEGIES[name]() for name in ("tiered-stale", "keep-recent"))))
    for first in range(len(limits.axes)):
        for second in range(len(limits.axes)):
            chosen = limits.choosing(first, second)
            assert chosen.first == first
            assert chosen.second != first
            assert chosen.second == second or second == first
