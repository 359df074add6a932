"""The application as its users meet it: opening a session, switching strategies, moving limits, going back in time."""

import os
import threading
from typing import TYPE_CHECKING

import pytest

from inspector.strategies.plan import Plan
from inspector.ui.app import InspectorApp
from inspector.ui.controller.messages import ReplayReady, SessionAppended, SessionLoaded, TokensCounted
from inspector.ui.dialogs.diagnostics_dialog import DiagnosticsScreen
from inspector.ui.help.screen import HelpScreen
from inspector.ui.main.screen import InspectScreen
from inspector.ui.plan.entry import StrategyToggle
from inspector.ui.plan.slider import LimitSlider
from inspector.ui.sessions.screen import SessionsScreen
from inspector.ui.settings import Settings, load_settings
from tests.session.claude_lines import SESSION
from tests.session.test_links import claude_child, claude_parent
from tests.ui.recordings import recording

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_session_is_shown_estimated_then_counted_then_replayed(running, session_file) -> None:
    async with running(session_file.path) as run:
        order = [
            type(message)
            for message in run.messages
            if isinstance(message, SessionLoaded | TokensCounted | ReplayReady)
        ]

        assert order[0] is SessionLoaded
        assert order.index(SessionLoaded) < order.index(TokensCounted) < len(order) - 1
        assert order[-1] is ReplayReady
        assert run.screen.view.count == len(run.screen.session.blocks)
        assert run.screen.table.is_complete


async def test_tiered_truncation_is_offered_and_off(running, session_file) -> None:
    async with running(session_file.path) as run:
        (entry,) = run.screen.plan.entries

        assert (entry.strategy.name, entry.strategy.tool_set, entry.enabled) == ("tiered-stale", "coding", False)
        assert run.screen.cost.summary.is_idle
        assert "nothing is cut yet" in run.text()


