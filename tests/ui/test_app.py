"""The application as its users meet it: opening a session, switching strategies, moving limits, going back in time."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from inspector.replay.assumptions import ASSUMED_RUNS, RunsPerDay
from inspector.settings import Settings, load_settings
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.session.claude_lines import SESSION
from tests.session.test_related import claude_child, claude_parent
from tests.ui.facade import batches_of_frames
from tests.ui.recordings import recording, this_hour
from tests.ui.studies import SessionList


async def test_a_session_is_shown_estimated_then_counted_then_replayed_with_a_plan_offered_and_off(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        order = [each for each in run.happened if each in ("loaded", "counted", "replayed")]
        assert order[0] == "loaded"
        assert order.index("counted") < len(order) - 1
        assert order[-1] == "replayed"
        assert run.view.count == len(run.session.blocks)
        assert run.counts.is_complete

        (entry,) = run.plan.entries
        assert (entry.strategy.name, entry.strategy.tool_set, entry.enabled) == ("tiered-stale", "coding", False)
        assert run.costs.is_idle
        await run.until(lambda: "looking for the best plan …" in run.text() or "best plan" in run.text())


@pytest.mark.paints
async def test_the_first_frame_is_painted_as_soon_as_it_is_worked_out(running, session_file, monkeypatch) -> None:
    held = batches_of_frames(monkeypatch)

    async with running(session_file.path):
        assert held[0] == 0, "what is worked out while painting is held back is worked out again"


@pytest.mark.paints
@pytest.mark.parametrize("milliseconds", [0, 15, 30, 50, 75])
async def test_leaving_around_the_first_frame_ends_nothing_half_way(
    running, session_file, tmp_path: Path, milliseconds: int
) -> None:
    beside = recording(tmp_path / "beside.jsonl")
    async with running([session_file.path, beside.path], ready=False, listing=True):
        await asyncio.sleep(milliseconds / 1000)


async def test_a_number_key_switches_a_strategy_and_the_saving_and_the_reason_of_a_cut_follow(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        await run.press("1")

        saved = run.costs
        ledger = run.replay.ledger
        assert run.plan.entries[0].enabled
        assert saved.saved_tokens.value == ledger.removed_tokens.sum() > 0
        assert (run.view.state.sent < run.view.state.recorded).any()

        await run.press("g", "X")
        await run.until(lambda: run.detail.content is not None and run.detail.content.note is not None)
        content = run.detail.content
        assert content.note.tokens > 0
        assert content.note.reason.startswith("tiered-stale: stale, tier ")
        assert content.sent.text(content.raw()).endswith("...[truncated, already processed]")

        await run.press("1")
        assert run.costs.is_idle


async def test_a_given_plan_is_used_and_a_key_of_the_users_own_does_what_the_named_one_does(
    running, session_file
) -> None:
    plan = Plan.from_specs(["tiered-stale:data=40,tool-set=coding"])
    settings = Settings(keymap={"plan.switch-1": "f5"})
    async with running(session_file.path, plan=plan, settings=settings) as run:
        assert run.plan == plan
        assert run.replay.plan == plan
        await run.press("f5")
        assert not run.plan.entries[0].enabled


async def test_a_limit_is_typed_within_its_range_moved_with_arrows_and_dragged_as_one_change(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down")
        assert (run.focus.kind, run.focus.name) == ("limit", "confirmation")

        def confirmation() -> int:
            return int(run.plan.entries[0].strategy.confirmation)

        await run.press("1", "2")
        assert (confirmation(), run.plan.entries[0].enabled) == (150, False)
        await run.press("escape", *"999999", "enter")
        assert (confirmation(), run.plan.entries[0].enabled) == (150, False)
        assert "0 to 100,000" in run.text()
        await run.press("right")
        assert (confirmation(), run.plan.entries[0].enabled) == (200, True)
        await run.press("shift+right")
        assert confirmation() == 210
        await run.press("home")
        assert confirmation() == 0
        await run.press("end")
        assert confirmation() == run.slider("confirmation").end
        await run.press("w", "r")
        assert confirmation() == 150
        await run.press("1", "2", "enter")
        assert confirmation() == 12
        await run.press("9", "escape", "enter")
        assert confirmation() == 12

        slider = run.slider("data")
        await run.until(lambda: slider.has_sizes)
        await slider.drag_to_end()
        assert run.plan.entries[0].strategy.data == slider.end
        await run.press("ctrl+z")
        assert run.plan.entries[0].strategy.data == slider.value == 400
        await run.press("ctrl+y")
        assert run.plan.entries[0].strategy.data == slider.end


async def test_strategies_are_added_moved_and_removed(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.tap("plus")
        await run.pause()
        await run.press("enter")
        await run.until(lambda: len(run.plan.entries) == 2)
        added = run.plan.entries[1]
        assert added.enabled
        await run.until(lambda: (run.focus.kind, run.focus.entry) == ("strategy", 1))

        await run.press("shift+up")
        assert run.plan.entries[0] == added
        await run.press("delete")
        assert added not in run.plan.entries


async def test_calls_are_looked_at_with_brackets_and_end_comes_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        count = run.history.call_count
        await run.press("left_square_bracket")
        assert (run.call, run.state_call) == (count - 1, count - 1)
        assert run.chart.series.cursor == count - 1
        assert f"call {count} of" in run.text()

        await run.press("end", "right_square_bracket")
        assert run.notice == "no later call"
        await run.press("home", *["shift+left"] * (count // 10 + 2))
        assert run.notice == "no earlier call"
        await run.press("end", "left_square_bracket")

        await run.press("shift+left", "right_square_bracket")
        assert run.call == count - 10
        sent = run.view.state.in_prompt.sum()

        await run.press("end")
        assert run.call is None
        assert run.view.state.in_prompt.sum() > sent
        assert run.timeline.is_followed


async def test_a_click_on_help_names_every_key_of_what_is_focused_and_of_the_screen(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("p", "down")
        focused = run.key_names_of_focus()
        await run.status_bar.click(run.status_line.index("? help"), 0)
        assert run.on_top == "help"

        assert focused <= run.help_names
        assert {"app.quit", "plan.undo", "call.previous", "plan.switch-1"} <= run.help_names


async def test_the_plan_is_a_drawer_on_narrow_screens(running, session_file) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        pane = run.plan_pane
        assert not pane.is_shown
        await run.press("p")
        assert pane.is_shown
        assert run.plan_pane.has_focus
        await run.press("escape")
        assert not pane.is_shown


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_tab_goes_through_the_panes_as_they_are_read_and_shift_tab_back(running, session_file, size) -> None:
    async with running(session_file.path, size=size) as run:
        for key, panes in (
            ("tab", ["plan", "cost", "chart", "timeline"]),
            ("shift+tab", ["chart", "cost", "plan", "timeline"]),
            ("tab", ["detail", "plan", "cost", "chart", "timeline"]),
        ):
            if "detail" in panes:
                run.open_detail()
            seen = []
            for _ in panes:
                await run.press(key)
                seen.append(run.state_to_keep.pane)
                assert run.plan_pane.is_shown == (seen[-1] == "plan")
            assert seen == panes


async def test_a_strategy_that_cuts_messages_counts_blocks_and_one_that_cuts_results_counts_results(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["keep-recent:keep=2"]), size=(80, 24)) as run:
        await run.press("p")
        whole = next(group for group in run.replay.groups)
        assert whole.touched > len(run.history.results) - 2
        await run.until_shown(f"{whole.touched} of {whole.results} blocks")
        await run.press("escape")
    async with running(session_file.path, plan=Plan.from_specs(["clear-old"]), size=(80, 24)) as run:
        await run.press("p")
        whole = next(group for group in run.replay.groups)
        await run.until_shown(f"{whole.touched} of {whole.results} results")


async def test_q_leaves_and_the_plan_is_there_the_next_time_though_nothing_is_written_next_to_the_session(
    running, session_file
) -> None:
    path: Path = session_file.path
    before = path.read_bytes()
    async with running(path) as run:
        await run.press("1", "p", "down", "1", "2", "enter")
        plan = run.plan
        await run.tap("q")
        await run.until(lambda: run.is_over)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before

    async with running(path) as run:
        assert run.plan == plan
        assert "restored plan is on" in run.text()


async def test_rows_are_searched_and_filtered(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.tap("slash", *"src/app/7.py")
        await run.until(lambda: run.found is not None and len(run.found) == 2)
        await run.tap("enter")
        await run.pause()
        first = run.timeline.cursor_block
        await run.press("n")
        assert run.timeline.cursor_block == first + 1
        assert run.hidden == 0

        rows = run.view.count
        await run.tap("f")
        await run.until(lambda: run.view.count == 2)
        assert run.hidden == rows - 2
        await run.tap("escape")
        await run.until(lambda: run.view.count == rows)


async def test_another_session_is_opened_next_to_the_first(running, session_file) -> None:
    folder = session_file.path.parent
    other = recording(folder / "other.jsonl", turns=3)
    async with running(session_file.path, folders=[folder]) as run:
        await run.press("1")
        await run.tap("o")
        sessions = SessionList(run)
        await run.until(lambda: sessions.is_complete)
        assert sessions.paths == {session_file.path, other.path}
        await run.tap(*"other.jsonl", "enter")
        await run.until(lambda: run.path == other.path and run.session is not None)
        await run.settled()
        assert run.history.call_count == 3
        assert not run.plan.entries[0].enabled

        await run.tap("ctrl+pageup")
        await run.until(lambda: run.path == session_file.path)
        assert run.plan.entries[0].enabled
        await run.tap("o")
        await run.until(lambda: SessionList(run).is_complete)
        await run.tap(*"other.jsonl", "enter")
        await run.until(lambda: run.path == other.path)
        assert run.tab_count == 2

        await run.tap("w", "c")
        await run.until(lambda: run.path == session_file.path)
        await run.tap("w", "c")
        await run.until_open("sessions")
        assert run.tab_count == 0


async def test_a_call_opens_the_subagent_it_started_and_that_leads_back(running, tmp_path) -> None:
    path = claude_parent(tmp_path)
    child = claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    async with running(path) as run:
        timeline = run.timeline
        calls = [index for index, block in enumerate(run.session.blocks) if block.tool_call_id]
        timeline.go_to(0)
        assert not run.offers("session.open-subagent")
        timeline.go_to(calls[0])
        await run.tap("g", "s")
        await run.until(lambda: run.path == child and run.session is not None)
        await run.settled()
        await run.until(lambda: run.offers("session.open-parent"))
        await run.tap("g", "u")
        await run.until(lambda: run.path == path)
        assert run.tab_count == 2


async def test_a_key_shows_how_the_file_was_read(running, session_file) -> None:
    with session_file.path.open("ab") as file:
        file.write(b"no record\n")
    async with running(session_file.path) as run:
        await run.tap("z", "i")
        await run.until_open("diagnostics")
        await run.pause()
        text = run.text()
        assert "claude-code: Claude Code" in text
        assert "invalid JSON" in run.text_on_top
        await run.tap("escape")
        await run.until(lambda: run.on_top != "diagnostics")


async def test_sessions_named_together_are_all_followed(running, session_file) -> None:
    other = recording(session_file.path.parent / "other.jsonl", turns=3)
    async with running([session_file.path, other.path]) as run:
        await run.until(lambda: run.tab_count == 2)
        hidden = run.in_tab(1)
        await run.until(lambda: hidden.session is not None and hidden.state == "live")
        assert run.path == session_file.path
        before = len(hidden.session.messages)
        other.turn()
        await run.until(lambda: len(hidden.session.messages) > before)
        assert run.path == session_file.path
        await run.tap("ctrl+pagedown")
        await run.until(lambda: run.is_same_session(hidden))
        assert run.rows is not None


async def test_a_folder_lists_its_sessions(running, session_file) -> None:
    async with running(session_file.path.parent, ready=False) as run:
        await run.until(lambda: run.on_top == "sessions" and SessionList(run).is_complete)
        await run.tap("enter")
        await run.settled()
        assert run.path == session_file.path


async def test_sessions_can_be_chosen_without_naming_any(running, session_file, monkeypatch) -> None:
    monkeypatch.setattr("inspector.session.discovery.search_places", lambda folders: [(session_file.path.parent, None)])
    async with running([], listing=True) as run:
        await run.until(lambda: SessionList(run).is_complete)
        await run.tap("enter")
        await run.until_open("session")
        assert run.path == session_file.path


async def test_runs_a_day_say_where_they_come_from_are_set_and_kept(running, session_file, tmp_path) -> None:
    settings = load_settings(tmp_path / "settings.toml")
    async with running(session_file.path, settings=settings, size=(120, 36)) as run:
        await run.press("1")
        await run.until(lambda: run.costs.is_on and run.runs == ASSUMED_RUNS)
        await run.tap("dollar_sign")
        await run.until_open("costs")
        await run.tap("g", "a")
        await run.until_shown("1, assumed")
        await run.tap("escape")
        run.focus_costs()
        await run.tap("E")
        await run.until_shown("saved per day")
        await run.tap("end", "up", "up", "up", "up")
        await run.until(lambda: "runs per day, assumed" in run.explanation)
        await run.tap("escape", "z", "d")
        await run.pause()
        await run.press(*"240", "enter")
        await run.until(lambda: run.runs == RunsPerDay(240))
        await run.until((tmp_path / "settings.toml").exists)
    kept = load_settings(tmp_path / "settings.toml")
    assert (kept.runs_per_day, kept.runs_are_assumed) == (240, False)


async def test_two_plans_are_compared_with_one_key(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1", "a", "p", "down", "1", "2", "enter")
        assert run.plan.entries[0].strategy.confirmation == 12
        assert "Plan B" in run.text()
        assert "with plan B" in run.text()

        await run.press("escape", "a")
        assert run.plan.entries[0].strategy.confirmation == 150
        assert run.replay.plan.entries[0].strategy.confirmation == 150
        await run.press("a")
        assert run.plan.entries[0].strategy.confirmation == 12


async def test_a_session_that_is_being_written_is_opened_at_its_end(running, tmp_path: Path) -> None:
    session_file = recording(tmp_path / "session.jsonl", hour=this_hour())
    async with running(session_file.path) as run:
        timeline = run.timeline
        assert timeline.is_followed
        assert "FOLLOW" in run.text()

        await run.press("up")
        assert not timeline.is_followed
        session_file.turn()
        await run.until(lambda: run.standing.new > 0)
        await run.pause()
        assert "new below (end follows)" in run.text()
        await run.press("end")
        assert run.standing.new == 0


async def test_a_session_is_opened_at_its_end_and_followed_whatever_its_age(running, session_file) -> None:
    os.utime(session_file.path, (1_700_000_000, 1_700_000_000))
    async with running(session_file.path) as run:
        assert run.timeline.is_followed
        await run.until_shown(" FOLLOW ")
        assert run.timeline.cursor == run.view.count - 1
        await run.press("home")

    async with running(session_file.path) as run:
        assert run.timeline.cursor == 0


async def test_what_may_go_wrong_is_listed_and_gone_to(running, session_file) -> None:
    session_file.turn("the secret is router_key_4711\n" + "filler line of a long result\n" * 200, tool="Read")
    session_file.turn()
    session_file.turn(thinking="So router_key_4711 is what it wants.")
    async with running(session_file.path) as run:
        await run.press("1")
        await run.until(lambda: run.knows_needed)
        assert not run.risks.needed.calls, "the first line is still sent"

        await run.press("p", "down", "down", "down", "home")
        assert run.plan.entries[0].strategy.data == 0
        await run.until_shown("needed cut text")
        await run.press("escape", "home", "g", "r")
        asked = run.history.call_count
        await run.until(lambda: f"needed at call {asked}: router_key_4711" in run.status_line)
        block = run.session.blocks[run.timeline.cursor_block]
        assert block.preview.startswith("the secret is")
        await run.press("enter")
        await run.until_shown(f"needed at call {asked} (citation), cut since call ")
        await run.until_shown("«router_key_4711»")
        shown = run.text()
        assert "in the Read tool result:" in shown
        assert "│ used in the " in shown


async def test_a_replay_that_takes_a_while_is_reported(running, session_file, monkeypatch) -> None:
    async with running(session_file.path) as run:
        import inspector.replay.engine.replay

        real, going_on = inspector.replay.engine.replay.replay, threading.Event()

        def slow(inputs: object, plan: object) -> object:
            going_on.wait(60)
            return real(inputs, plan)

        monkeypatch.setattr(inspector.replay.engine.replay, "replay", slow)
        await run.tap("1")
        await run.until_shown("replaying")
        going_on.set()
        await run.settled()
        assert "replaying" not in run.text()


async def test_a_session_that_grows_while_the_tokenizer_is_built_waits_for_one_tokenizer(
    running, session_file, counter, monkeypatch
) -> None:
    is_built, asked = threading.Event(), []

    def load_slowly():
        asked.append(1)
        is_built.wait(60)
        return counter

    monkeypatch.setattr("inspector.tokens.counter.load_counter", load_slowly)
    async with running(session_file.path, ready=False) as run:
        await run.until(lambda: asked)
        for _ in range(3):
            before = run.happened.count("appended")
            session_file.turn()
            await run.until(lambda before=before: run.happened.count("appended") > before)
        is_built.set()
        await run.until(lambda: run.counts is not None and run.counts.is_complete)
        await run.until(lambda: run.replay.history.call_count == 33)
        assert len(asked) == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_detail_of_a_compaction_says_what_followed_it(running, size: tuple[int, int]) -> None:
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", size=size) as run:
        await run.press("home", "g", "c")
        await run.until_shown("compaction, prompt 76,938")
        await run.until_shown("removed 132 blocks")
        await run.press("enter")
        await run.until_shown("After it: 2 calls, 3 actions, ")
        await run.press("down", "down", "down")
        await run.until_shown("Elsewhere in this session, 2 calls (median of ")
