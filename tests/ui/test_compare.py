"""The compare screen: every strategy and the plan on one session."""

import json
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.replay.analysis.comparison import compare, plans_to_compare
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from inspector.ui import numbers
from inspector.ui.compare.screen import BASELINE, CURRENT, CompareScreen
from inspector.ui.figure_table.widget import Facts
from inspector.ui.help.screen import HelpScreen
from tests.hostile import DISTURBING, hostile_copy


async def opened(run) -> CompareScreen:
    await run.pilot.press("c")
    await run.until(lambda: isinstance(run.app.screen, CompareScreen))
    screen = run.app.screen
    await run.until(lambda: screen._contenders and not screen._waiting)
    await run.pilot.pause()
    return screen


async def test_every_strategy_and_the_plan_have_a_row_with_the_figures_of_their_replay(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1")
        screen = await opened(run)
        inputs = run.screen.outcome.inputs
        expected = {found.plan.name: found for found in compare(inputs, plans_to_compare(run.screen.session))}

        rows = {row.key: row for row in screen.plans.rows}
        assert set(rows) == {BASELINE, CURRENT, *expected}
        for name, found in expected.items():
            assert screen._contenders[name].found == found
            assert rows[name].cells["tokens"].order == found.figures.prompt_tokens.value
        assert screen._contenders[CURRENT].found.figures == run.screen.outcome.replay.figures
        assert rows[BASELINE].cells["cost"].order == run.screen.outcome.baseline.figures.cost_usd.value


async def test_the_screen_and_the_command_agree_but_for_the_few_tokens_cuts_may_be_off(
    running, session_file, capsys
) -> None:
    assert main(["compare", str(session_file.path), "--format", "json"]) == 0
    printed = {plan["name"]: plan for plan in json.loads(capsys.readouterr().out)["plans"]}
    async with running(session_file.path) as run:
        screen = await opened(run)
        for name in printed:
            found = screen._contenders[name].found
            assert found.figures.prompt_tokens.value == pytest.approx(
                printed[name]["figures"]["prompt_tokens"], rel=1e-3
            )
            assert found.edits == printed[name]["edits"]
            assert found.figures.cache_breaks.value == printed[name]["figures"]["cache_breaks"]


async def test_what_saves_most_comes_first_and_a_loss_shows_its_sign(running, session_file) -> None:
    async with running(session_file.path, size=(160, 60)) as run:
        screen = await opened(run)
        saved = [screen._contenders[str(row.key)].found.savings.usd.value for row in screen.plans.rows[1:]]
        assert saved == sorted(saved, reverse=True)
        assert saved[0] > 0 > saved[-1]
        await run.pilot.press("end")
        losing = next(line for line in run.text().splitlines() if str(screen.plans.rows[-1].key) in line)
        assert f"{numbers.MINUS}$" in losing


async def test_arrows_and_titles_sort_and_the_cursor_stays_on_its_plan(running, session_file) -> None:
    async with running(session_file.path) as run:
        screen = await opened(run)
        await run.pilot.press("down", "down")
        key = screen.plans.cursor_key
        await run.pilot.press("right")
        assert screen.plans.sorting.column == "share"
        await run.pilot.press("left", "left", "left", "r")
        assert (screen.plans.sorting.column, screen.plans.sorting.falls) == ("cost", True)
        costs = [row.cells["cost"].order for row in screen.plans.rows[1:]]
        assert costs == sorted(costs, reverse=True)
        assert screen.plans.cursor_key == key

        await run.pilot.click(screen.plans, offset=(4, 0))
        assert (screen.plans.sorting.column, screen.plans.sorting.falls) == ("name", False)
        await run.pilot.click(screen.plans, offset=(4, 0))
        assert screen.plans.sorting.falls
        assert screen.plans.cursor_key == key


async def test_enter_makes_a_plan_the_current_one_and_undo_brings_the_other_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1")
        before = run.screen.plan
        screen = await opened(run)
        screen.plans.move_to_key("keep-recent")
        await run.pilot.press("enter")
        await run.until(lambda: run.app.screen is run.screen)
        await run.settled()
        assert [strategy.name for strategy in run.screen.plan.strategies] == ["keep-recent"]
        assert run.screen.outcome.replay.plan == run.screen.plan

        await run.press("ctrl+z")
        assert run.screen.plan == before


async def test_a_strategy_is_added_to_the_plan_which_is_replayed_in_its_row(running, session_file) -> None:
    async with running(session_file.path) as run:
        screen = await opened(run)
        assert screen._contenders[CURRENT].found.first_firing is None
        screen.plans.move_to_key("keep-recent")
        await run.pilot.press("plus")
        await run.until(lambda: len(screen._contenders[CURRENT].plan.entries) == 2 and not screen._waiting)
        assert run.screen.plan == screen._contenders[CURRENT].plan
        assert "keep-recent" in screen._contenders[CURRENT].name

        await run.pilot.press("ctrl+z")
        await run.until(lambda: screen._contenders[CURRENT].plan == run.screen.plan and not screen._waiting)
        assert len(run.screen.plan.entries) == 1


async def test_what_is_not_another_plan_is_not_taken(running, session_file) -> None:
    async with running(session_file.path) as run:
        plan = run.screen.plan
        screen = await opened(run)
        for key in (BASELINE, CURRENT):
            screen.plans.move_to_key(key)
            await run.pilot.press("enter", "plus")
            await run.pilot.pause()
            assert run.app.screen is screen
        assert run.screen.plan == plan


async def test_a_session_that_grows_is_compared_anew(running, session_file) -> None:
    async with running(session_file.path) as run:
        screen = await opened(run)
        calls = screen._contenders[BASELINE].found.figures.calls.value
        session_file.turn()
        await run.until(lambda: screen._contenders[BASELINE].found.figures.calls.value == calls + 1)
        await run.until(lambda: not screen._waiting)
        assert {each.found.figures.calls.value for each in screen._contenders.values()} == {calls + 1}


async def test_a_strategy_that_fails_says_so_and_the_others_are_compared(running, session_file, monkeypatch) -> None:
    def broken(self: object, history: object) -> None:
        raise ValueError("[/b] out of luck")

    async with running(session_file.path) as run:
        monkeypatch.setattr(STRATEGIES["keep-recent"], "schedule", broken)
        screen = await opened(run)
        failed = [each.key for each in screen._contenders.values() if each.failure]
        assert failed == ["keep-recent"]
        screen.plans.move_to_key("keep-recent")
        await run.pilot.pause()
        assert ("failed", "ValueError: [/b] out of luck") in screen.query_one(Facts).facts


async def test_the_screen_closes_helps_and_tells_its_keys(running, session_file) -> None:
    async with running(session_file.path) as run:
        await opened(run)
        await run.pilot.press("question_mark")
        await run.pilot.pause()
        assert isinstance(run.app.screen, HelpScreen)
        assert {"compare.take", "table.sort-left", "study.close"} <= {
            row.name for section in run.app.screen._sections for row in section.rows
        }
        await run.pilot.press("escape")
        await run.pilot.pause()
        assert "take it" in run.text()
        await run.pilot.press("escape")
        await run.until(lambda: run.app.screen is run.screen)


async def test_without_a_price_tokens_are_compared(running, session_file) -> None:
    from tests.ui.recordings import recording

    path = recording(session_file.path.with_name("house.jsonl"), model="house-model-9").path
    async with running(path, size=(160, 60)) as run:
        screen = await opened(run)
        rows = {row.key: row for row in screen.plans.rows}
        assert rows["tiered-stale"].cells["cost"].text == "unknown"
        assert rows["tiered-stale"].cells["share"].order > 0


async def test_hostile_text_reaches_no_strip(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    plan = Plan.from_toml(
        'name = "[/b] \\u001b[31m"\n[[strategies]]\nname = "tiered-stale"\nmarker = "[@click=x]\\u009b"\n'
    )
    async with running(path, plan=plan) as run:
        screen = await opened(run)
        screen.plans.move_to_key(CURRENT)
        await run.pilot.pause()
        assert DISTURBING.search(run.text().replace("\n", "")) is None
        assert "[/b]" in run.text()


@pytest.mark.parametrize("size", [(20, 6), (40, 10), (80, 24), (120, 36), (200, 60)])
async def test_every_size_of_terminal_is_drawn(running, session_file, size: tuple[int, int]) -> None:
    async with running(session_file.path, size=size) as run:
        await opened(run)
        assert len(run.text().split("\n")) == size[1]