async def test_a_number_key_switches_a_strategy_and_the_saving_follows(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1")

        saved = run.screen.cost.summary
        ledger = run.screen.outcome.replay.ledger
        assert run.screen.plan.entries[0].enabled
        assert saved.saved_tokens.value == ledger.removed_tokens.sum() > 0
        assert (run.screen.view.state.sent < run.screen.view.state.recorded).any()

        await run.press("1")
        assert run.screen.cost.summary.is_idle


async def test_a_given_plan_is_used(running, session_file) -> None:
    plan = Plan.from_specs(["tiered-stale:data=40,tool-set=coding"])
    async with running(session_file.path, plan=plan) as run:
        assert run.screen.plan == plan
        assert run.screen.outcome.replay.plan == plan


async def test_a_limit_moves_with_the_arrows_and_switches_its_strategy_on(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down", "right")
        slider = run.app.focused
        strategy = run.screen.plan.entries[0].strategy
        assert isinstance(slider, LimitSlider)
        assert (slider.parameter.name, strategy.confirmation, run.screen.plan.entries[0].enabled) == (
            "confirmation",
            160,
            True,
        )

        await run.press("shift+right")
        assert run.screen.plan.entries[0].strategy.confirmation == 260
        await run.press("home")
        assert run.screen.plan.entries[0].strategy.confirmation == 0
        await run.press("end")
        assert run.screen.plan.entries[0].strategy.confirmation == 100_000
        await run.press("u")
        assert run.screen.plan.entries[0].strategy.confirmation == 150


async def test_digits_on_a_slider_type_a_value_and_switch_nothing(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down", "1", "2")
        assert run.screen.plan.entries[0].strategy.confirmation == 150
        assert not run.screen.plan.entries[0].enabled

        await run.press("enter")
        assert run.screen.plan.entries[0].strategy.confirmation == 12

        await run.press("9", "escape", "enter")
        assert run.screen.plan.entries[0].strategy.confirmation == 12


async def test_a_value_out_of_range_is_refused_with_the_range(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down", "9", "9", "9", "9", "9", "9", "enter")

        assert run.screen.plan.entries[0].strategy.confirmation == 150
        assert "0 to 100,000" in run.text()


async def test_a_drag_is_one_change_to_take_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        slider = next(slider for slider in run.screen.query(LimitSlider) if slider.parameter.name == "data")
        first, width = slider._track
        await run.pilot.mouse_down(slider, offset=(first + 1, 0))
        for cell in range(2, width):
            await run.pilot.hover(slider, offset=(first + cell, 0))
        await run.pilot.mouse_up(slider, offset=(first + width - 1, 0))
        await run.settled()
        assert run.screen.plan.entries[0].strategy.data == 100_000

        await run.press("ctrl+z")
        assert run.screen.plan.entries[0].strategy.data == 400
        assert slider.value == 400
        await run.press("ctrl+y")
        assert run.screen.plan.entries[0].strategy.data == 100_000


async def test_strategies_are_added_moved_and_removed(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.pilot.press("plus")
        await run.pilot.pause()
        await run.press("enter")
        await run.until(lambda: len(run.screen.plan.entries) == 2)
        added = run.screen.plan.entries[1]
        assert added.enabled
        await run.until(lambda: isinstance(run.app.focused, StrategyToggle) and run.app.focused.entry == 1)

        await run.press("shift+up")
        assert run.screen.plan.entries[0] == added
        await run.press("delete")
        assert added not in run.screen.plan.entries


async def test_calls_are_looked_at_with_brackets_and_end_comes_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        count = run.screen.history.call_count
        await run.press("left_square_bracket")
        assert (run.screen.call, run.screen.view.state.call) == (count - 1, count - 1)
        assert run.screen.parts.chart.series.cursor == count - 1
        assert f"as of call {count}" in run.text()

        await run.press("left_curly_bracket", "right_square_bracket")
        assert run.screen.call == count - 10
        sent = run.screen.view.state.in_prompt.sum()

        await run.press("end")
        assert run.screen.call is None
        assert run.screen.view.state.in_prompt.sum() > sent
        assert run.screen.parts.timeline.follow


async def test_the_detail_says_why_a_block_is_cut(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1", "X")
        detail = run.screen.parts.detail
        await run.until(lambda: detail.content is not None and detail.content.note is not None)
        content = detail.content

        assert content.note.tokens > 0
        assert content.note.reason.startswith("tiered-stale: stale, tier ")
        assert content.sent.text(content.raw()).endswith("...[truncated, already processed]")


async def test_help_names_every_key_of_what_is_focused_and_of_the_screen(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down")
        await run.pilot.press("question_mark")
        await run.pilot.pause()
        assert isinstance(run.app.screen, HelpScreen)
        shown = {row.name for section in run.app.screen._sections for row in section.rows}
        focused = {binding.id for binding in LimitSlider.BINDINGS}

        assert focused <= shown
        assert {"app.quit", "plan.undo", "call.previous", "plan.switch-1"} <= shown


async def test_the_plan_is_a_drawer_on_narrow_screens(running, session_file) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        pane = run.screen.query_one("#plan-pane")
        assert not pane.display
        await run.press("p")
        assert pane.display
        assert run.screen.panel.has_focus_within
        await run.press("escape")
        assert not pane.display


async def test_q_leaves(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.pilot.press("q")
        await run.until(lambda: run.app._exit)


async def test_nothing_is_written_beside_the_session(running, session_file: object) -> None:
    path: Path = session_file.path
    before = path.read_bytes()
    async with running(path) as run:
        await run.press("1", "p", "down", "right")

    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


async def test_the_plan_is_there_again_the_next_time(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1", "p", "down", "1", "2", "enter")
        plan = run.screen.plan

    async with running(session_file.path) as run:
        assert run.screen.plan == plan
        assert "the one you left" in run.text()


async def test_rows_are_searched_and_filtered(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.pilot.press("slash", *"src/app/7.py")
        await run.until(lambda: run.screen.found is not None and len(run.screen.found) == 2)
        await run.pilot.press("enter")
        await run.pilot.pause()
        first = run.screen.parts.timeline.cursor_block
        await run.press("n")
        assert run.screen.parts.timeline.cursor_block == first + 1
        assert run.screen.view.hidden == 0

        rows = run.screen.view.count
        await run.pilot.press("ampersand")
        await run.until(lambda: run.screen.view.count == 2)
        assert run.screen.status.standing.hidden == rows - 2
        await run.pilot.press("escape")
        await run.until(lambda: run.screen.view.count == rows)


async def test_another_session_is_opened_beside_the_first(running, session_file) -> None:
    folder = session_file.path.parent
    other = recording(folder / "other.jsonl", turns=3)
    async with running(session_file.path, folders=[folder]) as run:
        await run.press("1")
        await run.pilot.press("o")
        screen = run.app.screen
        await run.until(lambda: screen._is_complete)
        assert {line.entry.header.path for line in screen._book.lines()} == {session_file.path, other.path}
        await run.pilot.press(*"other.jsonl", "enter")
        await run.until(lambda: run.screen.path == other.path and run.screen.session is not None)
        await run.settled()
        assert run.screen.history.call_count == 3
        assert not run.screen.plan.entries[0].enabled

        await run.pilot.press("ctrl+pageup")
        await run.until(lambda: run.screen.path == session_file.path)
        assert run.screen.plan.entries[0].enabled
        await run.pilot.press("o")
        await run.until(lambda: run.app.screen._is_complete)
        await run.pilot.press(*"other.jsonl", "enter")
        await run.until(lambda: run.screen.path == other.path)
        assert len(run.app._tabs.all) == 2

        await run.pilot.press("ctrl+w")
        await run.until(lambda: run.screen.path == session_file.path)
        await run.pilot.press("ctrl+w")
        await run.until(lambda: isinstance(run.app.screen, SessionsScreen))
        assert run.app._tabs.all == ()


async def test_a_call_opens_the_subagent_it_started_and_that_leads_back(running, tmp_path) -> None:
    path = claude_parent(tmp_path)
    child = claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    async with running(path) as run:
        timeline = run.screen.parts.timeline
        calls = [index for index, block in enumerate(run.screen.session.blocks) if block.tool_call_id]
        timeline.move_to_block(0)
        assert not run.screen.check_action("open_subagent", ())
        timeline.move_to_block(calls[0])
        await run.pilot.press("ctrl+o")
        await run.until(lambda: run.screen.path == child and run.screen.session is not None)
        await run.settled()
        await run.pilot.press("backspace")
        await run.until(lambda: run.screen.path == path)
        assert len(run.app._tabs.all) == 2


async def test_a_key_tells_how_the_file_was_read(running, session_file) -> None:
    with session_file.path.open("ab") as file:
        file.write(b"no record\n")
    async with running(session_file.path) as run:
        await run.pilot.press("i")
        await run.until(lambda: isinstance(run.app.screen, DiagnosticsScreen))
        await run.pilot.pause()
        text = run.text()
        assert "claude-code: Claude Code" in text
        assert "invalid JSON" in run.app.screen._text
        await run.pilot.press("escape")
        await run.until(lambda: not isinstance(run.app.screen, DiagnosticsScreen))


async def test_sessions_named_together_are_all_followed(running, session_file) -> None:
    other = recording(session_file.path.parent / "other.jsonl", turns=3)
    async with running([session_file.path, other.path]) as run:
        await run.until(lambda: len(run.app._tabs.all) == 2)
        hidden = run.app._screen_stacks[run.app._tabs.all[1].mode][0]
        await run.until(lambda: hidden.session is not None and hidden.state == "live")
        assert run.screen.path == session_file.path
        before = len(hidden.session.messages)
        other.turn()
        await run.until(lambda: len(hidden.session.messages) > before)
        assert run.screen.path == session_file.path
        await run.pilot.press("ctrl+pagedown")
        await run.until(lambda: run.screen is hidden)
        assert run.screen.rows is not None


async def test_a_folder_lists_its_sessions(running, session_file) -> None:
    async with running(session_file.path.parent, ready=False) as run:
        await run.until(lambda: isinstance(run.app.screen, SessionsScreen) and run.app.screen._is_complete)
        await run.pilot.press("enter")
        await run.settled()
        assert run.screen.path == session_file.path


async def test_sessions_can_be_chosen_without_naming_any(session_file, monkeypatch) -> None:
    monkeypatch.setattr("inspector.session.discovery.places", lambda folders: [(session_file.path.parent, None)])
    app = InspectorApp([], settings=Settings())
    async with app.run_test() as pilot:
        for _ in range(400):
            if app.screen._is_complete:
                break
            await pilot.pause(0.02)
        await pilot.press("enter")
        for _ in range(400):
            if isinstance(app.screen, InspectScreen):
                break
            await pilot.pause(0.02)
        assert isinstance(app.screen, InspectScreen)
        assert app.screen.path == session_file.path


async def test_a_key_of_the_users_own_does_what_the_named_one_does(running, session_file) -> None:
    settings = Settings(keymap={"plan.switch-1": "f5"})
    async with running(session_file.path, settings=settings) as run:
        await run.press("f5")
        assert run.screen.plan.entries[0].enabled


async def test_runs_a_day_multiply_the_saving_and_are_kept(running, session_file, tmp_path) -> None:
    settings = load_settings(tmp_path / "settings.toml")
    async with running(session_file.path, settings=settings) as run:
        await run.press("1")
        before = run.screen.cost.summary
        await run.pilot.press("d")
        await run.pilot.pause()
        await run.press(*"240", "enter")
        await run.until(lambda: run.screen.cost.summary.runs == 240)

        assert run.screen.cost.summary.per_day.value == pytest.approx(before.per_day.value * 10)
        await run.until((tmp_path / "settings.toml").exists)
    assert load_settings(tmp_path / "settings.toml").runs_per_day == 240


async def test_two_plans_are_compared_with_one_key(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1", "a", "p", "down", "1", "2", "enter")
        assert run.screen.plan.entries[0].strategy.confirmation == 12
        assert "Plan B" in run.text()
        assert "with plan B" in run.text()

        await run.press("escape", "a")
        assert run.screen.plan.entries[0].strategy.confirmation == 150
        assert run.screen.outcome.replay.plan.entries[0].strategy.confirmation == 150
        await run.press("a")
        assert run.screen.plan.entries[0].strategy.confirmation == 12


async def test_a_session_that_is_being_written_is_opened_at_its_end(running, session_file) -> None:
    async with running(session_file.path) as run:
        timeline = run.screen.parts.timeline
        assert timeline.follow
        assert "FOLLOW" in run.text()

        await run.press("up")
        assert not timeline.follow
        session_file.turn()
        await run.until(lambda: run.screen.status.standing.new > 0)
        await run.pilot.pause()
        assert "new below: end follows" in run.text()
        await run.press("end")
        assert run.screen.status.standing.new == 0


async def test_an_old_session_is_opened_at_its_beginning(running, session_file) -> None:
    os.utime(session_file.path, (1_700_000_000, 1_700_000_000))
    async with running(session_file.path) as run:
        assert not run.screen.parts.timeline.follow
        assert run.screen.parts.timeline.cursor == 0


async def test_what_may_go_wrong_is_listed_and_gone_to(running, session_file) -> None:
    session_file.turn("the secret is router_key_4711\n" + "filler line of a long result\n" * 200, tool="Read")
    session_file.turn()
    session_file.turn(thinking="So router_key_4711 is what it wants.")
    async with running(session_file.path) as run:
        await run.press("1")
        await run.until(lambda: run.screen.risks is not None and run.screen.risks.needed is not None)
        assert not run.screen.risks.needed.calls, "the first line is still sent"

        await run.press("p", "down", "down", "down", "home")
        assert run.screen.plan.entries[0].strategy.data == 0
        await run.until(lambda: "used what was cut" in run.text())
        await run.press("escape", "home", "h")
        asked = run.screen.history.call_count
        await run.until(lambda: f"used again at call {asked}: router_key_4711" in run.text().splitlines()[-1])
        block = run.screen.session.blocks[run.screen.parts.timeline.cursor_block]
        assert block.preview.startswith("the secret is")


async def test_a_replay_that_takes_a_while_is_told(running, session_file, monkeypatch) -> None:
    async with running(session_file.path) as run:
        import inspector.replay.engine.replay

        real, going_on = inspector.replay.engine.replay.replay, threading.Event()

        def slow(inputs: object, plan: object) -> object:
            going_on.wait(10)
            return real(inputs, plan)

        monkeypatch.setattr(inspector.replay.engine.replay, "replay", slow)
        await run.pilot.press("1")
        await run.until(lambda: "replaying" in run.text())
        going_on.set()
        await run.settled()
        assert "replaying" not in run.text()


async def test_a_click_on_a_key_in_the_status_line_presses_it(running, session_file) -> None:
    async with running(session_file.path) as run:
        line = run.text().split("\n")[-1]
        await run.pilot.click(run.screen.status, offset=(line.index("? help"), 0))
        await run.pilot.pause()
        assert isinstance(run.app.screen, HelpScreen)


async def test_a_session_that_grows_while_the_tokenizer_is_built_waits_for_one_tokenizer(
    running, session_file, counter, monkeypatch
) -> None:
    is_built, asked = threading.Event(), []

    def load_slowly():
        asked.append(1)
        is_built.wait(20)
        return counter

    monkeypatch.setattr("inspector.tokens.counter.load_counter", load_slowly)
    async with running(session_file.path, ready=False) as run:
        await run.until(lambda: asked)
        for _ in range(3):
            before = len(run.seen(SessionAppended))
            session_file.turn()
            await run.until(lambda before=before: len(run.seen(SessionAppended)) > before)
        is_built.set()
        await run.until(lambda: run.screen.table is not None and run.screen.table.is_complete)
        await run.until(lambda: run.screen.outcome.replay.history.call_count == 33)
        assert len(asked) == 1
